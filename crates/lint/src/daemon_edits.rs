//! Changes of daemon.json that are certain: misspelled keys, quotes that are missing or too many, and commas
//! before a closing bracket.

use catalog::docker_daemon::Kind as ValueKind;
use diagnostic::suggest::typo_of;
use serde_json::Value;

use crate::edit::Replacement;
use crate::read::machine::Machine;
use crate::rule::{Change, Kind};

/// What to change for a finding about a key, or about the whole file.
pub(crate) fn change(machine: &Machine, key: Option<&str>) -> Option<Change> {
    if machine.kind != Kind::DaemonJson {
        return None;
    }
    match key {
        Some(key) => of_key(machine, key),
        None => comma(&machine.text).map(Change::Bytes),
    }
}

fn of_key(machine: &Machine, key: &str) -> Option<Change> {
    let file: Value = serde_json::from_str(&machine.text).ok()?;
    let table = machine.catalog.docker_daemon();
    let line = line_of(&machine.text, key)?;
    let Some(row) = table.key(key) else {
        let of_flag = table.flag(key).map(|row| row.key.as_str());
        let near = of_flag.or_else(|| typo_of(key, table.all().iter().map(|row| row.key.as_str())))?;
        return file.get(near).is_none().then(|| Change::key(line, key, near));
    };
    let value = file.get(key)?;
    match (row.kind, value) {
        (ValueKind::Boolean, Value::String(text)) => {
            let word = ["true", "false"].into_iter().find(|word| word.eq_ignore_ascii_case(text))?;
            Some(Change::word(line, &format!("\"{text}\""), word))
        }
        (ValueKind::Number, Value::String(text)) if text.parse::<u32>().is_ok() => {
            Some(Change::word(line, &format!("\"{text}\""), text))
        }
        (ValueKind::Texts, Value::Object(entries)) => {
            let scalar = |value: &&Value| value.is_number() || value.is_boolean();
            let (inner, _) = entries.iter().find(|(_, value)| scalar(value))?;
            Some(Change::quote(line_of(&machine.text, inner)?, inner))
        }
        _ => None,
    }
}

/// The line of a key, where it is once in the file.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let quoted = format!("\"{key}\"");
    let at = text.find(&quoted).filter(|_| text.matches(&quoted).count() == 1)?;
    Some(text[..at].matches('\n').count() + 1)
}

/// The first comma before a closing bracket, where the file is JSON without all of these.
fn comma(text: &str) -> Option<Replacement> {
    let mut commas: Vec<usize> = Vec::new();
    let (mut in_string, mut escaped, mut last) = (false, false, None);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '}' | ']' => commas.extend(last.filter(|comma| text[*comma..].starts_with(','))),
            _ => {}
        }
        if in_string || !letter.is_whitespace() {
            last = Some(at);
        }
    }
    let mut whole = text.to_owned();
    commas.iter().rev().for_each(|at| whole.replace_range(*at..*at + 1, ""));
    let first = commas.first()?;
    serde_json::from_str::<Value>(&whole).ok()?;
    Some(Replacement { range: *first..*first + 1, text: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_before_brackets() {
        let of = |text: &str| comma(text).map(|one| one.range.start);
        assert_eq!(of("{\"a\": [1,],}"), Some(8));
        assert_eq!(of("{\"a\": \",}\",\n}"), Some(10));
        assert_eq!(of("{\"a\": \",}\"}"), None);
        assert_eq!(of("{\"a\": 1,"), None, "not JSON without it");
    }
}
