//! The name of a variable where its value is wanted.

use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "process-named-without-dollar",
    severity: Severity::Error,
    summary: "wait and kill get the number of a process",
    explain: include_str!("process_named_without_dollar.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "python train.py &\nPID=$!\nwait PID\n"),
        named("run.sh", "python server.py & SERVER=$!\npython client.py\nkill -TERM SERVER\n"),
    ],
    silent: &[
        named("run.sh", "python train.py &\nPID=$!\nwait $PID\nkill -TERM \"$PID\"\n"),
        named("run.sh", "kill -9 %1\nwait\nkill -TERM 123\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let commands = script.commands.iter().filter(|one| matches!(one.program(), "wait" | "kill"));
    let found = commands.filter_map(|command| {
        let word = command.words.iter().skip(1).find(|word| {
            let sets = script.commands.iter().flat_map(|one| &one.sets);
            word.known && !word.text.starts_with('-') && sets.into_iter().any(|(name, _)| *name == word.text)
        })?;
        let message = format!(
            "{} gets the name {}, not the number in it; `not a pid or valid job spec`, and the script goes \
             on",
            command.program(),
            word.text
        );
        Some(Found::error(command.line, message, format!("Write `${}`", word.text)))
    });
    found.collect()
}
