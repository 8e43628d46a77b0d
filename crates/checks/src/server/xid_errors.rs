//! The driver logged GPU faults since boot.

use crate::{Applies, Check, Fix, Group, Judged, Subject, Verdict};
use diagnostic::Severity;
use facts::Facts;
use std::collections::BTreeMap;

use catalog::severity;
use catalog::xids::Cause;

pub(super) const CHECK: Check = Check {
    id: "xid-errors",
    group: Group::Gpu,
    severity: Severity::Error,
    applies: Applies::GpuHost,
    summary: "the driver logged no GPU fault since boot",
    explain: include_str!("xid_errors.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let xids = facts.kernel_log.xids.require("no kernel log")?;
    let mut counts: BTreeMap<(u32, &str), (usize, &str)> = BTreeMap::new();
    // Xid 79, and the driver's advice (154) that comes with it, are the matter of another check.
    let fallen = crate::yield_to(&[&super::gpu_fallen_off_bus::CHECK], facts);
    let reported_elsewhere = |number| fallen.is_err() && [79, 154].contains(&number);
    for xid in xids.iter().filter(|xid| !xid.switch && !reported_elsewhere(xid.number)) {
        counts.entry((xid.number, xid.address.as_str())).or_insert((0, xid.line.as_str())).0 += 1;
    }
    let mut events: Vec<_> = counts
        .into_iter()
        .map(|((number, address), (count, line))| (weight(facts, number), number, address, count, line))
        .filter(|(weight, ..)| *weight > Weight::Notice)
        .collect();
    events.sort_by_key(|(weight, number, ..)| (std::cmp::Reverse(*weight), *number));
    let Some(&(worst, number, address, ..)) = events.first() else { return fallen.map(|()| Verdict::Pass) };
    let row = facts.catalog.xids().xid(number);
    let meaning =
        row.map_or("not in envdoc's catalog".to_owned(), |row| format!("{}: {}", row.name, row.meaning));
    let message = format!("Xid {number} since boot ({meaning})");
    let action = row.map_or("Look up the number in NVIDIA's Xid catalog", |row| row.action.as_str());
    let fix = Fix::safe(sentence(action), &[]).punctuated();
    let verdict = if worst == Weight::Fault {
        Verdict::error(message, fix).about(Subject::name(address))
    } else {
        Verdict::warning(message, fix).about(Subject::name(address))
    };
    let verdict = events.iter().take(12).fold(verdict, |verdict, (_, _, address, count, line)| {
        let times = if *count == 1 { String::new() } else { format!("{count} times on {address}, first: ") };
        verdict.evidence(format!("{times}{line}"))
    });
    Ok(verdict)
}

/// How an Xid counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Notice,
    Program,
    Unlisted,
    Fault,
}

fn weight(facts: &Facts, number: u32) -> Weight {
    match facts.catalog.xids().xid(number).map(|row| (row.severity, row.cause)) {
        None => Weight::Unlisted,
        Some((severity::Severity::Info, _)) => Weight::Notice,
        Some((_, Some(Cause::Program))) => Weight::Program,
        Some(_) => Weight::Fault,
    }
}

/// The text with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.trim().trim_end_matches('.').chars();
    letters.next().map_or(String::new(), |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::Fact;
    use facts::kernel_log::xids as parse;
    use facts::testing::unknown;

    fn logged(lines: &str) -> Facts {
        let mut facts = unknown();
        facts.kernel_log.xids = Fact::Known(parse(lines));
        facts
    }

    #[test]
    fn most_severe_xid_comes_first_and_repeats_are_counted() {
        let storm =
            "NVRM: Xid (PCI:0000:38:00): 13, pid=1, name=python, Graphics SM Warp Exception\n".repeat(157);
        let log = format!("{storm}NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n");
        let Ok(Verdict::Found(found)) = judge(&logged(&log)) else { panic!() };
        let (message, evidence, severity) = (&found.message, &found.evidence, found.severity);
        assert!(message.starts_with("Xid 79") && severity == crate::Severity::Error, "{message}");
        assert!(
            evidence[0].contains("79, GPU") && evidence[1].starts_with("157 times on 0000:38:00"),
            "{evidence:?}"
        );
        assert_eq!(evidence.len(), 2);
    }

    #[test]
    fn unlisted_xids_are_only_a_warning() {
        assert_eq!(kind(&CHECK, &logged("NVRM: Xid (PCI:0000:38:00): 9999, new")), "warning");
        assert_eq!(kind(&CHECK, &logged("")), "pass");
        assert_eq!(
            kind(&CHECK, &logged("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 46")),
            "pass"
        );
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
        assert_eq!(sentence("reset it."), "Reset it.");
    }
}
