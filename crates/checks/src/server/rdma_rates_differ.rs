//! RDMA ports of one kind run at different rates.

use crate::{Applies, Check, Fix, FixClass, Group, Judged, Severity, Subject, Verdict};
use std::collections::BTreeMap;

use facts::Facts;
use facts::rdma::{LinkLayer, PortState};

pub(super) const CHECK: Check = Check {
    id: "rdma-rates-differ",
    group: Group::Rdma,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "RDMA ports of one kind run at the same rate",
    explain: include_str!("rdma_rates_differ.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let devices = facts.rdma.devices.require("no RDMA device")?;
    // Of one type and link layer: name of the device, rate.
    let mut groups: BTreeMap<(String, LinkLayer), Vec<(&str, u32)>> = BTreeMap::new();
    for device in devices {
        for port in device.ports.require("no ports")? {
            if port.state != PortState::Active {
                continue;
            }
            let kind = device.kind.decided()?.cloned().unwrap_or_default();
            let rate = *port.rate.require("no rate")?;
            groups.entry((kind, port.link_layer.clone())).or_default().push((&device.name, rate));
        }
    }
    groups.retain(|_, ports| ports.len() > 1);
    if groups.is_empty() {
        return Err(Verdict::NotApplicable("fewer than two active ports of one kind".into()));
    }
    for ((kind, layer), ports) in &groups {
        let most = ports.iter().map(|(_, rate)| *rate).max().unwrap_or(0);
        let slow: Vec<&str> = ports.iter().filter(|(_, rate)| *rate < most).map(|(name, _)| *name).collect();
        // Several slower ones may well serve another network (storage); one among many is a fault.
        let [slow] = slow[..] else { continue };
        if ports.len() < 3 {
            continue;
        }
        let message = format!(
            "{slow} is slower than the other {kind} adapters ({layer}), which run at {} Gbit/s; jobs that \
             use it run at its speed",
            most / 1000
        );
        let fix = Fix {
            class: FixClass::Manual,
            ..Fix::safe("Check cable, transceiver and switch port:", &["ibstat"])
        };
        let verdict = Verdict::warning(message, fix).about(Subject::name(slow));
        return Ok(ports.iter().fold(verdict, |verdict, (name, rate)| {
            verdict.evidence(format!("{name}: {} Gbit/s", f64::from(*rate) / 1000.0))
        }));
    }
    Ok(Verdict::Pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{expect, verdict_line};
    use facts::Fact;
    use facts::testing::roles::*;

    fn node(rates: &[u32]) -> Facts {
        let mut facts = gpu_node();
        let devices = rates
            .iter()
            .enumerate()
            .map(|(at, rate)| rdma_device(&format!("mlx5_{at}"), "InfiniBand", "ACTIVE", *rate));
        facts.rdma.devices = Fact::Known(devices.collect());
        facts
    }

    #[test]
    fn a_slow_rail_is_found() {
        expect(&CHECK, &node(&[200, 200, 100, 200]), "warning", "mlx5_2 is slower");
        expect(&CHECK, &node(&[200, 200]), "pass", "");
        assert_eq!(verdict_line(&CHECK, &node(&[400, 400, 400, 400, 200, 200])), "pass", "two for storage");
        expect(&CHECK, &node(&[200]), "not-applicable", "");
        let mut unread = node(&[200, 200]);
        unread.rdma.devices = Fact::Unknown("no /sys".into());
        expect(&CHECK, &unread, "unknown", "");
    }
}
