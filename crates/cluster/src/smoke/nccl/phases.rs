//! The phases of NCCL: devices, communicator, all-reduce, bandwidth, transport.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::error::{RankError, Reported};
use super::logs::logs;
use super::transport_used;
use super::workers::{Rank, Site, Workers};
use super::{Answer, Opened, Task};
use crate::smoke::bandwidth::size;
use crate::smoke::gpu::{Gpu, Loaded};
use crate::smoke::outcome::{Measured, Nccl, NcclRank, Outcome, PhaseFailed, Verdict};
use crate::smoke::phase::PhaseId;
use crate::smoke::phases::{CHECKED_COUNTS, Options, PEER_GRACE, rounds};
use crate::smoke::progress::Progress;
use crate::smoke::wrong_elements::WrongElements;
use diagnostic::units::rate;

/// The longest that opening a library of hundreds of MB and a GPU may take.
const OPEN_TIMEOUT: Duration = Duration::from_secs(40);
/// How many times as long as other phases a communicator may take: it connects every rank with its neighbours
/// in every ring.
const JOIN_TIMEOUT_FACTOR: u32 = 6;
/// The longest that one size may take.
const ALL_REDUCE_TIMEOUT: Duration = Duration::from_secs(60);
/// The part of the free memory that the data may take.
const FREE_MEMORY_DIVISOR: usize = 2;

/// Runs all phases on `gpus` GPUs of every node; all of them by default.
pub async fn run(
    site: &Site<'_>,
    gpus: Option<usize>,
    options: &Options,
    progress: Progress<'_>,
    outcome: &mut Outcome,
) -> Result<(), PhaseFailed> {
    let mut workers = Workers::default();
    let done = phases(site, gpus, options, progress, outcome, &mut workers).await;
    if done.is_err() {
        let captured = logs(&workers.ranks).await;
        outcome.capture(captured.into_iter().filter(|one| !one.lines.is_empty()));
        if outcome.verdict != Verdict::Wrong {
            outcome.verdict = Verdict::Failed;
        }
    }
    workers.end().await;
    done
}

async fn phases(
    site: &Site<'_>,
    gpus: Option<usize>,
    options: &Options,
    progress: Progress<'_>,
    outcome: &mut Outcome,
    workers: &mut Workers,
) -> Result<(), PhaseFailed> {
    progress.phase(PhaseId::Devices, "opening libnccl and the GPUs");
    let opened = devices(site, gpus, progress, outcome, workers).await?;
    progress.phase(PhaseId::Communicator, "NCCL connects the ranks");
    communicator(&workers.ranks, options, progress, outcome).await?;
    progress.phase(PhaseId::NcclAllReduce, "checking every element of NCCL all-reduces");
    let start = Instant::now();
    for elements in CHECKED_COUNTS {
        reduce(&workers.ranks, PhaseId::NcclAllReduce, start, (*elements, 0, 0), progress, outcome).await?;
    }
    let message = "every element is correct on every GPU";
    outcome.finish_phase(PhaseId::NcclAllReduce, start, Vec::new(), message)?;
    sweep(&workers.ranks, &opened, options, progress, outcome).await?;
    transport_used::transport(&workers.ranks, &opened, options, outcome).await
}

