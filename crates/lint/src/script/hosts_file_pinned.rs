//! Addresses of containers are written into /etc/hosts.

use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "hosts-file-pinned",
    severity: Severity::Note,
    summary: "containers reach each other by name",
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
    let message = "container addresses in /etc/hosts become stale; Docker rewrites the file at each start";
    pinned.map(|command| Found::note(command.line, message, "Use the container or service name")).collect()
}
