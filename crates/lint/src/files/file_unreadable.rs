//! A file of a directory that cannot be read: none of the other rules has seen it.

use crate::read::unreadable::Unreadable;
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "file-unreadable",
    severity: Severity::Error,
    summary: "every file to lint can be read and is UTF-8",
    explain: include_str!("file_unreadable.md"),
    judge: Judge::Unreadable(judge),
    fires: &[
        named_with("train.sh", "#!/bin/bash\n", &[("unreadable", "Permission denied (os error 13)")]),
        named_with(
            "Dockerfile",
            "FROM a\n",
            &[("unreadable", "invalid utf-8 sequence of 1 bytes from index 9")],
        ),
    ],
    silent: &[named("train.sh", "#!/bin/bash\nexport NCCL_DEBUG=WARN\n")],
};

fn judge(file: &Unreadable) -> Vec<Found> {
    let Unreadable { name, why, directory } = file;
    let (message, fix) = match directory {
        true => (
            format!("cannot list directory {name}: {why}; its files were not checked"),
            "Make it readable, or lint as a user who may read it",
        ),
        false => (
            format!("cannot read {name}: {why}; no rule checked it"),
            "Make it readable and save it as UTF-8",
        ),
    };
    vec![Found::error(1, message, fix)]
}
