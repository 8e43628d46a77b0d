//! A file that was named and that no other rule checks.

use crate::detect::{Skipped, Unchecked};
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "file-type-unknown",
    severity: Severity::Warning,
    summary: "every file on the command line is of a type that rules check",
    explain: include_str!("file_type_unknown.md"),
    judge: Judge::Skipped(judge),
    fires: &[
        named_with("pod.yaml", "apiVersion: v1\nkind: Pod\nspec: {{ spec }}\n", &[("named", "")]),
        named_with("notes.md", "Install the driver first.\n", &[("named", "")]),
    ],
    silent: &[named_with("train.sh", "#!/bin/bash\nexport NCCL_DEBUG=WARN\n", &[("named", "")])],
};

fn judge(file: &Skipped) -> Vec<Found> {
    let Skipped { name, why, .. } = file;
    let (message, fix) = match why {
        Unchecked::UnknownType => (
            format!("cannot determine the type of {name}; no rule checked it"),
            "Lint it on its own with `--as TYPE`, or leave it out",
        ),
        other => (format!("{name} is a {}; no rule checked it", other.title()), "Leave it out"),
    };
    vec![Found::warning(1, message, fix)]
}
