//! Writes the files of `catalog/` as JSON: people read and review YAML, and the program reads the same rows
//! several times faster as JSON. Signatures, which are many, are packed: see `catalog::signatures`.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a build script")]

#[path = "../src/signatures/rows/mod.rs"]
#[expect(dead_code, unreachable_pub, reason = "written for the program, which uses the rest")]
mod rows;
#[path = "../src/severity.rs"]
#[expect(dead_code, unreachable_pub, reason = "written for the program, which uses the rest")]
mod severity;

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

const CATALOG: &str = "../../catalog";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed={CATALOG}");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut files = String::from("&[\n");
    let mut signatures: Vec<rows::Signature<String>> = Vec::new();
    for name in names(Path::new(CATALOG))? {
        let text = fs::read_to_string(Path::new(CATALOG).join(&name))?;
        let named = |error: serde_yaml::Error| format!("catalog/{name}: {error}");
        if name.starts_with("signatures/") {
            signatures.push(serde_yaml::from_str(&text).map_err(named)?);
            continue;
        }
        let rows: serde_yaml::Value = serde_yaml::from_str(&text).map_err(named)?;
        if name == "variables.yaml" {
            let rows = rows["rows"].as_sequence().ok_or("variables.yaml: expected rows")?;
            let names: Option<Vec<&str>> = rows.iter().map(|row| row["name"].as_str()).collect();
            let names = names.ok_or("variables.yaml: expected a name in each row")?;
            fs::write(out.join("variable_names.rs"), format!("&{names:?}"))?;
        }
        writeln!(files, "    ({name:?}, {:?}),", serde_json::to_string(&rows)?)?;
    }
    fs::write(out.join("catalog.rs"), files + "]\n")?;
    fs::write(out.join("signatures.bin"), postcard::to_stdvec(&signatures)?)?;
    // For the build script of `diagnose`, which makes its search table of them.
    let literals: Vec<&[String]> = signatures.iter().map(|one| one.literals.as_slice()).collect();
    let path = out.join("literals.json");
    fs::write(&path, serde_json::to_string(&literals)?)?;
    println!("cargo::metadata=literals={}", path.display());
    Ok(())
}

/// The YAML files below a folder, named relative to it, sorted.
fn names(catalog: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let (mut names, mut folders) = (Vec::new(), vec![String::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(catalog.join(&folder))? {
            let entry = entry?;
            let name = format!("{folder}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push(format!("{name}/"));
            } else if name.ends_with(".yaml") {
                names.push(name);
            }
        }
    }
    names.sort_unstable();
    Ok(names)
}