/// Every rank has its library and its GPU.
async fn devices(
    site: &Site<'_>,
    gpus: Option<usize>,
    progress: Progress<'_>,
    outcome: &mut Outcome,
    workers: &mut Workers,
) -> Result<Vec<Opened>, PhaseFailed> {
    let start = Instant::now();
    let (mut opened, mut failed) = (Vec::new(), Vec::new());
    for (node, name) in site.nodes().into_iter().enumerate() {
        let (mut device, mut count) = (0, gpus.unwrap_or(1));
        while device < count {
            match one(site, node, device, workers).await {
                Ok((rank, found)) => {
                    match state(&found) {
                        Ok(gpu) => count = gpus.unwrap_or(gpu.count),
                        Err(why) => failed.push((name.clone(), format!("{}: {why}", rank.name()))),
                    }
                    let remarks = found.remarks.iter().map(|remark| format!("{name}: {remark}"));
                    let new: Vec<_> = remarks.filter(|remark| !outcome.remarks.contains(remark)).collect();
                    outcome.remarks.extend(new);
                    workers.ranks.push(rank);
                    opened.push(found);
                }
                Err(why) => failed.push((name.clone(), format!("{name}, GPU {device}: {why}"))),
            }
            if !failed.is_empty() {
                break;
            }
            device += 1;
        }
        progress.node(&name, !failed.iter().any(|(node, _)| *node == name));
    }
    let ranks = workers.ranks.iter().zip(&opened).filter_map(|(rank, found)| {
        let (gpu, library) = (found.gpu.as_ref().ok()?.clone(), found.library.as_ref().ok()?.clone());
        Some(NcclRank { node: rank.node.clone(), device: rank.device, gpu, library })
    });
    let ranks: Vec<_> = ranks.collect();
    let message = describe_ranks(&ranks);
    let versions: BTreeSet<&str> = ranks.iter().map(|rank| rank.library.version.as_str()).collect();
    if versions.len() > 1 {
        let versions: Vec<_> = versions.into_iter().collect();
        outcome.remarks.push(format!("the ranks use different versions of NCCL: {}", versions.join(", ")));
    }
    outcome.nccl = Some(Nccl { ranks, ..Nccl::default() });
    outcome.finish_phase(PhaseId::Devices, start, failed, &message).map(|()| opened)
}

async fn one(
    site: &Site<'_>,
    node: usize,
    device: usize,
    workers: &mut Workers,
) -> Result<(Rank, Opened), RankError> {
    let rank = site.start(node, device, workers).await?;
    let task = Task::Open { device, environment: site.environment(node) };
    match rank.ask(task, OPEN_TIMEOUT).await? {
        Answer::Opened(found) => Ok((rank, *found)),
        other => Err(RankError::Unexpected(Box::new(other))),
    }
}

/// What a rank lacks.
#[derive(Debug, PartialEq, thiserror::Error)]
enum Missing<'r> {
    #[error("no GPU: {why}. NCCL {} found ({}; {})", library.version, library.path, library.from)]
    Gpu { why: &'r Reported, library: &'r Loaded },
    #[error("{} found, but no NCCL: {why}", gpu.name)]
    Nccl { why: &'r Reported, gpu: &'r Gpu },
    #[error("no GPU: {gpu}. No NCCL: {library}")]
    Both { gpu: &'r Reported, library: &'r Reported },
}

/// The GPU, or what is missing.
fn state(found: &Opened) -> Result<&Gpu, Missing<'_>> {
    match (&found.library, &found.gpu) {
        (Ok(_), Ok(gpu)) => Ok(gpu),
        (Ok(library), Err(why)) => Err(Missing::Gpu { why, library }),
        (Err(why), Ok(gpu)) => Err(Missing::Nccl { why, gpu }),
        (Err(library), Err(gpu)) => Err(Missing::Both { gpu, library }),
    }
}

/// The GPUs and the library in a sentence.
fn describe_ranks(ranks: &[NcclRank]) -> String {
    let Some(first) = ranks.first() else { return String::new() };
    let nodes: BTreeSet<&str> = ranks.iter().map(|rank| rank.node.as_str()).collect();
    let names: BTreeSet<String> = ranks
        .iter()
        .map(|rank| {
            format!(
                "{} (compute capability {}.{})",
                rank.gpu.name, rank.gpu.capability.0, rank.gpu.capability.1
            )
        })
        .collect();
    let free = ranks.iter().map(|rank| rank.gpu.free).min().unwrap_or(0);
    let driver = first.gpu.driver.as_ref().map_or(String::new(), |driver| format!(", driver {driver}"));
    format!(
        "{} GPUs on {} nodes: {}, at least {:.1} GiB free{driver} for CUDA {}; NCCL {} from {} ({})",
        ranks.len(),
        nodes.len(),
        names.into_iter().collect::<Vec<_>>().join(", "),
        free as f64 / f64::from(1 << 30),
        first.gpu.cuda,
        first.library.version,
        first.library.path,
        first.library.from
    )
}

