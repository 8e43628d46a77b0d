//! A variable or an operator of the shell where no shell is.

use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::start::{command, entrypoint};
use crate::read::dockerfile::{Dockerfile, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "exec-form-not-expanded",
    severity: Severity::Error,
    summary: "the JSON form of CMD, ENTRYPOINT and RUN uses nothing that only a shell replaces",
    explain: include_str!("exec_form_not_expanded.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM ubuntu:24.04\nENV PORT=8000\nCMD [\"serve\", \"--port\", \"$PORT\"]\n"),
        dockerfile("FROM ubuntu:24.04\nENTRYPOINT [\"serve\", \"--config=${CONFIG}\"]\n"),
        dockerfile("FROM ubuntu:24.04\nCMD [\"prepare\", \"&&\", \"serve\"]\n"),
        dockerfile("FROM ubuntu:24.04\nCMD [\"serve\", \"~/models\"]\n"),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:24.04\nENV PORT=8000\nCMD [\"sh\", \"-c\", \"serve --port $PORT && true\"]\n",
        ),
        dockerfile("FROM ubuntu:24.04\nENV PORT=8000\nCMD serve --port $PORT\n"),
        dockerfile("FROM ubuntu:24.04\nENTRYPOINT [\"/bin/bash\", \"-lc\"]\nCMD [\"serve $PORT\"]\n"),
        dockerfile("FROM ubuntu:24.04\nCMD [\"awk\", \"{print $NF}\", \"file\"]\n"),
        dockerfile("FROM ubuntu:24.04\nENTRYPOINT [\"/entrypoint.sh\"]\nCMD [\"serve\", \"$PORT\"]\n"),
    ],
};

/// Programs that replace variables themselves, or whose own language has such a sign.
const OWN: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "ash",
    "busybox",
    "awk",
    "gawk",
    "sed",
    "perl",
    "envsubst",
    "eval",
    "pwsh",
    "powershell",
    "cmd",
    "cmd.exe",
    "powershell.exe",
    "dotenv",
    "confd",
    "supervisord",
    "s6-svscan",
    "pixi",
    "just",
    "make",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let started: Vec<&Instruction> = entrypoint(file).into_iter().chain(command(file)).collect();
    // An entry script may evaluate what it gets.
    let scripted = entrypoint(file).and_then(|one| one.json.as_deref()).and_then(<[String]>::first);
    let scripted = scripted.is_some_and(|first| first.ends_with(".sh") || name(first).contains("entrypoint"));
    let words = || started.iter().filter_map(|one| one.json.as_deref()).flatten();
    let shell_starts = words().any(|word| OWN.contains(&name(word)));
    let mut found = Vec::new();
    let Some(last) = file.stages.last() else { return found };
    let runs = last.instructions.iter().filter(|one| one.keyword == "RUN");
    let starts = started.iter().copied().filter(|_| !shell_starts && !scripted);
    for one in starts.chain(runs) {
        let Some(words) =
            one.json.as_deref().filter(|words| !words.iter().any(|word| OWN.contains(&name(word))))
        else {
            continue;
        };
        found.extend(words.iter().find_map(|word| fault(last, one, word)));
    }
    found
}

fn name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

fn fault(stage: &Stage, one: &Instruction, word: &str) -> Option<Found> {
    let fix = format!("Use the shell form, or `[\"sh\", \"-c\", \"exec …\"]`, in {}", one.keyword);
    if matches!(word, "&&" | "||" | "|" | ";" | ">" | ">>" | "2>&1" | "<" | "&") {
        let message = format!("the JSON form runs no shell; `{word}` is an argument of the program");
        return Some(Found::error(one.line, message, fix));
    }
    if word.starts_with("~/") {
        return Some(Found::warning(
            one.line,
            format!("the JSON form runs no shell; `{word}` is not expanded"),
            fix,
        ));
    }
    let variable = variable(word)?;
    let set = stage.end.variables.has(variable);
    let message = format!(
        "the JSON form runs no shell; the program gets the text `{word}`, not the value of {variable}"
    );
    Some(Found::error(one.line, message, fix).unless_certain(set))
}

/// The variable that a word is, or that an option has for its value.
fn variable(word: &str) -> Option<&str> {
    let value = match word.split_once('=') {
        Some((option, value)) if option.starts_with('-') => value,
        _ => word,
    };
    let at = value.find('$')?;
    let body = &value[at + 1..];
    let plain = |name: &str| {
        name.len() > 1
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let name = match body.strip_prefix('{') {
        Some(inner) => inner.split(['}', ':', '-']).next()?,
        None => body.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next()?,
    };
    (plain(name) && !value.contains([' ', '\n', '\''])).then_some(name)
}
