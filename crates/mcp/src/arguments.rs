//! What the schema of a tool says of its arguments, checked before the tool runs: names, types, empty texts.

use diagnostic::error::{Error, Kind};
use diagnostic::suggest::nearest;
use serde_json::{Map, Value};

use crate::tool::{MAX_BYTES, MAX_BYTES_DEFAULT, MIN_BYTES};

/// The arguments that every tool has.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) max_bytes: usize,
    pub(crate) cursor: Option<String>,
}

/// Takes the common arguments out of those of a call; the rest is the tool's own.
///
/// # Errors
/// An argument that the schema does not have, a value of another type, or an empty text.
pub(crate) fn checked(
    tool: &str,
    schema: &Map<String, Value>,
    mut given: Map<String, Value>,
) -> Result<(Common, Map<String, Value>), Error> {
    // Some clients send null for what is not given.
    given.retain(|_, value| !value.is_null());
    let no_properties = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&no_properties);
    for (name, value) in &given {
        let names = || properties.keys().map(String::as_str);
        let Some(property) = properties.get(name) else {
            let error = Error::new(Kind::Usage, format!("unknown argument {name:?}"));
            let known = names().collect::<Vec<_>>().join(", ");
            return Err(error
                .did_you_mean(nearest(name, names()))
                .hint(format!("arguments of {tool}: {known}")));
        };
        let expected = types(property);
        let found = type_of(value);
        let number = found == "integer" && expected.contains(&"number");
        if !expected.is_empty() && !expected.contains(&found) && !number {
            let expected: Vec<&str> = expected.into_iter().filter(|one| *one != "null").collect();
            let message = format!("argument {name:?} is of type {found}, not {}", expected.join(" or "));
            return Err(Error::new(Kind::Usage, message));
        }
        if is_empty(value) {
            return Err(Error::new(Kind::Usage, format!("argument {name:?} is empty"))
                .hint("leave out what is not needed"));
        }
    }
    let max_bytes = max_bytes(given.remove("max_bytes"))?;
    let cursor = given.remove("cursor").and_then(|cursor| cursor.as_str().map(str::to_owned));
    Ok((Common { max_bytes, cursor }, given))
}

fn max_bytes(value: Option<Value>) -> Result<usize, Error> {
    let Some(value) = value else { return Ok(MAX_BYTES_DEFAULT) };
    let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
    number.filter(|number| (MIN_BYTES..=MAX_BYTES).contains(number)).ok_or_else(|| {
        Error::new(Kind::Usage, format!("max_bytes is {value}; it must be {MIN_BYTES} to {MAX_BYTES}"))
    })
}

/// The types that a schema allows; none: any.
fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(entries) => entries.iter().any(is_empty),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(given: Value) -> Result<(Common, Map<String, Value>), Error> {
        let schema = json!({"type": "object", "properties": {
            "from": {"type": ["string", "null"]}, "only": {"type": "array"}, "timeout": {"type": "number"},
            "max_bytes": {"type": "integer"}, "cursor": {"type": "string"}
        }});
        let Value::Object(given) = given else { panic!("{given}") };
        checked("check", schema.as_object().unwrap(), given)
    }

    #[test]
    fn arguments_are_checked_against_the_schema() {
        let (common, rest) = check(json!({"from": "a", "only": ["gpu"], "timeout": null})).unwrap();
        assert_eq!((common.max_bytes, common.cursor), (MAX_BYTES_DEFAULT, None));
        assert_eq!(Value::Object(rest), json!({"from": "a", "only": ["gpu"]}));
        assert!(check(json!({"timeout": 20})).is_ok() && check(json!({"timeout": 0.5})).is_ok());
        let (common, rest) = check(json!({"max_bytes": 9000, "cursor": "1.2"})).unwrap();
        assert_eq!((common.max_bytes, common.cursor.as_deref(), rest.len()), (9000, Some("1.2"), 0));
        for (given, message, hint) in [
            (json!({"form": "a"}), "unknown argument \"form\"", "did you mean from?"),
            (json!({"from": 5}), "argument \"from\" is of type integer, not string", ""),
            (json!({"only": "gpu"}), "argument \"only\" is of type string, not array", ""),
            (json!({"from": ""}), "argument \"from\" is empty", "leave out"),
            (json!({"only": ["gpu", ""]}), "argument \"only\" is empty", "leave out"),
            (json!({"max_bytes": 1}), "max_bytes is 1; it must be 8192 to 1048576", ""),
            (json!({"max_bytes": -1}), "max_bytes is -1; it must be", ""),
        ] {
            let error = check(given).unwrap_err();
            assert!(error.message.starts_with(message), "{}", error.message);
            assert!(error.hints.join(" ").starts_with(hint), "{:?}", error.hints);
        }
    }
}
