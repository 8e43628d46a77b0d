//! A limit whose value pam_limits reads as another number.

use crate::read::machine::Machine;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "limit-value-misread",
    severity: Severity::Error,
    summary: "values in limits.conf are numbers without a unit",
    explain: include_str!("limit_value_misread.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named(
            "etc/security/limits.d/90-gpu.conf",
            "# for NCCL\n@gpuusers - memlock 64G\n@gpuusers - nofile 1048576\n",
        ),
        named("limits.conf", "*  soft  memlock  unlimited\n*  hard  memlock  infinite\n"),
        named("limits.conf", "* Hard MEMLOCK 64G\n"),
    ],
    silent: &[
        named("limits.conf", "* soft memlock unlimited\n* hard memlock -1\n* - stack 65536 # KB\n"),
        named("limits.conf", "@students hard maxlogins 4\n@students - nice 10\n@gpu - rtprio 99\n"),
        named("limits.conf", "# * - memlock 64G\n"),
        named("limits.conf", "* SOFT memlock UNLIMITED\n* - stack Infinity\n"),
        named("limits.conf", "* - memlock\n* hard memlock infinity\n"),
    ],
};

/// Items whose value is a number, with the unit of a bare one.
const ITEMS: &[(&str, &str)] = &[
    ("core", "KB"),
    ("data", "KB"),
    ("fsize", "KB"),
    ("memlock", "KB"),
    ("stack", "KB"),
    ("as", "KB"),
    ("rss", "KB"),
    ("msgqueue", "bytes"),
    ("nofile", ""),
    ("nproc", ""),
    ("locks", ""),
    ("sigpending", ""),
];

fn judge(machine: &Machine) -> Vec<Found> {
    if machine.kind != Kind::Limits {
        return Vec::new();
    }
    machine.text.lines().enumerate().filter_map(|(index, line)| fault(index + 1, line)).collect()
}

fn fault(number: usize, line: &str) -> Option<Found> {
    let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
    let [_, kind, item, value] = words[..] else { return None };
    // pam_limits reads all four words in small letters.
    let (kind, item) = (kind.to_ascii_lowercase(), item.to_ascii_lowercase());
    let &(item, unit) = ITEMS.iter().find(|(name, _)| *name == item)?;
    let none = matches!(&*value.to_ascii_lowercase(), "-1" | "-" | "unlimited" | "infinity");
    if none || !matches!(&*kind, "soft" | "hard" | "-") {
        return None;
    }
    let end = value.find(|letter: char| !letter.is_ascii_digit()).filter(|_| !value.starts_with('-'))?;
    let (digits, rest) = value.split_at(end);
    let message = match digits {
        "" => format!("`{value}` is not a number; pam_limits ignores this {item} line"),
        _ => format!("pam_limits reads `{value}` as {} and ignores `{rest}`", amount(digits, unit)),
    };
    let fix = match (digits.parse::<u64>().ok().and_then(|count| in_unit(count, rest, unit)), digits) {
        (_, "") => "Write `unlimited`".to_owned(),
        (Some(count), _) if item == "memlock" => {
            format!("Write `unlimited`, or the number of KB: `{count}`")
        }
        (Some(count), _) => format!("Write the number: `{count}`"),
        (None, _) => "Write a number without a unit".to_owned(),
    };
    Some(Found::error(number, message, fix).about(item))
}

fn amount(digits: &str, unit: &str) -> String {
    if unit.is_empty() { digits.to_owned() } else { format!("{digits} {unit}") }
}

/// A number with a unit in KB, where the item is counted in these: 67108864 of `64G`.
fn in_unit(count: u64, rest: &str, unit: &str) -> Option<u64> {
    let power = match rest.to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
        "k" => 0,
        "m" => 1,
        "g" => 2,
        "t" => 3,
        _ => return None,
    };
    (unit == "KB").then(|| count.checked_mul(1024_u64.pow(power)))?
}
