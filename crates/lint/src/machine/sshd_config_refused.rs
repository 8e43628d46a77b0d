//! An sshd_config with which sshd does not start.

use crate::read::machine::Machine;
use crate::rule::{Change, Found, Judge, Kind, Rule, Severity, named};
use catalog::Table;
use catalog::sshd_keywords::{SshdKeyword, Value};

pub(crate) const RULE: Rule = Rule {
    id: "sshd-config-refused",
    severity: Severity::Error,
    summary: "sshd knows every keyword of its configuration, with its value, at its place",
    explain: include_str!("sshd_config_refused.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named("sshd_config", "PermitRootLogin without_password\n"),
        named("sshd_config", "Match User mpi\n    PermitTTY yes\n\nPort 2222\n"),
        named("sshd_config", "PermitRootLogon no\n"),
        named("sshd_config", "Port 22222222\n"),
        named("sshd_config", "UsePAM\n"),
        named("sshd_config", "Match all extra\n"),
        named("sshd_config", "UsePrivilegeSeparation yes\n"),
        named("sshd_config", "Port 22 2222\n"),
        named("sshd_config", "Match User mpi\n    Protocol 2\n"),
        named("sshd_config", "Protocol\n"),
        named("sshd_config", "Match exec \"true\"\n"),
        named("sshd_config", "LoginGraceTime none\n"),
    ],
    silent: &[
        named(
            "sshd_config",
            "Port ssh\nUnusedConnectionTimeout none\nMatch User mpi\n    PermitTTY yes\nMatch all\n\
                Port 2222\n",
        ),
        named(
            "sshd_config",
            "Include /etc/ssh/sshd_config.d/*.conf\nPort=2222\nLoginGraceTime 2m\nMaxStartups 10:30:100\n\
            permitrootlogin \
             without-password\nClientAliveInterval 30\nSubsystem sftp internal-sftp\nMatch Address \
             10.0.0.0/8,!10.1.0.0/16\n  \
             PasswordAuthentication no\nMatch all\n  X11Forwarding no\n",
        ),
    ],
};

fn judge(machine: &Machine) -> Vec<Found> {
    if machine.kind != Kind::Sshd {
        return Vec::new();
    }
    let keywords = machine.catalog.sshd_keywords();
    let mut in_match: Option<usize> = None;
    let mut found = Vec::new();
    for (index, line) in machine.text.lines().enumerate() {
        let number = index + 1;
        let words = words(line);
        let Some((name, arguments)) = words.split_first() else { continue };
        if name.eq_ignore_ascii_case("match") {
            // `Match all` is true while the file is read: every keyword is allowed behind it.
            let all = matches!(arguments, [word] if word.eq_ignore_ascii_case("all"));
            in_match = (!all).then_some(number);
            found.extend(conditions(number, arguments));
            continue;
        }
        found.extend(of_line(keywords, number, name, arguments, in_match));
    }
    found
}

/// The words of a line: `=` may be between keyword and value, and `#` begins a comment.
fn words(line: &str) -> Vec<String> {
    let line = line.trim();
    if line.starts_with('#') {
        return Vec::new();
    }
    let end = line.find(|letter: char| letter.is_whitespace() || letter == '=').unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let rest = rest.trim_start().strip_prefix('=').unwrap_or(rest).trim();
    let arguments = rest.split_whitespace().take_while(|word| !word.starts_with('#'));
    let plain = arguments.map(|word| word.trim_matches('"').to_owned());
    std::iter::once(name.to_owned()).chain(plain).filter(|word| !word.is_empty()).collect()
}

fn of_line(
    keywords: &Table<SshdKeyword>,
    line: usize,
    name: &str,
    arguments: &[String],
    in_match: Option<usize>,
) -> Option<Found> {
    let Some(known) = keywords.keyword(name) else { return Some(unknown(keywords, line, name)) };
    let Some(first) = arguments.first() else {
        let message = format!("{} has no value; sshd does not start", known.keyword);
        return Some(Found::error(line, message, "Add a value, or remove the line"));
    };
    if let Some(start) = in_match.filter(|_| !known.in_match) {
        let message = format!(
            "{} is not allowed within a Match block (line {start}); sshd does not \
                start",
            known.keyword
        );
        return Some(Found::error(line, message, "Move it above the first Match"));
    }
    if known.value == Value::Retired {
        let message = format!("{} is deprecated; sshd ignores it", known.keyword);
        return Some(Found::note(line, message, "Remove it"));
    }
    of_value(line, known, first, arguments.len())
}

