//! A link that carries less than the others, or a path that carries less than it should.

use super::bandwidth::median;
use super::criteria::ROUNDS_MIN;
use super::found::{Found, less_load};
use super::noise::{Interval, middle, others, range};
use super::outcome::Outcome;
use super::repeated::spreads;
use catalog::expected_bandwidth::Kind;
use diagnostic::Fix;
use diagnostic::units::rate;

/// The part of the other links' rate that a link must carry.
const LINK_PART: f64 = 0.5;
/// The part of a rank's own loopback rate up to which the network may be held responsible for what a path
/// carries: an overlay takes two to four times the processor time of the loopback.
const LOOPBACK_PART: f64 = 0.25;
/// Bytes per second of gigabit Ethernet less its frames: 1398 bytes of data in 1538 on the wire under VXLAN
/// give 0.114 GB/s; a tenth less.
const GIGABIT_BYTES_PER_SECOND: f64 = 0.1e9;

/// Whether a link alone carries less than the others, or than it should, in every round.
pub(super) fn is_slow_link(outcome: &Outcome, (to, link, _): &(usize, Interval, Interval)) -> bool {
    let links = spreads(&outcome.network.repeated.links).unwrap_or_default();
    link.is_below(LINK_PART, middle(&others(&links, *to)))
        || thin(outcome).is_some_and(|(least, ..)| link.high < least)
}

/// Whether a link carries less than half of what the others do.
pub(super) fn unlike(links: &[f64]) -> bool {
    links.iter().copied().fold(f64::INFINITY, f64::min) < median(links) * LINK_PART
}

/// The slowest link of the repeated rounds: the rank that it goes to, what it carries alone, and what the
/// slower of its two ranks carries on the loopback.
pub(super) fn slowest(outcome: &Outcome) -> Option<(usize, Interval, Interval)> {
    let repeated = &outcome.network.repeated;
    let (links, loopback) = spreads(&repeated.links).zip(spreads(&repeated.loopback))?;
    let (to, link) = links.iter().enumerate().min_by(|one, other| one.1.high.total_cmp(&other.1.high))?;
    let from = (to + links.len() - 1) % links.len();
    let ends = [loopback.get(from)?, loopback.get(to)?];
    let slower = ends.into_iter().min_by(|one, other| one.low.total_cmp(&other.low))?;
    Some((to, *link, *slower))
}

/// A link that carries less than half of what the others do, though its ranks carry more on the loopback.
pub(super) fn slow_link(outcome: &Outcome) -> Option<Found> {
    let (to, link, loopback) = slowest(outcome)?;
    let links = spreads(&outcome.network.repeated.links)?;
    let other = middle(&others(&links, to));
    if !link.is_below(LINK_PART, other) || outcome.network.repeated.links[to].len() < ROUNDS_MIN {
        return None;
    }
    let from = outcome.ranks.get((to + links.len() - 1) % links.len())?;
    let to = outcome.ranks.get(to)?;
    let carries =
        format!("the link from {from} to {to} carries {}, the other links {}", range(link), rate(other.low));
    if !link.is_below(LOOPBACK_PART, loopback) {
        return Some(Found::Unknown(
            format!("{carries}, and {}", processors_in_the_way(loopback)),
            Some(less_load()),
        ));
    }
    Some(Found::Slow(
        carries,
        Some(Fix::safe(
            "Check speed, duplex, errors and drops of its port and cable on both nodes:",
            &["ethtool INTERFACE", "ip -s link"],
        )),
    ))
}

/// What a path carries less than it should: the least that it should carry in bytes per second, of what, and
/// what to do.
pub(super) fn thin(outcome: &Outcome) -> Option<(f64, String, Fix)> {
    let path = outcome.expected.as_ref()?.bus;
    if let Some(link) = outcome
        .network
        .speed
        .and_then(|speed| outcome.catalog.expected_bandwidth().link(Kind::Ethernet, speed / 1000))
    {
        let least = link.carries * 1e9 * link.tolerance.unwrap_or(0.0);
        return (path < least).then(|| {
            let carries = rate(link.carries * 1e9);
            (
                least,
                format!("but {} carries {carries}", link.name),
                Fix::safe(
                    "Read the error and pause counters, then check the MTU and other traffic on the link:",
                    &["ethtool -S INTERFACE", "envdoc explain overlay-mtu-too-large"],
                ),
            )
        });
    }
    (path < GIGABIT_BYTES_PER_SECOND).then(|| {
        (
            GIGABIT_BYTES_PER_SECOND,
            "less than gigabit Ethernet".into(),
            Fix::run(
                "Show the link speed on the machines (other possible causes: a bandwidth limit of the \
                    provider, a tunnel):",
                "ethtool INTERFACE",
            ),
        )
    })
}

/// Less than the link's speed, or than gigabit Ethernet, whatever the link is.
pub(super) fn path(outcome: &Outcome) -> Option<Found> {
    let (least, than, fix) = thin(outcome)?;
    let (to, link, loopback) = slowest(outcome)?;
    if link.high >= least || outcome.network.repeated.links[to].len() < ROUNDS_MIN {
        return None;
    }
    let carries = format!("the path carries {}, {than}", range(link));
    Some(match link.is_below(LOOPBACK_PART, loopback) {
        true => Found::Slow(carries, Some(fix)),
        false => Found::Unknown(format!("{carries}; {}", processors_in_the_way(loopback)), Some(less_load())),
    })
}

fn processors_in_the_way(loopback: Interval) -> String {
    format!(
        "a rank carries only {} over its own loopback at the same time, so the processors may be the \
            limit, and the speed of the network is unknown",
        range(loopback)
    )
}
