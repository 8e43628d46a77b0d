//! apt-key, which is gone.

use crate::read::dockerfile::Dockerfile;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "apt-key-removed",
    severity: Severity::Error,
    summary: "APT repository keys are files in /etc/apt/keyrings, not added with apt-key",
    explain: include_str!("apt_key_removed.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM debian:13\nRUN curl -fsSL https://x/gpg | apt-key add -\n"),
        dockerfile("FROM ubuntu:22.04\nRUN apt-key adv --fetch-keys https://x/y.pub\n"),
    ],
    silent: &[dockerfile(
        "FROM debian:13\nRUN curl -fsSL https://x/gpg | gpg --dearmor -o /etc/apt/keyrings/x.gpg\n",
    )],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let calls = file.runs().filter(|(_, run)| run.command.program() == "apt-key");
    calls
        .map(|(_, run)| {
            let gone = run.state.system.is_some_and(|system| system.id == "debian13");
            let fix = "Write the key with `gpg --dearmor -o /etc/apt/keyrings/NAME.gpg` and add `signed-by=` \
                to the source line";
            let line = run.command.line;
            match gone {
                true => Found::error(
                    line,
                    "Debian 13 has no apt-key; the command fails with \"command not \
                     found\"",
                    fix,
                )
                .unless_certain(run.command.certain),
                false => Found::note(line, "apt-key is deprecated and was removed in Debian 13", fix),
            }
        })
        .collect()
}
