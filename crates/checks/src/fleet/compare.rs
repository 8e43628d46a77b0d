//! Whether something is the same on all machines.

use crate::{Fix, Judged, Severity, Verdict};
use diagnostic::Diagnostic;
use facts::fleet::traits::{Trait, value};
use facts::fleet::{Fleet, Member};
use facts::{Fact, Facts};

/// The machines with a value each.
pub(super) fn values(fleet: &Fleet, of: fn(&Facts) -> Fact<String>) -> Vec<(&Member, Fact<String>)> {
    fleet.members.iter().map(|member| (member, of(&member.facts))).collect()
}

/// Whether something is the same everywhere. `none` is why the check means nothing where no machine has it.
pub(super) fn same(
    fleet: &Fleet,
    of: &Trait,
    severity: Severity,
    consequence: &str,
    fix: Fix,
    none: &str,
) -> Judged {
    if fleet.members.len() < 2 {
        return Err(Verdict::NotApplicable("only one machine".into()));
    }
    let values = values(fleet, of.of);
    let mut seen: Vec<&Fact<String>> = Vec::new();
    for (_, value) in &values {
        if !matches!(value, Fact::Unknown(_)) && !seen.contains(&value) {
            seen.push(value);
        }
    }
    let unknown = values.iter().find_map(|(member, value)| match value {
        Fact::Unknown(why) => Some(format!("{}: {why}", member.name)),
        _ => None,
    });
    match (&seen[..], unknown) {
        ([], Some(why)) | ([_], Some(why)) => Err(Verdict::unknown(why)),
        ([Fact::Absent], None) | ([], None) => Err(Verdict::NotApplicable(none.into())),
        ([_], None) => Ok(Verdict::Pass),
        _ => {
            let shown: Vec<String> =
                values.iter().map(|(member, found)| format!("{}: {}", member.name, value(found))).collect();
            let message = format!("{} differs: {}; {consequence}", of.name, groups(&values));
            Ok(Diagnostic { evidence: shown, ..Diagnostic::new(severity, message).fix(fix) }.into())
        }
    }
}

/// `580.95.05 (node1, node2), 550.54.14 (node3)`: of many machines only how many.
fn groups(values: &[(&Member, Fact<String>)]) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (member, found) in values {
        let text = value(found);
        match groups.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(&member.name),
            None => groups.push((text, vec![&member.name])),
        }
    }
    groups.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let words = groups.iter().map(|(text, names)| match names.len() {
        0..=4 => format!("{text} ({})", names.join(", ")),
        count => format!("{text} ({}, … {count} machines)", names[..3].join(", ")),
    });
    words.collect::<Vec<_>>().join(", ")
}
