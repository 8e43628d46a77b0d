//! A whole command in one word of a list.

use serde_yaml::Value;

use crate::base::Base;
use crate::one_word::{is_option_with_value, listed, program_of};
use crate::read::compose::{Compose, Service, text};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "command-in-one-word",
    severity: Severity::Error,
    summary: "lists of entrypoint and command have one item for each word",
    explain: include_str!("command_in_one_word.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  a:\n    image: pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime\n    gpus: all\n    \
             command: [\"python train.py --epochs 3\"]\n",
        ),
        compose("services:\n  a:\n    image: example/a\n    command:\n      - python train.py\n"),
        compose("services:\n  a:\n    image: example/a\n    entrypoint: [\"python -m app\"]\n"),
        compose(
            "services:\n  a:\n    image: vllm/vllm-openai:v0.8.5\n    gpus: all\n    command: [--model, m/n, \
             \"--max-model-len 8192\"]\n",
        ),
    ],
    silent: &[
        compose("services:\n  a:\n    image: example/a\n    command: [\"python\", \"train.py\"]\n"),
        compose("services:\n  a:\n    image: example/a\n    command: python train.py\n"),
        compose(
            "services:\n  a:\n    image: example/a\n    entrypoint: [bash, -c]\n    command: [\"python \
             t.py\"]\n",
        ),
        compose("services:\n  a:\n    image: example/a\n    command: [bash, -c, \"python t.py\"]\n"),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let own = file.services.iter().filter(|one| !one.extends_elsewhere);
    own.filter_map(|service| fault(service).or_else(|| option(service))).collect()
}

/// An option and its value in one item.
fn option(service: &Service) -> Option<Found> {
    let shells = ["sh", "bash", "zsh", "dash", "ash", "-c", "-lc"];
    let all = [service.list(&["entrypoint"]), service.list(&["command"])].concat();
    if all.iter().any(|word| {
        word.split_whitespace().any(|one| shells.contains(&one.rsplit('/').next().unwrap_or(one)))
    }) {
        return None;
    }
    let Some(Value::Sequence(items)) = service.at(&["command"]) else { return None };
    let word = items.iter().filter_map(text).find(|word| is_option_with_value(word))?;
    let message = format!(
        "service {}: {word:?} is one argument; the program does not know it as an option (`unrecognized \
         arguments`)",
        service.name
    );
    let fix = format!("Write two items: `{}`", listed(&word));
    Some(Found::warning(service.line_of("command"), message, fix))
}

fn fault(service: &Service) -> Option<Found> {
    let key = if service.at(&["entrypoint"]).is_some() { "entrypoint" } else { "command" };
    let Some(Value::Sequence(items)) = service.at(&[key]) else { return None };
    let word = text(items.first()?)?;
    let program = program_of(&word)?;
    let image = service.text("image").unwrap_or_default();
    let certain =
        key == "entrypoint" || Base::of(&image).is_some() || image.starts_with("nvcr.io/nvidia/pytorch:");
    let message = format!(
        "service {}: the first item of {key} is {word:?}; the container looks for a program of that \
         name, not \
         for {program}",
        service.name
    );
    let fix = format!("Write {key} as one string, or one item for each word: `[{}]`", listed(&word));
    Some(Found::error(service.line_of(key), message, fix).unless_certain(certain))
}
