//! A whole command in one word of the JSON form.

use crate::one_word::{is_option_with_value, listed, program_of};
use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::start::{command, entrypoint};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "exec-form-in-one-word",
    severity: Severity::Error,
    summary: "the JSON form of CMD and ENTRYPOINT has one item for each word",
    explain: include_str!("exec_form_in_one_word.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12-slim\nCMD [\"python train.py\"]\n"),
        dockerfile("FROM python:3.12-slim\nENTRYPOINT [\"python -m app\"]\nCMD [\"--help\"]\n"),
        dockerfile("FROM vllm/vllm-openai:v0.8.5\nCMD [\"--model\", \"m/n\", \"--port 8000\"]\n"),
    ],
    silent: &[
        dockerfile("FROM python:3.12-slim\nCMD [\"python\", \"train.py\"]\n"),
        dockerfile("FROM python:3.12-slim\nENTRYPOINT [\"bash\", \"-c\"]\nCMD [\"python train.py\"]\n"),
        dockerfile("FROM python:3.12-slim\nCMD python train.py\n"),
        dockerfile("FROM python:3.12-slim\nCMD [\"bash\", \"-lc\", \"--port 8000\"]\n"),
        dockerfile(
            "FROM python:3.12-slim\nCMD [\"python\", \"a.py\", \"--prompt\", \"-- a b\", \"--x=a b\"]\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = program(file);
    if found.is_empty() {
        found.extend([entrypoint(file), command(file)].into_iter().flatten().find_map(option));
    }
    found
}

/// An option and its value in one item.
fn option(one: &Instruction) -> Option<Found> {
    let words = one.json.as_ref()?;
    let shell = ["sh", "bash", "zsh", "dash", "sbatch", "ssh"];
    if words.iter().any(|word| shell.contains(&word.rsplit('/').next().unwrap_or_default())) {
        return None;
    }
    let word = words.iter().find(|word| is_option_with_value(word))?;
    let message = format!(
        "{word:?} is one argument: the program looks for an option of that whole name (`unrecognized \
         arguments`)"
    );
    let fix = format!("Write `{}`", listed(word));
    Some(Found::warning(one.line, message, fix))
}

fn program(file: &Dockerfile) -> Vec<Found> {
    let entry = entrypoint(file);
    let Some(one) = entry.or_else(|| command(file)) else { return Vec::new() };
    let Some(word) = one.json.as_ref().and_then(|words| words.first()) else { return Vec::new() };
    let Some(program) = program_of(word) else { return Vec::new() };
    let base = file.shipped().last().map(|stage| stage.from.clone());
    let plain = matches!(base, Some(crate::read::dockerfile::From::Image(image))
        if image.is_official());
    let message = format!(
        "the first item of {} is {word:?}; the container looks for a program of that name, not for {program}",
        one.keyword
    );
    let fix = format!("Write `{} [{}]`", one.keyword, listed(word));
    vec![Found::error(one.line, message, fix).unless_certain(entry.is_some() || plain)]
}