/// A keyword that sshd does not have.
fn unknown(keywords: &Table<SshdKeyword>, line: usize, name: &str) -> Found {
    let near = diagnostic::suggest::typo_of(name, keywords.names());
    let message = format!("sshd does not know {name} (Bad configuration option), and does not start");
    match near {
        Some(near) => {
            let change = Change::word(line, name, near);
            Found::error(line, message, format!("Write `{near}`")).change(change)
        }
        // Distributions add some of their own.
        None => {
            let message = format!("{name} is not an OpenSSH keyword; an unpatched sshd does not start");
            Found::warning(line, message, "Remove it, or correct its name")
        }
    }
}

fn of_value(line: usize, known: &SshdKeyword, first: &str, count: usize) -> Option<Found> {
    let wrong = |expected: &str, fix: &str| {
        let message = format!("{} {first}: sshd expects {expected}, and does not start", known.keyword);
        Some(Found::error(line, message, fix.to_owned()))
    };
    match known.value {
        Value::Words if !known.words.iter().any(|word| word.eq_ignore_ascii_case(first)) => {
            let near = diagnostic::suggest::typo_of(first, known.words.iter().map(String::as_str));
            let found = wrong(
                &known.words.join(", "),
                &near.map_or_else(|| one_of(&known.words), |near| format!("Write `{near}`")),
            );
            found.map(|found| found.change_if(near.map(|near| Change::word(line, first, near))))
        }
        Value::Number if first.parse::<i64>().is_err() => wrong("a number", "Write a number"),
        // A name of /etc/services is a port too.
        Value::Port
            if !first.starts_with(|letter: char| letter.is_ascii_alphabetic())
                && first.parse::<u16>().map_or(true, |port| port == 0) =>
        {
            wrong("a port from 1 to 65535", "Write a port from 1 to 65535")
        }
        Value::Time if !is_time(first) && (first != "none" || known.keyword != "UnusedConnectionTimeout") => {
            wrong("a time such as 30, 2m, 1h", "Write a time such as 30, 2m or 1h")
        }
        Value::Words | Value::Number | Value::Port | Value::Time if count > 1 => {
            let message = format!("{} has more than one value; sshd does not start", known.keyword);
            Some(Found::error(line, message, "Write one value per line"))
        }
        _ => None,
    }
}

/// `Write yes or no`, `Write one of: yes, no, local, remote`.
fn one_of(words: &[String]) -> String {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] | [_] | [_, _] => format!("Write {}", diagnostic::words::or(&words)),
        _ => format!("Write one of: {}", words.join(", ")),
    }
}

/// `30`, `2m`, `1h30m`.
fn is_time(value: &str) -> bool {
    let digits_first = value.starts_with(|letter: char| letter.is_ascii_digit());
    let units = value.chars().all(|letter| letter.is_ascii_digit() || "smhdwSMHDW".contains(letter));
    digits_first && units
}

/// Criteria of Match in sshd; ssh has others.
const CRITERIA: &[&str] = &[
    "user",
    "group",
    "host",
    "localaddress",
    "localport",
    "rdomain",
    "address",
    "version",
    "invalid-user",
    "all",
];

fn conditions(line: usize, arguments: &[String]) -> Option<Found> {
    let first = arguments.first().map(|word| word.split('=').next().unwrap_or(word).to_ascii_lowercase());
    let known = first.as_ref().is_some_and(|first| CRITERIA.contains(&first.as_str()));
    let all = first.as_deref() == Some("all") && arguments.len() > 1;
    let message = match (&first, all) {
        (None, _) => "Match has no criteria; sshd does not start".to_owned(),
        (Some(_), true) => "Match all cannot be combined with other criteria; sshd does not \
            start"
            .to_owned(),
        (Some(first), false) => {
            format!("Match {first}: sshd does not know this criterion, and does not start")
        }
    };
    (!known || all).then(|| {
        Found::error(
            line,
            message,
            "Write `Match User NAME`, `Match Address LIST`, or `Match \
            all`",
        )
    })
}
