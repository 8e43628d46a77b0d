//! Operators and variables of a shell in a command that no shell runs.

use serde_yaml::Value;

use crate::read::compose::{Compose, Service};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "command-without-shell",
    severity: Severity::Warning,
    summary: "commands with operators or variables of a shell are run by one",
    explain: include_str!("command_without_shell.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    image: b\n    command: cd /app && python train.py\n"),
        compose(
            "services:\n  a:\n    image: b\n    command: [torchrun, \"--node_rank=$$NODE_RANK\", \
                train.py]\n",
        ),
        compose("services:\n  a:\n    image: b\n    command: bash -c cd /app && python train.py\n"),
        compose("services:\n  a:\n    image: b\n    command: torchrun --node_rank $$NODE_RANK train.py\n"),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: b\n    command: bash -c \"cd /app && torchrun \
                --node_rank=$$NODE_RANK t.py\"\n",
        ),
        compose("services:\n  a:\n    image: b\n    entrypoint: [sh, -c]\n    command: [\"a && b $$C\"]\n"),
        compose("services:\n  a:\n    image: b\n    command: [bash, -lc, \"exec a > /log 2>&1\"]\n"),
        compose("services:\n  a:\n    image: b\n    command: python -c 'print(1); print(2)'\n"),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    file.services.iter().filter(|one| !one.extends_elsewhere).filter_map(finding).collect()
}

fn finding(service: &Service) -> Option<Found> {
    let words = service.words();
    let line = service.line_of(if service.at(&["command"]).is_some() { "command" } else { "entrypoint" });
    let shell = words.iter().position(|word| is_shell(word));
    let script = shell.and_then(|at| {
        let options = &words[at + 1..];
        let option = options
            .iter()
            .take_while(|word| word.starts_with('-') || word.starts_with('+') || *word == "pipefail");
        let count = option.count();
        let last = options.get(count.checked_sub(1)?)?;
        (last.starts_with('-') && !last.starts_with("--") && last.ends_with('c')).then_some(at + 1 + count)
    });
    // What is behind the script are its arguments.
    let outside: Vec<&String> = match script {
        Some(at) => words.iter().skip(at + 1).collect(),
        None if shell.is_some() => return None,
        None => words.iter().collect(),
    };
    let operator = outside.iter().find(|word| is_operator(word));
    if let Some(operator) = operator {
        let what = match script {
            Some(_) => "the shell gets only the word after -c as its script",
            None => "no shell runs the command",
        };
        let message = match service.at(&["command"]) {
            // docker compose ends the command there.
            Some(Value::String(_)) if script.is_none() && service.at(&["entrypoint"]).is_none() => {
                format!(
                    "service {}: docker compose drops {operator:?} and everything after it; {what}",
                    service.name
                )
            }
            _ => format!("service {}: {operator:?} is passed as an argument; {what}", service.name),
        };
        return Some(Found::warning(line, message, "Write `bash -c \"…\"` with the whole script in quotes"));
    }
    let variable = outside.iter().filter(|_| script.is_none()).find_map(|word| variable(word))?;
    let message =
        format!("service {}: {variable} in the command is not expanded: no shell runs it", service.name);
    Some(Found::warning(
        line,
        message,
        "Write `bash -c \"…\"`, or `$` alone for a variable of docker compose",
    ))
}

/// Whether a word is a shell, with or without its directory.
pub(super) fn is_shell(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    matches!(name, "sh" | "bash" | "zsh" | "dash" | "ash")
}

fn is_operator(word: &str) -> bool {
    matches!(word, "&&" | "||" | "|" | ";" | ">" | ">>" | "2>&1" | "<" | "&")
        || (word.len() > 1 && word.ends_with(';'))
}

/// `$$NAME` or `$${NAME}` in a word: the container gets `$NAME`.
fn variable(word: &str) -> Option<String> {
    let at = word.find("$$")?;
    let rest = &word[at + 2..];
    let name = rest.strip_prefix('{').unwrap_or(rest);
    let end =
        name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(name.len());
    (end > 0 && name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_'))
        .then(|| format!("${}", &name[..end]))
}
