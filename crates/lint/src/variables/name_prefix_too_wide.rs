//! A list of names catches more or less than it says.

use crate::read::settings::{Setting, Settings};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "name-prefix-too-wide",
    severity: Severity::Warning,
    summary: "adapter and interface names match only the intended devices",
    explain: include_str!("name_prefix_too_wide.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("train.env", "GLOO_SOCKET_IFNAME=^lo,docker0\n"),
        named("train.env", "NCCL_SOCKET_IFNAME=^docker0,^lo\n"),
        named("train.sh", "export NCCL_IB_HCA=mlx5_1:1\ntrain\n"),
    ],
    silent: &[
        named("train.env", "NCCL_IB_HCA==mlx5_1\nNCCL_SOCKET_IFNAME=^docker0,lo\nGLOO_SOCKET_IFNAME=eth0\n"),
        named("train.env", "NCCL_IB_HCA=mlx5_0,mlx5_3,mlx5_4,mlx5_30,mlx5_40\n"),
        named("train.env", "NCCL_IB_HCA=mlx5\n"),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    let known = settings.facts.as_ref().is_some_and(|facts| facts.rdma.devices.known().is_some());
    let found = settings.known().filter_map(|(_, one, value)| match one.name.as_str() {
        "NCCL_IB_HCA" | "NCCL_SOCKET_IFNAME" => {
            marks(one, value).or_else(|| wide(one, value).filter(|_| !known))
        }
        "GLOO_SOCKET_IFNAME" | "TP_SOCKET_IFNAME" => whole(one, value),
        _ => None,
    });
    found.collect()
}

/// `^docker0,^lo`: the second mark is taken for a part of the name.
fn marks(one: &Setting, value: &str) -> Option<Found> {
    let wrong = value.split(',').skip(1).find(|entry| entry.starts_with(['^', '=']))?;
    let right = value.replace([',', ' '], ",").replace(",^", ",").replace(",=", ",");
    let message = format!(
        "{wrong} in {} is read as a name; the prefix character applies once, at the start of \
         the list",
        one.name
    );
    Some(Found::warning(one.location.clone(), message, format!("Set {}={right}", one.name)))
}

/// `mlx5_1`: the number goes on.
fn wide(one: &Setting, value: &str) -> Option<Found> {
    if one.name != "NCCL_IB_HCA" || value.starts_with(['=', '^']) {
        return None;
    }
    let entries: Vec<&str> = value.split(',').map(|entry| entry.split(':').next().unwrap_or(entry)).collect();
    let more = |entry: &&&str| {
        let number = entry.trim_end_matches(|letter: char| letter.is_ascii_digit());
        // `mlx5` is a family and `mlx5_1` one of it.
        let digits = if number.ends_with('_') { entry.len() - number.len() } else { 0 };
        let first = entry.chars().last().is_some_and(|letter| ('1'..='9').contains(&letter));
        // Where a longer one is named as well, the list was meant as beginnings or is whole anyway.
        digits == 1
            && first
            && !entries.iter().any(|other| other.len() > entry.len() && other.starts_with(**entry))
    };
    let entry = entries.iter().find(more)?;
    let message = format!("{entry} in NCCL_IB_HCA also matches {entry}0 to {entry}9; entries are prefixes");
    Some(Found::note(one.location.clone(), message, format!("Set NCCL_IB_HCA=={value}")))
}

fn whole(one: &Setting, value: &str) -> Option<Found> {
    let wrong = value.split(',').find(|entry| entry.starts_with(['^', '=']))?;
    let message = format!(
        "{}={value}: Gloo looks for an interface named {wrong}; it supports only full names",
        one.name
    );
    Some(Found::warning(one.location.clone(), message, "Set it to the full interface name"))
}
