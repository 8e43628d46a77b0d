//! `helm --set` where Kubernetes takes a text alone.

use crate::read::handed::all_commands;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "helm-value-not-text",
    severity: Severity::Warning,
    summary: "values of labels, selectors and variables reach Helm as texts",
    explain: include_str!("helm_value_not_text.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "deploy.sh",
            "helm upgrade -i asr ./c \\\n  --set nodeSelector.\"nvidia\\.com/gpu\\.present\"=true\n",
        ),
        named("deploy.sh", "helm install a b --set image.tag=x,podAnnotations.sidecar=false\n"),
        named("deploy.sh", "helm install a b --set=env[0].name=WORLD_SIZE,env[0].value=8\n"),
    ],
    silent: &[
        named("deploy.sh", "helm install a b --set-string nodeSelector.gpu=true --set image.tag=1.10\n"),
        named(
            "deploy.sh",
            "helm install a b --set nodeSelector.pool=gpu --set replicas=2 --set labels.enabled=true\n",
        ),
        named("deploy.sh", "helm install a b --set env[0].name=X --set env[0].value=$N --set mig.value=1\n"),
    ],
};

/// Keys below which every value is a text: the fields are maps of strings in the API.
const MAPS: &[&str] = &[
    "nodeSelector",
    "podLabels",
    "podAnnotations",
    "annotations",
    "matchLabels",
    "commonLabels",
    "extraLabels",
    "additionalLabels",
    "serviceAnnotations",
    "labels",
];

fn judge(script: &Script) -> Vec<Found> {
    let mut found = Vec::new();
    for command in all_commands(script).iter().filter(|one| one.program() == "helm") {
        for (at, word) in command.words.iter().enumerate() {
            let next = command.words.get(at + 1);
            let (given, line) = match word.text.strip_prefix("--set=") {
                Some(given) => (given, word.line),
                None if word.text == "--set" => match next {
                    Some(next) => (next.text.as_str(), next.line),
                    None => continue,
                },
                None => continue,
            };
            for pair in given.split(',') {
                let Some((key, value)) = pair.rsplit_once('=').filter(|(key, _)| is_of_texts(key)) else {
                    continue;
                };
                let kind = match value {
                    "true" | "false" => "boolean",
                    _ if value.len() > 1 && value.starts_with('0') => continue,
                    _ if value.parse::<i64>().is_ok() => "number",
                    _ => continue,
                };
                let message = format!(
                    "--set makes {value} a {kind}, and Kubernetes takes only texts there: `cannot \
                     unmarshal`, \
                     unless the chart quotes {key}"
                );
                let fix = format!("Use `--set-string {key}={value}`");
                found.push(Found::warning(line, message, fix));
            }
        }
    }
    found
}

/// Whether a key is a field whose values are texts.
fn is_of_texts(key: &str) -> bool {
    // `\.` is part of a name.
    let plain = key.replace("\\.", "_");
    let parts: Vec<&str> = plain.split('.').collect();
    let below = parts[..parts.len().saturating_sub(1)].iter().any(|part| MAPS.contains(part));
    let variable = parts.last() == Some(&"value")
        && parts.len() > 1
        && parts[parts.len() - 2].to_ascii_lowercase().contains("env")
        && parts[parts.len() - 2].ends_with(']');
    let switch = parts.last() == Some(&"enabled");
    (below || variable) && !switch
}
