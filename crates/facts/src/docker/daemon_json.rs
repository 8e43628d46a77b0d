//! `daemon.json`, read as dockerd reads it.

use serde_json::Value;

use super::command_line::{Unit, flags};
use crate::Fact;
use crate::IntoFact;
use catalog::Catalog;
use host::{Host, Stat};

/// `daemon.json`, raw and parsed.
#[derive(Debug, Clone)]
pub struct DaemonJson {
    /// `/etc/docker/daemon.json`, or what `--config-file` names.
    pub path: String,
    /// Unparsed.
    pub text: String,
    /// Parsed, or what is wrong where.
    pub value: Result<Value, DaemonJsonError>,
    /// Last change, seconds since 1970.
    pub modified: Fact<i64>,
}

/// Where a `daemon.json` stops being JSON, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonJsonError {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    pub message: String,
    /// What to do, where it is certain: `Delete the comma`.
    pub fix: Option<&'static str>,
}

const DEFAULT: &str = "/etc/docker/daemon.json";

pub(super) fn find(
    catalog: &Catalog,
    host: &dyn Host,
    running: &Fact<Vec<String>>,
    unit: &Fact<Unit>,
    rootless: Option<&str>,
) -> Fact<DaemonJson> {
    let system = unit.known().filter(|_| rootless.is_none());
    let argv = running.known().or(system.map(|unit| &unit.argv));
    let named =
        argv.and_then(|argv| flags(catalog, argv).into_iter().rev().find(|(name, _)| name == "config-file"));
    let path = named.map(|(_, path)| path);
    let path = path
        .or_else(|| rootless.map(|config| format!("{config}/daemon.json")))
        .unwrap_or_else(|| DEFAULT.to_owned());
    host.read(&path).text().about(&path).map(|text| DaemonJson {
        value: parse(&text),
        modified: host.stat(&path).json::<Stat>().map(|stat| stat.mtime),
        path,
        text,
    })
}

/// Parses as dockerd does: a byte order mark and an empty file are allowed (from 23.0 on), the last of two
/// equal keys counts, the top level must be an object.
pub(super) fn parse(text: &str) -> Result<Value, DaemonJsonError> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    if body.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    let at = |line, column, message: String, fix| DaemonJsonError { line, column, message, fix };
    match serde_json::from_str::<Value>(body) {
        Ok(value) if value.is_object() => Ok(value),
        Ok(_) => Err(at(1, 1, "the file must be one object in braces: { … }".to_owned(), None)),
        Err(error) => {
            let line = error.line().max(1);
            // serde_json counts bytes; people count characters.
            let here = body.lines().nth(line - 1).unwrap_or_default();
            let bytes = error.column().saturating_sub(1);
            let column = here.char_indices().take_while(|(at, _)| *at < bytes).count() + 1;
            let (message, fix) = in_words(body, line, column, &error);
            Err(at(line, column, message, fix))
        }
    }
}

/// What is there and what must be, for common mistakes, and what to do where that is certain.
fn in_words(
    text: &str,
    line: usize,
    column: usize,
    error: &serde_json::Error,
) -> (String, Option<&'static str>) {
    let here = text.lines().nth(line - 1).unwrap_or_default();
    let rest: String = here.chars().skip(column - 1).collect();
    let before = before(text, line, column);
    if before.ends_with(',') && rest.starts_with(['}', ']']) {
        return (format!("trailing comma before {}", &rest[..1]), Some("Delete the comma"));
    }
    if rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#') {
        return ("a comment, which JSON does not allow".to_owned(), Some("Delete the comment"));
    }
    (described(text, line, column, error), None)
}

/// The text before a place, without the blanks at its end.
fn before(text: &str, line: usize, column: usize) -> &str {
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let here = text.lines().nth(line - 1).unwrap_or_default();
    let offset = start + here.chars().take(column - 1).map(char::len_utf8).sum::<usize>();
    text[..offset.min(text.len())].trim_end()
}

