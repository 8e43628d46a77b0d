//! What came of a smoke test.

use catalog::Catalog;
use std::time::Instant;

pub use super::captured::Captured;
use diagnostic::Fix;
pub use diagnostic::Status;

use super::bandwidth::{algorithm, bus};
use super::changed_packets::Changed;
use super::cpu_limit;
use super::noise::Packets;
use super::pair::Pair;
use super::phase::PhaseId;
use super::processor::Usage;
use super::repeated::Repeated;
use crate::flow::Counters;
use crate::flow::rate::Way;
use crate::reach::NodeAccess;
use diagnose::read;
use diagnose::root_cause::{self, Diagnosis};

/// Everything that a smoke test measured, with its verdict.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What the measurements are compared with.
    pub catalog: &'static Catalog,
    pub verdict: Verdict,
    /// Why, in a sentence or two.
    pub message: String,
    /// The phases whose measurements are too slow.
    pub slow: Vec<PhaseId>,
    /// The sizes whose bandwidth or time is too slow, in bytes.
    pub slow_sizes: Vec<usize>,
    /// What the machines are, a line each; empty where nobody looked.
    pub hardware: Vec<String>,
    /// Where each rank is.
    pub ranks: Vec<String>,
    /// How connecting to each node ended; empty without a cluster.
    pub access: Vec<NodeAccess>,
    /// The phases that ran, in order; a failed one has a row for each node that it failed on.
    pub phases: Vec<Phase>,
    /// The sizes that were measured, in order.
    pub results: Vec<Measured>,
    /// What carried the data: `tcp`.
    pub transport: String,
    /// The bandwidth that the measured one is compared with.
    pub expected: Option<Expected>,
    /// What every link of the ring carries at the same time, in bytes per second: from the rank before to
    /// this one.
    pub links: Vec<f64>,
    /// Measurements of the network other than bandwidth.
    pub network: Network,
    /// What NCCL did on the GPUs; `None` where it was not tried.
    pub nccl: Option<Nccl>,
    /// Output of the programs of the failed phase: the cause may be in it.
    pub captured: Vec<Captured>,
    /// Known causes in that output; the first is the root cause.
    pub causes: Diagnosis,
    pub remarks: Vec<String>,
    /// What to do, the best first.
    pub fixes: Vec<Fix>,
}

/// What NCCL did on the GPUs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Nccl {
    /// The ranks, one for each GPU.
    pub ranks: Vec<NcclRank>,
    /// The sizes that were measured, in order.
    pub results: Vec<Measured>,
    /// What NCCL wrote of it, on all ranks.
    pub log: super::nccl_log::Read,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NcclRank {
    pub node: String,
    /// Which of the node's GPUs.
    pub device: usize,
    pub gpu: super::gpu::Gpu,
    pub library: super::gpu::Loaded,
}

/// Measurements of the network other than bandwidth.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Network {
    /// The longest time until a connection stood, in milliseconds: one round trip. From which rank, to which.
    pub slowest_connect: Option<(usize, usize, f64)>,
    /// The TCP segments of each rank while the path was measured; `None` where the kernel does not tell.
    pub packets: Vec<Option<Packets>>,
    /// The speed of the slowest link in Mbit/s, where all of them tell.
    pub speed: Option<u32>,
    /// What every link carries while the other links rest, in bytes per second, the median of the repeated
    /// rounds; empty where there was no reason to ask.
    pub alone: Vec<f64>,
    /// The seconds that each rank took for its own part of the largest size, without the others.
    pub own: Vec<f64>,
    /// What small datagrams showed of each direction; empty where they were not tried.
    pub ways: Vec<Way>,
    /// Receivers whose machines threw packets away for a wrong checksum.
    pub changed: Vec<Changed>,
    /// What the kernel of each rank counted while the test ran; `None` where it does not tell.
    pub counters: Vec<Option<Counters>>,
    /// The part of the last all-reduces in which the busiest summing thread ran or waited for a processor.
    pub busy: Option<f64>,
    /// The smallest size that was left out because it would take too long, in bytes.
    pub skipped_from: Option<usize>,
    /// What each rank got of the processors while a slow ring was measured again; `None` where it does not
    /// tell.
    pub usage: Vec<Option<Usage>>,
    /// What CPU limits did while the ranks were measured; one entry for all ranks of this machine.
    pub cpu_limits: Vec<cpu_limit::Reading>,
    /// What looked slow at first, measured again.
    pub repeated: Repeated,
    /// What pairs of ranks carry; empty where they were not tried.
    pub pairs: Vec<Pair>,
}

/// The test ends here; the reason is in the outcome already.
pub struct PhaseFailed;

