//! Packets of the size that the interfaces allow do not arrive.

use super::{FleetCheck, tried};
use crate::{Fix, Judged, Severity, Subject, Verdict};
use facts::Fact;
use facts::fleet::Fleet;

pub(super) const CHECK: FleetCheck = FleetCheck {
    id: "fleet-mtu-broken",
    severity: Severity::Error,
    summary: "packets up to the interface MTU arrive between all machines",
    explain: include_str!("fleet_mtu_broken.md"),
    judge,
};

fn judge(fleet: &Fleet) -> Judged {
    tried(fleet)?;
    let name = |index: usize| fleet.members.get(index).map_or("?", |member| member.name.as_str());
    let (mut broken, mut sizes, mut unknown) = (Vec::new(), Vec::new(), None);
    for pair in &fleet.pairs {
        let (from, to) = (name(pair.from), name(pair.to));
        match &pair.mtu {
            Fact::Known(mtu) if mtu.bytes < mtu.interface => broken.push((from, to, *mtu)),
            Fact::Known(mtu) => sizes.push((from, mtu.interface)),
            Fact::Absent => unknown = unknown.or(Some(format!("{from} → {to}: not tested"))),
            Fact::Unknown(why) => unknown = unknown.or(Some(format!("{from} → {to}: {why}"))),
        }
    }
    // Where nothing arrives at all, that is not the size's fault.
    let silent = broken.iter().find(|(_, _, mtu)| mtu.bytes == 0);
    if let Some((from, to, mtu)) = broken.iter().find(|(_, _, mtu)| mtu.bytes > 0) {
        let message = format!(
            "packets from {from} to {to} arrive up to {} bytes and larger ones are lost, but the interface \
             MTU is {}; overlay networks can use at most {}",
            mtu.bytes,
            mtu.interface,
            mtu.bytes.saturating_sub(50)
        );
        let fix = Fix::safe(
            "Set the same MTU on all interfaces and switches on the path, or lower the interface MTU to the \
             size that arrives:",
            &[&format!("ip link set INTERFACE mtu {}", mtu.bytes)],
        );
        return Ok(broken.iter().take(20).fold(
            Verdict::error(message, fix).about(Subject::node(*from)),
            |finding, (from, to, mtu)| {
                finding.evidence(format!("{from} → {to}: {} of {} bytes", mtu.bytes, mtu.interface))
            },
        ));
    }
    if let Some((from, to, _)) = silent {
        return Err(Verdict::Unknown(
            format!("{from} → {to}: even small datagrams were not acknowledged").into(),
        ));
    }
    if let (Some(smallest), Some(largest)) =
        (sizes.iter().min_by_key(|(_, size)| size), sizes.iter().max_by_key(|(_, size)| size))
        && smallest.1 != largest.1
    {
        let message = format!(
            "the MTU differs: {} has {} bytes, {} has {}; large packets may be lost in one direction",
            largest.0, largest.1, smallest.0, smallest.1
        );
        return Ok(Verdict::warning(message, Fix::manual("Set the same MTU on every machine.")));
    }
    match (unknown, sizes.is_empty()) {
        (Some(why), _) => Err(Verdict::unknown(why)),
        (None, true) => Err(Verdict::Unknown("no connection was tested between the machines".into())),
        (None, false) => Ok(Verdict::Pass),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{two, verdict_line};
    use super::*;
    use facts::fleet::{Pair, PathMtu};

    #[test]
    fn reports_path_mtu_below_interface_mtu() {
        let of = |mtus: &[(u32, u32)]| {
            let mut fleet = two();
            let pair = |(index, (bytes, interface)): (usize, &(u32, u32))| Pair {
                from: index % 2,
                to: (index + 1) % 2,
                resolved: Fact::Absent,
                mtu: Fact::Known(PathMtu { bytes: *bytes, interface: *interface }),
                ports: Vec::new(),
            };
            fleet.pairs = mtus.iter().enumerate().map(pair).collect();
            verdict_line(&CHECK, &fleet)
        };
        assert_eq!(of(&[(1500, 1500), (1500, 1500)]), "pass");
        assert!(
            of(&[(1400, 1500), (1500, 1500)])
                .starts_with("error: packets from node1 to node2 arrive up to 1400 bytes")
        );
        assert!(
            of(&[(9000, 9000), (1500, 1500)]).starts_with("warning: the mtu differs: node1 has 9000 bytes")
        );
        assert!(of(&[(0, 1500)]).starts_with("unknown: node1 → node2"));
    }
}
