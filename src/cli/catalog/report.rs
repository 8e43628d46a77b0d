//! The catalog for people: its files, the rows of one, one row with everything.

use std::fmt::Write;
use std::path::Path;

use serde_yaml::Value;

use catalog::browse::{InUse, Shown};
use catalog::rules::{Broken, scalar};
use refresh::Outcome;

/// The list of files.
pub(super) fn files(files: &[InUse]) -> String {
    let widest = files.iter().map(|file| file.file.len()).max().unwrap_or(0);
    let mut text = format!("{:widest$}  rows  newest day  from\n", "file");
    for file in files {
        let from = match &file.cached {
            Some(path) => path.display().to_string(),
            None => "embedded".into(),
        };
        let _ = writeln!(text, "{:widest$}  {:>4}  {:10}  {from}", file.file, file.rows, file.checked);
    }
    text
}

/// The rows of a file, a line each, cut to the width.
pub(super) fn rows(file: &InUse, rows: &[Shown], width: usize) -> String {
    let mut text = heading(file);
    let mut table = "";
    let longest = |table: &str| {
        rows.iter().filter(|row| row.table == table).map(|row| row.key.chars().count()).max().unwrap_or(0)
    };
    for row in rows {
        if row.table != table {
            table = row.table;
            let _ = write!(text, "\n{table}\n");
        }
        let widest = longest(table).min(width / 3);
        let mut line = format!("  {:widest$}", cut(&row.key, widest));
        for (name, value) in row.row.as_mapping().into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            let one = scalar(value).or_else(|| list(value)).unwrap_or_default();
            if !one.is_empty() && !["source", "checked", "note"].contains(&name) && one != row.key {
                let _ = write!(line, "  {name} {one}");
            }
        }
        text.push_str(cut(&line, width).trim_end());
        text.push('\n');
    }
    text
}

fn heading(file: &InUse) -> String {
    let from = match &file.cached {
        Some(path) => format!("cached: {}", path.display()),
        None => "embedded".into(),
    };
    format!("{}: {} rows, newest day {}, {from}\n", file.file, file.rows, file.checked)
}

fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width && width > 3 {
        true => text.chars().take(width - 3).chain("...".chars()).collect(),
        false => text.to_owned(),
    }
}

/// A list of scalars.
fn list(value: &Value) -> Option<String> {
    let parts: Option<Vec<String>> = value.as_sequence()?.iter().map(scalar).collect();
    parts.filter(|parts| !parts.is_empty()).map(|parts| parts.join(", "))
}

/// Everything that is known of one row.
pub(super) fn row(file: &InUse, row: &Shown, width: usize) -> String {
    let from = match &file.cached {
        Some(path) => format!("cached: {}", path.display()),
        None => "embedded".into(),
    };
    let mut text = format!("{} {} ({}, {from})\n", row.file.trim_end_matches(".yaml"), row.key, row.table);
    fields(&row.row, "  ", width, &mut text);
    text
}

fn fields(value: &Value, indent: &str, width: usize, text: &mut String) {
    for (name, value) in value.as_mapping().into_iter().flatten() {
        let name = scalar(name).unwrap_or_default();
        if let (true, Some(ids)) = (name == "pci_ids", value.as_sequence()) {
            let ids: Vec<String> =
                ids.iter().filter_map(|id| Some(format!("{:#06x}", id.as_u64()?))).collect();
            line(text, indent, "pci_ids: ", &ids.join(", "), width);
        } else if let Some(one) = scalar(value).or_else(|| list(value)) {
            line(text, indent, &format!("{name}: "), &one, width);
        } else if value.as_sequence().is_some_and(Vec::is_empty) {
            line(text, indent, &format!("{name}: "), "none", width);
        } else {
            let _ = writeln!(text, "{indent}{name}:");
            let below = format!("{indent}  ");
            match value.as_sequence() {
                None => fields(value, &below, width, text),
                Some(list) => list.iter().for_each(|item| self::item(item, &below, width, text)),
            }
        }
    }
}

/// An item of a list of mappings: the first line has a dash.
fn item(item: &Value, indent: &str, width: usize, text: &mut String) {
    let start = text.len();
    fields(item, &format!("{indent}  "), width, text);
    let dash = start + indent.len();
    if text.get(dash..dash + 1) == Some(" ") {
        text.replace_range(dash..dash + 1, "-");
    }
}

fn line(text: &mut String, indent: &str, name: &str, value: &str, width: usize) {
    let first = format!("{indent}{name}");
    let next = format!("{indent}    ");
    let options =
        textwrap::Options::new(width).initial_indent(&first).subsequent_indent(&next).break_words(false);
    for line in textwrap::wrap(value, options) {
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

pub(super) fn verified(files: usize, rows: usize, broken: &[Broken]) -> String {
    let mut text: String = broken.iter().map(|one| format!("{one}\n")).collect();
    let _ = match broken.len() {
        0 => writeln!(text, "{files} files, {rows} rows: valid"),
        count => writeln!(text, "{files} files, {rows} rows: {count} rule violations"),
    };
    text
}

/// The result of a refresh; `target` is the directory it was written to.
pub(super) fn refreshed(outcome: &Outcome, target: Option<&Path>) -> String {
    let mut text = String::new();
    for added in &outcome.added {
        let mark = if added.changed { '~' } else { '+' };
        let _ = writeln!(text, "{mark} {} {}", added.file.trim_end_matches(".yaml"), added.key);
        for line in added.text.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    for broken in &outcome.refused {
        let _ = writeln!(text, "rejected: {broken}");
    }
    for note in &outcome.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let (rows, files) = (outcome.added.len(), outcome.texts.len());
    let _ = match (rows, target) {
        (0, _) => writeln!(text, "nothing new"),
        (_, None) => writeln!(text, "{rows} new in {files} files; nothing was written"),
        (_, Some(target)) => writeln!(text, "{rows} new in {files} files, written to {}", target.display()),
    };
    text
}
