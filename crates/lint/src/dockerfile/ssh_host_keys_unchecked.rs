//! ssh that trusts whoever answers.

use crate::read::dockerfile::Dockerfile;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "ssh-host-keys-unchecked",
    severity: Severity::Note,
    summary: "ssh verifies host keys",
    explain: include_str!("ssh_host_keys_unchecked.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[dockerfile(
        "FROM ubuntu:22.04\nRUN echo \"    StrictHostKeyChecking no\" >> /etc/ssh/ssh_config\n",
    )],
    silent: &[
        dockerfile(
            "FROM ubuntu:22.04\nRUN echo \"StrictHostKeyChecking accept-new\" >> /etc/ssh/ssh_config\n",
        ),
        dockerfile("FROM ubuntu:22.04\nRUN echo done\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let off = |text: &str| {
        let words: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || "=/\"'\\".contains(c))
            .filter(|word| !word.is_empty())
            .collect();
        words.windows(2).any(|pair| pair[0] == "StrictHostKeyChecking" && matches!(pair[1], "no" | "off"))
    };
    let runs = file.runs().filter(|(_, run)| off(&run.command.text()));
    runs.map(|(_, run)| {
        let message = "ssh does not verify host keys (StrictHostKeyChecking no); it accepts changed keys";
        Found::note(run.command.line, message, "Set `StrictHostKeyChecking accept-new`")
    })
    .collect()
}
