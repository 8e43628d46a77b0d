//! Static addresses that no subnet of the network has, and subnets that overlap.

use std::net::Ipv4Addr;

use serde_yaml::Value;

use crate::read::compose::{Compose, Service, bare, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose};

pub(crate) const RULE: Rule = Rule {
    id: "address-outside-subnet",
    severity: Severity::Error,
    summary: "static addresses are in a subnet of their network, one service each",
    explain: include_str!("address_outside_subnet.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  a:\n    image: b\n    networks: {n: {ipv4_address: 10.1.0.5}}\nnetworks:\n  \
                n:\n    ipam: \
             {config: [{subnet: 10.0.0.0/24}]}\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    networks: {n: {ipv4_address: 10.1.0.5}}\nnetworks:\n  n:\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    networks: {n: {ipv4_address: 10.0.0.5}}\n  c:\n    \
                image: b\n    networks: \
             {n: {ipv4_address: 10.0.0.5}}\nnetworks:\n  n:\n    ipam: {config: [{subnet: 10.0.0.0/24}]}\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    networks: [n, m]\nnetworks:\n  n:\n    ipam: {config: \
                [{subnet: \
             10.0.0.0/16}]}\n  m:\n    ipam: {config: [{subnet: 10.0.1.0/24}]}\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: b\n    networks: {n: {ipv4_address: 10.0.0.5}}\nnetworks:\n  \
                n:\n    ipam: \
             {config: [{subnet: 10.0.0.0/24}]}\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    networks: {n: {ipv4_address: 10.1.0.5}}\nnetworks: {n: \
                {external: true}}\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let mut found = overlaps(file);
    let mut seen: Vec<(String, String, &str)> = Vec::new();
    for service in &file.services {
        for (network, address) in addresses(service) {
            let line = file.line(&["services", &service.name, "networks", &network, "ipv4_address"]);
            let other = seen.iter().find(|(known, taken, _)| *known == network && *taken == address);
            if let Some((_, _, other)) = other {
                let message = format!(
                    "services {other} and {} both have {address} in network \
                        {network}",
                    service.name
                );
                found.push(Found::error(line.clone(), message, "Give each service its own address"));
            }
            found.extend(outside(file, &network, &address).map(|message| {
                Found::error(
                    line,
                    format!("service {}: {message}", service.name),
                    "Use an address of `ipam.config.subnet`",
                )
            }));
            seen.push((network, address, &service.name));
        }
    }
    found
}

/// The networks in which a service has an address of its own.
fn addresses(service: &Service) -> Vec<(String, String)> {
    let networks = service.at(&["networks"]).and_then(Value::as_mapping).into_iter().flatten();
    let address =
        |value: &Value| below(value, &["ipv4_address"]).and_then(text).filter(|one| !one.contains('$'));
    networks.filter_map(|(name, value)| Some((text(name)?, address(value)?))).collect()
}

fn outside(file: &Compose, network: &str, address: &str) -> Option<String> {
    let value = file.networks().find(|(name, _)| *name == network).map(|(_, value)| bare(value))?;
    if below(value, &["external"]).is_some() {
        return None;
    }
    let Ok(parsed) = address.parse::<Ipv4Addr>() else {
        return Some(format!("{address} is not an IPv4 address"));
    };
    let subnets = subnets(value);
    if subnets.is_empty() && below(value, &["ipam"]).is_none() {
        return Some(format!(
            "network {network} has no subnet; Docker allows a static address only in a configured subnet"
        ));
    }
    let within = subnets.iter().any(|(base, bits)| contains(*base, *bits, u32::from(parsed)));
    (!within && !subnets.is_empty()).then(|| format!("{address} is in no subnet of network {network}"))
}

/// The IPv4 subnets of a network: first address and length of the prefix.
fn subnets(network: &Value) -> Vec<(u32, u32)> {
    let config = below(network, &["ipam", "config"]).and_then(Value::as_sequence).into_iter().flatten();
    config
        .filter_map(|one| {
            let subnet = below(one, &["subnet"]).and_then(text)?;
            let (base, bits) = subnet.split_once('/')?;
            Some((u32::from(base.parse::<Ipv4Addr>().ok()?), bits.parse().ok().filter(|bits| *bits <= 32)?))
        })
        .collect()
}

fn contains(base: u32, bits: u32, address: u32) -> bool {
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    base & mask == address & mask
}

fn overlaps(file: &Compose) -> Vec<Found> {
    let all: Vec<(&str, u32, u32)> = file
        .networks()
        .flat_map(|(name, value)| subnets(value).into_iter().map(move |(base, bits)| (name, base, bits)))
        .collect();
    let mut found = Vec::new();
    for (at, (name, base, bits)) in all.iter().enumerate() {
        let other = all[..at].iter().find(|(_, known, length)| contains(*base, (*bits).min(*length), *known));
        found.extend(other.map(|(other, _, _)| {
            let message = format!(
                "the subnets of networks {other} and {name} overlap; Docker refuses the second \
                    one"
            );
            Found::error(file.line(&["networks", name]), message, "Use different subnets")
        }));
    }
    found
}
