//! An sshd_config that lets anybody in.

use crate::read::machine::Machine;
use crate::read::sshd::SshdConfig;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "sshd-lets-anybody-in",
    severity: Severity::Warning,
    summary: "sshd allows login by key only",
    explain: include_str!("sshd_lets_anybody_in.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named("sshd_config", "Port 2222\nPermitRootLogin yes\n"),
        named("sshd_config", "PermitEmptyPasswords yes\n"),
    ],
    silent: &[
        named(
            "sshd_config",
            "# PermitRootLogin yes\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n",
        ),
        named("sshd_config", "PermitRootLogin yes\nPasswordAuthentication no\n"),
        named("sshd_config", "PermitEmptyPasswords yes\nPasswordAuthentication no\n"),
    ],
};

fn judge(machine: &Machine) -> Vec<Found> {
    if machine.kind != Kind::Sshd {
        return Vec::new();
    }
    let config = SshdConfig::read(&machine.text);
    let value = |keyword: &str| config.value(keyword);
    let mut found = Vec::new();
    let passwords = value("passwordauthentication").is_none_or(|(value, _)| value != "no");
    if let Some((_, line)) = value("permitemptypasswords").filter(|(value, _)| passwords && value == "yes") {
        found.push(Found::warning(
            line,
            "sshd allows login to accounts whose password is empty",
            "Set `PermitEmptyPasswords no`",
        ));
    }
    if let Some((_, line)) = value("permitrootlogin").filter(|(value, _)| passwords && value == "yes") {
        found.push(Found::warning(
            line,
            "sshd allows root login with a password",
            "Set `PermitRootLogin prohibit-password`",
        ));
    }
    found
}
