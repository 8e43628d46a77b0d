//! A program that starts docker with a list of GPUs.

use catalog::Catalog;

use crate::gpus_option::fault;
use crate::read::docker_run::DockerRun;
use crate::read::dockerfile::command::{Command, Word};
use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "gpus-list-not-quoted-in-program",
    severity: Severity::Error,
    summary: "a list of devices reaches `docker run --gpus` in quotes, also from a program",
    explain: include_str!("gpus_list_not_quoted_in_program.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "start.py",
            "import subprocess\nsubprocess.run([\"docker\", \"run\", \"--gpus\", \"device=0,1\", \"image\"], \
             check=True)\n",
        ),
        named(
            "start.py",
            "import subprocess\n\ncmd = [\n    \"docker\",\n    \"run\",\n    '--gpus=device=2,3',\n    \
             \"image\",\n\
             ]\nsubprocess.check_call(cmd)\n",
        ),
        named(
            "start.py",
            "import subprocess\nsubprocess.run([\"docker\", \"run\", \"-e\", token, *more, \"--name\", \
             \"n\", \"--gpus\", \"device=0,1\", image])\n",
        ),
    ],
    silent: &[
        named(
            "start.py",
            "import subprocess\nsubprocess.run([\"docker\", \"run\", \"--gpus\", \"all\", \"image\", \
             \"--gpus\", \"device=0,1\"])\n",
        ),
        named(
            "start.py",
            "import subprocess\nsubprocess.run([\"docker\", \"run\", \"--gpus\", '\"device=0,1\"', \
             \"image\"])\n",
        ),
        named(
            "start.py",
            "import subprocess\nsubprocess.run([\"docker\", \"run\", \"--gpus\", \"device=0\", \"i\"])\n",
        ),
        named("start.py", "import subprocess\nsubprocess.run([\"train\", \"--gpus\", \"device=0,1\"])\n"),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let mut found = Vec::new();
    let lists = program.assignments.iter().map(|one| (one.line, one.text.as_str()));
    let own = program.calls.iter().filter(|call| starts(call)).filter_map(|call| {
        let argument = call.arguments.first()?;
        Some((argument.line, argument.text.as_str()))
    });
    for (line, text) in lists.chain(own) {
        let items = items(text);
        if !items.first().is_some_and(|(_, first)| first == "docker" || first == "sudo")
            || !items.iter().any(|(_, item)| item == "docker")
        {
            continue;
        }
        let items = &items[..items.len() - behind_image(program.catalog, &items)];
        for (at, (below, item)) in items.iter().enumerate() {
            let (below, given) = match item.strip_prefix("--gpus=") {
                Some(given) => (*below, Some(given)),
                None => match items.get(at + 1).filter(|_| item == "--gpus") {
                    Some((below, next)) => (*below, Some(next.as_str())),
                    None => (0, None),
                },
            };
            if let Some((message, _)) = given.and_then(fault) {
                let fix = "Put double quotes into the text: `'\"device=0,1\"'`";
                found.push(Found::error(line + below, message, fix));
            }
        }
    }
    found
}

/// How many items are behind the image of a `docker run`, which are the container's.
fn behind_image(catalog: &Catalog, items: &[(usize, String)]) -> usize {
    let words = items.iter().skip_while(|(_, item)| item != "docker");
    let word = |(_, item): &(usize, String)| {
        let known = item != OTHER;
        Word { text: item.clone(), known, quoted: known, ..Word::default() }
    };
    let command = Command { words: words.map(word).collect(), ..Command::default() };
    DockerRun::read(catalog, &command).map_or(0, |run| run.behind.len())
}

/// Whether a call starts a program.
fn starts(call: &Call) -> bool {
    let last = call.name.rsplit('.').next().unwrap_or_default();
    matches!(last, "run" | "Popen" | "call" | "check_call" | "check_output" | "execvp")
}

/// What the list has where it has no plain text: a variable, or several items of another list.
const OTHER: &str = "$";

/// The texts of a list, each with the number of lines above it; empty for anything else.
fn items(text: &str) -> Vec<(usize, String)> {
    let Some(body) = text.trim().strip_prefix('[') else { return Vec::new() };
    let mut found = Vec::new();
    let (mut open, mut item, mut line, mut plain, mut other) = (None, String::new(), 0, false, false);
    for letter in body.chars() {
        match (open, letter) {
            (None, '"' | '\'') => open = Some(letter),
            (Some(quote), _) if letter == quote => {
                open = None;
                plain = true;
                found.push((line, std::mem::take(&mut item)));
            }
            (Some(_), _) => item.push(letter),
            (None, ',' | ']') => {
                if other && !plain {
                    found.push((line, OTHER.to_owned()));
                }
                (plain, other) = (false, false);
                if letter == ']' {
                    break;
                }
            }
            (None, _) => other |= !letter.is_whitespace(),
        }
        line += usize::from(letter == '\n');
    }
    found
}
