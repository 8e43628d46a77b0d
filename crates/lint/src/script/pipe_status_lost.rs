//! A script that asks a pipeline whether its first program failed.

use std::collections::BTreeSet;

use crate::programs;
use crate::programs::is_job;
use crate::read::copied_sources::{removal, sources};
use crate::read::dockerfile::command::Command;
use crate::read::posix::masked;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "pipe-status-lost",
    severity: Severity::Error,
    summary: "scripts see that a program failed whose output goes through tee",
    explain: include_str!("pipe_status_lost.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "#!/bin/bash\ntorchrun --standalone train.py 2>&1 | tee -a \"$LOG\"\nif [ $? -ne 0 ]; then\n  \
             exit 1\nfi\n",
        ),
        named("run.sh", "set -e\npython train.py |& tee log\nstatus=$?\nexit $status\n"),
        named("run.sh", "if ! deepspeed train.py 2>&1 | tee log; then\n  ./notify.sh failed\nfi\n"),
        named("run.sh", "until python train.py --resume 2>&1 | tee -a log; do sleep 60; done\n"),
        named("run.sh", "srun python train.py 2>&1 | ts | tee log && touch DONE\n"),
        named("run.sh", "\"${cmd[@]}\" 2>&1 |\n  tee log || exit 1\n"),
        named(
            "run.sh",
            "#!/bin/bash\nset -eu\ntorchrun --standalone train.py --out \"$NEW\" 2>&1 | tee \"$LOG\"\n\
             rm -rf \"$LIVE\"\nmv \"$NEW\" \"$LIVE\"\n",
        ),
        named(
            "run.sh",
            "#!/bin/bash -e\nmain() {\n  python3 train.py |& tee -a log\n  aws s3 cp out/model s3://x/\n}\n\
             main\n",
        ),
        named("run.sh", "set -o errexit\nsrun python train.py | tee log\n"),
        named(
            "archive.sh",
            "#!/bin/bash\nset -eu\nSCRATCH=/scratch/$USER\nrsync -a \"$SCRATCH/out/\" nas:/runs/ 2>&1 | tee \
             -a copy.log\necho copied\nrm -rf \"${SCRATCH:?}\" \"$SCRATCH\"\n",
        ),
        named(
            "upload.sh",
            "for run in */; do\n  if aws s3 cp --recursive \"$run\" s3://runs/ | tee -a log; then\n    rm -r \
             \"$run\"\n  fi\ndone\n",
        ),
        named("pack.sh", "tar cvf /nas/run.tar /data/run | tail -n 3 && find /data/run -delete\n"),
        named("copy.sh", "cp -rv out /nas/ | tee log || exit 1\n"),
    ],
    silent: &[
        named(
            "copy.sh",
            "set -e\nrsync -a /data/run/ /nas/run/ | tee log\ndiff -r /data/run /nas/run\nrm -rf \
             /data/run\nrsync -a a/ b/ | tee log\nrm -rf b/old\n",
        ),
        named("copy.sh", "set -o pipefail\nrsync -a /data/run /nas/ | tee log\nrm -rf /data/run\n"),
        named(
            "copy.sh",
            "for d in a b; do\n  rsync -a \"$d\" nas:/x | tee log\ndone\nfor d in c d; do\n  rm -rf \
             \"$d\"\ndone\nrsync -a /w nas:/x > log 2>&1\nrm -rf /w\n",
        ),
        named("run.sh", "set -e\npython train.py | tee log\nset -o pipefail\npython eval.py | tee log\n"),
        named("run.sh", "set -e\nls | tee files\ngit log | head -1\nmv a b\n"),
        named("run.sh", "set +e\npython train.py | tee log\necho done\n"),
        named("run.sh", "set -euo pipefail\nif ! python train.py | tee log; then exit 1; fi\n"),
        named("run.sh", "#!/bin/bash -o pipefail\npython train.py | tee log\necho $?\n"),
        named(
            "run.sh",
            "python train.py | tee log\nrc=${PIPESTATUS[0]}\nif [ $rc -ne 0 ]; then exit 1; fi\n",
        ),
        named("run.sh", "python train.py > log 2>&1\nif [ $? -ne 0 ]; then exit 1; fi\n"),
        named("run.sh", "if nvidia-smi -L | grep -q H100; then echo yes; fi\n"),
        named("run.sh", "python train.py | tee log\npython eval.py\nif [ $? -ne 0 ]; then exit 1; fi\n"),
        named(
            "run.sh",
            "python train.py | tee log || true\ncurl -sL https://x/y.list | sed s/a/b/ | sudo tee /etc/x && \
             apt-get update\n",
        ),
        named("run.sh", ". ./common.sh\npython train.py | tee log || exit 1\n"),
    ],
};

