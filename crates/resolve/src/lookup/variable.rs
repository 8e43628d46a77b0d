//! Environment variables of NCCL, PyTorch, CUDA and the programs around them.

use super::Explanation;
use catalog::variables::{DiscouragedKind, Status, Variable, VariableType};

pub(super) fn explain(variable: &Variable) -> Explanation {
    let owner = variable.owner.title();
    let summary = match (variable.status, &variable.deprecated_by) {
        (Status::Current, _) => format!("An environment variable of {owner}."),
        (Status::Deprecated, Some(new)) => {
            format!("A deprecated environment variable of {owner}; use {new} instead.")
        }
        (Status::Deprecated, None) => format!("A deprecated environment variable of {owner}."),
        (Status::Removed, Some(new)) => {
            format!("An environment variable that {owner} no longer reads; use {new} instead.")
        }
        (Status::Removed, None) => format!("An environment variable that {owner} no longer reads."),
        (Status::NotRead, Some(new)) => {
            format!("No release of any known program reads this variable; {new} is probably meant.")
        }
        (Status::NotRead, None) => "No release of any known program reads this variable.".to_owned(),
        (Status::Build, _) => format!("Read only where a program is built against {owner}."),
        (Status::Label, _) => "Images set it to state what they contain; no program reads it.".to_owned(),
    };
    let meaning = variable.meaning.as_deref().unwrap_or_default();
    let summary = format!("{summary} {meaning}");
    let mut explanation = Explanation::new(&variable.name, summary.trim());
    let value = variable.kind.map(kind).map(|kind| match variable.type_guessed {
        true => format!("{kind} (a guess from its name)"),
        false => kind.to_owned(),
    });
    explanation.row("value", value.unwrap_or_default());
    explanation.row("allowed", variable.allowed_text().unwrap_or_default());
    let options: Vec<&str> = variable.options.iter().map(|option| option.name.as_str()).collect();
    explanation.row("options", options.join(", "));
    explanation.row("default", variable.default.as_deref().unwrap_or_default());
    let since = variable.since.as_deref().map(|since| match since.strip_prefix("<=") {
        Some(release) => format!("{release} or older"),
        None => since.to_owned(),
    });
    let newest = if variable.status == Status::Removed { "" } else { ", the newest that was looked at" };
    let releases = match (&since, &variable.last_seen) {
        (Some(since), Some(last)) => format!("{owner} {since} to {last}{newest}"),
        (Some(since), None) => format!("{owner} {since} or newer"),
        (None, Some(last)) => format!("seen in {owner} {last}"),
        (None, None) => String::new(),
    };
    explanation.row("releases", releases);
    if !variable.documented && matches!(variable.status, Status::Current | Status::Deprecated) {
        explanation.row("documented", format!("no, {owner} may change it without notice"));
    }
    if variable.set_by_launcher {
        explanation.row("set by", "torchrun and DeepSpeed's launcher, for each rank");
    }
    explanation.row("risk", variable.risk.as_deref().unwrap_or_default());
    for one in &variable.discouraged {
        let label = format!("={}", one.value);
        let text = match one.kind {
            DiscouragedKind::TransportOff => format!("discouraged: {}", one.effect),
            DiscouragedKind::WorseThanDefault => format!("seldom better than the default: {}", one.effect),
        };
        explanation.row(&label, text);
    }
    explanation.sources(variable.source.iter());
    explanation
}

/// What a value is, with its unit.
fn kind(kind: VariableType) -> &'static str {
    match kind {
        VariableType::Bool => "on or off",
        VariableType::Cidr => "address range (CIDR)",
        VariableType::Enum => "one of a list",
        VariableType::Int => "integer",
        VariableType::IntBytes => "integer, bytes",
        VariableType::IntMinutes => "integer, minutes",
        VariableType::IntMs => "integer, milliseconds",
        VariableType::IntS => "integer, seconds",
        VariableType::List => "list",
        VariableType::Path => "path",
        VariableType::String => "text",
    }
}
