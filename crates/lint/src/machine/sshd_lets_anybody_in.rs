//! An sshd_config that lets anybody in, or does not start.

use crate::read::machine::Machine;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "sshd-lets-anybody-in",
    severity: Severity::Warning,
    summary: "sshd allows login by key only, for the user that runs the ranks",
    explain: include_str!("sshd_lets_anybody_in.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named("sshd_config", "Port 2222\nPermitRootLogin yes\n"),
        named("sshd_config", "PubkeyAuthentication no\n"),
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
    // The first value of a keyword counts; what stands behind Match is for some only.
    let mut lines = machine.text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let mut set: Vec<(String, String, usize)> = Vec::new();
    for (number, line) in lines.by_ref() {
        let mut words = line
            .split(|letter: char| letter.is_whitespace() || letter == '=')
            .filter(|word| !word.is_empty());
        let (Some(keyword), Some(value)) = (words.next(), words.next()) else { continue };
        if keyword.eq_ignore_ascii_case("Match") {
            break;
        }
        let keyword = keyword.to_ascii_lowercase();
        if !keyword.starts_with('#') && !set.iter().any(|(known, _, _)| *known == keyword) {
            set.push((keyword, value.trim_matches('"').to_ascii_lowercase(), number));
        }
    }
    let value = |keyword: &str| {
        set.iter().find(|(known, _, _)| known == keyword).map(|(_, value, line)| (value.as_str(), *line))
    };
    let mut found = Vec::new();
    let passwords = !matches!(value("passwordauthentication"), Some(("no", _)));
    if let Some(("yes", line)) = value("permitemptypasswords").filter(|_| passwords) {
        found.push(Found::warning(
            line,
            "sshd allows login to accounts whose password is empty",
            "Set `PermitEmptyPasswords no`",
        ));
    }
    if let Some(("yes", line)) = value("permitrootlogin").filter(|_| passwords) {
        found.push(Found::warning(
            line,
            "sshd allows root login with a password",
            "Set `PermitRootLogin prohibit-password`",
        ));
    }
    for (keyword, message) in [
        ("pubkeyauthentication", "sshd accepts no public keys; launchers cannot log in"),
        ("permitrootlogin", "sshd denies root login, but ranks in containers usually run as root"),
    ] {
        if let Some(("no", line)) = value(keyword) {
            found.push(Found::note(line, message, ""));
        }
    }
    found
}
