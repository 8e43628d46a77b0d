//! The fuzz targets: Cargo.toml, the files and the script name the same ones. `fuzz/run.sh` runs them.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "reads the repository")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const FUZZ: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz");

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(FUZZ).join(name)).unwrap()
}

#[test]
fn every_fuzz_target_is_built_and_run() {
    let manifest: toml::Table = toml::from_str(&read("Cargo.toml")).unwrap();
    let listed: BTreeSet<String> = manifest["bin"]
        .as_array()
        .unwrap()
        .iter()
        .map(|target| {
            let name = target["name"].as_str().unwrap();
            assert_eq!(target["path"].as_str().unwrap(), format!("fuzz_targets/{name}.rs"));
            name.to_owned()
        })
        .collect();
    let files: BTreeSet<String> = fs::read_dir(Path::new(FUZZ).join("fuzz_targets"))
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(listed, files, "targets of fuzz/Cargo.toml and files in fuzz/fuzz_targets");
    let script = read("run.sh");
    let (_, list) = script.split_once("\ntargets=(\n").unwrap();
    let run: BTreeSet<String> =
        list.lines().take_while(|line| *line != ")").map(|line| line.trim().to_owned()).collect();
    assert_eq!(listed, run, "targets of fuzz/Cargo.toml and fuzz/run.sh");
}

#[test]
fn every_kind_of_file_that_is_linted_has_a_fuzz_target() {
    let files = fs::read_dir(Path::new(FUZZ).join("fuzz_targets")).unwrap();
    let targets: Vec<String> = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    for kind in lint::Kind::ALL {
        let named = format!("envdoc_fuzz::lint(lint::Kind::{kind:?},");
        assert!(targets.iter().any(|target| target.contains(&named)), "no target calls {named} …)");
    }
}
