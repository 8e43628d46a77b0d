//! Writes the files of `catalog/` as JSON beside the program's own code: people read and review YAML, and the program reads the same
//! rows several times faster as JSON when it starts. Signatures, which are many and are needed for a single line already, become constants.
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
    let mut signatures = String::from("&[\n");
    for name in names(Path::new("catalog"))? {
        let text = fs::read_to_string(Path::new("catalog").join(&name))?;
        let rows: serde_yaml::Value =
            serde_yaml::from_str(&text).map_err(|error| format!("catalog/{name}: {error}"))?;
        if name.starts_with("signatures/") {
            signatures.push_str(&signature(&rows).map_err(|error| format!("catalog/{name}: {error}"))?);
            continue;
        }
        writeln!(list, "    ({name:?}, {:?}),", serde_json::to_string(&rows)?)?;
    }
    list.push_str("]\n");
    fs::write(out.join("catalog.rs"), list)?;
    signatures.push_str("]\n");
    fs::write(out.join("signatures.rs"), signatures)?;
    Ok(())
}

/// Keys of a signature's file, and how each becomes a field of `catalog::signatures::Signature`.
const SIGNATURE: &[(&str, Field)] = &[
    ("id", Field::Text),
    ("component", Field::Variant("Component")),
    ("role", Field::Variant("Role")),
    ("severity", Field::Variant("Severity")),
    ("pattern", Field::Text),
    ("literals", Field::Texts),
    ("captures", Field::MaybeTexts),
    ("says", Field::Text),
    ("meaning", Field::Text),
    ("causes", Field::Rows("Cause", CAUSE)),
    ("leads_to", Field::MaybeTexts),
    ("since", Field::MaybeText),
    ("until", Field::MaybeText),
    ("matches", Field::Texts),
    ("not_matches", Field::Texts),
    ("source", Field::Text),
    ("verified", Field::Variant("Verified")),
];

/// The same of `catalog::signatures::Cause`.
const CAUSE: &[(&str, Field)] =
    &[("cause", Field::Text), ("check", Field::Text), ("fix", Field::Text), ("commands", Field::MaybeTexts)];

#[derive(Clone, Copy)]
enum Field {
    Text,
    MaybeText,
    Texts,
    MaybeTexts,
    /// A variant of this enumeration, by its name in kebab case.
    Variant(&'static str),
    /// Rows of this type.
    Rows(&'static str, &'static [(&'static str, Field)]),
}

/// A signature as an expression of Rust.
fn signature(row: &serde_yaml::Value) -> Result<String, String> {
    Ok(format!("    {},\n", record("Signature", SIGNATURE, row)?))
}

fn record(name: &str, fields: &[(&str, Field)], row: &serde_yaml::Value) -> Result<String, String> {
    let row = row.as_mapping().ok_or("a mapping is wanted")?;
    if let Some(unknown) = row.keys().find(|key| !fields.iter().any(|(name, _)| key.as_str() == Some(name))) {
        return Err(format!("unknown key {unknown:?}"));
    }
    let mut text = format!("{name} {{ ");
    for (key, field) in fields {
        let value = value(*field, row.get(*key)).map_err(|error| format!("{key}: {error}"))?;
        write!(text, "{key}: {value}, ").map_err(|error| error.to_string())?;
    }
    text.push('}');
    Ok(text)
}

fn value(field: Field, value: Option<&serde_yaml::Value>) -> Result<String, String> {
    let text = |value: &serde_yaml::Value| {
        value
            .as_str()
            .map(|text| format!("{text:?}"))
            .ok_or_else(|| format!("a text is wanted, not {value:?}"))
    };
    let list = |value: &serde_yaml::Value, of: &dyn Fn(&serde_yaml::Value) -> Result<String, String>| {
        let rows = value.as_sequence().ok_or_else(|| format!("a list is wanted, not {value:?}"))?;
        let rows: Result<Vec<String>, String> = rows.iter().map(of).collect();
        Ok(format!("&[{}]", rows?.join(", ")))
    };
    match (field, value) {
        (Field::MaybeText, None) => Ok("None".into()),
        (Field::MaybeTexts, None) => Ok("&[]".into()),
        (_, None) => Err("is missing".into()),
        (Field::Text, Some(value)) => text(value),
        (Field::MaybeText, Some(value)) => Ok(format!("Some({})", text(value)?)),
        (Field::Texts | Field::MaybeTexts, Some(value)) => list(value, &text),
        (Field::Variant(of), Some(value)) => {
            let word = value.as_str().ok_or("a word is wanted")?;
            let capital = |part: &str| {
                part.chars()
                    .take(1)
                    .flat_map(char::to_uppercase)
                    .chain(part.chars().skip(1))
                    .collect::<String>()
            };
            Ok(format!("{of}::{}", word.split('-').map(capital).collect::<String>()))
        }
        (Field::Rows(name, fields), Some(value)) => list(value, &|row| record(name, fields, row)),
    }
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
