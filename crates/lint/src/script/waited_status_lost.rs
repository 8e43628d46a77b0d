//! `wait` without process ids, which never fails.

use super::pipe_status_lost::{REPORTS, ends_at_failure};
use crate::programs::is_job;
use crate::read::dockerfile::command::Command;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "waited-status-lost",
    severity: Severity::Warning,
    summary: "a script that depends on background programs waits for them by their process ids",
    explain: include_str!("waited_status_lost.md"),
    judge: Judge::Script(judge),
    fires: &[
        named(
            "run.sh",
            "#!/bin/bash\nset -euo pipefail\npython a.py --gpu 0 &\npython a.py --gpu 1 &\nwait\ntouch \
             DONE\n",
        ),
        named(
            "run.sh",
            "for n in 0 1; do\n  srun -w node$n python t.py &\ndone\nwait && rm -rf /scratch/in\n",
        ),
        named("run.sh", "torchrun --nproc_per_node=4 a.py &\nwait\nif [ $? -ne 0 ]; then exit 1; fi\n"),
    ],
    silent: &[
        named("run.sh", "#!/bin/bash\nset -e\npython a.py &\npid=$!\nwait $pid\ntouch DONE\n"),
        named("run.sh", "#!/bin/bash\nset -e\nsrun python a.py &\nsrun python b.py &\nwait\necho finished\n"),
        named("run.sh", "#!/bin/bash\npython a.py &\nwait\npython b.py\n"),
        named(
            "run.sh",
            "#!/bin/bash\nset -e\npids=()\npython a.py & pids+=($!)\nfor p in \"${pids[@]}\"; do wait \
             \"$p\"; \
             done\nwait\ntouch DONE\n",
        ),
        named(
            "run.sh",
            "#!/bin/bash\nset -e\nnvidia-smi dmon > log &\npython a.py\nkill %1\nwait\ntouch DONE\n",
        ),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let commands = &script.commands;
    let words = |one: &Command| one.words.iter().any(|word| word.text.contains("$!"));
    let ids = commands.iter().any(|one| {
        let sets = one.sets.iter().any(|(_, value)| value.text.contains("$!"));
        one.program() == "wait" && one.words.len() > 1 || sets || words(one)
    });
    if ids || script.text.contains("$!") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (at, wait) in commands.iter().enumerate() {
        if wait.program() != "wait" || wait.words.len() != 1 {
            continue;
        }
        let Some(job) = commands[..at].iter().rev().find(|one| one.after == "&" && is_job(one)) else {
            continue;
        };
        let next = commands.get(at + 1);
        let asked = match wait.after {
            "&&" => Some("`&&` sees"),
            "||" => Some("`||` sees"),
            _ => next.filter(|next| is_status(next)).map(|_| "`$?` is"),
        };
        let goes_on = || {
            let rest = &commands[at + 1..];
            let next = rest.iter().find(|one| {
                !one.program().is_empty() && !REPORTS.contains(&one.program()) && one.program() != "trap"
            });
            next.filter(|_| ends_at_failure(script, wait.line))
        };
        let message = match asked {
            Some(asked) => {
                format!("{asked} the exit status of `wait`, which is 0 whatever the programs return")
            }
            None => {
                let Some(next) = goes_on() else { continue };
                format!(
                    "`wait` without process ids returns 0 whatever {} (line {}) returns; after a failed run \
                     `set -e` lets the script go on with `{}` (line {})",
                    job.program(),
                    job.line,
                    next.program(),
                    next.line
                )
            }
        };
        let fix = "Collect the ids, `pids+=($!)`, and wait for each: `wait \"$pid\"`";
        found.push(Found::warning(wait.line, message, fix));
    }
    found
}

fn is_status(command: &Command) -> bool {
    let values = command.sets.iter().map(|(_, value)| value);
    command.words.iter().chain(values).any(|word| word.text == "$?")
}
