//! Ranks in the containers of a cluster: preconditions of the containers, then the phases of the test.

mod containers;
mod loss;
mod network;
mod pin;
mod silent;
mod stopped;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use docker::fan_out;

use super::outcome::{Outcome, PhaseFailed, Verdict};
use super::phase::PhaseId;
use super::phases::{Endpoint, Options, PhaseRunner, When};
use super::progress::Progress;
use super::{deepspeed, torch};
use super::{memory_kills, nccl};
use crate::container_probe::ContainerProbe;
use crate::jobs;
use crate::launch;
use crate::oom::Watch;
use crate::plan::{ClusterPlan, Gpus, Node};
use crate::problem::Problem;
use crate::worker::bundle::Bundle;
use crate::worker::container as worker_container;
use docker::Cause;
use docker::engine::Engine;

/// The longest that taking it away may take.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);

/// A node with its engine, or why that cannot be used.
pub type Reached<'p> = (&'p Node, Result<Engine, Problem>);

/// Runs all phases. Call [`leave`] afterwards in any case. `mark` identifies the programs that are started in
/// addition to the worker.
pub async fn run(
    plan: &ClusterPlan,
    reached: &[Reached<'_>],
    bundle: &Bundle,
    options: &Options,
    mark: &str,
    progress: Progress<'_>,
) -> Outcome {
    let mut outcome =
        Outcome::new(options.catalog, plan.nodes.iter().map(|node| node.name.clone()).collect());
    let site = Site { plan, bundle, options, progress };
    let Ok(nodes) = site.containers(reached, &mut outcome).await else { return outcome };
    let watch = Watch::start(nodes.iter().map(|(node, engine)| (node.name.as_str(), *engine))).await;
    let mut outcome = site.test(nodes, outcome, mark).await;
    memory_kills::in_containers(&mut outcome, watch.end().await);
    outcome
}

impl Site<'_> {
    /// The phases after every container was found running.
    async fn test<'w>(
        &self,
        nodes: Vec<(&'w Node, &'w Engine)>,
        mut outcome: Outcome,
        mark: &str,
    ) -> Outcome {
        let Ok(containers) = self.enter(nodes, &mut outcome).await else { return outcome };
        let mut outcome = self.phases(&containers, outcome, mark).await;
        if outcome.verdict == Verdict::Failed {
            self.silent(&containers, &mut outcome).await;
        }
        outcome
    }

    /// The phases after a worker was started in every container.
    async fn phases(&self, containers: &[ContainerProbe<'_>], mut outcome: Outcome, mark: &str) -> Outcome {
        if self.foot(containers, &mut outcome).await.is_err() {
            return outcome;
        }
        outcome.network.speed = slowest(containers);
        let endpoints: Vec<Endpoint> = containers
            .iter()
            .map(|one| Endpoint {
                node: one.node.name.clone(),
                is_rank: false,
                address: one.address,
                session: Arc::clone(&one.session),
            })
            .collect();
        if self.loss(containers, &mut outcome).await.is_err() {
            return outcome;
        }
        let mut runner = PhaseRunner::new(&endpoints, self.options, self.progress, outcome);
        match runner.reach().await {
            Ok(()) => {
                let passed = self.packets(containers, &mut runner.outcome).await.is_ok()
                    && self.ssh(containers, &mut runner.outcome).await.is_ok();
                if passed && runner.sums().await.is_ok() {
                    let _ = self.programs(containers, mark, &mut runner.outcome).await;
                }
            }
            Err(PhaseFailed) if self.gone(containers).await.is_empty() => {
                self.why(containers, &mut runner.outcome, PhaseId::Tcp).await;
            }
            Err(PhaseFailed) => {}
        }
        runner.end().await
    }
}

/// The speed of the slowest interface in Mbit/s; `None`, which is less than everything, where one does not
/// tell.
fn slowest(containers: &[ContainerProbe<'_>]) -> Option<u32> {
    let speed = |one: &ContainerProbe<'_>| {
        let own = one.interfaces.iter().find(|interface| interface.name == one.interface);
        own.and_then(|found| found.speed)
    };
    containers.iter().map(speed).min().flatten()
}