/// Programs that hand on what they read, and do not fail because of it.
const FILTERS: &[&str] = &["tee", "ts", "sed", "awk", "gawk", "cat", "logger", "tail", "head", "nl"];
/// Programs that a script is for, besides those that many rules know.
const RUNS: &[&str] = &["make", "vllm", "uv", "conda", "poetry", "pytest", "ssh", "pdsh", "sbatch"];

fn judge(script: &Script) -> Vec<Found> {
    if has_pipefail(script) {
        return Vec::new();
    }
    let commands = &script.commands;
    let turns = turns(&script.text);
    let mut found = Vec::new();
    for (at, last) in commands.iter().enumerate() {
        if !last.piped || last.after == "|" || !FILTERS.contains(&last.program()) {
            continue;
        }
        let start = (0..at).rev().find(|index| !commands[*index].piped).unwrap_or(0);
        let first = &commands[start];
        let sources = sources(first);
        if let Some(lost) = copy_lost(first, last, &sources, behind(&commands[at + 1..], first, &turns)) {
            found.push(lost);
            continue;
        }
        if !is_run(first) && sources.is_empty() {
            continue;
        }
        let (program, filter) = (name(first), last.program());
        let fix = "Write `set -o pipefail` before it (bash), or use `${PIPESTATUS[0]}`";
        let Some((line, asked)) = asked(first, last, commands.get(at + 1)) else {
            let stops = last.after != "&" && ends_at_failure(script, first.line) && is_job(first);
            found.extend(stops.then(|| unseen(first, last, &commands[at + 1..])));
            continue;
        };
        let message = format!(
            "{asked} the exit status of {filter}, not of {program}; a failed run counts as successful"
        );
        found.push(Found::warning(line, message, fix));
    }
    found
}

/// The lines where a loop, a branch or a function ends or another branch begins: what is behind them may run
/// without what is before.
fn turns(text: &str) -> BTreeSet<usize> {
    const WORDS: &[&str] = &["done", "else", "elif", "fi", "esac", "}"];
    let is_turn = |line: &str| {
        let mut words = line.split(|letter: char| letter.is_whitespace() || letter == ';');
        words.any(|word| WORDS.contains(&word)) || line.trim_end().ends_with(";;")
    };
    masked(text).lines().enumerate().filter(|(_, line)| is_turn(line)).map(|(index, _)| index + 1).collect()
}

/// Commands behind a copy that are looked at.
const BEHIND_LIMIT: usize = 200;

/// The commands behind a pipeline that run whenever it has run.
fn behind<'c>(rest: &'c [Command], first: &Command, turns: &BTreeSet<usize>) -> &'c [Command] {
    let end = turns.range(first.line..).next().copied().unwrap_or(usize::MAX);
    let near = rest.iter().take(BEHIND_LIMIT);
    let count = near.take_while(|one| one.line < end && one.loops == first.loops).count();
    &rest[..count]
}

/// A copy whose failure nothing sees, and whose source is removed behind it.
fn copy_lost(first: &Command, last: &Command, sources: &[String], rest: &[Command]) -> Option<Found> {
    if sources.is_empty() || last.after == "&" {
        return None;
    }
    let (removal, path) = removal(sources, rest)?;
    let message = format!(
        "the pipeline returns the exit status of {}, not of {}; if the copy fails, line {} still deletes \
         {path}, including files that were not copied",
        last.program(),
        name(first),
        removal.line
    );
    let fix = "Write `set -o pipefail` (bash) and delete only after `&&`, or check `${PIPESTATUS[0]}` first";
    Some(Found::error(first.line, message, fix))
}

/// Programs that only report.
pub(crate) const REPORTS: &[&str] =
    &["echo", "printf", "date", "exit", "ls", "cat", "true", "set", "popd", "return"];