async fn communicator(
    ranks: &[Rank],
    options: &Options,
    progress: Progress<'_>,
    outcome: &mut Outcome,
) -> Result<(), PhaseFailed> {
    let start = Instant::now();
    let deadline = options.deadline * JOIN_TIMEOUT_FACTOR;
    let Some(first) = ranks.first() else {
        return outcome.finish_phase(
            PhaseId::Communicator,
            start,
            vec![("".into(), "no rank was started".into())],
            "",
        );
    };
    let id = match first.ask(Task::UniqueId, deadline).await {
        Ok(Answer::Id { id }) => id,
        other => {
            let why = other.map_or_else(|why| why, |answer| RankError::Unexpected(Box::new(answer)));
            let failed = vec![(first.node.clone(), format!("{}: {why}", first.name()))];
            return outcome.finish_phase(PhaseId::Communicator, start, failed, "");
        }
    };
    let world = ranks.len();
    let task = |number| Task::Join { id: id.clone(), number, world };
    each(ranks, task, deadline, (PhaseId::Communicator, start, progress), outcome).await?;
    outcome.finish_phase(
        PhaseId::Communicator,
        start,
        Vec::new(),
        &format!("all {world} ranks are connected"),
    )
}

async fn sweep(
    ranks: &[Rank],
    opened: &[Opened],
    options: &Options,
    progress: Progress<'_>,
    outcome: &mut Outcome,
) -> Result<(), PhaseFailed> {
    let start = Instant::now();
    let free = opened.iter().filter_map(|one| Some(one.gpu.as_ref().ok()?.free)).min().unwrap_or(0);
    let mut last = (0_usize, 0.0);
    let mut results: Vec<Measured> = Vec::new();
    for bytes in &options.sizes {
        progress.phase(PhaseId::NcclBandwidth, &format!("bandwidth of {}", size(*bytes)));
        if *bytes > free / FREE_MEMORY_DIVISOR {
            let gib = free as f64 / f64::from(1 << 30);
            outcome
                .remarks
                .push(format!("sizes from {} up are skipped: a GPU has {gib:.1} GiB free", size(*bytes)));
            break;
        }
        let rounds = rounds(last, *bytes, options.iterations);
        let counts = (bytes / size_of::<f32>(), rounds.min(5), rounds);
        let measured = reduce(ranks, PhaseId::NcclBandwidth, start, counts, progress, outcome).await?;
        let Some(measured) = measured else { continue };
        last = (*bytes, measured.seconds);
        results.push(measured);
    }
    let message = match results.last() {
        Some(last) => format!("{} busbw at {}", rate(last.bus), size(last.bytes)),
        None => "no size measured".into(),
    };
    if outcome.results.is_empty() {
        outcome.results.clone_from(&results);
    }
    if let Some(nccl) = &mut outcome.nccl {
        nccl.results = results;
    }
    outcome.finish_phase(PhaseId::NcclBandwidth, start, Vec::new(), &message)
}

/// One size on all ranks; nothing where no round was to count.
async fn reduce(
    ranks: &[Rank],
    name: PhaseId,
    start: Instant,
    (elements, warmup, iterations): (usize, usize, usize),
    progress: Progress<'_>,
    outcome: &mut Outcome,
) -> Result<Option<Measured>, PhaseFailed> {
    let task = |_| Task::AllReduce { elements, warmup, iterations };
    let answers = each(ranks, task, ALL_REDUCE_TIMEOUT, (name, start, progress), outcome).await?;
    let (mut slowest, mut wrong) = (None::<f64>, WrongElements::of(elements));
    for (rank, answer) in ranks.iter().zip(answers) {
        let Answer::Reduced { seconds, wrong: here, first_wrong } = answer else { continue };
        slowest = seconds.map(|seconds| slowest.map_or(seconds, |other| other.max(seconds)));
        wrong.add(&rank.node, &rank.name(), here, first_wrong);
    }
    let wrong = wrong.check(name, start, outcome)?;
    Ok(slowest.map(|seconds| Measured::new(elements * size_of::<f32>(), seconds, ranks.len(), wrong)))
}

