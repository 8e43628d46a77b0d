//! The report of a smoke test: [`text`] for people, JSON for machines; [`findings`] for the formats that all
//! commands share, with the plot of [`plot`]; [`live`] shows it as it goes on.

mod cpu_limits;
pub mod findings;
pub mod live;
mod packets;
pub mod plot;
pub mod text;

pub use cpu_limits::CpuLimitEntry;
pub use packets::PacketsEntry;

use std::collections::BTreeMap;

use diagnostic::Fix;
use diagnostic::render::{fix_keys, json::FixEntry, message_keys};
use schemars::JsonSchema;
use serde::Serialize;

use crate::smoke::noise::Packets;
use crate::smoke::outcome::{Measured, Nccl, NcclRank, Outcome};
use crate::smoke::pair::Pair;
use diagnose::report::json::{self as diagnosis_json, CauseEntry};

/// Version of the format.
pub const SCHEMA: u32 = 1;

/// What `envdoc smoke --format json` prints. Bandwidths are in GB/s, 10^9 bytes a second, as nccl-tests
/// prints them.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe, transform = fix_keys::describe)]
pub struct SmokeReport {
    /// Version of this format.
    pub schema: u32,
    /// Version of envdoc.
    pub envdoc: String,
    /// `ok`, `slow`, `wrong`, `failed`, or `unknown` where it could not be judged.
    pub verdict: String,
    /// Why, in a sentence or two.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
    /// Where each rank is, in the order of the ranks.
    pub ranks: Vec<String>,
    /// The phases that ran, in order.
    pub phases: Vec<PhaseEntry>,
    /// The sizes that were measured, in order.
    pub results: Vec<ResultEntry>,
    /// What carried the data: `tcp`.
    pub transport: String,
    /// What the bandwidth of the largest size is held against; null where nothing was measured.
    pub expected: Option<ExpectedEntry>,
    /// What every link of the ring carried without reducing, in GB/s: from the rank before to the rank at
    /// that place.
    pub links_gbps: Vec<f64>,
    /// The longest time until a connection between two ranks stood: one round trip; null where none was
    /// tried.
    pub slowest_connect: Option<ConnectEntry>,
    /// The part of its TCP segments that each rank had to send again while the path was measured, in the
    /// order of the ranks; null where the kernel does not tell.
    pub resent: Vec<Option<f64>>,
    /// Small UDP packets by direction; empty where they were not tried.
    pub packets: Vec<PacketsEntry>,
    /// What every link of the ring carried while the others rested, in GB/s; empty where the links were
    /// alike.
    pub links_alone_gbps: Vec<f64>,
    /// Seconds that each rank took for writing and checking its own numbers of the largest size, in the order
    /// of the ranks.
    pub own_seconds: Vec<f64>,
    /// What the CPU limit of each container did while the ranks were measured, in the order of the nodes; one
    /// entry for all ranks of this machine. Empty where nothing was measured.
    pub cpu_limits: Vec<CpuLimitEntry>,
    /// What pairs of ranks carried alone; empty where they were not tried.
    pub pairs: Vec<PairEntry>,
    /// What NCCL did on the GPUs; null where it was not tried.
    pub nccl: Option<NcclEntry>,
    /// Known causes in the output of the failed phase, as `envdoc diagnose` reports them; the first is the
    /// root cause.
    pub causes: Vec<CauseEntry>,
    /// Remarks that do not decide the verdict, a sentence each.
    pub remarks: Vec<String>,
    /// What to do, the best first.
    #[serde(flatten, with = "fix_keys")]
    #[schemars(!flatten, with = "Vec<FixEntry>")]
    pub fixes: Vec<Fix>,
}

/// NCCL on the GPUs, driven by envdoc itself.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NcclEntry {
    /// The ranks, one for each GPU, in their order.
    pub ranks: Vec<NcclRankEntry>,
    /// The sizes that were measured, in order.
    pub results: Vec<ResultEntry>,
    /// What NCCL's own log tells of all ranks together; empty where it was not reached.
    pub log: NcclLogEntry,
}

