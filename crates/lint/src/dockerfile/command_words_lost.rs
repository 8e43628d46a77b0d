//! Words of CMD that the shell of `bash -c` drops, or that ENTRYPOINT has already.

use crate::programs;
use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::start::{command, entrypoint};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "command-words-lost",
    severity: Severity::Error,
    summary: "ENTRYPOINT and CMD together are the command that is meant",
    explain: include_str!("command_words_lost.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12\nCMD [\"bash\", \"-c\", \"python\", \"train.py\"]\n"),
        dockerfile(
            "FROM python:3.12\nENTRYPOINT [\"/bin/sh\", \"-c\"]\nCMD [\"torchrun\", \"train.py\", \"--lr\", \
             \"1\"]\n",
        ),
        dockerfile(
            "FROM python:3.12\nENTRYPOINT [\"python\", \"train.py\"]\nCMD [\"python\", \"train.py\", \
             \"--lr\", \"1\"]\n",
        ),
        dockerfile("FROM python:3.12\nENTRYPOINT [\"python\"]\nCMD [\"python\", \"app.py\"]\n"),
    ],
    silent: &[
        dockerfile("FROM python:3.12\nCMD [\"bash\", \"-c\", \"python train.py\"]\n"),
        dockerfile(
            "FROM python:3.12\nENTRYPOINT [\"bash\", \"-c\", \"exec \\\"$@\\\"\", \"--\"]\nCMD [\"python\", \
             \"a.py\"]\n",
        ),
        dockerfile(
            "FROM python:3.12\nCOPY entry.sh /\nENTRYPOINT [\"/entry.sh\"]\nCMD [\"/entry.sh\", \"x\"]\n",
        ),
        dockerfile("FROM python:3.12\nENTRYPOINT [\"python\", \"train.py\"]\nCMD [\"--lr\", \"1\"]\n"),
        dockerfile("FROM python:3.12\nENTRYPOINT [\"tini\", \"--\"]\nCMD [\"bash\", \"-lc\", \"run\"]\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let json = |one: Option<&'_ Instruction>| one.and_then(|one| one.json.clone()).unwrap_or_default();
    let (entry, cmd) = (entrypoint(file), command(file));
    let (first, second) = (json(entry), json(cmd));
    let Some(line) = cmd.or(entry).map(|one| one.line) else { return Vec::new() };
    // In shell form either ends the command.
    if entry.is_some_and(|one| one.json.is_none()) || cmd.is_some_and(|one| one.json.is_none()) {
        return Vec::new();
    }
    if let Some(again) = repeated(&first, &second) {
        let message = format!(
            "CMD repeats `{again}` of ENTRYPOINT: the container runs `{} {}`",
            first.join(" "),
            second.join(" ")
        );
        let fix = "Keep only the arguments in CMD";
        return vec![Found::error(line, message, fix)];
    }
    let words: Vec<&str> = first.iter().chain(&second).map(String::as_str).collect();
    let Some((shell, script, rest)) = shell_command(&words) else { return Vec::new() };
    let message = format!(
        "{shell} -c runs `{script}` alone; `{}` are its $0, $1, …, which nothing uses",
        rest.join(" ")
    );
    let fix =
        format!("Write the command as one item: \"{script} {}\", or leave the shell out", rest.join(" "));
    vec![Found::error(line, message, fix)]
}

/// What CMD begins with, where ENTRYPOINT is no script that runs its arguments and begins with the same.
fn repeated(entry: &[String], cmd: &[String]) -> Option<String> {
    let first = entry.first()?;
    let name = first.rsplit('/').next()?;
    let same = cmd.len() >= entry.len() && cmd[..entry.len()] == *entry;
    ((programs::is_python(name) || programs::is_launcher(name) || programs::is_server(name)) && same)
        .then(|| entry.join(" "))
}

/// A shell with the script of `-c` that is one plain word, and the words behind it.
fn shell_command<'w>(words: &[&'w str]) -> Option<(&'w str, &'w str, Vec<&'w str>)> {
    let shell = words.first()?.rsplit('/').next()?;
    let option =
        words.get(1).filter(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'));
    let script = words.get(2)?;
    let plain = |letter: char| letter.is_alphanumeric() || "_-./".contains(letter);
    let rest = words.get(3..).filter(|rest| !rest.is_empty())?;
    let known = matches!(shell, "sh" | "bash" | "dash" | "zsh") && option.is_some();
    (known && script.chars().all(plain) && !rest[0].starts_with("--"))
        .then(|| (shell, *script, rest.to_vec()))
}
