//! An entrypoint script that never runs the command.

use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::start;
use crate::rule::{Found, Judge, Rule, Severity, with};

pub(crate) const RULE: Rule = Rule {
    id: "command-dropped",
    severity: Severity::Warning,
    summary: "an entrypoint script runs the command that it gets",
    explain: include_str!("command_dropped.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[with(
        "FROM python:3.12-slim\nCOPY entrypoint.sh /entrypoint.sh\nENTRYPOINT [\"/entrypoint.sh\"]\nCMD \
         [\"python\", \
         \"train.py\"]\n",
        &[("entrypoint.sh", "#!/bin/bash\nset -e\n/usr/sbin/sshd\necho ready\n")],
    )],
    silent: &[
        with(
            "FROM python:3.12-slim\nCOPY entrypoint.sh /entrypoint.sh\nENTRYPOINT [\"/entrypoint.sh\"]\nCMD \
             [\"python\", \"train.py\"]\n",
            &[("entrypoint.sh", "#!/bin/bash\nset -e\n/usr/sbin/sshd\nexec \"$@\"\n")],
        ),
        with(
            "FROM python:3.12-slim\nCOPY entrypoint.sh /entrypoint.sh\nENTRYPOINT [\"/entrypoint.sh\"]\n",
            &[("entrypoint.sh", "#!/bin/bash\npython train.py\n")],
        ),
    ],
};

/// What a script writes for its arguments.
const ARGUMENTS: &[&str] = &[
    "$@",
    "${@",
    "$*",
    "${*",
    "$1",
    "${1",
    "$2",
    "$#",
    "${#",
    "shift",
    "getopts",
    "BASH_ARGV",
    "source ",
    ". ",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let (Some(entry), Some(command)) = (start::entrypoint(file), start::command(file)) else {
        return Vec::new();
    };
    let words = entry.json.as_deref().unwrap_or_default();
    let script = match words {
        [script] => script,
        [shell, script] if matches!(shell.rsplit('/').next(), Some("bash" | "sh")) => script,
        _ => return Vec::new(),
    };
    let Some(end) = file.stages.last().map(|stage| &stage.end) else { return Vec::new() };
    let text = file.text_at(end, script).map(|(_, text)| text);
    let shell =
        |text: &&str| text.lines().next().is_some_and(|line| line.starts_with("#!") && line.contains("sh"));
    let Some(text) = text.filter(shell) else { return Vec::new() };
    if ARGUMENTS.iter().any(|word| text.contains(word)) || !script.ends_with(".sh") {
        return Vec::new();
    }
    let message = format!(
        "{script} never runs its arguments, so that CMD in line {} has no effect, nor has a command of \
         docker run",
        command.line
    );
    vec![Found::warning(entry.line, message, "End the script with `exec \"$@\"`, or remove CMD")]
}
