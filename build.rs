//! Writes the files of `catalog/` as JSON beside the program's own code: people read and review YAML, and the program reads the same
//! rows several times faster as JSON when it starts.
#![expect(clippy::disallowed_methods, reason = "it runs when envdoc is built")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=catalog");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut list = String::from("&[\n");
    // Signatures are many small files: they become one list, which is parsed when the first is asked for.
    let mut signatures = Vec::new();
    for name in names(Path::new("catalog"))? {
        let text = fs::read_to_string(Path::new("catalog").join(&name))?;
        let rows: serde_yaml::Value =
            serde_yaml::from_str(&text).map_err(|error| format!("catalog/{name}: {error}"))?;
        if name.starts_with("signatures/") {
            signatures.push(rows);
            continue;
        }
        writeln!(list, "    ({name:?}, {:?}),", serde_json::to_string(&rows)?)?;
    }
    list.push_str("]\n");
    fs::write(out.join("catalog.rs"), list)?;
    fs::write(out.join("signatures.json"), serde_json::to_string(&signatures)?)?;
    Ok(())
}

/// The YAML files of the catalog and of its folders, as they are named below `catalog/`, sorted.
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
