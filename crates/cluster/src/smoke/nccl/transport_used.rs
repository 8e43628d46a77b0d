//! The last phase of NCCL: which transport carried the data by NCCL's own log, whether it is the expected
//! one, and the expected bandwidth.

use std::collections::BTreeSet;
use std::time::Instant;

use super::Opened;
use super::logs::logs;
use super::workers::Rank;
use crate::smoke::bandwidth::size;
use crate::smoke::expected_nccl::expected_of_nccl;
use crate::smoke::nccl_log;
use crate::smoke::outcome::{Captured, Expected, Outcome, PhaseFailed, Verdict};
use crate::smoke::phase::PhaseId;
use crate::smoke::phases::Options;
use crate::smoke::transport::{self, Site};
use diagnostic::units::rate;

/// Ring orders that are printed.
const PRINTED_ORDERS: usize = 4;

/// What carried it, and whether it is what it should be.
pub async fn transport(
    ranks: &[Rank],
    opened: &[Opened],
    options: &Options,
    outcome: &mut Outcome,
) -> Result<(), PhaseFailed> {
    let start = Instant::now();
    let logs = logs(ranks).await;
    let read = nccl_log::read(logs.iter().flat_map(|log| &log.lines).map(String::as_str));
    let kinds: Vec<_> = read.connections.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let networks: Vec<_> = read.networks.iter().map(String::as_str).collect();
    let said = |list: &[String], none: &str| if list.is_empty() { none.to_owned() } else { list.join(", ") };
    let message = format!(
        "network {}{}; connections: {}{}; {}{}",
        if networks.is_empty() { "unknown".into() } else { networks.join(", ") },
        read.devices.first().map_or(String::new(), |devices| format!(" ({devices})")),
        said(&kinds, if ranks.len() == 1 { "none (single rank)" } else { "none reported by NCCL" }),
        if read.nvls { ", NVLS" } else { "" },
        rings(&read),
        if read.paths.is_empty() {
            String::new()
        } else {
            format!("; between the GPUs of a node: {}", listed(&read.paths))
        }
    );
    outcome.remarks.extend(read.warnings.iter().map(|warning| format!("NCCL warns: {warning}")));
    let carried = format!("nccl ({})", read.transports());
    let alone = outcome.nccl.as_ref().is_some_and(|nccl| outcome.results == nccl.results);
    outcome.transport = if alone { carried } else { format!("tcp, then {carried}") };
    if let Some(nccl) = &mut outcome.nccl {
        nccl.log = read;
    }
    let failed = transport::unlike(&sites(ranks, opened, &logs), options.transport);
    if !failed.is_empty() {
        return outcome.finish_phase(PhaseId::Transport, start, failed, "");
    }
    judge(ranks, opened, outcome);
    outcome.finish_phase(PhaseId::Transport, start, Vec::new(), &message)
}

/// `2 rings, 0 1 3 2`: how many, and in which orders.
fn rings(read: &nccl_log::Read) -> String {
    let orders: Vec<_> = read.orders.iter().map(String::as_str).take(PRINTED_ORDERS).collect();
    let more = if read.orders.len() > PRINTED_ORDERS { ", …" } else { "" };
    let orders = if orders.is_empty() { String::new() } else { format!(" ({}{more})", orders.join(", ")) };
    format!("{} rings{orders}", read.rings)
}

fn listed(words: &BTreeSet<String>) -> String {
    words.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// The nodes, each with what its ranks wrote and what its container sees.
fn sites(ranks: &[Rank], opened: &[Opened], logs: &[Captured]) -> Vec<Site> {
    let mut nodes: Vec<&String> = ranks.iter().map(|rank| &rank.node).collect();
    nodes.dedup();
    let of = |node: &String| {
        let own =
            || ranks.iter().enumerate().filter(|(_, rank)| rank.node == *node).map(|(number, _)| number);
        let lines = own().filter_map(|number| logs.get(number)).flat_map(|log| &log.lines);
        let first = own().next().and_then(|number| opened.get(number));
        Site {
            node: node.clone(),
            read: nccl_log::read(lines.map(String::as_str)),
            infiniband: first.map(|opened| opened.infiniband.clone()).unwrap_or_default(),
        }
    };
    nodes.into_iter().map(of).collect()
}

/// Fast enough, by what is known of these GPUs and links?
fn judge(ranks: &[Rank], opened: &[Opened], outcome: &mut Outcome) {
    let Some((nccl, first)) = outcome.nccl.as_ref().zip(opened.first()) else { return };
    let Some(last) = nccl.results.last().copied() else { return };
    let nodes: BTreeSet<&str> = ranks.iter().map(|rank| rank.node.as_str()).collect();
    let name = first.gpu.as_ref().map_or("", |gpu| gpu.name.as_str());
    let message = format!(
        "NCCL {} on {} GPUs: every element correct, {} busbw at {}",
        nccl.ranks.first().map_or("", |rank| rank.library.version.as_str()),
        ranks.len(),
        rate(last.bus),
        size(last.bytes)
    );
    let alone = outcome.results == nccl.results;
    if alone {
        outcome.verdict = Verdict::Ok;
        outcome.message.clone_from(&message);
    } else {
        outcome.message += &format!("; {message}");
    }
    let Some((least, from)) =
        expected_of_nccl(outcome.catalog, name, nodes.len(), ranks.len(), &first.rates, last.bytes)
    else {
        return;
    };
    if alone {
        outcome.expected = Some(Expected { bus: least, tolerance: 1.0, from: from.clone(), measured: false });
    }
    if last.bus < least {
        outcome.verdict = Verdict::Slow;
        outcome.message += &format!("; below the {} expected of {from}", rate(least));
    }
}