impl Outcome {
    /// Nothing was tried yet.
    pub fn new(catalog: &'static Catalog, ranks: Vec<String>) -> Outcome {
        Outcome {
            catalog,
            verdict: Verdict::Failed,
            message: String::new(),
            slow: Vec::new(),
            slow_sizes: Vec::new(),
            hardware: Vec::new(),
            ranks,
            access: Vec::new(),
            phases: Vec::new(),
            results: Vec::new(),
            transport: "tcp".into(),
            expected: None,
            links: Vec::new(),
            network: Network::default(),
            nccl: None,
            captured: Vec::new(),
            causes: Diagnosis::default(),
            remarks: Vec::new(),
            fixes: Vec::new(),
        }
    }

    /// Keeps the output of programs that failed, and looks for known causes in it.
    pub(super) fn capture(&mut self, captured: impl IntoIterator<Item = Captured>) {
        self.captured.extend(captured);
        let catalog = self.catalog;
        let read = |one: &Captured| read::text(catalog, &one.from, &(one.lines.join("\n") + "\n"));
        if !self.captured.is_empty() {
            self.causes =
                root_cause::diagnose(catalog, &self.captured.iter().map(read).collect::<Vec<_>>(), None);
        }
    }

    /// Records a phase: passed, or failed, which ends the test. `failed`: nodes and what is wrong there; the
    /// first is the cause.
    pub fn finish_phase(
        &mut self,
        id: PhaseId,
        start: Instant,
        failed: Vec<(String, String)>,
        message: &str,
    ) -> Result<(), PhaseFailed> {
        let seconds = start.elapsed().as_secs_f64();
        let Some((_, first)) = failed.first() else {
            let message = message.to_owned();
            self.phases.push(Phase { id, node: None, status: Status::Passed, seconds, message });
            return Ok(());
        };
        self.message = format!("{}: {first}", id.id());
        self.end_phase(id, Status::Failed, seconds, failed);
        Err(PhaseFailed)
    }

    /// Rows of a phase that ended the test.
    pub(super) fn end_phase(
        &mut self,
        id: PhaseId,
        status: Status,
        seconds: f64,
        rows: Vec<(String, String)>,
    ) {
        let row = |(node, message)| Phase { id, node: Some(node), status, seconds, message };
        self.phases.extend(rows.into_iter().map(row));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every element right, and as fast as can be expected.
    Ok,
    /// Every element right, but slower than what the path carries.
    Slow,
    /// Sums that are wrong.
    Wrong,
    /// A phase failed.
    Failed,
    /// It could not be judged: nothing wrong was found, and not everything could be determined.
    Unknown,
}

impl Verdict {
    /// Of `envdoc smoke`: unknown is no pass.
    pub fn exit_code(self) -> u8 {
        match self {
            Verdict::Ok => 0,
            Verdict::Slow | Verdict::Wrong | Verdict::Failed => 1,
            Verdict::Unknown => 3,
        }
    }

    /// As written in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Slow => "slow",
            Verdict::Wrong => "wrong",
            Verdict::Failed => "failed",
            Verdict::Unknown => "unknown",
        }
    }
}

/// A phase of the test.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// Which: `rendezvous`.
    pub id: PhaseId,
    /// On which node, where it is one's.
    pub node: Option<String>,
    /// How it went.
    pub status: Status,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What was seen.
    pub message: String,
}

/// One size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Bytes that were reduced.
    pub bytes: usize,
    /// Median of the rounds, each as long as its slowest rank, in seconds.
    pub seconds: f64,
    /// Algorithm bandwidth in bytes per second.
    pub algorithm: f64,
    /// Bus bandwidth in bytes per second.
    pub bus: f64,
    /// Elements that were not the sum of all ranks, on all of them together.
    pub wrong: usize,
}

impl Measured {
    /// A time as bandwidths. On one GPU nothing is carried: its bus bandwidth is 0, as nccl-tests has it.
    pub fn new(bytes: usize, seconds: f64, world: usize, wrong: usize) -> Measured {
        let (algorithm, bus) = (algorithm(bytes, seconds), bus(bytes, seconds, world));
        Measured { bytes, seconds, algorithm, bus, wrong }
    }
}

/// What a measured bandwidth is compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// Bus bandwidth in bytes per second.
    pub bus: f64,
    /// The part of it below which it is slow: 0.6.
    pub tolerance: f64,
    /// Where the number is from.
    pub from: String,
    /// Whether it is what the same sockets carried, not what is known of such hardware.
    pub measured: bool,
}

impl Expected {
    /// What it is, in a few words.
    pub fn name(&self) -> String {
        match self.measured {
            true => "the measured rate of the path".into(),
            false => format!("the expected rate of {}", self.from),
        }
    }
}
