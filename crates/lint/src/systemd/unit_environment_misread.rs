//! Variables of a unit that do not get the value that is written.

use std::collections::BTreeSet;

use crate::read::unit::{Unit, UnitSetting};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "unit-environment-misread",
    severity: Severity::Warning,
    summary: "values of Environment= with spaces are quoted, and contain no variables",
    explain: include_str!("unit_environment_misread.md"),
    judge: Judge::Unit(judge),
    fires: &[
        named(
            "vllm.service",
            "[Service]\nEnvironment=VLLM_ARGS=--model /srv/m --port 8000\nExecStart=/srv/bin/vllm serve \
             $VLLM_ARGS\n",
        ),
        named("train.service", "[Service]\nEnvironment=PATH=/opt/venv/bin:$PATH\nExecStart=/srv/run.sh\n"),
        named(
            "a.service",
            "[Service]\nEnvironment=\"LD_LIBRARY_PATH=/usr/local/cuda/lib64:${LD_LIBRARY_PATH}\"\n\
             ExecStart=/srv/run\n",
        ),
        named("a.service", "[Service]\nEnvironment=HF_HOME=$HOME/.cache/huggingface\nExecStart=/srv/run\n"),
        named("a.service", "[Service]\nEnvironment=NCCL_DEBUG = INFO\nExecStart=/srv/run\n"),
    ],
    silent: &[
        named(
            "a.service",
            "[Service]\nEnvironment=\"VLLM_ARGS=--model /srv/m --port 8000\" NCCL_DEBUG=INFO \
             'B=c d'\nEnvironment=A=\"b c\"\nExecStart=/srv/run $VLLM_ARGS\n",
        ),
        named(
            "a.service",
            "[Service]\nEnvironment=PASSWORD=pa$word PRICE=5$\nExecStart=/srv/run ${PASSWORD}\n",
        ),
        named(
            "a.service",
            "[Service]\nEnvironment=CUDA_VISIBLE_DEVICES=%i HF_HOME=%h/hf\nExecStart=/srv/run\n",
        ),
        named(
            "a.service",
            "[Service]\nEnvironment=\nEnvironment=PATH=/opt/bin:/usr/bin:/bin\nExecStart=/srv/a\n",
        ),
    ],
};

fn judge(unit: &Unit) -> Vec<Found> {
    let names: BTreeSet<String> = unit.of_key("Environment").flat_map(names).collect();
    unit.of_key("Environment").filter_map(|setting| fault(setting, &names)).collect()
}

fn names(setting: &UnitSetting) -> Vec<String> {
    let words = setting.words();
    words.iter().filter_map(|word| Some(name(&word.text)?.to_owned())).collect()
}

/// The name of `NAME=value`.
fn name(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    let fits = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    fits.then_some(name)
}

fn fault(setting: &UnitSetting, names: &BTreeSet<String>) -> Option<Found> {
    let words = setting.words();
    if let Some(word) = words.iter().find(|word| name(&word.text).is_none()) {
        let message = match words.first().and_then(|first| first.text.split_once('=')) {
            Some((name, value)) if !std::ptr::eq(word, &words[0]) => format!(
                "{name} is only `{value}`: systemd ends the value at the space and ignores `{}`",
                word.text
            ),
            _ => format!("systemd ignores `{}`, which is no NAME=value", word.text),
        };
        let whole = setting.value.text.trim();
        let fix = match whole.contains('"') {
            true => "Quote the whole assignment".to_owned(),
            false => format!("Quote the whole assignment: `Environment=\"{whole}\"`"),
        };
        return Some(Found::warning(word.line, message, fix));
    }
    words.iter().find_map(|word| {
        let (own, value) = word.text.split_once('=')?;
        let used = variable(value)?;
        let known = ["PATH", "HOME", "USER", "PWD", "LD_LIBRARY_PATH", "PYTHONPATH", "CUDA_HOME"];
        if !known.contains(&used) && !names.contains(used) && used != own {
            return None;
        }
        let message = format!(
            "systemd expands no variables in Environment=: {own} contains the text `${used}`, not its value"
        );
        let fix = match used {
            "HOME" => "Use `%h`, or write the path".to_owned(),
            "PATH" => "Write the whole list: `/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin`".to_owned(),
            _ => "Write the value".to_owned(),
        };
        Some(Found::warning(word.line, message, fix))
    })
}

/// The first variable of a value: `PATH` of `/opt/bin:${PATH}`.
fn variable(value: &str) -> Option<&str> {
    value.match_indices('$').find_map(|(at, _)| {
        let rest = &value[at + 1..];
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let name = &rest[..end.unwrap_or(rest.len())];
        (!name.is_empty()).then_some(name)
    })
}
