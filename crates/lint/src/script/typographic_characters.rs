//! Dashes and quotes of a word processor in a command.

use crate::read::dockerfile::command::Command;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "typographic-characters",
    severity: Severity::Error,
    summary: "commands have the dashes and quotes of the shell",
    explain: include_str!("typographic_characters.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "torchrun –-nproc_per_node=4 train.py\n"),
        named("run.sh", "export MASTER_ADDR=“10.0.0.1”\n"),
        named("run.sh", "python train.py —lr 1e-4\n"),
    ],
    silent: &[
        named("run.sh", "echo “ready”\n# – start\npython train.py --prompt \"It’s – fine\"\n"),
        named("run.sh", "printf '%s\\n' –\n"),
        named("run.sh", "git commit -m \"a — b\"\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    script.commands.iter().filter_map(fault).take(1).collect()
}

fn fault(command: &Command) -> Option<Found> {
    if matches!(command.program(), "echo" | "printf" | "log" | "info") {
        return None;
    }
    let words = command.words.iter().chain(command.sets.iter().map(|(_, word)| word));
    words.filter(|word| !word.quoted).find_map(|word| {
        let dash =
            word.text.starts_with(['\u{2013}', '\u{2014}', '\u{2212}']) && word.text.chars().count() > 1;
        let quote = word.text.starts_with(['\u{201c}', '\u{201d}', '\u{2018}', '\u{2019}']);
        let message = match (dash, quote) {
            (true, _) => format!(
                "{} begins with a typographic dash, not with `-`; the program takes it for a file or a name",
                word.text
            ),
            (_, true) => format!("{} has typographic quotes, which are a part of the value", word.text),
            _ => return None,
        };
        let fix = if dash { "Write `-` or `--`" } else { "Write `\"` or `'`" };
        Some(Found::error(word.line.max(command.line), message, fix))
    })
}
