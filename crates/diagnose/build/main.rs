//! Writes the table by which the literals of all signatures are found in a log.
#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a build script")]

mod literals;
#[expect(dead_code, reason = "some of it is for the search alone")]
#[path = "../src/literals/table.rs"]
mod table;
mod words;

use std::collections::BTreeSet;
use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/literals/table.rs");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut texts: Vec<(String, Option<usize>)> =
        words::WORDS.iter().map(|word| ((*word).to_owned(), None)).collect();
    // One list a signature, in the order of `catalog::signatures::all`; written by the build script of
    // `catalog`.
    let path = env::var("DEP_ENVDOC_CATALOG_LITERALS")?;
    println!("cargo::rerun-if-changed={path}");
    let literals: Vec<Vec<String>> = serde_json::from_str(&fs::read_to_string(path)?)?;
    for (number, literals) in literals.into_iter().enumerate() {
        texts.extend(literals.into_iter().map(|text| (text, Some(number))));
    }
    // For `benches/diagnose.sh`, which gives the same to ripgrep.
    let listed: BTreeSet<&str> =
        texts.iter().filter(|(_, owner)| owner.is_some()).map(|(text, _)| text.as_str()).collect();
    fs::write(out.join("literals.txt"), listed.iter().map(|text| format!("{text}\n")).collect::<String>())?;
    fs::write(out.join("literals.rs"), literals::literals(texts)?)?;
    Ok(())
}
