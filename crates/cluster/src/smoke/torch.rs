//! The image's own torch does the all-reduce: with NCCL where it sees GPUs, else with Gloo. It proves what
//! training will use, and NCCL's log of it says which transport carried the data.

use catalog::Catalog;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::sync::Notify;

use super::bandwidth::{bus, median};
use super::expected_nccl::expected_of_nccl;
use super::nccl_log;
use super::outcome::{Captured, Outcome, PhaseFailed, Verdict};
use super::phase::PhaseId;
use super::transport::{self, ExpectedTransport, Infiniband, Site};
use crate::container_probe::ContainerProbe;
use crate::jobs::{self, Job};
use crate::program_line::{self, Stopped};
use crate::worker::{self, Answer, Failure, Task};
use diagnostic::units::rate;
use docker::engine::Engine;
use docker::exec::Command;

/// What runs in the containers.
const SCRIPT: &str = include_str!("../../../../templates/smoke/all_reduce.py");
/// Float32 that are summed: 64 MiB.
const ELEMENTS: usize = 16 << 20;
/// The longest that it may take, in seconds: torch alone takes ten to be imported from a cold disk.
const RUN_TIMEOUT_SECONDS: u64 = 120;
/// Whatever its python is called.
const START: &str = concat!(
    r#"for name in python python3; do command -v "$name" >/dev/null 2>&1 && exec "$name" -c "$@"; done;"#,
    r#" echo "no python in this image" >&2; exit 127"#,
);
/// Lines of NCCL that are kept.
const OUTPUT_LINE_LIMIT: usize = 20_000;

/// What a rank prints.
#[derive(Debug, Clone, Deserialize)]
struct Said {
    rank: usize,
    torch: Option<String>,
    backend: Option<String>,
    nccl: Option<String>,
    device: Option<String>,
    bytes: Option<usize>,
    wrong: Option<usize>,
    #[serde(default)]
    seconds: Vec<f64>,
    failed: Option<Stopped>,
    infiniband: InfinibandReport,
}

#[derive(Debug, Clone, Deserialize)]
struct InfinibandReport {
    devices: Vec<String>,
    /// Gbit/s of every port.
    rates: Vec<String>,
    mounted: bool,
    library: bool,
    memlock: Option<u64>,
    variables: BTreeMap<String, String>,
}

/// The phase. [`jobs::end_all`] ends what was started, by its `mark`.
pub async fn reduce(
    containers: &[ContainerProbe<'_>],
    wish: Option<ExpectedTransport>,
    mark: &str,
    outcome: &mut Outcome,
) -> Result<(), PhaseFailed> {
    let start = Instant::now();
    let Some(first) = containers.first() else { return Ok(()) };
    let port = match free_port(first).await {
        Ok(port) => port,
        Err(failure) => {
            let why = format!("no port for the rendezvous: {failure}");
            return outcome.finish_phase(PhaseId::Torch, start, vec![(first.node.name.clone(), why)], "");
        }
    };
    let everywhere: Vec<(String, &Engine)> =
        containers.iter().map(|one| (one.node.name.clone(), one.engine)).collect();
    let lines: RefCell<BTreeMap<String, Vec<String>>> = RefCell::default();
    let keep = |node: &str, _: bool, line: &str| {
        let mut lines = lines.borrow_mut();
        let of_node = lines.entry(node.to_owned()).or_default();
        if of_node.len() < OUTPUT_LINE_LIMIT {
            of_node.push(line.to_owned());
        }
    };
    let alarm = Notify::new();
    let running = jobs::run(jobs(containers, port), &everywhere, mark, true, &alarm, &keep);
    // The script ends itself; this is for an engine that is gone.
    let ended = tokio::time::timeout(Duration::from_secs(RUN_TIMEOUT_SECONDS + 20), running).await;
    if ended.is_err() {
        jobs::end_all(everywhere.iter().map(|(name, engine)| (name.as_str(), *engine)), mark).await;
    }
    let statuses: BTreeMap<String, String> = ended
        .unwrap_or_default()
        .into_iter()
        .filter(|end| end.status != Ok(0) && !end.stopped)
        .map(|end| {
            let status = end.status.map(|status| format!("exited with status {status}"));
            (end.node, status.unwrap_or_else(|error| error.to_string()))
        })
        .collect();
    report(containers, wish, &lines.into_inner(), &statuses, start, outcome)
}

/// A port of the first container that nobody listens on.
async fn free_port(first: &ContainerProbe<'_>) -> Result<u16, Failure> {
    let wait = Duration::from_secs(5);
    match first.session.start(Task::ListenTcp { address: Some(first.address), port: 0 }, wait).await {
        Ok((listener, Answer::Listening { port })) => {
            let _ = first.session.ask(Task::Stop { listener }, wait).await;
            Ok(port)
        }
        Ok((_, other)) => Err(worker::unexpected(&other)),
        Err(failure) => Err(failure),
    }
}

fn jobs<'w>(containers: &[ContainerProbe<'w>], port: u16) -> Vec<Job<'w>> {
    let world: u32 = containers.iter().map(|one| one.node.slots).sum();
    let address = containers.first().map_or_else(String::new, |one| one.address.to_string());
    let mut jobs = Vec::new();
    for one in containers {
        for local in 0..one.node.slots {
            let mut environment = vec![
                format!("MASTER_ADDR={address}"),
                format!("MASTER_PORT={port}"),
                format!("RANK={}", jobs.len()),
                format!("WORLD_SIZE={world}"),
                format!("LOCAL_RANK={local}"),
                // Torch's store over libuv is not in every build.
                "USE_LIBUV=0".to_owned(),
                "NCCL_DEBUG=INFO".to_owned(),
                "NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH".to_owned(),
            ];
            for name in ["GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"] {
                if !one.node.environment.contains_key(name) {
                    environment.push(format!("{name}={}", one.interface));
                }
            }
            let numbers = [
                jobs.len().to_string(),
                world.to_string(),
                RUN_TIMEOUT_SECONDS.to_string(),
                ELEMENTS.to_string(),
            ];
            let argv = ["sh", "-c", START, "sh", SCRIPT].map(str::to_owned).into_iter().chain(numbers);
            let command = Command { argv: argv.collect(), environment, ..Command::default() };
            let (node, engine) = (one.node.name.clone(), one.engine);
            jobs.push(Job { container: node.clone(), node, engine, command });
        }
    }
    jobs
}

