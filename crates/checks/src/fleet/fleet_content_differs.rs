//! What must be the same on every machine is not.

use super::FleetCheck;
use crate::{Fix, Judged, Subject, Verdict};
use diagnostic::Severity;
use diagnostic::shell;
use facts::Fact;
use facts::fleet::Digest;
use facts::fleet::{Fleet, Member};

pub(super) const CHECK: FleetCheck = FleetCheck {
    id: "fleet-content-differs",
    severity: Severity::Error,
    summary: "paths with `check: same-content` are identical on every machine",
    explain: include_str!("fleet_content_differs.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    if fleet.members.len() < 2 {
        return Err(Verdict::NotApplicable("only one machine".into()));
    }
    let of_path = |path: &String| of_path(fleet, path);
    Verdict::together(
        fleet.same_content.iter().map(of_path),
        "no path of cluster.yaml has `check: same-content`",
    )
}

fn of_path(fleet: &Fleet, path: &str) -> Judged {
    let fix = || {
        Fix::safe(
            "Copy it from a machine with the correct content:",
            &[&format!("rsync -a --delete {0}/ NODE:{0}/", shell::word(path))],
        )
    };
    let mut known: Vec<(&Member, &Digest)> = Vec::new();
    let mut unknown = None;
    for member in &fleet.members {
        match member.contents.get(path) {
            Some(Fact::Known(digest)) if !digest.unreadable.is_empty() => {
                unknown = unknown.or(Some(format!(
                    "{}: not readable: {}",
                    member.name,
                    digest.unreadable.join(", ")
                )));
            }
            Some(Fact::Known(digest)) => known.push((member, digest)),
            Some(Fact::Absent) => {
                let message = format!("{path} does not exist on {}", member.name);
                return Ok(Verdict::error(message, fix()).about(Subject::node(&member.name)));
            }
            Some(Fact::Unknown(why)) => {
                unknown = unknown.or(Some(format!("{path} on {}: {why}", member.name)))
            }
            None => unknown = unknown.or(Some(format!("{path} on {}: not checked", member.name))),
        }
    }
    if let Some(((first, one), rest)) = known.split_first()
        && let Some((second, other)) = rest.iter().find(|(_, other)| other.sha256 != one.sha256)
    {
        let message = format!(
            "{path} differs between {} ({} files, {}) and {} ({} files, {}){}",
            first.name,
            one.files,
            diagnostic::units::size(one.bytes, 3),
            second.name,
            other.files,
            diagnostic::units::size(other.bytes, 3),
            entries(one, other)
        );
        return Ok(known.iter().fold(Verdict::error(message, fix()), |finding, (member, digest)| {
            finding
                .evidence(format!("{}: {path} {} files, sha256 {}", member.name, digest.files, digest.sha256))
        }));
    }
    match unknown {
        Some(why) => Err(Verdict::unknown(why)),
        None => Ok(Verdict::Pass),
    }
}

/// `: train.py, config`: the entries that differ, where they are known.
fn entries(one: &Digest, other: &Digest) -> String {
    let mut names: Vec<&String> = one
        .entries
        .keys()
        .chain(other.entries.keys())
        .filter(|name| one.entries.get(*name) != other.entries.get(*name))
        .collect();
    names.sort_unstable();
    names.dedup();
    match &names[..] {
        [] => String::new(),
        some => format!(
            ": {}{}",
            some.iter().take(5).map(|name| name.as_str()).collect::<Vec<_>>().join(", "),
            if some.len() > 5 { ", …" } else { "" }
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::testing::{two, verdict_line};
    use super::*;

    #[test]
    fn the_entry_that_differs_is_named() {
        let digest = |train: &str| Digest {
            sha256: format!("sum of {train}"),
            files: 2,
            bytes: 2000,
            entries: BTreeMap::from([("train.py".to_owned(), train.to_owned()), ("same".into(), "x".into())]),
            unreadable: Vec::new(),
        };
        let of = |second: Fact<Digest>| {
            let mut fleet = two();
            fleet.same_content = vec!["/srv/code".into()];
            fleet.members[0].contents = BTreeMap::from([("/srv/code".to_owned(), Fact::Known(digest("a")))]);
            fleet.members[1].contents = BTreeMap::from([("/srv/code".to_owned(), second)]);
            verdict_line(&CHECK, &fleet)
        };
        assert_eq!(of(Fact::Known(digest("a"))), "pass");
        let differs = of(Fact::Known(digest("b")));
        assert!(
            differs.starts_with("error: /srv/code differs between node1") && differs.ends_with(": train.py"),
            "{differs}"
        );
        assert_eq!(of(Fact::Absent), "error: /srv/code does not exist on node2");
        assert!(
            of(Fact::Known(Digest { unreadable: vec!["x: denied".into()], ..digest("a") }))
                .starts_with("unknown")
        );
        assert!(verdict_line(&CHECK, &two()).starts_with("not applicable"));
    }
}
