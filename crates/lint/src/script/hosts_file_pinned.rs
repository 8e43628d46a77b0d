//! Addresses of containers are written into /etc/hosts.

use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

/// The rule.
pub const RULE: Rule = Rule {
    id: "hosts-file-pinned",
    severity: Severity::Note,
    summary: "containers find each other by their names",
    explain: include_str!("hosts_file_pinned.md"),
    judge: Judge::Script(judge),
    fires: &[named("setup.sh", "echo \"10.0.1.5 node2\" >> /etc/hosts\n")],
    silent: &[named("setup.sh", "cat /etc/hosts\nping -c 1 node2\n")],
};

fn judge(script: &Script) -> Vec<Found> {
    let pinned = script.commands.iter().filter(|command| {
        let teed = command.program() == "tee" && command.has("/etc/hosts");
        teed || command.writes.iter().any(|word| word.text == "/etc/hosts")
    });
    let says =
        "addresses in /etc/hosts: those of containers change, and Docker rewrites the file at each start";
    pinned.map(|command| Found::note(command.line, says, "the name of the container or service")).collect()
}
