//! A variable of the compose file under another name than in `.env`.

use std::collections::BTreeMap;

use crate::read::compose::{Compose, Service};
use crate::rule::{Example, Found, Judge, Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "variable-undefined",
    severity: Severity::Warning,
    summary: "variables of a compose file have the names of .env",
    explain: include_str!("variable_undefined.md"),
    judge: Judge::Compose(judge),
    fires: &[
        Example {
            name: "compose.yaml",
            text: "services:\n  a:\n    image: example/a:${MODEL_VERSON}\n",
            companions: &[(".env", "MODEL_VERSION=3\n")],
        },
        Example {
            name: "compose.yaml",
            text: "services:\n  a:\n    image: vllm/vllm-openai:${VLLM_VERSION}\n    gpus: all\n    \
                env_file: versions.env\n",
            companions: &[("versions.env", "VLLM_VERSION=v0.8.5\n")],
        },
    ],
    silent: &[
        Example {
            name: "compose.yaml",
            text: "services:\n  a:\n    image: example/a:${MODEL_VERSON:-3}\n    command: echo \
                $${MODEL_VERSON}\n",
            companions: &[(".env", "MODEL_VERSION=3\n")],
        },
        Example {
            name: "compose.yaml",
            text: "services:\n  a:\n    image: example/a:${MODEL_VERSION}-${HOME}-${MODEL_VERSION1}\n",
            companions: &[(".env", "MODEL_VERSION=3\n")],
        },
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let source = file.files.get(".env").and_then(Option::as_deref);
    if let Some(found) = of_env_file(file, source.unwrap_or_default()) {
        return vec![found];
    }
    let Some(defined) = file.names_of_env_file() else { return Vec::new() };
    let used = used(&file.text);
    // Names that are used under their own name are meant for that.
    let free: Vec<&str> = defined.iter().copied().filter(|name| !used.contains_key(*name)).collect();
    let unknown = used.iter().filter(|(name, (_, bare))| *bare && !defined.contains(name.as_str()));
    let found = unknown.filter_map(|(name, (line, _))| {
        let near = diagnostic::suggest::typo_of(name, free.iter().copied())?;
        let message = format!(
            "{name} is not defined: .env defines {near}; docker compose uses an empty text where the \
             environment has none"
        );
        Some(Found::warning(*line, message, format!("Write `${{{near}}}`")).about(name))
    });
    found.collect()
}

/// A variable that only a file of `env_file` sets: that is for the container, and compose does not read it
/// when it replaces variables in the file itself.
fn of_env_file(file: &Compose, own: &str) -> Option<Found> {
    let sets = |text: &str, name: &str| {
        text.lines().any(|line| {
            let line = line.trim_start().trim_start_matches("export ");
            line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with('='))
        })
    };
    let all = used(&file.text);
    all.iter().filter(|(name, (_, bare))| *bare && !sets(own, name)).find_map(|(name, (line, _))| {
        let path = file.services.iter().flat_map(Service::env_files).find(|path| {
            let path = crate::read::dockerfile::copied::join("", path);
            path != ".env"
                && file.files.get(&path).and_then(Option::as_deref).is_some_and(|text| sets(text, name))
        })?;
        let message = format!(
            "{name} is set in {path}, which env_file gives to the container only; docker compose replaces \
             ${{{name}}} here with an empty text"
        );
        Some(
            Found::warning(*line, message, format!("Set it in .env, or start with `--env-file {path}`"))
                .about(name),
        )
    })
}

/// The variables of a file, with the line of the first one, and whether that has no default.
fn used(source: &str) -> BTreeMap<String, (usize, bool)> {
    let mut found = BTreeMap::new();
    for (index, line) in source.lines().enumerate() {
        if line.trim_start().starts_with('#') {
            continue;
        }
        let line = line.replace("$$", "");
        for (at, _) in line.match_indices('$') {
            let rest = &line[at + 1..];
            let (braced, name) = rest.strip_prefix('{').map_or((false, rest), |rest| (true, rest));
            let end = name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            let end = end.unwrap_or(name.len());
            let bare = !braced || name[end..].starts_with('}');
            if end > 0 && !name.starts_with(|letter: char| letter.is_ascii_digit()) {
                found.entry(name[..end].to_owned()).or_insert((index + 1, bare));
            }
        }
    }
    found
}
