//! A RUN that succeeds although a command in it failed.

use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::setup::setups;
use crate::read::dockerfile::{Dockerfile, Run, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "run-failure-ignored",
    severity: Severity::Warning,
    summary: "a RUN fails if one of its commands fails",
    explain: include_str!("run_failure_ignored.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.12\nRUN <<EOF\npip install --no-cache-dir torch==2.6.0\necho done\nEOF\n"),
        dockerfile("FROM python:3.12\nRUN pip install --no-cache-dir torch==2.6.0; echo done\n"),
        dockerfile("FROM python:3.12\nRUN pip install --no-cache-dir torch==2.6.0 | tee /log\n"),
        dockerfile("FROM python:3.12\nRUN pip install --no-cache-dir torch==2.6.0 || true\n"),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12\nRUN <<EOF\nset -e\npip install --no-cache-dir torch==2.6.0\necho done\nEOF\n",
        ),
        dockerfile("FROM python:3.12\nRUN set -eux; pip install --no-cache-dir torch==2.6.0; echo done\n"),
        dockerfile("FROM python:3.12\nRUN cd /tmp; pip install --no-cache-dir torch==2.6.0\n"),
        dockerfile(
            "FROM python:3.12\nSHELL [\"/bin/bash\", \"-eo\", \"pipefail\", \"-c\"]\nRUN pip install \
             --no-cache-dir torch==2.6.0 | tee x; true\n",
        ),
        dockerfile("FROM python:3.12\nRUN pip install --no-cache-dir torch==2.6.0 && rm -rf /x; exit 0\n"),
        dockerfile(
            "FROM python:3.12\nRUN <<\"EOF\" bash -exu -o pipefail\npip install --no-cache-dir torch==2.6.0\n\
             echo done\nEOF\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN case $X in a) pip install --no-cache-dir torch==2.6.0 ;; esac && make\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN bash -euo pipefail <<EOF\npip install --no-cache-dir torch==2.6.0\necho \
             done\nEOF\n",
        ),
    ],
};

/// Programs whose failure leaves an image without what it is built for.
const MATTERS: &[&str] = &[
    "pip",
    "pip3",
    "uv",
    "apt-get",
    "apt",
    "conda",
    "mamba",
    "micromamba",
    "git",
    "wget",
    "curl",
    "make",
    "cmake",
    "npm",
    "yum",
    "dnf",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let setups = setups(file);
    let mut found = Vec::new();
    for (stage, setups) in file.stages.iter().zip(&setups) {
        for (index, one) in stage.instructions.iter().enumerate() {
            if one.keyword != "RUN" || one.json.is_some() {
                continue;
            }
            let options: Vec<&str> = setups
                .get(index)
                .map_or(Vec::new(), |setup| setup.shell.iter().map(String::as_str).collect());
            found.extend(fault(one, &options, stage.commands_of(index)));
        }
    }
    found
}

fn fault(one: &Instruction, shell: &[&str], runs: &[Run]) -> Option<Found> {
    let text = one.text.text.as_str();
    let document = one.heredocs.first().filter(|_| text.contains("<<"));
    let whole = document.map_or(text, |heredoc| heredoc.text.text.as_str());
    let other = document.is_some_and(|heredoc| heredoc.text.text.starts_with("#!"));
    if other || windows(shell) {
        return None;
    }
    let stops = |word: &str| {
        word == "errexit" || (word.starts_with('-') && !word.starts_with("--") && word.contains('e'))
    };
    let stops = shell.iter().any(|word| stops(word))
        || text.split_whitespace().any(stops)
        || set_options(whole).any(stops);
    let pipefail = shell.contains(&"pipefail") || whole.contains("pipefail") || text.contains("pipefail");
    let fix = match document {
        Some(_) => "Begin the here-document with `set -e`",
        None => "Join the commands with `&&`, or begin with `set -e;`",
    };
    // `;;` ends a branch of `case`, whose status is that of the branch.
    let swallowed = if stops || whole.contains(";;") { None } else { swallowed(runs, fix) };
    swallowed.or_else(|| if pipefail { None } else { piped(runs) }).or_else(|| dropped(runs))
}

fn matters(run: &Run) -> bool {
    MATTERS.contains(&run.command.program()) && run.command.certain && run.command.words.len() > 1
}

/// A command with others behind it that run whether it failed or not.
fn swallowed(runs: &[Run], fix: &str) -> Option<Found> {
    let pair = runs.windows(2).find(|pair| {
        matters(&pair[0]) && matches!(pair[0].command.after, ";" | "&") && pair[1].command.program() != "exit"
    })?;
    let what = short(&pair[0]);
    let message = format!("the RUN succeeds even if `{what}` fails: no `set -e`, and commands follow it");
    Some(Found::warning(pair[0].command.line, message, fix))
}

/// A command whose output goes to tee.
fn piped(runs: &[Run]) -> Option<Found> {
    let pair = runs.windows(2).find(|pair| {
        matters(&pair[0]) && pair[0].command.after == "|" && pair[1].command.program() == "tee"
    })?;
    let what = short(&pair[0]);
    let message = format!(
        "the RUN succeeds even if `{what}` fails: a pipe has the status of its last \
        command"
    );
    let fix = "Add `SHELL [\"/bin/bash\", \"-o\", \"pipefail\", \"-c\"]` above it";
    Some(Found::warning(pair[0].command.line, message, fix))
}

/// An installation whose failure is meant to be ignored.
fn dropped(runs: &[Run]) -> Option<Found> {
    let installs = |run: &Run| run.install.is_some() || apt::verb(&run.command, "install");
    let pair = runs.windows(2).find(|pair| {
        installs(&pair[0])
            && pair[0].command.after == "||"
            && matches!(pair[1].command.program(), "true" | ":")
    })?;
    let message = format!("the RUN succeeds even if `{}` fails: `|| true` ignores it", short(&pair[0]));
    Some(Found::note(pair[0].command.line, message, "Remove `|| true`"))
}

/// The options of `set` in a script.
fn set_options(script: &str) -> impl Iterator<Item = &str> {
    let lines = script.split(['\n', ';', '&', '|']).map(str::trim);
    lines.filter_map(|line| line.strip_prefix("set ")).flat_map(str::split_whitespace)
}

fn windows(shell: &[&str]) -> bool {
    shell.first().is_some_and(|program| {
        program.contains("powershell") || program.contains("pwsh") || program.starts_with("cmd")
    })
}

/// The command, shortened.
fn short(run: &Run) -> String {
    let words: Vec<&str> = run.command.words.iter().take(3).map(|word| word.text.as_str()).collect();
    words.join(" ")
}
