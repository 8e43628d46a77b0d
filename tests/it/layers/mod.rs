//! The crate graph points downwards, and the modules of a folder do not import each other in circles.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests run cargo and read the source tree"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

mod fence;
mod foreign_texts;
mod imports;
mod runtime;
mod sentences;

use imports::{Imports, cycles, rust_files};

pub(crate) type Graph = BTreeMap<String, BTreeSet<String>>;

/// The crates that each crate may use, lowest first: a crate uses only those listed before it.
const ALLOWED: &[(&str, &[&str])] = &[
    ("diagnostic", &[]),
    ("catalog", &["diagnostic"]),
    ("host", &["diagnostic"]),
    ("mcp", &["diagnostic"]),
    ("facts", &["catalog", "diagnostic", "host"]),
    ("config", &["diagnostic", "facts", "host"]),
    ("resolve", &["catalog", "diagnostic", "facts"]),
    ("project", &["catalog", "diagnostic", "host", "resolve"]),
    ("docker", &["diagnostic", "facts", "host"]),
    ("judge", &["diagnostic", "facts", "host"]),
    ("refresh", &["catalog", "docker", "host", "resolve"]),
    ("diagnose", &["catalog", "diagnostic", "docker", "facts", "host", "judge"]),
    ("image", &["catalog", "diagnose", "diagnostic", "docker", "facts", "judge", "resolve"]),
    ("build", &["catalog", "diagnostic", "docker", "facts", "host", "image", "judge", "project", "resolve"]),
    ("lint", &["catalog", "diagnostic", "facts", "host", "judge", "project", "resolve"]),
    ("cluster", &["catalog", "diagnose", "diagnostic", "docker", "facts", "host", "image", "judge"]),
    ("checks", &["catalog", "diagnostic", "facts", "host", "judge"]),
    (
        "envdoc",
        &[
            "build",
            "catalog",
            "checks",
            "cluster",
            "config",
            "diagnose",
            "diagnostic",
            "docker",
            "facts",
            "host",
            "image",
            "judge",
            "lint",
            "mcp",
            "project",
            "refresh",
            "resolve",
        ],
    ),
];

/// The workspace's crates, each with those that it uses outside its tests, without the prefix `envdoc-`.
pub(crate) fn crate_graph() -> Graph {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |value: &serde_json::Value| {
        let name = value["name"].as_str().unwrap();
        name.strip_prefix("envdoc-").unwrap_or(name).to_owned()
    };
    let uses = |package: &serde_json::Value| -> BTreeSet<String> {
        let all = package["dependencies"].as_array().unwrap().iter();
        all.filter(|one| one["path"].is_string() && one["kind"].is_null()).map(name).collect()
    };
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.map(|package| (name(package), uses(package))).collect()
}

#[test]
fn crates_use_only_crates_below_them() {
    for (index, (name, uses)) in ALLOWED.iter().enumerate() {
        let below = |used: &&str| ALLOWED[..index].iter().any(|(lower, _)| lower == used);
        assert!(uses.iter().all(below), "ALLOWED: {name} uses a crate that is not below it");
    }
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let allowed: Graph = ALLOWED.iter().map(|(name, uses)| ((*name).to_owned(), own(uses))).collect();
    let actual = crate_graph();
    for (name, uses) in &actual {
        let table = allowed.get(name).unwrap_or_else(|| panic!("{name} is not in ALLOWED"));
        let added: Vec<_> = uses.difference(table).collect();
        assert!(added.is_empty(), "{name} must not use {added:?}");
        let gone: Vec<_> = table.difference(uses).collect();
        assert!(gone.is_empty(), "{name} no longer uses {gone:?}: remove them from ALLOWED");
    }
    assert_eq!(actual.len(), allowed.len(), "ALLOWED names a crate that does not exist");
}

#[test]
fn modules_of_a_folder_have_no_import_cycles() {
    let mut explained = String::new();
    for name in crate_graph().keys() {
        for (folder, imports) in Imports::of_folders(&source_of(name)) {
            for cycle in cycles(&imports.edges) {
                explained += &format!("{name}: {folder:?} {cycle:?}\n{}", imports.explain(&cycle));
            }
        }
    }
    assert!(explained.is_empty(), "import cycles:\n{explained}");
}

#[test]
fn guesses_of_names_are_made_in_one_file() {
    let mut files = Vec::new();
    for name in crate_graph().keys() {
        for path in rust_files(&source_of(name)) {
            if std::fs::read_to_string(&path).unwrap().contains("strsim::") {
                files.push(path);
            }
        }
    }
    assert_eq!(files, [source_of("diagnostic").join("suggest.rs")], "one threshold and one rule for ties");
}

fn source_of(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if name == "envdoc" { root.join("src") } else { root.join("crates").join(name).join("src") }
}
