//! An overlay network without its MTU.

use crate::read::compose::{Compose, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "network-mtu-too-large",
    severity: Severity::Warning,
    summary: "the MTU of an overlay network leaves room for VXLAN headers",
    explain: include_str!("network_mtu_too_large.md"),
    judge: Judge::Compose(judge),
    fires: &[compose(
        "networks:\n  n:\n    driver: overlay\n    driver_opts:\n      com.docker.network.driver.mtu: 1500\n",
    )],
    silent: &[
        compose(
            "networks:\n  n:\n    driver: overlay\n    driver_opts:\n      com.docker.network.driver.mtu: \
             \"1450\"\n",
        ),
        compose(
            "networks:\n  n:\n    driver: bridge\n    driver_opts:\n      com.docker.network.driver.mtu: \
             1500\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let overlays = file
        .networks()
        .filter(|(_, network)| below(network, &["driver"]).and_then(text).as_deref() == Some("overlay"));
    overlays
        .filter_map(|(name, network)| {
            let mtu: u32 = below(network, &["driver_opts", "com.docker.network.driver.mtu"])
                .and_then(text)?
                .parse()
                .ok()?;
            if !(1451..=1500).contains(&mtu) && !(8951..=9000).contains(&mtu) {
                return None;
            }
            let link = if mtu <= 1500 { 1500 } else { 9000 };
            let message = format!(
                "overlay network {name} has MTU {mtu}; with 50 bytes of VXLAN headers its \
                 packets exceed a link MTU of {link} and are dropped"
            );
            let line = file.line(&["networks", name, "driver_opts", "com.docker.network.driver.mtu"]);
            Some(Found::warning(
                line,
                message,
                format!(
                    "Set the MTU to {} on a link with MTU \
                     {link}",
                    link - 50
                ),
            ))
        })
        .collect()
}
