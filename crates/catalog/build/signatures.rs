//! Signatures as constants.

use std::fmt::Write as _;

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
    ("around", Field::MaybeFlag),
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
    /// `true` where it is there.
    MaybeFlag,
    Texts,
    MaybeTexts,
    /// A variant of this enumeration, by its name in kebab case.
    Variant(&'static str),
    /// Rows of this type.
    Rows(&'static str, &'static [(&'static str, Field)]),
}

/// A signature as an expression of Rust.
pub fn signature(row: &serde_yaml::Value) -> Result<String, String> {
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
        (Field::MaybeFlag, None) => Ok("false".into()),
        (Field::MaybeTexts, None) => Ok("&[]".into()),
        (_, None) => Err("is missing".into()),
        (Field::Text, Some(value)) => text(value),
        (Field::MaybeFlag, Some(value)) => match value.as_bool() {
            Some(flag) => Ok(flag.to_string()),
            None => Err(format!("true or false is wanted, not {value:?}")),
        },
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
