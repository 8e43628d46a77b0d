//! An option of sshd that is set twice: the first one counts.

use crate::read::machine::Machine;
use crate::read::sshd::SshdConfig;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "sshd-option-repeated",
    severity: Severity::Warning,
    summary: "each option of sshd is set once",
    explain: include_str!("sshd_option_repeated.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named("sshd_config", "PasswordAuthentication yes\nUsePAM yes\nPasswordAuthentication no\n"),
        named("sshd_config", "PermitRootLogin no\nPort 2222\npermitrootlogin prohibit-password\n"),
    ],
    silent: &[
        named("sshd_config", "Port 22\nPort 2222\nAcceptEnv LANG\nAcceptEnv NCCL_*\nUsePAM no\nUsePAM no\n"),
        named("sshd_config", "PermitRootLogin no\nMatch User root\n  PermitRootLogin yes\n"),
        named("sshd_config", "#PermitRootLogin no\nPermitRootLogin prohibit-password\n"),
    ],
};

/// Keywords whose lines add up.
const SEVERAL: &[&str] = &[
    "acceptenv",
    "allowgroups",
    "allowusers",
    "authenticationmethods",
    "denygroups",
    "denyusers",
    "hostcertificate",
    "hostkey",
    "include",
    "listenaddress",
    "logverbose",
    "permitlisten",
    "permitopen",
    "persourcepenalties",
    "port",
    "setenv",
    "subsystem",
];

fn judge(machine: &Machine) -> Vec<Found> {
    if machine.kind != Kind::Sshd {
        return Vec::new();
    }
    let config = SshdConfig::read(&machine.text);
    let mut found = Vec::new();
    for (at, line) in config.global.iter().enumerate() {
        let first = config.global[..at].iter().find(|one| one.keyword == line.keyword);
        let Some(first) = first.filter(|_| !SEVERAL.contains(&line.keyword.as_str())) else { continue };
        let lower = |values: &[String]| values.join(" ").to_ascii_lowercase();
        let known = machine.catalog.sshd_keywords().keyword(&line.keyword);
        let Some(known) = known.filter(|_| lower(&first.values) != lower(&line.values)) else { continue };
        let message = format!(
            "{} {} has no effect: sshd uses the first value, {} in line {}",
            known.keyword,
            line.values.join(" "),
            first.values.join(" "),
            first.number
        );
        found.push(Found::warning(line.number, message, "Remove one of the two lines"));
    }
    found
}
