//! YAML that people write: read into a type, and errors with the line, its text and the
//! nearest key.

use serde::de::DeserializeOwned;

use crate::error::{Error, Kind};
use crate::suggest::nearest;

/// Reads a file's text; `name` is how the file is called in messages. A file without anything in it is the
/// type's default.
pub fn parse<T: DeserializeOwned + Default>(name: &str, text: &str) -> Result<T, Error> {
    if text.lines().all(|line| line.trim().is_empty() || line.starts_with('#')) {
        return Ok(T::default());
    }
    if let Some(line) = too_deep(text) {
        return Err(Error::new(Kind::Usage, format!("{name}, line {line}: {TOO_DEEP}")));
    }
    serde_yaml::from_str(text).map_err(|error| mistake(name, text, &error))
}

/// What is wrong where [`too_deep`] names a line.
pub const TOO_DEEP: &str = "it is nested deeper than 1000 levels";

/// The nesting that is let through to the parser, in brackets or columns. Its time grows with the square of
/// the depth and more, and it has no limit of its own before it has read everything.
const DEPTH_MAX: usize = 1000;

/// The line at which a text is nested too deeply to be parsed in a short time. Brackets are counted wherever
/// they stand, in strings and comments too: no file that people write has a thousand that are not closed.
pub fn too_deep(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (index, line) in text.lines().enumerate() {
        let markers = line.bytes().take_while(|byte| matches!(byte, b' ' | b'-' | b'?' | b'\t')).count();
        for byte in line.bytes() {
            match byte {
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            if open > DEPTH_MAX {
                return Some(index + 1);
            }
        }
        if markers > DEPTH_MAX {
            return Some(index + 1);
        }
    }
    None
}

/// Types of Rust in the parser's messages, and the words for them. The parser has no other form of an error.
const TYPES: &[(&[&str], &str)] = &[
    (&["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"], "a whole number"),
    (&["f32", "f64"], "a number"),
    (&["bool", "a boolean"], "true or false"),
    (&["a sequence"], "a list"),
    (&["a map"], "a mapping"),
];

/// `invalid type: string "x", expected u32` in the words of the person who wrote the file.
fn without_rust_types(message: &str) -> String {
    let Some((start, expected)) = message.rsplit_once("expected ") else { return message.to_owned() };
    let words = match TYPES.iter().find(|(types, _)| types.contains(&expected)) {
        Some((_, words)) => words,
        None if expected.starts_with("struct ") => "a mapping",
        None => expected,
    };
    format!("{start}expected {words}")
}

/// An error of the parser as a message: the line, its text, and the nearest key.
fn mistake(name: &str, text: &str, error: &serde_yaml::Error) -> Error {
    let whole = error.to_string();
    let message = whole.split(" at line ").next().unwrap_or(&whole);
    let mut hints = Vec::new();
    let unknown = message.split("unknown field `").nth(1).and_then(|rest| rest.split('`').next());
    let mut short = without_rust_types(message);
    if let Some(key) = unknown {
        let listed = message.split("expected ").nth(1).unwrap_or_default();
        let keys: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
        short = format!("unknown key {key:?}");
        if let Some(near) = nearest(key, keys.iter().copied()) {
            hints.push(format!("did you mean {near}?"));
        }
        hints.push(format!("the keys are {}", keys.join(", ")));
    }
    let message = match error.location() {
        Some(at) => {
            // The parser tells where a mapping begins when a key in it is wrong: the key's own line is looked
            // up.
            let own = unknown.and_then(|key| {
                text.lines().position(|line| {
                    line.trim_start().trim_start_matches("- ").starts_with(&format!("{key}:"))
                })
            });
            let line = own.map_or(at.line(), |index| index + 1);
            let shown = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
            format!("{name}, line {line}: {short}\n  {line} | {shown}")
        }
        None => format!("{name}: {short}"),
    };
    Error { kind: Kind::Usage, message, hints }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_errors_have_no_rust_types() {
        #[derive(Debug, Default, serde::Deserialize)]
        #[serde(default)]
        struct File {
            port: u32,
            on: bool,
            names: Vec<String>,
        }
        for (text, expected) in [
            ("port: x\n", "a whole number"),
            ("port: 1\non: 3\n", "true or false"),
            ("names: {a: b}\n", "a list"),
        ] {
            let error = parse::<File>("f.yaml", text).unwrap_err();
            let first = error.message.lines().next().unwrap_or_default();
            assert!(first.ends_with(&format!("expected {expected}")), "{first}");
        }
        let file = parse::<File>("f.yaml", "port: 1\non: true\nnames: [a]\n").unwrap();
        assert!(file.port == 1 && file.on && file.names.len() == 1);
    }

    #[test]
    fn deep_nesting_is_refused_before_it_is_parsed() {
        assert_eq!(too_deep(&"[".repeat(200_000)), Some(1));
        assert_eq!(too_deep(&format!("a: 1\n{}b: 1\n", " ".repeat(3000))), Some(2));
        assert_eq!(too_deep(&"- ".repeat(3000)), Some(1));
        assert_eq!(too_deep(&"a: [{b: [1, 2]}]\n".repeat(5000)), None);
        let error = parse::<Vec<String>>("image.yaml", &"[".repeat(2000)).unwrap_err();
        assert_eq!(error.message, "image.yaml, line 1: it is nested deeper than 1000 levels");
    }
}
