//! Machines for the tests of this folder.

use std::collections::BTreeMap;

use super::FleetCheck;
use crate::Verdict;
use facts::fleet::Identity;
use facts::fleet::{Fleet, Member, Skew};
use facts::testing::server::healthy;
use facts::{Fact, Facts};

/// A machine of its own.
pub(super) fn member(name: &str, facts: Facts) -> Member {
    Member {
        name: name.into(),
        address: "10.0.0.1".into(),
        facts,
        identity: Fact::Known(Identity {
            hostname: name.into(),
            machine_id: Some(format!("machine of {name}")),
            boot_id: Some(format!("boot of {name}")),
            architecture: "x86_64".into(),
            kernel: "6.1".into(),
        }),
        skew: Fact::Known(Skew { seconds: 0.0, uncertain: 0.01 }),
        contents: BTreeMap::new(),
        image: Fact::Absent,
    }
}

/// Two healthy servers.
pub(super) fn two() -> Fleet {
    Fleet {
        members: vec![member("node1", healthy()), member("node2", healthy())],
        pairs: Vec::new(),
        not_tried: None,
        same_content: Vec::new(),
        image: Some("team/train:1".into()),
    }
}

/// Two machines of which nothing could be seen.
pub(super) fn unseen() -> Fleet {
    let mut fleet = two();
    for member in &mut fleet.members {
        member.facts = facts::testing::unknown();
        member.identity = Fact::Unknown("not seen".into());
        member.skew = Fact::Unknown("not seen".into());
        member.image = Fact::Unknown("not seen".into());
    }
    fleet.not_tried = Some("nothing was tried".into());
    fleet.same_content = vec!["/srv/code".into()];
    fleet
}

/// `error: …`, `pass`, `unknown: …`.
pub(super) fn verdict_line(check: &FleetCheck, fleet: &Fleet) -> String {
    match (check.judge)(fleet).unwrap_or_else(|verdict| verdict) {
        Verdict::Pass => "pass".into(),
        Verdict::NotApplicable(why) => format!("not applicable: {why}"),
        Verdict::Unknown(why) => format!("unknown: {why}"),
        Verdict::Found(found) => format!("{}: {}", found.severity, found.message).to_lowercase(),
    }
}