/// What a node that failed may be, the likeliest cause first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Suspect {
    /// Its program could not even begin.
    NotBegun,
    /// Its program ended without a result.
    Ended,
    /// Its program waited for others.
    Waited,
    /// Its program was stopped, or had no result in time.
    Stopped,
}

/// Turns the output of the ranks into phases and findings.
fn report(
    containers: &[ContainerProbe<'_>],
    wish: Option<ExpectedTransport>,
    lines: &BTreeMap<String, Vec<String>>,
    statuses: &BTreeMap<String, String>,
    start: Instant,
    outcome: &mut Outcome,
) -> Result<(), PhaseFailed> {
    let results: Vec<(String, Said)> = lines
        .iter()
        .flat_map(|(node, lines)| lines.iter().map(move |line| (node, line)))
        .filter_map(|(node, line)| Some((node.clone(), program_line::read(line)?)))
        .collect();
    let mut failed: Vec<(Suspect, String, String)> = Vec::new();
    for one in containers {
        let name = &one.node.name;
        let own: Vec<&Said> = results.iter().filter(|(node, _)| node == name).map(|(_, said)| said).collect();
        let broke = own.iter().find_map(|said| Some((said.rank, said.failed.as_ref()?)));
        if let Some((rank, why)) = broke {
            let suspect = if why.waits { Suspect::Waited } else { Suspect::NotBegun };
            failed.push((suspect, name.clone(), format!("{name}: rank {rank}: {why}")));
        } else if own.len() < one.node.slots as usize {
            let last =
                lines.get(name).and_then(|lines| lines.iter().rev().find(|line| !line.trim().is_empty()));
            let last = last.map_or(String::new(), |line| format!("; last output: {line}"));
            let status = statuses.get(name);
            let message = status.map_or("stopped, or no result in time", String::as_str);
            let suspect = if status.is_some() { Suspect::Ended } else { Suspect::Stopped };
            failed.push((suspect, name.clone(), format!("{name}: {message}{last}")));
        }
    }
    failed.sort();
    let failed: Vec<_> = failed.into_iter().map(|(_, node, message)| (node, message)).collect();
    if !failed.is_empty() {
        outcome.verdict = Verdict::Failed;
        let captured = |(node, lines): (&String, &Vec<String>)| Captured {
            from: format!("torch on {node}"),
            lines: lines.iter().filter(|line| !program_line::is_for_envdoc(line)).cloned().collect(),
        };
        outcome.capture(lines.iter().map(captured));
        return outcome.finish_phase(PhaseId::Torch, start, failed, "");
    }
    let wrong: Vec<_> = results
        .iter()
        .filter(|(_, said)| said.wrong.unwrap_or(0) > 0)
        .map(|(node, said)| {
            (
                node.clone(),
                format!("{node}: {} elements are wrong on rank {}", said.wrong.unwrap_or(0), said.rank),
            )
        })
        .collect();
    if !wrong.is_empty() {
        outcome.verdict = Verdict::Wrong;
        return outcome.finish_phase(PhaseId::Torch, start, wrong, "");
    }
    passed(&results, wish, lines, start, outcome)
}

/// What NCCL should reach at least, where that is known.
fn expected(
    catalog: &Catalog,
    first: &Said,
    results: &[(String, Said)],
    bytes: usize,
) -> Option<(f64, String)> {
    let nodes: BTreeSet<&String> = results.iter().map(|(node, _)| node).collect();
    let rates = first.infiniband.rates.iter().map(|rate| rate.parse::<f64>().ok().map(|rate| rate as u32));
    let rates: Vec<u32> = rates.collect::<Option<_>>()?;
    expected_of_nccl(catalog, first.device.as_deref()?, nodes.len(), results.len(), &rates, bytes)
}

/// The nodes, each with what its ranks wrote and what its container sees.
fn sites(results: &[(String, Said)], lines: &BTreeMap<String, Vec<String>>) -> Vec<Site> {
    let of = |(node, lines): (&String, &Vec<String>)| {
        let said = results.iter().find(|(other, _)| other == node).map(|(_, said)| &said.infiniband);
        let infiniband = said.map_or_else(Infiniband::default, |observed| Infiniband {
            devices: observed.devices.clone(),
            mounted: observed.mounted,
            library: observed.library,
            memlock: observed.memlock,
            variables: observed.variables.clone(),
        });
        Site { node: node.clone(), read: nccl_log::read(lines.iter().map(String::as_str)), infiniband }
    };
    lines.iter().map(of).collect()
}

fn passed(
    results: &[(String, Said)],
    wish: Option<ExpectedTransport>,
    lines: &BTreeMap<String, Vec<String>>,
    start: Instant,
    outcome: &mut Outcome,
) -> Result<(), PhaseFailed> {
    let Some((_, first)) = results.first() else { return Ok(()) };
    let slowest = results.iter().map(|(_, said)| median(&said.seconds)).fold(0.0, f64::max);
    let bytes = first.bytes.unwrap_or(ELEMENTS * size_of::<f32>());
    let reached = bus(bytes, slowest, results.len());
    let speed = rate(reached);
    let backend = first.backend.clone().unwrap_or_default();
    let mut message = format!(
        "torch {} over {backend} on {} ranks: every element correct, {speed} busbw at {} MiB",
        first.torch.as_deref().unwrap_or("?"),
        results.len(),
        bytes >> 20
    );
    let (nccl, device) = (first.nccl.as_deref(), first.device.as_deref());
    message += &device.map_or(String::new(), |device| format!("; {device}"));
    message += &nccl.map_or(String::new(), |version| format!("; NCCL {version}"));
    let read = nccl_log::read(lines.values().flatten().map(String::as_str));
    if backend == "nccl" {
        let kinds: Vec<_> = read.connections.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        message += &format!("; connections: {}", kinds.join(", "));
        message += if read.nvls { ", NVLS" } else { "" };
        outcome.transport = format!("tcp, then nccl ({})", read.transports());
        outcome.remarks.extend(read.warnings.iter().map(|warning| format!("NCCL warns: {warning}")));
        let failed = transport::unlike(&sites(results, lines), wish);
        if !failed.is_empty() {
            outcome.verdict = Verdict::Failed;
            return outcome.finish_phase(PhaseId::Transport, start, failed, "");
        }
    } else if let Some(wish) = wish {
        outcome.verdict = Verdict::Failed;
        let wish = clap::ValueEnum::to_possible_value(&wish)
            .map_or(String::new(), |wish| wish.get_name().to_owned());
        let why = format!(
            "torch uses {backend} because it sees no GPU; NCCL carries no data, expected transport: {wish}"
        );
        return outcome.finish_phase(PhaseId::Transport, start, vec![(results[0].0.clone(), why)], "");
    }
    outcome.message += &format!("; {message}");
    if let Some((least, from)) =
        expected(outcome.catalog, first, results, bytes).filter(|(least, _)| reached < *least)
    {
        outcome.verdict = Verdict::Slow;
        outcome.message += &format!("; below the {} expected of {from}", rate(least));
    }
    outcome.finish_phase(PhaseId::Torch, start, Vec::new(), &message)
}
