//! A percent sign in a crontab, which cron takes for the end of the line.

use crate::read::machine::Machine;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "crontab-percent-unescaped",
    severity: Severity::Error,
    summary: "percent signs in crontabs are behind a backslash",
    explain: include_str!("crontab_percent_unescaped.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named(
            "gpu-report.cron",
            "SHELL=/bin/bash\n*/5 * * * * root nvidia-smi -q >> /var/log/gpu/$(date +%F).csv\n",
        ),
        named("cron.d/backup", "@daily root tar czf /backup/ckpt-`date +%Y%m%d`.tgz /ckpt\n"),
        named("crontab", "0 3 * * 1 rsync -a /ckpt/ \"/mnt/$(date '+%Y-%m-%d')/\"\n"),
    ],
    silent: &[
        named(
            "gpu-report.cron",
            "# date +%F\nFORMAT=%F\n*/5 * * * * root nvidia-smi -q >> /var/log/gpu/$(date +\\%F).csv\n",
        ),
        named("crontab", "0 3 * * 1 /usr/local/bin/report.sh\n30 4 * * * mail -s report ops%GPU report%\n"),
    ],
};

fn judge(machine: &Machine) -> Vec<Found> {
    if machine.kind != Kind::Crontab {
        return Vec::new();
    }
    machine.text.lines().enumerate().filter_map(|(index, line)| fault(index + 1, line)).collect()
}

fn fault(number: usize, line: &str) -> Option<Found> {
    let command = command(line)?;
    let mut before = None;
    let at = command.char_indices().find_map(|(at, letter)| {
        let bare = letter == '%' && before != Some('\\');
        before = Some(letter);
        bare.then_some(at)
    })?;
    let left = command.get(..at)?;
    // What is behind the first sign is input of the command: that may be meant.
    let enclosed = left.matches("$(").count() > left.matches(')').count()
        || left.matches('`').count() % 2 == 1
        || left.matches('"').count() % 2 == 1
        || left.matches('\'').count() % 2 == 1
        || left.contains("date +");
    let shown = left.split_whitespace().rev().take(3).collect::<Vec<_>>();
    let shown = shown.into_iter().rev().collect::<Vec<_>>().join(" ");
    let message = format!(
        "cron ends the command at the first `%`, behind `{shown}`, and gives it the rest as input; the \
         shell reports a \
         syntax error"
    );
    enclosed.then(|| Found::error(number, message, "Write `\\%`"))
}

/// The command of a line: behind five fields of time, or `@daily`.
fn command(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let is_field = |word: &str| {
        !word.is_empty()
            && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "*/,-".contains(letter))
    };
    if line.starts_with('#')
        || !line.starts_with(['*', '@']) && !line.starts_with(|l: char| l.is_ascii_digit())
    {
        return None;
    }
    let fields = if line.starts_with('@') { 1 } else { 5 };
    let mut rest = line;
    for _ in 0..fields {
        let (field, after) = rest.split_once(char::is_whitespace)?;
        if !is_field(field.trim_start_matches('@')) {
            return None;
        }
        rest = after.trim_start();
    }
    (!rest.is_empty()).then_some(rest)
}