/// What NCCL's own log (NCCL_DEBUG=INFO) tells, of all ranks together.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NcclLogEntry {
    /// The networks that were chosen: `IB`, `Socket`, `AWS Libfabric`.
    pub networks: Vec<String>,
    /// What they found: `[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE`, `[0]eth0:10.0.0.1<0>`.
    pub devices: Vec<String>,
    /// Connections by transport: `P2P/CUMEM`, `SHM`, `NET/IB/GDRDMA`.
    pub connections: BTreeMap<String, usize>,
    /// Whether NVLink SHARP (NVLS) is used.
    pub nvls: bool,
    /// Rings of the largest communicator.
    pub rings: usize,
    /// In which orders they go through the ranks, each once.
    pub ring_orders: Vec<String>,
    /// What lies between the GPUs of a node, in NCCL's words: `NVL`, `PHB`, `SYS`.
    pub gpu_paths: Vec<String>,
    /// Its lines of level WARN, each once.
    pub warnings: Vec<String>,
}

/// One rank of NCCL with its GPU and libraries.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NcclRankEntry {
    /// Name of the node that it ran on.
    pub node: String,
    /// Which of the GPUs that the node's container sees, from 0.
    pub device: usize,
    /// Name of the GPU: `NVIDIA H100 80GB HBM3`.
    pub gpu: String,
    /// Compute capability of the GPU: `9.0`.
    pub compute_capability: String,
    /// Version of the kernel module; null where /proc does not tell.
    pub driver: Option<String>,
    /// The CUDA version that the driver's library is for.
    pub cuda: String,
    /// Bytes of the GPU's memory that were free.
    pub free_bytes: usize,
    /// Path of the libnccl that was loaded.
    pub library: String,
    /// Why it was that one: `set in LD_PRELOAD`, `system library`.
    pub library_from: String,
    /// Its version, by its own word.
    pub nccl: String,
}

/// What two ranks carried while all others rested.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
pub struct PairEntry {
    /// The first rank, as `ranks` names it.
    pub from: String,
    /// The second rank, as `ranks` names it.
    pub to: String,
    /// What was carried from the one to the other, in GB/s; null where nothing was.
    pub there_gbps: Option<f64>,
    /// What was carried back at the same time.
    pub back_gbps: Option<f64>,
    /// The time of an all-reduce of 8 bytes between them.
    pub seconds: Option<f64>,
    /// Why nothing was carried; null where something was.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "Option<String>")]
    pub message: Option<String>,
}

/// How long one rank took to connect to another.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectEntry {
    /// The rank that connected, as `ranks` names it.
    pub from: String,
    /// The rank that listened, as `ranks` names it.
    pub to: String,
    /// How long it took, in milliseconds.
    pub milliseconds: f64,
}

/// How one phase of the test ended, on one node or on all.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
pub struct PhaseEntry {
    /// Which: `containers`, `worker`, `shm`, `interface`, `names`, `tcp`, `mtu`, `ssh`, `rendezvous`,
    /// `all-reduce`, `path`, `bandwidth`, `repeat`, `pairs`, `devices`, `communicator`, `nccl-all-reduce`,
    /// `nccl-bandwidth`, `transport`, `torch`, `deepspeed`.
    pub name: String,
    /// On which node; null where it is the ring's.
    pub node: Option<String>,
    /// `passed`, `failed`, `skipped`, or `unknown` where it ended without an answer.
    pub status: String,
    /// Duration in seconds.
    pub seconds: f64,
    /// What was measured or tried, and for a failure what went wrong.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
}

/// All-reduces of one size.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ResultEntry {
    /// Bytes that each rank contributed to one all-reduce.
    pub bytes: usize,
    /// Median of the rounds, each as long as its slowest rank.
    pub seconds: f64,
    /// Algorithm bandwidth in GB/s: `bytes` by `seconds`.
    pub algbw_gbps: f64,
    /// Bus bandwidth in GB/s: algorithm bandwidth times 2(n-1)/n for n ranks.
    pub busbw_gbps: f64,
    /// Whether every element on every rank was the sum of all ranks.
    pub correct: bool,
}

/// What a bandwidth is held against.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExpectedEntry {
    /// Bus bandwidth in GB/s that is expected of the largest size.
    pub busbw_gbps: f64,
    /// The part of it below which the verdict is `slow`.
    pub tolerance: f64,
    /// Where the number comes from, in words: `the raw rate of the same sockets while all ranks send and
    /// receive`.
    pub from: String,
}

