//! A package manager that asks in a build, where nobody answers.

use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::{Dockerfile, Run, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "prompt-unanswered",
    severity: Severity::Error,
    summary: "dnf, zypper, pacman, pip uninstall and apt-get upgrade ask no questions in a build",
    explain: include_str!("prompt_unanswered.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM rockylinux:9\nRUN dnf install git && dnf clean all\n"),
        dockerfile("FROM python:3.12\nRUN pip install einops==0.8.0 && pip uninstall einops\n"),
        dockerfile("FROM python:3.12\nRUN apt-get update && apt-get upgrade\n"),
        dockerfile("FROM python:3.11-slim\nRUN pip install huggingface_hub && huggingface-cli login\n"),
    ],
    silent: &[
        // conda takes its default, yes, at the end of its input.
        dockerfile("FROM continuumio/miniconda3:24.7.1-0\nRUN conda create -n x python=3.10\n"),
        dockerfile("FROM rockylinux:9\nRUN dnf -y install git && yes | dnf install gcc && dnf -yq update\n"),
        dockerfile("FROM python:3.12\nRUN pip uninstall -y torch\n"),
        dockerfile("FROM python:3.12\nRUN apt-get -y upgrade && apt-get autoremove --yes && conda list\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().flat_map(stage).collect()
}

fn stage(stage: &Stage) -> Vec<Found> {
    let configured = stage.instructions.iter().any(|one| {
        let heredocs = one.heredocs.iter().map(|heredoc| &heredoc.text.text);
        std::iter::once(&one.text.text).chain(heredocs).any(|text| {
            let words = ["assumeyes", "Assume-Yes", "/apt.conf", "expect"];
            words.iter().any(|word| text.contains(word))
        })
    });
    if configured {
        return Vec::new();
    }
    stage.runs.iter().filter_map(fault).collect()
}

fn fault(run: &Run) -> Option<Found> {
    let command = &run.command;
    let (what, certain, option) = asks(run)?;
    let answered = command.piped || command.heredoc.is_some() || has_yes(command);
    // `$OPTS` may be the answer.
    let unknown = command.words.iter().any(|word| !word.known && word.text.starts_with(['$', '-']));
    if answered || unknown {
        return None;
    }
    let of_apt = what.starts_with("apt");
    let when = if of_apt { " where it changes a package" } else { "" };
    if option == "--token" {
        let message = format!("`{what}` asks for a token; a build has no input, and the command fails");
        let fix = "Pass the token in a secret mount: `--token \"$(cat /run/secrets/hf_token)\"`";
        return Some(Found::error(command.line, message, fix).unless_certain(command.certain));
    }
    let message =
        format!("`{what}` asks for confirmation{when}; a build has no input, and the command aborts");
    // apt does not ask about what is not installed.
    if of_apt && ["remove", "purge", "autoremove"].iter().any(|verb| what.ends_with(verb)) {
        return Some(Found::note(command.line, message, format!("Add `{option}`")));
    }
    Some(
        Found::error(command.line, message, format!("Add `{option}`"))
            .unless_certain(certain && command.certain),
    )
}

/// What asks, whether it certainly does, and the option that answers.
fn asks(run: &Run) -> Option<(String, bool, &'static str)> {
    let command = &run.command;
    let program = command.program();
    let verb =
        command.words.iter().skip(1).map(|word| word.text.as_str()).find(|word| !word.starts_with('-'))?;
    let what = format!("{program} {verb}");
    match program {
        "dnf" | "yum" => {
            let one = matches!(verb, "install" | "update" | "upgrade" | "remove" | "groupinstall");
            one.then_some((what, true, "-y"))
        }
        "zypper" => {
            let off = command.has("-n") || command.has("--non-interactive");
            (matches!(verb, "install" | "in" | "update" | "up") && !off).then_some((
                what,
                true,
                "--non-interactive",
            ))
        }
        "pacman" => {
            let installs =
                verb.is_empty() || command.words.get(1).is_some_and(|word| word.text.starts_with("-S"));
            let what = format!("pacman {}", command.word(1));
            (installs && !command.has("--noconfirm")).then_some((what, true, "--noconfirm"))
        }
        "pip" | "pip3" if verb == "uninstall" => {
            // apt skips what is not there and does not ask.
            let names =
                command.words.iter().skip(2).map(|word| word.text.to_ascii_lowercase().replace('_', "-"));
            let certain = names.into_iter().any(|name| run.state.packages.contains_key(&name));
            Some((what, certain, "-y"))
        }
        "huggingface-cli" | "hf" => {
            let login = matches!(verb, "login" | "auth") && (verb == "login" || command.has("login"));
            (login && !command.text().contains("--token")).then_some((what, true, "--token"))
        }
        "apt-get" | "apt" => {
            let one = ["upgrade", "dist-upgrade", "full-upgrade", "remove", "purge", "autoremove"];
            let quiet = command.has("-qq") || command.has("-s") || command.has("--simulate");
            (one.iter().any(|verb| apt::verb(command, verb)) && !quiet).then_some((what, false, "-y"))
        }
        _ => None,
    }
}

/// `-y`, `--yes`, `-yq`, `--assume-yes`.
fn has_yes(command: &Command) -> bool {
    command.words.iter().any(|word| {
        let text = word.text.as_str();
        let short = text.starts_with('-') && !text.starts_with("--") && text.contains('y') && text.len() <= 5;
        short
            || matches!(
                text,
                "--yes" | "--assume-yes" | "--assumeyes" | "--noconfirm" | "--non-interactive" | "--assumeno"
            )
            || text.starts_with("--assumeyes=")
    })
}