fn described(text: &str, line: usize, column: usize, error: &serde_json::Error) -> String {
    let here = text.lines().nth(line - 1).unwrap_or_default();
    let rest: String = here.chars().skip(column - 1).collect();
    let before = before(text, line, column);
    if text.contains('\u{fffd}') {
        return "the file is not UTF-8 text".to_owned();
    }
    if error.is_eof() {
        let missing = open_brackets(text);
        return match missing.as_str() {
            "" => "the file ends in the middle of a value".to_owned(),
            missing => format!("the file ends too early: {missing} is missing at its end"),
        };
    }
    if rest.starts_with('\'') {
        return "a single quote; JSON strings need double quotes (\")".to_owned();
    }
    if rest.starts_with(['“', '”', '„', '‘', '’']) {
        return "a typographic quote; JSON strings need plain double quotes (\")".to_owned();
    }
    if rest.starts_with('"')
        && (before.ends_with(['"', '}', ']', 'e', 'l']) || before.ends_with(|c: char| c.is_ascii_digit()))
    {
        return "a comma is missing before this key or value".to_owned();
    }
    for (wrong, right) in [
        ("True", "true"),
        ("False", "false"),
        ("None", "null"),
        ("yes", "true"),
        ("no", "false"),
        ("on", "true"),
        ("off", "false"),
    ] {
        if rest.starts_with(wrong) {
            return format!("{wrong} is not JSON; write {right}");
        }
    }
    let first = rest.chars().next();
    match first {
        Some(c) if c.is_alphabetic() && before.ends_with(['{', ',']) => {
            "a key without quotes; JSON keys need double quotes (\")".to_owned()
        }
        Some('{' | '[' | '"') if serde_json::from_str::<Value>(before).is_ok() => {
            "the JSON is complete before this; the file must hold exactly one object".to_owned()
        }
        _ => {
            let said = error.to_string();
            let said = said.split(" at line ").next().unwrap_or_default();
            match first {
                Some(c) => format!("{said}, at {c:?}"),
                None => said.to_owned(),
            }
        }
    }
}

/// The closing brackets that are missing at the end: `]}`.
fn open_brackets(text: &str) -> String {
    let mut open = Vec::new();
    let (mut string, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if string => escaped = true,
            '"' => string = !string,
            '{' if !string => open.push('}'),
            '[' if !string => open.push(']'),
            '}' | ']' if !string => {
                open.pop();
            }
            _ => {}
        }
    }
    let quote = if string { "\"" } else { "" };
    let brackets: String = open.iter().rev().collect();
    format!("{quote}{brackets}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_errors_are_explained() {
        let cases = [
            ("{\n  \"debug\": true,\n}", 3, 1, "trailing comma before }"),
            ("{\n  // the runtime\n  \"debug\": true\n}", 2, 3, "a comment, which JSON does not allow"),
            ("{\n  # the runtime\n}", 2, 3, "a comment, which JSON does not allow"),
            ("{\"debug\": True}", 1, 11, "True is not JSON; write true"),
            ("{'debug': true}", 1, 2, "a single quote"),
            ("{“debug”: true}", 1, 2, "a typographic quote"),
            ("{debug: true}", 1, 2, "a key without quotes"),
            ("{\n  \"debug\": true\n  \"ipv6\": true\n}", 3, 3, "a comma is missing before this"),
            ("{\"debug\": true} {\"ipv6\": true}", 1, 17, "the JSON is complete before this"),
            ("[]", 1, 1, "must be one object"),
            ("{\"runtimes\": {\"nvidia\": {\"args\": []", 1, 35, "the file ends too early: }}} is missing"),
        ];
        for (text, line, column, expected) in cases {
            let error = parse(text).unwrap_err();
            assert!(error.message.contains(expected), "{text}: {error:?}");
            assert_eq!((error.line, error.column), (line, column), "{text}: {error:?}");
        }
    }

    #[test]
    fn what_dockerd_accepts_is_accepted() {
        for text in ["", " \n", "{}", "\u{feff}{\"debug\": true}", "{\"debug\": false, \"debug\": true}"] {
            assert!(parse(text).is_ok(), "{text:?}");
        }
        assert_eq!(parse("{\"debug\": false, \"debug\": true}").unwrap()["debug"], true);
    }
}
