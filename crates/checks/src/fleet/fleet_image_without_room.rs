//! A machine that lacks the image has no room for it.

use super::FleetCheck;
use crate::{Fix, Judged, Subject, Verdict};
use diagnostic::Severity;
use facts::Fact;
use facts::fleet::Fleet;

pub(super) const CHECK: FleetCheck = FleetCheck {
    id: "fleet-image-without-room",
    severity: Severity::Error,
    summary: "every machine has the image, or room for it",
    explain: include_str!("fleet_image_without_room.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    let Some(image) = &fleet.image else {
        return Err(Verdict::NotApplicable("no image is configured".into()));
    };
    let bytes = fleet.members.iter().filter_map(|member| member.image.known()).max();
    let Some(&bytes) = bytes else {
        let unknown = fleet.members.iter().find_map(|member| match &member.image {
            Fact::Unknown(why) => Some(format!("{}: {why}", member.name)),
            _ => None,
        });
        return Err(match unknown {
            Some(why) => Verdict::unknown(why),
            None => Verdict::NotApplicable(format!("no machine has {image} yet, so its size is unknown")),
        });
    };
    let mut unknown = None;
    for member in &fleet.members {
        match &member.image {
            Fact::Known(_) => continue,
            Fact::Unknown(why) => {
                unknown = unknown.or(Some(format!("{}: {why}", member.name)));
                continue;
            }
            Fact::Absent => {}
        }
        match &member.facts.docker.data_root {
            Fact::Known(root) if root.space.available < bytes => {
                let size = |bytes| diagnostic::units::size(bytes, 3);
                let message = format!(
                    "{} has no room for {image}: it needs {}, but only {} are free in {}",
                    member.name,
                    size(bytes),
                    size(root.space.available),
                    root.path
                );
                let fix = Fix::restarts_service(
                    "Remove unused images and build cache on that machine:",
                    &["docker system df", "docker builder prune", "docker image prune -a"],
                );
                return Ok(Verdict::error(message, fix).about(Subject::node(&member.name)));
            }
            Fact::Known(_) => {}
            Fact::Absent => unknown = unknown.or(Some(format!("{}: the data root is unknown", member.name))),
            Fact::Unknown(why) => unknown = unknown.or(Some(format!("{}: {why}", member.name))),
        }
    }
    match unknown {
        Some(why) => Err(Verdict::unknown(why)),
        None => Ok(Verdict::Pass),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{two, verdict_line};
    use super::*;
    use facts::docker::DataRoot;
    use host::Space;

    #[test]
    fn compares_image_size_with_free_disk_space() {
        let of = |first: Fact<u64>, available: u64| {
            let mut fleet = two();
            fleet.members[0].image = first;
            let space = Space { total: 100 << 30, available };
            fleet.members[1].facts.docker.data_root =
                Fact::Known(DataRoot { path: "/var/lib/docker".into(), space });
            verdict_line(&CHECK, &fleet)
        };
        assert_eq!(of(Fact::Known(20_000_000_000), 50 << 30), "pass");
        let full = of(Fact::Known(20_000_000_000), 5_000_000_000);
        assert!(
            full.starts_with(
                "error: node2 has no room for team/train:1: it needs 20.0 gb, but only 5.00 gb are free"
            ),
            "{full}"
        );
        assert!(of(Fact::Absent, 5).starts_with("not applicable: no machine has team/train:1 yet"));
        assert!(of(Fact::Unknown("no engine".into()), 5).starts_with("unknown: node1: no engine"));
    }
}
