//! Signatures as constants.

use std::error::Error;
use std::fmt::Write as _;

/// Keys of a signature's file, and how each becomes a field of `catalog::signatures::Signature`.
const SIGNATURE: &[(&str, Field)] = &[
    ("id", Field::Text),
    ("component", Field::Variant("Component")),
    ("role", Field::Variant("Role")),
    ("severity", Field::Variant("Severity")),
    ("reports", Field::MaybeVariants("Report")),
    ("signal", Field::MaybeVariant("Signal")),
    ("exit_codes", Field::MaybeNumbers),
    ("yields", Field::MaybeFlag),
    ("candidate_after", Field::MaybeTexts),
    ("machine_fault", Field::MaybeVariant("MachineFault")),
    ("unfinished", Field::MaybeRows("Unfinished", UNFINISHED)),
    ("counts_if", Field::MaybeRow("CountsIf", COUNTS_IF)),
    ("derived", Field::MaybeVariant("Derived")),
    ("pattern", Field::Text),
    ("literals", Field::Texts),
    ("captures", Field::MaybeTexts),
    ("message", Field::Text),
    ("meaning", Field::Text),
    ("context_lines", Field::MaybeFlag),
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

/// The same of `catalog::signatures::Unfinished`.
const UNFINISHED: &[(&str, Field)] = &[
    ("becomes", Field::Text),
    ("times", Field::Number),
    ("lines_after", Field::Number),
    ("message", Field::MaybeText),
];

/// The same of `catalog::signatures::CountsIf`.
const COUNTS_IF: &[(&str, Field)] =
    &[("same", Field::Text), ("times", Field::Number), ("with", Field::Texts), ("without", Field::Texts)];

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
    MaybeVariant(&'static str),
    MaybeVariants(&'static str),
    /// Rows of this type.
    Rows(&'static str, &'static [(&'static str, Field)]),
    MaybeRows(&'static str, &'static [(&'static str, Field)]),
    MaybeRow(&'static str, &'static [(&'static str, Field)]),
    Number,
    MaybeNumbers,
}

/// Text of an expression of Rust.
type Expression = Result<String, Box<dyn Error>>;

/// A signature as an expression of Rust.
pub(crate) fn signature(row: &serde_yaml::Value) -> Expression {
    Ok(format!("    {},\n", record("Signature", SIGNATURE, row)?))
}

fn record(name: &str, fields: &[(&str, Field)], row: &serde_yaml::Value) -> Expression {
    let row = row.as_mapping().ok_or("expected a mapping")?;
    if let Some(unknown) = row.keys().find(|key| !fields.iter().any(|(name, _)| key.as_str() == Some(name))) {
        return Err(format!("unknown key {unknown:?}").into());
    }
    let mut text = format!("{name} {{ ");
    for (key, field) in fields {
        let value = value(*field, row.get(*key)).map_err(|error| format!("{key}: {error}"))?;
        write!(text, "{key}: {value}, ")?;
    }
    text.push('}');
    Ok(text)
}

fn value(field: Field, value: Option<&serde_yaml::Value>) -> Expression {
    let Some(value) = value else {
        return match field {
            Field::MaybeText | Field::MaybeVariant(_) | Field::MaybeRow(..) => Ok("None".into()),
            Field::MaybeFlag => Ok("false".into()),
            Field::MaybeTexts | Field::MaybeVariants(_) | Field::MaybeRows(..) | Field::MaybeNumbers => {
                Ok("&[]".into())
            }
            _ => Err("is missing".into()),
        };
    };
    match field {
        Field::Text => text(value),
        Field::MaybeText => Ok(format!("Some({})", text(value)?)),
        Field::MaybeFlag => match value.as_bool() {
            Some(flag) => Ok(flag.to_string()),
            None => Err(format!("expected true or false, found {value:?}").into()),
        },
        Field::Texts | Field::MaybeTexts => list(value, &text),
        Field::Variant(of) => variant(of, value),
        Field::MaybeVariant(of) => Ok(format!("Some({})", variant(of, value)?)),
        Field::MaybeVariants(of) => list(value, &|value| variant(of, value)),
        Field::Rows(name, fields) | Field::MaybeRows(name, fields) => {
            list(value, &|row| record(name, fields, row))
        }
        Field::MaybeRow(name, fields) => Ok(format!("Some({})", record(name, fields, value)?)),
        Field::Number => number(value),
        Field::MaybeNumbers => list(value, &number),
    }
}

fn text(value: &serde_yaml::Value) -> Expression {
    let text = value.as_str().ok_or_else(|| format!("expected a string, found {value:?}"))?;
    Ok(format!("{text:?}"))
}

fn number(value: &serde_yaml::Value) -> Expression {
    let number = value.as_i64().ok_or_else(|| format!("expected an integer, found {value:?}"))?;
    Ok(number.to_string())
}

fn list(value: &serde_yaml::Value, of: &dyn Fn(&serde_yaml::Value) -> Expression) -> Expression {
    let rows = value.as_sequence().ok_or_else(|| format!("expected a list, found {value:?}"))?;
    let rows: Result<Vec<String>, Box<dyn Error>> = rows.iter().map(of).collect();
    Ok(format!("&[{}]", rows?.join(", ")))
}

/// A variant by its name in kebab case.
fn variant(of: &str, value: &serde_yaml::Value) -> Expression {
    let word = value.as_str().ok_or_else(|| format!("expected a word, found {value:?}"))?;
    let capital = |part: &str| {
        let mut letters = part.chars();
        letters.next().map(char::to_uppercase).into_iter().flatten().chain(letters).collect::<String>()
    };
    Ok(format!("{of}::{}", word.split('-').map(capital).collect::<String>()))
}