/// Whether the script ends with a command that fails, as far as it is set before a line.
pub(crate) fn ends_at_failure(script: &Script, before: usize) -> bool {
    let first = script.text.lines().next().unwrap_or_default();
    let shell = first.strip_prefix("#!").and_then(|rest| rest.split_once(char::is_whitespace));
    let own = shell.is_some_and(|(_, options)| {
        options.split_whitespace().any(|word| word.starts_with('-') && word.contains('e') && word.len() < 5)
    });
    let mut on = own;
    for command in script.commands.iter().filter(|one| one.program() == "set" && one.line < before) {
        let words: Vec<&str> = command.words.iter().skip(1).map(|word| word.text.as_str()).collect();
        for (at, word) in words.iter().enumerate() {
            let named = words.get(at + 1) == Some(&"errexit");
            let letters = |sign: char| {
                word.strip_prefix(sign).is_some_and(|rest| {
                    !rest.starts_with('-') && (rest.contains('e') || rest.contains('o') && named)
                })
            };
            on = (on || letters('-')) && !letters('+');
        }
    }
    on
}

/// A job whose failure does not end a script that ends at failures.
fn unseen(first: &Command, last: &Command, rest: &[Command]) -> Found {
    let (program, filter) = (name(first), last.program());
    let fix = "Write `set -o pipefail` next to `set -e` (bash)";
    let next = rest.iter().find(|one| !one.program().is_empty() && !REPORTS.contains(&one.program()));
    match next {
        Some(next) => {
            let message = format!(
                "`set -e` sees the exit status of {filter}, not of {program}; after a failed run the script \
                 goes on with `{}` (line {})",
                next.program(),
                next.line
            );
            Found::warning(first.line, message, fix)
        }
        None => {
            let message = format!(
                "the script ends with the exit status of {filter}, not of {program}; a failed run counts as \
                 successful"
            );
            Found::note(first.line, message, fix)
        }
    }
}

/// How a script asks for the status of a pipeline, and on which line.
fn asked(first: &Command, last: &Command, next: Option<&Command>) -> Option<(usize, &'static str)> {
    if first.condition {
        return Some((first.line, "the condition is"));
    }
    let ignored = next.is_some_and(|next| matches!(next.program(), "true" | ":"));
    match last.after {
        "&&" => return Some((last.line, "`&&` sees")),
        "||" if !ignored => return Some((last.line, "`||` sees")),
        _ => {}
    }
    let next = next?;
    let texts = next.words.iter().chain(next.sets.iter().map(|(_, word)| word));
    let uses = texts.into_iter().any(|word| word.text.contains("$?") || word.text.contains("${?}"));
    // The line of the pipeline is where it is to be changed.
    uses.then_some((next.line, "`$?` is"))
}

/// Whether a command is one whose failure counts.
fn is_run(command: &Command) -> bool {
    let program = command.program();
    let own = [".sh", ".py", "_perf"].iter().any(|end| program.ends_with(end));
    let first = command.words.first().map_or("", |word| word.text.as_str());
    let variable = program.is_empty() && first.starts_with('$') && !first.starts_with("$(");
    let known = programs::is_python(program)
        || programs::starts_tasks(program)
        || programs::is_engine(program)
        || programs::is_shell(program);
    known || RUNS.contains(&program) || own || variable
}

/// A program as the script calls it.
fn name(command: &Command) -> &str {
    match command.program() {
        "" => command.words.first().map_or("the program", |word| word.text.as_str()),
        program => program,
    }
}

/// Whether a pipeline may fail with its first program: an option of the shell, or a file that it reads,
/// which may set it.
fn has_pipefail(script: &Script) -> bool {
    let mask = masked(&script.text).to_ascii_lowercase();
    let first = script.text.lines().next().unwrap_or_default();
    let own = ["pipefail", "pipe_fail"].iter().any(|word| mask.contains(word) || first.contains(word));
    let known = |name: &str| {
        ["activate", "profile", "conda.sh", "setvars.sh", ".bashrc", ".env", "modules.sh", "init/bash"]
            .iter()
            .any(|end| name.ends_with(end) || name.contains("profile.d/"))
    };
    let reads = script.commands.iter().any(|command| {
        matches!(command.words.first().map(|word| word.text.as_str()), Some("source" | "."))
            && command.words.get(1).is_some_and(|word| !known(&word.text))
    });
    own || reads || script.text.to_ascii_uppercase().contains("PIPESTATUS")
}
