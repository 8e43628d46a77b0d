//! SARIF 2.1.0, as code hosts read it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::json::IgnoredEntry;
use crate::report::{Outcome, Report, RuleInfo};
use crate::{Diagnostic, Edit, Fix, Severity, Subject, Verdict};

/// What a URI reference to a path keeps as it is.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b'~');

/// The log of one run: findings, as notes of kind `open` what could not be checked, and as a notification
/// what settings files leave out.
pub fn report(report: &Report) -> Value {
    let mut rules: Vec<&RuleInfo> = Vec::new();
    for outcome in report.results.iter().filter(|outcome| shown(outcome)) {
        if !rules.iter().any(|rule| rule.id == outcome.rule.id) {
            rules.push(&outcome.rule);
        }
    }
    let index = |outcome: &Outcome| rules.iter().position(|rule| rule.id == outcome.rule.id);
    let results: Vec<Value> =
        report.results.iter().filter_map(|outcome| result(outcome, index(outcome))).collect();
    let properties: Map<String, Value> =
        report.properties.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let mut run = json!({
        "tool": {"driver": {
            "name": "envdoc",
            "version": env!("CARGO_PKG_VERSION"),
            "rules": rules.iter().map(|one| rule(one)).collect::<Vec<_>>(),
        }},
        // Of the edits of fixes.
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": properties,
    });
    if let Some(statement) = IgnoredEntry::statement(report.ignored()) {
        let notification = json!({"level": "note", "message": {"text": statement}});
        run["invocations"] =
            json!([{"executionSuccessful": true, "toolConfigurationNotifications": [notification]}]);
    }
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    })
}

fn shown(outcome: &Outcome) -> bool {
    matches!(outcome.verdict, Verdict::Found(_) | Verdict::Unknown(_))
}

fn rule(rule: &RuleInfo) -> Value {
    let mut value = json!({
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "defaultConfiguration": {"level": level(rule.severity)},
    });
    if !rule.explain.is_empty() {
        value["help"] = json!({"text": rule.explain, "markdown": rule.explain});
    }
    value
}

fn result(outcome: &Outcome, index: Option<usize>) -> Option<Value> {
    let (level, kind, text) = match &outcome.verdict {
        Verdict::Pass | Verdict::NotApplicable(_) => return None,
        Verdict::Unknown(why) => ("none", "open", format!("could not check: {why}")),
        Verdict::Found(found) => (level(found.severity), "fail", message(found)),
    };
    let mut value = json!({
        "ruleId": outcome.rule.id,
        "ruleIndex": index,
        "level": level,
        "kind": kind,
        "message": {"text": text},
    });
    let fixes: Vec<Value> = outcome.verdict.found().map(fixes).unwrap_or_default();
    if !fixes.is_empty() {
        value["fixes"] = json!(fixes);
    }
    let locations = locations(&outcome.subject);
    if !locations.is_empty() {
        value["locations"] = json!(locations);
    }
    Some(value)
}

/// The fixes that a program can apply: those with edits.
fn fixes(found: &Diagnostic) -> Vec<Value> {
    let with_edits = found.fixes.iter().filter(|fix| !fix.edits.is_empty());
    let fix = |fix: &Fix| {
        json!({
            "description": {"text": fix.title},
            "artifactChanges": changes(&fix.edits),
            "properties": {"class": fix.class.word()},
        })
    };
    with_edits.map(fix).collect()
}

/// What a fix changes, file by file. Every region is of the file before the fix.
fn changes(edits: &[Edit]) -> Vec<Value> {
    let mut files: Vec<(&str, Vec<Value>)> = Vec::new();
    for edit in edits {
        match files.iter_mut().find(|(file, _)| *file == edit.file) {
            Some((_, replacements)) => replacements.push(replacement(edit)),
            None => files.push((&edit.file, vec![replacement(edit)])),
        }
    }
    let change = |(file, replacements): (&str, Vec<Value>)| {
        let location = json!({"uri": uri(file)});
        json!({"artifactLocation": location, "replacements": replacements})
    };
    files.into_iter().map(change).collect()
}

fn replacement(edit: &Edit) -> Value {
    let Edit { start, end, text, .. } = edit;
    json!({
        "deletedRegion": {
            "startLine": start.line,
            "startColumn": start.column,
            "endLine": end.line,
            "endColumn": end.column,
        },
        "insertedContent": {"text": text},
    })
}

/// A path as a relative reference.
fn uri(file: &str) -> String {
    utf8_percent_encode(file.trim_start_matches("./"), PATH).to_string()
}

fn message(found: &Diagnostic) -> String {
    match found.fixes.first() {
        Some(fix) if !fix.title.is_empty() => {
            let commands: String = fix.commands.iter().map(|command| format!("\n  {command}")).collect();
            format!("{}\nfix: {}{commands}", found.message, fix.title)
        }
        _ => found.message.clone(),
    }
}

fn locations(subject: &Subject) -> Vec<Value> {
    let mut location = Map::new();
    if let Some(file) = &subject.file {
        let mut physical = json!({"artifactLocation": {"uri": uri(file)}});
        if let Some(line) = subject.line {
            physical["region"] = json!({"startLine": line});
            if let Some(column) = subject.column {
                physical["region"]["startColumn"] = json!(column);
            }
        }
        location.insert("physicalLocation".into(), physical);
    }
    let logical: Vec<Value> = [(&subject.node, "node"), (&subject.name, "member")]
        .iter()
        .filter_map(|(name, kind)| name.as_ref().map(|name| json!({"name": name, "kind": kind})))
        .collect();
    if !logical.is_empty() {
        location.insert("logicalLocations".into(), json!(logical));
    }
    if location.is_empty() { Vec::new() } else { vec![Value::Object(location)] }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}