pub fn json(outcome: &Outcome) -> SmokeReport {
    SmokeReport {
        schema: SCHEMA,
        envdoc: env!("CARGO_PKG_VERSION").into(),
        verdict: outcome.verdict.id().into(),
        message: outcome.message.clone(),
        ranks: outcome.ranks.clone(),
        phases: outcome
            .phases
            .iter()
            .map(|phase| PhaseEntry {
                name: phase.id.id().into(),
                node: phase.node.clone(),
                status: phase.status.id().into(),
                seconds: phase.seconds,
                message: phase.message.clone(),
            })
            .collect(),
        results: outcome.results.iter().map(measured).collect(),
        transport: outcome.transport.clone(),
        expected: outcome.expected.as_ref().map(|expected| ExpectedEntry {
            busbw_gbps: expected.bus / 1e9,
            tolerance: expected.tolerance,
            from: expected.from.clone(),
        }),
        links_gbps: outcome.links.iter().map(|link| link / 1e9).collect(),
        slowest_connect: outcome.network.slowest_connect.map(|(from, to, milliseconds)| ConnectEntry {
            from: outcome.ranks[from].clone(),
            to: outcome.ranks[to].clone(),
            milliseconds,
        }),
        resent: outcome.network.packets.iter().map(|packets| packets.and_then(Packets::part)).collect(),
        packets: outcome.network.ways.iter().map(|way| packets::entry(way, &outcome.ranks)).collect(),
        links_alone_gbps: outcome.network.alone.iter().map(|link| link / 1e9).collect(),
        own_seconds: outcome.network.own.clone(),
        cpu_limits: outcome.network.cpu_limits.iter().map(cpu_limits::entry).collect(),
        pairs: outcome.network.pairs.iter().map(|pair| entry(pair, &outcome.ranks)).collect(),
        nccl: outcome.nccl.as_ref().map(nccl),
        causes: diagnosis_json::report(&outcome.causes).causes,
        remarks: outcome.remarks.clone(),
        fixes: outcome.fixes.clone(),
    }
}

fn measured(result: &Measured) -> ResultEntry {
    ResultEntry {
        bytes: result.bytes,
        seconds: result.seconds,
        algbw_gbps: result.algorithm / 1e9,
        busbw_gbps: result.bus / 1e9,
        correct: result.wrong == 0,
    }
}

fn nccl(nccl: &Nccl) -> NcclEntry {
    let rank = |rank: &NcclRank| NcclRankEntry {
        node: rank.node.clone(),
        device: rank.device,
        gpu: rank.gpu.name.clone(),
        compute_capability: format!("{}.{}", rank.gpu.capability.0, rank.gpu.capability.1),
        driver: rank.gpu.driver.clone(),
        cuda: rank.gpu.cuda.clone(),
        free_bytes: rank.gpu.free,
        library: rank.library.path.clone(),
        library_from: rank.library.from.clone(),
        nccl: rank.library.version.clone(),
    };
    let log = &nccl.log;
    NcclEntry {
        ranks: nccl.ranks.iter().map(rank).collect(),
        results: nccl.results.iter().map(measured).collect(),
        log: NcclLogEntry {
            networks: log.networks.iter().cloned().collect(),
            devices: log.devices.iter().cloned().collect(),
            connections: log.connections.iter().map(|(kind, count)| (kind.to_string(), *count)).collect(),
            nvls: log.nvls,
            rings: log.rings,
            ring_orders: log.orders.iter().cloned().collect(),
            gpu_paths: log.paths.iter().cloned().collect(),
            warnings: log.warnings.clone(),
        },
    }
}

fn entry(pair: &Pair, ranks: &[String]) -> PairEntry {
    let came = pair.came.as_ref().ok();
    PairEntry {
        from: ranks[pair.ranks.0].clone(),
        to: ranks[pair.ranks.1].clone(),
        there_gbps: came.map(|came| came.there / 1e9),
        back_gbps: came.map(|came| came.back / 1e9),
        seconds: came.map(|came| came.trip),
        message: pair.came.as_ref().err().map(ToString::to_string),
    }
}
