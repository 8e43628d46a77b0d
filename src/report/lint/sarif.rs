//! SARIF 2.1.0, as code hosts read it.

use serde_json::{Value, json};

use crate::lint::{Finding, RULES, Rule, Severity};

/// The log of one run.
pub fn report(findings: &[Finding]) -> Value {
    let mut used: Vec<&Rule> = RULES.to_vec();
    used.retain(|rule| findings.iter().any(|finding| finding.rule.id == rule.id));
    let results = findings.iter().map(|finding| result(finding, &used)).collect::<Vec<_>>();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "envdoc",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": used.iter().map(|one| rule(one)).collect::<Vec<_>>(),
            }},
            "results": results,
        }],
    })
}

fn rule(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.explain, "markdown": rule.explain},
        "defaultConfiguration": {"level": level(rule.severity)},
    })
}

fn result(finding: &Finding, rules: &[&Rule]) -> Value {
    let found = &finding.found;
    let text = match found.fix.is_empty() {
        true => found.says.clone(),
        false => format!("{}\nfix: {}", found.says, found.fix),
    };
    json!({
        "ruleId": finding.rule.id,
        "ruleIndex": rules.iter().position(|rule| rule.id == finding.rule.id),
        "level": level(found.severity),
        "message": {"text": text},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": uri(&finding.file)},
            "region": {"startLine": found.line},
        }}],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// A path as a URI reference.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.trim_start_matches("./").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                out.push(byte as char)
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