/// A task on every rank. Whoever ends or fails first pulls the others down, who then hang: they are waited
/// for a moment only.
async fn each(
    ranks: &[Rank],
    task: impl Fn(usize) -> Task,
    deadline: Duration,
    (name, start, progress): (PhaseId, Instant, Progress<'_>),
    outcome: &mut Outcome,
) -> Result<Vec<Answer>, PhaseFailed> {
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    for rank in ranks {
        *left.entry(rank.node.clone()).or_default() += 1;
    }
    let mut progress = progress.counting(left);
    let asked = ranks.iter().enumerate().map(|(number, rank)| {
        let asked = rank.ask(task(number), deadline);
        async move { (number, asked.await) }
    });
    let mut running: FuturesUnordered<_> = asked.collect();
    let mut answers: Vec<Option<Answer>> = vec![None; ranks.len()];
    let (mut failed, mut until) = (Vec::new(), None);
    loop {
        let next = match until {
            None => running.next().await,
            Some(until) => tokio::time::timeout_at(until, running.next()).await.ok().flatten(),
        };
        if let Some((number, came)) = &next {
            progress(&ranks[*number].node, came.is_ok());
        }
        match next {
            Some((number, Ok(answer))) => answers[number] = Some(answer),
            Some((number, Err(why))) => {
                until.get_or_insert_with(|| tokio::time::Instant::now() + PEER_GRACE);
                failed.push((ranks[number].node.clone(), format!("{}: {why}", ranks[number].name())));
            }
            None => break,
        }
    }
    drop(running);
    match failed.is_empty() {
        true => Ok(answers.into_iter().flatten().collect()),
        false => outcome.finish_phase(name, start, failed, "").map(|()| Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::transport::Infiniband;

    #[test]
    fn rounds_take_about_the_same_time_at_every_size() {
        assert_eq!(rounds((0, 0.0), 8, None), 20);
        assert_eq!(rounds((1 << 20, 0.01), 2 << 20, None), 10);
        assert_eq!(rounds((1 << 20, 1.0), 2 << 20, None), 3);
        assert_eq!(rounds((1 << 20, 1e-6), 2 << 20, None), 50);
        assert_eq!(rounds((1 << 20, 1.0), 2 << 20, Some(7)), 7);
    }

    #[test]
    fn bandwidths_of_eight_ranks_and_of_one() {
        let eight = Measured::new(1 << 30, 0.004, 8, 0);
        assert!(
            (eight.algorithm / 1e9 - 268.4).abs() < 0.1 && (eight.bus / eight.algorithm - 1.75).abs() < 1e-12
        );
        assert!(Measured::new(1 << 30, 0.004, 1, 0).bus.abs() < 1e-9);
    }

    #[test]
    fn error_names_missing_and_available_libraries() {
        let library = Loaded {
            path: "/x/libnccl.so.2".into(),
            from: "needed by torch".into(),
            version: "2.27.3".into(),
        };
        let mut found = Opened {
            library: Ok(library),
            remarks: Vec::new(),
            gpu: Err(Reported("libcuda.so.1 not found".into())),
            infiniband: Infiniband::default(),
            rates: Vec::new(),
        };
        let message = state(&found).unwrap_err().to_string();
        assert!(
            message.starts_with(
                "no GPU: libcuda.so.1 not found. NCCL 2.27.3 found (/x/libnccl.so.2; needed by torch"
            ),
            "{message}"
        );
        found.library = Err(Reported("libnccl.so.2 (system library): cannot open".into()));
        assert!(state(&found).unwrap_err().to_string().contains("No NCCL:"));
    }
}