/// Removes the worker's files from every container; what is left where that is not possible. A worker whose
/// caller is gone ends by itself and removes them.
pub async fn leave(reached: &[Reached<'_>], mark: Option<&str>) -> Vec<String> {
    let all = reached.iter().filter_map(|(node, engine)| Some((*node, engine.as_ref().ok()?)));
    if let Some(mark) = mark {
        let all = all.clone().map(|(node, engine)| (node.name.as_str(), engine));
        let _ = tokio::time::timeout(CLEANUP_TIMEOUT, jobs::end_all(all.clone(), mark)).await;
        // Where the run was interrupted, the file that DeepSpeed's launcher reads is there still.
        let unmarked = fan_out(all.map(|(name, engine)| launch::unmark_ranks(engine, name, mark)));
        let _ = tokio::time::timeout(CLEANUP_TIMEOUT, unmarked).await;
    }
    let left = fan_out(all.map(|(node, engine)| async move {
        match tokio::time::timeout(CLEANUP_TIMEOUT, worker_container::forget_worker(engine, &node.name)).await
        {
            Ok(Ok(())) => None,
            Ok(Err(why)) if matches!(why.cause(), Cause::NoSuchContainer | Cause::ContainerNotRunning) => {
                None
            }
            Ok(Err(why)) => Some((node, why.to_string())),
            Err(_) => Some((node, format!("no answer within {} s", CLEANUP_TIMEOUT.as_secs()))),
        }
    }));
    let message = |(node, why): (&Node, String)| {
        format!(
            "{}: could not remove the worker ({why}); it exits and removes its files after {} s without \
                contact",
            node.name,
            worker_container::SILENCE_LIMIT.as_secs()
        )
    };
    left.await.into_iter().flatten().map(message).collect()
}

struct Site<'s> {
    plan: &'s ClusterPlan,
    bundle: &'s Bundle,
    options: &'s Options,
    progress: Progress<'s>,
}

impl Site<'_> {
    /// What training uses: NCCL on the GPUs, the image's torch.
    async fn programs(
        &self,
        containers: &[ContainerProbe<'_>],
        mark: &str,
        outcome: &mut Outcome,
    ) -> Result<(), PhaseFailed> {
        let (options, progress) = (self.options, self.progress);
        let nccl = self.nccl(containers).await;
        if nccl == Seen::Gpus {
            let site = nccl::workers::Site::Cluster { containers, bundle: self.bundle };
            nccl::phases::run(&site, None, options, progress, outcome).await?;
        }
        if let Seen::Unknown(remark) = nccl {
            outcome.remarks.push(remark);
        }
        if options.torch {
            progress.phase(PhaseId::Torch, "all-reduce with the image's own torch");
            torch::reduce(containers, options.transport, mark, outcome).await?;
        }
        if options.deepspeed {
            progress.phase(PhaseId::Deepspeed, "DeepSpeed trains a tiny model");
            deepspeed::train(self.plan, containers, mark, outcome).await?;
        }
        Ok(())
    }

    /// Whether NCCL is to be tried: where a container is given GPUs, or sees some. Where that is not known,
    /// the remark that says so.
    async fn nccl(&self, containers: &[ContainerProbe<'_>]) -> Seen {
        match self.options.nccl {
            When::Always => Seen::Gpus,
            When::Never => Seen::Nothing,
            When::Auto if self.plan.nodes.iter().any(|node| node.gpus != Gpus::None) => Seen::Gpus,
            When::Auto => {
                let look = |one| async move { nccl::workers::ground(one).await.map(|ground| ground.devices) };
                let found = fan_out(containers.iter().map(look)).await;
                sees_gpus(containers.iter().map(|one| one.node.name.as_str()).zip(found))
            }
        }
    }

    /// What must hold before anybody connects.
    async fn foot(
        &self,
        containers: &[ContainerProbe<'_>],
        outcome: &mut Outcome,
    ) -> Result<(), PhaseFailed> {
        self.shared_memory(containers, outcome).await?;
        self.interface(containers, outcome).await?;
        self.names(containers, outcome).await
    }
}

/// Whether containers see GPUs.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Gpus,
    Nothing,
    /// With the remark that says why.
    Unknown(String),
}

/// Whether one of the containers sees GPUs, by node; else why that is not known.
fn sees_gpus<'n, E: fmt::Display>(found: impl Iterator<Item = (&'n str, Result<usize, E>)>) -> Seen {
    let mut unread = Vec::new();
    for (node, devices) in found {
        match devices {
            Ok(0) => {}
            Ok(_) => return Seen::Gpus,
            Err(why) => unread.push(format!("{node}: {why}")),
        }
    }
    if unread.is_empty() {
        return Seen::Nothing;
    }
    Seen::Unknown(format!(
        "NCCL was not tested, because envdoc could not check whether containers have GPUs ({}); test it \
        anyway: `--nccl=always`",
        unread.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_fails_is_not_a_container_without_gpus() {
        let of = |found: &[(&'static str, Result<usize, &'static str>)]| sees_gpus(found.iter().copied());
        assert_eq!(of(&[("node1", Ok(0)), ("node2", Ok(0))]), Seen::Nothing);
        assert_eq!(of(&[("node1", Err("no answer")), ("node2", Ok(8))]), Seen::Gpus);
        let Seen::Unknown(why) = of(&[("node1", Ok(0)), ("node2", Err("no answer"))]) else { panic!() };
        assert!(why.starts_with("NCCL was not tested") && why.contains("(node2: no answer)"), "{why}");
    }
}
