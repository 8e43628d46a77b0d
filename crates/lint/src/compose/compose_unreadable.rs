//! A compose file that is no YAML.

use crate::read::compose::Compose;
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "compose-unreadable",
    severity: Severity::Error,
    summary: "the file is valid YAML with a `services` mapping",
    explain: include_str!("compose_unreadable.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    image: b\n   image: c\n"),
        compose("services:\n  - a\n"),
        compose("services:\n  a:\n    image: b\n    shm_size: 1g\n    shm_size: 5g\n"),
        compose("services:\n{% for name in names %}\n  a:\n    image: b\n{% endfor %}\n"),
    ],
    silent: &[compose("services:\n  a:\n    image: b\n"), compose("include:\n  - other.yaml\n")],
};

fn judge(file: &Compose) -> Vec<Found> {
    if let Some((location, why)) = &file.broken {
        if file.template {
            return vec![Found::note(
                location.clone(),
                "file is a template and was not checked",
                "Lint the rendered file",
            )];
        }
        let why = why.lines().next().unwrap_or_default().trim_end_matches('.').to_owned();
        return vec![Found::error(location.clone(), format!("not valid YAML: {why}"), "")];
    }
    match file.top("services") {
        Some(services) if !services.is_mapping() && !services.is_null() => {
            let message = "`services` is not a mapping; compose refuses the file";
            vec![Found::error(file.line(&["services"]), message, "Write `services: {NAME: {image: …}}`")]
        }
        _ => Vec::new(),
    }
}
