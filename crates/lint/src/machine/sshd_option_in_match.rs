//! A line that looks as if it were for everybody, and is part of a Match block.

use crate::read::machine::Machine;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "sshd-option-in-match",
    severity: Severity::Warning,
    summary: "options of sshd for everybody come before the first Match",
    explain: include_str!("sshd_option_in_match.md"),
    judge: Judge::Machine(judge),
    fires: &[named(
        "sshd_config",
        "Port 22\nMatch Group drop\n    ForceCommand internal-sftp\n\n# for \
         everybody\nPasswordAuthentication no\n",
    )],
    silent: &[
        named("sshd_config", "PasswordAuthentication no\nMatch Group drop\n    ForceCommand internal-sftp\n"),
        named("sshd_config", "Match Group drop\nForceCommand internal-sftp\nPasswordAuthentication no\n"),
        named(
            "sshd_config",
            "Match Group drop\n    ForceCommand internal-sftp\nMatch all\nPasswordAuthentication no\n",
        ),
    ],
};

fn judge(machine: &Machine) -> Vec<Found> {
    if machine.kind != Kind::Sshd {
        return Vec::new();
    }
    let (mut block, mut indented) = (None, false);
    let mut found = Vec::new();
    for (index, line) in machine.text.lines().enumerate() {
        let mut words = line.trim().split(|letter: char| letter.is_whitespace() || letter == '=');
        let name = words.next().unwrap_or_default();
        if name.is_empty() || name.starts_with('#') {
            continue;
        }
        if name.eq_ignore_ascii_case("match") {
            let all = words.next().is_some_and(|word| word.eq_ignore_ascii_case("all"));
            // What is behind `Match all` is for everybody.
            (block, indented) = ((!all).then_some(index + 1), false);
            continue;
        }
        if line.starts_with([' ', '\t']) {
            indented = true;
            continue;
        }
        let (Some(start), Some(known)) =
            (block.filter(|_| indented), machine.catalog.sshd_keywords().keyword(name))
        else {
            continue;
        };
        // sshd refuses the others, which another rule reports.
        if known.in_match {
            let message = format!(
                "{} is still part of the Match block of line {start}, which ends only at the next Match",
                known.keyword
            );
            found.push(Found::warning(index + 1, message, "Move it above the first Match"));
        }
    }
    found
}
