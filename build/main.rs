//! Writes the files of `catalog/` as JSON beside the program's own code: people read and review YAML, and the program reads the same
//! rows several times faster as JSON when it starts. Signatures, which are many and are needed for a single line already, become constants, and
//! so does the table by which their literals are found.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "it runs when envdoc is built")]

mod literals;
mod signatures;
#[expect(dead_code, reason = "some of it is for the search alone")]
#[path = "../src/diagnose/literals/table.rs"]
mod table;
mod words;

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=catalog");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut list = String::from("&[\n");
    let (mut constants, mut number) = (String::from("&[\n"), 0);
    let mut texts: Vec<(String, Option<usize>)> =
        words::WORDS.iter().map(|word| ((*word).to_owned(), None)).collect();
    for name in names(Path::new("catalog"))? {
        let text = fs::read_to_string(Path::new("catalog").join(&name))?;
        let rows: serde_yaml::Value =
            serde_yaml::from_str(&text).map_err(|error| format!("catalog/{name}: {error}"))?;
        if name.starts_with("signatures/") {
            let text = signatures::signature(&rows).map_err(|error| format!("catalog/{name}: {error}"))?;
            constants.push_str(&text);
            let own = rows.get("literals").and_then(|own| own.as_sequence()).into_iter().flatten();
            texts.extend(own.filter_map(|text| Some((text.as_str()?.to_owned(), Some(number)))));
            number += 1;
            continue;
        }
        writeln!(list, "    ({name:?}, {:?}),", serde_json::to_string(&rows)?)?;
    }
    list.push_str("]\n");
    fs::write(out.join("catalog.rs"), list)?;
    constants.push_str("]\n");
    fs::write(out.join("signatures.rs"), constants)?;
    // For `benches/diagnose.sh`, which gives the same to ripgrep.
    let listed: BTreeSet<&str> =
        texts.iter().filter(|(_, owner)| owner.is_some()).map(|(text, _)| text.as_str()).collect();
    fs::write(out.join("literals.txt"), listed.iter().map(|text| format!("{text}\n")).collect::<String>())?;
    fs::write(out.join("literals.rs"), literals::literals(texts)?)?;
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
