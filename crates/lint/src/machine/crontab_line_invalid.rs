//! A line of a crontab that cron does not take, or that names no user.

use crate::read::machine::Machine;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "crontab-line-invalid",
    severity: Severity::Error,
    summary: "lines of crontabs have fields that cron takes, and a user in /etc/cron.d",
    explain: include_str!("crontab_line_invalid.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named("etc/cron.d/gpu", "*/5 * * * * /usr/local/bin/gpu-report.sh > /var/log/gpu.log\n"),
        named("crontab", "0 25 * * * /usr/local/bin/report.sh\n"),
        named("crontab", "PATH=$HOME/bin:$PATH\n0 5 * * * report.sh\n"),
    ],
    silent: &[
        named("etc/cron.d/gpu", "*/5 * * * * root /usr/local/bin/gpu-report.sh\n@reboot root /bin/true\n"),
        named(
            "crontab",
            "PATH=/usr/bin:/bin\n*/15 0-6,22 1 jan-mar mon-fri /usr/local/bin/report.sh\n0 5 * * 7 \
             /usr/local/bin/x\n",
        ),
    ],
};

/// The fields of time: what they are, and their bounds.
const FIELDS: &[(&str, u32, u32)] = &[
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of the month", 1, 31),
    ("month", 1, 12),
    ("day of the week", 0, 7),
];

fn judge(machine: &Machine) -> Vec<Found> {
    if machine.kind != Kind::Crontab {
        return Vec::new();
    }
    let of_system = machine.name.contains("cron.d/");
    let lines = machine.text.lines().enumerate();
    lines.filter_map(|(index, line)| fault(index + 1, line.trim(), of_system)).collect()
}

fn fault(number: usize, line: &str, of_system: bool) -> Option<Found> {
    if let Some((name, value)) = line.split_once('=').filter(|(name, _)| is_name(name.trim())) {
        let own = ["PATH", "LD_LIBRARY_PATH", "PYTHONPATH"].contains(&name.trim()) && value.contains('$');
        let message = format!(
            "cron does not replace variables: {} becomes the text `{}`, and programs are not found",
            name.trim(),
            value.trim()
        );
        return own.then(|| Found::error(number, message, "Write the folders out"));
    }
    let mut words = line.split_whitespace();
    let first = words.next()?;
    if first.starts_with('#')
        || !first.starts_with(['*', '@']) && !first.starts_with(|l: char| l.is_ascii_digit())
    {
        return None;
    }
    if !first.starts_with('@') {
        let fields: Vec<&str> = std::iter::once(first).chain(words.by_ref().take(FIELDS.len() - 1)).collect();
        for (field, (what, least, most)) in fields.iter().zip(FIELDS) {
            let numbers =
                field.split([',', '-']).filter_map(|part| part.split('/').next()?.parse::<u32>().ok());
            if let Some(wrong) = numbers.into_iter().find(|number| number < least || number > most) {
                let message =
                    format!("{wrong} is not a valid {what} ({least} to {most}); cron refuses the line");
                return Some(Found::error(number, message, "Correct the field"));
            }
        }
    }
    let user = words.next()?;
    let command = user.starts_with(['/', '.', '$', '~', '"', '\'', '[', '(']) || user.ends_with(".sh");
    let message =
        format!("files in cron.d have a user behind the time; cron takes `{user}` for one, and runs nothing");
    (of_system && command).then(|| Found::error(number, message, "Add the user: `root`"))
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !text.starts_with(|letter: char| letter.is_ascii_digit())
}
