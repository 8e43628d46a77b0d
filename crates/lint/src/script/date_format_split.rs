//! A format of `date` with a space that no quotes hold together.

use std::collections::BTreeSet;

use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "date-format-split",
    severity: Severity::Error,
    summary: "a format of `date` with a space is in quotes",
    explain: include_str!("date_format_split.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "LOG=logs/$(date +%F %T).log\npython train.py > \"$LOG\"\n"),
        named("run.sh", "echo \"start: `date +%Y-%m-%d %H:%M:%S`\"\n"),
        named("run.sh", "date -u +%d.%m. %H:%M >> log\n"),
    ],
    silent: &[
        named("run.sh", "date '+%F %T'\ndate +'%F %T'\ndate \"+%F %T\"\necho $(date +%F) %done\n"),
        named("run.sh", "D=$(date -u +%a,\\ %d\\ %b)\n"),
        named("run.sh", "date +%F_%T\n# date +%F %T\nprintf '+%s %s' date\ncat <<E\ndate +%F %T\nE\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let documents = script.documents.iter().flat_map(|one| one.lines.iter().map(|(number, _)| *number));
    let documents: BTreeSet<usize> = documents.collect();
    let mut found = Vec::new();
    for (index, line) in script.text.lines().enumerate() {
        let comment = line.trim_start().starts_with('#');
        if comment || documents.contains(&(index + 1)) {
            continue;
        }
        let Some(format) = split_format(line) else { continue };
        let message = format!("`date` gets {format} as two arguments: `date: extra operand`");
        found.push(Found::error(index + 1, message, format!("Write `date '{format}'`")));
    }
    found
}

/// The format of a call of `date` that is two words.
fn split_format(line: &str) -> Option<String> {
    let calls = line.match_indices("date ").filter(|(at, _)| {
        let before = line[..*at].chars().next_back();
        before.is_none_or(|letter| letter.is_whitespace() || "`(;|&".contains(letter))
    });
    for (at, name) in calls {
        let rest = &line[at + name.len()..];
        let rest = rest.split([')', '`', ';', '|', '&', '>']).next().unwrap_or_default();
        let words: Vec<&str> = rest.split_whitespace().collect();
        let two = words.windows(2).find(|two| {
            two[0].starts_with("+%") && two[1].starts_with('%') && !two[0].contains(['\'', '"', '\\'])
        });
        if let Some(two) = two {
            return Some(two[..2].join(" ").trim_end_matches(['"', '\'']).to_owned());
        }
    }
    None
}
