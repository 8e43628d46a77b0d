//! Words that a web page broke apart.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::command::Command;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "broken-shell-words",
    severity: Severity::Error,
    summary: "no spaces around hyphens in command names and options",
    explain: include_str!("broken_shell_words.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12\nRUN apt - get update && apt - get install - y build - essential\n"),
        dockerfile("FROM python:3.12\nRUN pip3 install stable - baselines3 gymnasium\n"),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12\nRUN apt-get update && apt-get install -y build-essential && curl -s x | tar \
             -xz -f - -C /y\n",
        ),
        dockerfile("FROM python:3.12-bookworm\nRUN cat r.txt | pip install -r - && curl x | apt-key add -\n"),
        dockerfile("FROM python:3.12\nRUN pip install \"a - b\" && echo a - b\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for (_, run) in file.runs() {
        if broken(&run.command) {
            let message = format!(
                "spaces around hyphens split the command into wrong arguments: \
                 `{}`",
                shortened(&run.command.text())
            );
            let fix = format!("Write `{}`", mended(&run.command));
            found.push(Found::error(run.command.line, message, fix).unless_certain(run.command.certain));
        }
    }
    found
}

fn broken(command: &Command) -> bool {
    let program = command.program();
    let named = ["apt", "apt-get", "pip", "pip3", "conda", "mamba", "rm", "mkdir"].contains(&program)
        || (program.starts_with("python") && command.word(1) == "-m" && command.word(2) == "pip");
    named
        && command.words.windows(2).enumerate().any(|(index, pair)| {
            // `-r -` reads standard input.
            let lone = pair[1].text == "-" && !pair[1].quoted && !pair[0].text.starts_with('-');
            lone && command.words.get(index + 2).is_some()
        })
}

/// The command with its words put together again.
fn mended(command: &Command) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut glue = false;
    for (index, word) in command.words.iter().enumerate() {
        let next = command.words.get(index + 1).map_or("", |next| next.text.as_str());
        let before = words.last().map_or("", String::as_str);
        if word.text == "-" && !word.quoted {
            // `install - y`: an option; `apt - get`: a name.
            let option = next.len() == 1 || matches!(next, "yq" | "rf" | "qq" | "no");
            if option || before.is_empty() {
                words.push("-".to_owned());
            } else if let Some(last) = words.last_mut() {
                last.push('-');
            }
            glue = true;
        } else if std::mem::take(&mut glue) {
            if let Some(last) = words.last_mut() {
                last.push_str(&word.text);
            }
        } else {
            words.push(word.text.clone());
        }
    }
    words.join(" ")
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}
