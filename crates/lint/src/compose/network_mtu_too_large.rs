//! An overlay network without its MTU.

use crate::read::compose::{Compose, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose};

/// The rule.
pub const RULE: Rule = Rule {
    id: "network-mtu-too-large",
    severity: Severity::Warning,
    summary: "the MTU of an overlay network leaves room for VXLAN's headers",
    explain: "\
## What it finds
Overlay networks whose option com.docker.network.driver.mtu is 1500 or 9000 (or above 1450 up to 1500, above
8950 up to 9000): the MTU of the link itself.

## Why it matters
VXLAN puts 50 bytes before each packet. A container that sends 1500 bytes makes packets of 1550, which the
link drops: small transfers work, large ones hang.

## How to fix it
The link's MTU less 50: 1450, or 8950 with jumbo frames.

## Sources
- https://docs.docker.com/engine/network/drivers/overlay/ (options)
- RFC 7348, section 4.3 (50 bytes of headers, no fragmentation)
",
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
