//! YAML that people write: read into a type, and what is wrong in it told with the line, its text and the
//! nearest key.

use serde::de::DeserializeOwned;

use crate::error::{Error, Kind};

/// Reads a file's text; `name` is how the file is called in messages. A file without anything in it is the
/// type's default.
pub fn parse<T: DeserializeOwned + Default>(name: &str, text: &str) -> Result<T, Error> {
    if text.lines().all(|line| line.trim().is_empty() || line.starts_with('#')) {
        return Ok(T::default());
    }
    serde_yaml::from_str(text).map_err(|error| mistake(name, text, &error))
}

/// An error of the parser as a message: the line, its text, and the nearest key.
fn mistake(name: &str, text: &str, error: &serde_yaml::Error) -> Error {
    let whole = error.to_string();
    let says = whole.split(" at line ").next().unwrap_or(&whole);
    let mut hints = Vec::new();
    let unknown = says.split("unknown field `").nth(1).and_then(|rest| rest.split('`').next());
    let mut short = says.to_owned();
    if let Some(key) = unknown {
        let listed = says.split("expected ").nth(1).unwrap_or_default();
        let keys: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
        short = format!("there is no key {key:?}");
        let score = |known: &&&str| strsim::jaro_winkler(key, known);
        if let Some(near) = keys
            .iter()
            .max_by(|one, other| score(one).total_cmp(&score(other)))
            .filter(|near| score(near) > 0.7)
        {
            hints.push(format!("did you mean {near}?"));
        }
        hints.push(format!("the keys are {}", keys.join(", ")));
    }
    let says = match error.location() {
        Some(at) => {
            // The parser tells where a mapping begins when a key in it is wrong: the key's own line is looked
            // up.
            let own = unknown.and_then(|key| {
                text.lines().position(|line| {
                    line.trim_start().trim_start_matches("- ").starts_with(&format!("{key}:"))
                })
            });
            let line = own.map_or(at.line(), |place| place + 1);
            let shown = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
            format!("{name}, line {line}: {short}\n  {line} | {shown}")
        }
        None => format!("{name}: {short}"),
    };
    Error { kind: Kind::Usage, message: says, hints }
}
