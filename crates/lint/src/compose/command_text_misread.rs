//! A text under `command` that docker compose splits otherwise than it looks.

use serde_yaml::Value;

use crate::one_word::is_program;
use crate::programs;
use crate::read::compose::{Compose, Service, bare};
use crate::read::quotes::{open_quote, split};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "command-text-misread",
    severity: Severity::Error,
    summary: "a command of several lines is one command without comments and backslashes",
    explain: include_str!("command_text_misread.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  a:\n    image: b\n    command: |\n      pip install -r \
             requirements.txt\n      python \
             train.py\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    command: >\n      --model facebook/opt-125m \\\n      --port \
             8000\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    command: >\n      --model facebook/opt-125m\n      # \
             --max-model-len 4096\n      --port 8000\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    entrypoint: |\n      torchrun --standalone \
             \\\n        train.py\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: b\n    entrypoint: /bin/bash -c \\\n      \"ip route;\"\\ \n      \
             \"sleep infinity\"\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    command: >\n      --model facebook/opt-125m\n      --port \
             8000\n\
             \x20 c:\n    image: b\n    command: |\n      --model a/b\n      --port 8000\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    command: |\n      bash -c \"pip install x \\\n        && \
             python \
             train.py # here\n        python eval.py\"\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    command: \"--model a/b \\\n      --port \
             8000\"\n  c:\n    image: \
             b\n    command: serve --filter a#b\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let whole = |one: &&Service| !one.extends_elsewhere;
    file.services.iter().filter(whole).filter_map(fault).collect()
}

fn fault(service: &Service) -> Option<Found> {
    ["entrypoint", "command"].into_iter().find_map(|key| {
        let Value::String(text) = bare(service.at(&[key])?) else { return None };
        let (what, fix) = backslash(text).or_else(|| comment(text)).or_else(|| several(text))?;
        let message = format!("service {}: {what}", service.name);
        Some(Found::error(service.line_of(key), message, fix))
    })
}

/// A backslash at the end of a line, outside of quotes: the space after it becomes part of a word.
fn backslash(text: &str) -> Option<(String, String)> {
    let at = escaped_blank(text)?;
    let word = text[at + 1..].split_whitespace().next()?;
    let what = format!("the backslash before {word} keeps the space after it: the argument is \" {word}\"");
    Some((what, "Remove the backslashes; docker compose treats line ends as spaces".to_owned()))
}

/// The place of a backslash before a blank, outside of quotes.
fn escaped_blank(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (letter, quote) {
            ('\\', None | Some('"')) => {
                let (_, next) = letters.next()?;
                // Before a part in quotes it joins two parts of one word on purpose.
                let joins = text[at + 1..].trim_start().starts_with(['"', '\'']);
                if quote.is_none() && next.is_whitespace() && !joins {
                    return Some(at);
                }
            }
            (_, Some(end)) if letter == end => quote = None,
            ('"' | '\'', None) => quote = Some(letter),
            _ => {}
        }
    }
    None
}

/// A comment, which YAML does not have inside of a text.
fn comment(text: &str) -> Option<(String, String)> {
    let words = split(text, false);
    let at = words.iter().position(|word| word == "#")?;
    let next = words.get(at + 1).cloned().unwrap_or_default();
    let what = format!("`#` does not start a comment here; `#` and `{next}` are arguments");
    // A quoted `#` is one on purpose.
    let plain = text.contains("\n#") || text.split_whitespace().any(|word| word == "#");
    plain.then(|| (what, "Move the comment above the key".to_owned()))
}

/// Lines of a command that are looked at.
const LINES_LIMIT: usize = 200;

/// Several commands, one a line, without a shell.
fn several(text: &str) -> Option<(String, String)> {
    let mut before = String::new();
    for (index, line) in text.lines().enumerate().take(LINES_LIMIT) {
        let first = line.split_whitespace().next().unwrap_or_default();
        let base = first.rsplit('/').next().unwrap_or(first);
        let starts = is_program(base) || BUILTINS.contains(&base);
        // The first line of all begins the command, and one in quotes belongs to a script.
        if index > 0 && !before.trim().is_empty() && starts && open_quote(&before).is_none() && ends(&before)
        {
            let what = format!(
                "docker compose joins the lines to one command; `{}` is passed to `{}` as arguments",
                line.trim(),
                before.split_whitespace().next().unwrap_or_default()
            );
            return Some((what, "Write `bash -c \"…\"` with the whole script in quotes".to_owned()));
        }
        before.push_str(line);
        before.push('\n');
    }
    None
}

/// Whether a command may end here: an operator, or an option that has its value in the next line, goes on.
fn ends(before: &str) -> bool {
    let last = before.split_whitespace().next_back().unwrap_or_default();
    let first = before.split_whitespace().next().unwrap_or_default();
    let base = first.rsplit('/').next().unwrap_or(first);
    // These start no other program that stands behind them.
    let whole = programs::is_python(base)
        || programs::is_server(base)
        || base == "torchrun"
        || BUILTINS.contains(&base);
    whole && !last.starts_with('-') && !["&&", "||", "|", ";", "\\"].contains(&last)
}

/// Commands that only begin a line.
const BUILTINS: &[&str] =
    &["cd", "export", "echo", "source", "sleep", "set", "mkdir", "apt-get", "pip", "pip3"];
