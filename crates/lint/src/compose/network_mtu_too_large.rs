//! An overlay network without its MTU.

use crate::read::compose::{Compose, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose};

/// The rule.
pub const RULE: Rule = Rule {
    id: "network-mtu-too-large",
    severity: Severity::Warning,
    summary: "the MTU of an overlay network leaves room for VXLAN's headers",
    explain: include_str!("network_mtu_too_large.md"),
    judge: Judge::Compose(judge),
    fires: &[compose(
        "networks:\n  n:\n    driver: overlay\n    driver_opts:\n      com.docker.network.driver.mtu: 1500\n",
    )],
    silent: &[
        compose(
            "networks:\n  n:\n    driver: overlay\n    driver_opts:\n      com.docker.network.driver.mtu: \"1450\"\n",
        ),
        compose(
            "networks:\n  n:\n    driver: bridge\n    driver_opts:\n      com.docker.network.driver.mtu: 1500\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let overlays = file
        .networks()
        .filter(|(_, network)| below(network, &["driver"]).and_then(text).as_deref() == Some("overlay"));
    overlays
        .filter_map(|(name, network)| {
            let mtu: u32 = below(network, &["driver_opts", "com.docker.network.driver.mtu"]).and_then(text)?.parse().ok()?;
            if !(1451..=1500).contains(&mtu) && !(8951..=9000).contains(&mtu) {
                return None;
            }
            let link = if mtu <= 1500 { 1500 } else { 9000 };
            let says = format!("the overlay {name} has an MTU of {mtu}: with VXLAN's 50 bytes its packets are larger than a link of {link}");
            let line = file.line(&["networks", name, "driver_opts", "com.docker.network.driver.mtu"]);
            Some(Found::warning(line, says, format!("{} on a link of {link}", link - 50)))
        })
        .collect()
}
