//! Ranks in the containers of a cluster: preconditions of the containers, then the phases of the test.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::{StreamExt, stream};

use super::nccl;
use super::outcome::{Outcome, PhaseFailed};
use super::phases::{self, Options, PhaseRunner, Place, When};
use super::progress::Progress;
use super::{deepspeed, torch};
use crate::Error;
use crate::causes;
use crate::container_probe::{self, ContainerProbe, Tried};
use crate::fan_out;
use crate::launch;
use crate::plan::{ClusterPlan, Gpus, Node};
use crate::problem::Problem;
use crate::ssh::LoginError;
use crate::worker::bundle::Bundle;
use crate::worker::container as worker_container;
use crate::worker::{Answer, Interface, Task, Why};
use docker::engine::Engine;
use docker::{Cause, container};

/// The longest that bringing the worker into a container may take, and starting it.
const DEPLOY_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest that taking it away may take.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest that the search for a cause may take.
const CAUSE_SEARCH_TIMEOUT: Duration = Duration::from_secs(30);
/// Pairs that are tried at once.
const MAX_PARALLEL: usize = 32;
/// Pairs whose cause is looked for.
const MAX_CAUSES: usize = 6;
/// Bytes of /dev/shm that Docker gives where nobody asks: less was asked for by mistake.
const SHM_MIN_BYTES: u64 = 64 << 20;

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
    let containers = match site.foot(reached, &mut outcome).await {
        Ok(containers) => containers,
        Err(PhaseFailed) => return outcome,
    };
    let speed = |one: &ContainerProbe<'_>| {
        one.interfaces.iter().find(|interface| interface.name == one.interface).and_then(|found| found.speed)
    };
    // `None` is less than everything: one that does not tell leaves it open.
    outcome.network.speed = containers.iter().map(speed).min().flatten();
    let places: Vec<Place> = containers
        .iter()
        .map(|one| Place {
            node: one.node.name.clone(),
            address: one.address,
            session: Arc::clone(&one.session),
        })
        .collect();
    let mut runner = PhaseRunner::new(&places, options, progress, outcome);
    match runner.reach().await {
        Ok(()) => {
            let passed = site.packets(&containers, &mut runner.outcome).await.is_ok()
                && site.ssh(&containers, &mut runner.outcome).await.is_ok();
            if passed && runner.sums().await.is_ok() {
                let _ = site.programs(&containers, mark, &mut runner.outcome).await;
            }
        }
        Err(PhaseFailed) if site.gone(&containers).await.is_empty() => {
            site.why(&containers, &mut runner.outcome, "tcp").await;
        }
        Err(PhaseFailed) => {}
    }
    runner.end().await
}

/// Removes the worker's files from every container; what is left where that is not possible. A worker whose
/// caller is gone ends by itself and removes them.
pub async fn leave(reached: &[Reached<'_>], mark: Option<&str>) -> Vec<String> {
    let all = reached.iter().filter_map(|(node, engine)| Some((*node, engine.as_ref().ok()?)));
    if let Some(mark) = mark {
        let all = all.clone().map(|(node, engine)| (node.name.as_str(), engine));
        let _ = tokio::time::timeout(CLEANUP_TIMEOUT, fan_out::end_all(all.clone(), mark)).await;
        // Where the run was interrupted, the file that DeepSpeed's launcher reads is there still.
        let unmarked = join_all(all.map(|(name, engine)| launch::unmark_ranks(engine, name, mark)));
        let _ = tokio::time::timeout(CLEANUP_TIMEOUT, unmarked).await;
    }
    let left = join_all(all.map(|(node, engine)| async move {
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
    let says = |(node, why): (&Node, String)| {
        format!(
            "{}: could not remove the worker ({why}); it exits and removes its files after {} s without \
                contact",
            node.name,
            worker_container::SILENCE_LIMIT.as_secs()
        )
    };
    left.await.into_iter().flatten().map(says).collect()
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
        if self.nccl(containers).await {
            let site = nccl::workers::Site::Cluster { containers, bundle: self.bundle };
            nccl::phases::run(&site, None, options, progress, outcome).await?;
        }
        if options.torch {
            progress.phase("torch", "all-reduce with the image's own torch");
            torch::reduce(containers, options.transport, mark, outcome).await?;
        }
        if options.deepspeed {
            progress.phase("deepspeed", "DeepSpeed trains a tiny model");
            deepspeed::train(self.plan, containers, mark, outcome).await?;
        }
        Ok(())
    }

    /// Whether NCCL is to be tried: where a container is given GPUs, or sees some.
    async fn nccl(&self, containers: &[ContainerProbe<'_>]) -> bool {
        match self.options.nccl {
            When::Always => true,
            When::Never => false,
            When::Auto => {
                let given = self.plan.nodes.iter().any(|node| node.gpus != Gpus::None);
                let look = |one| async move {
                    nccl::workers::ground(one).await.is_ok_and(|ground| ground.devices > 0)
                };
                given || join_all(containers.iter().map(look)).await.contains(&true)
            }
        }
    }

    /// What must hold before anybody connects.
    async fn foot<'w>(
        &self,
        reached: &'w [Reached<'w>],
        outcome: &mut Outcome,
    ) -> Result<Vec<ContainerProbe<'w>>, PhaseFailed> {
        let nodes = self.containers(reached, outcome).await?;
        let containers = self.enter(nodes, outcome).await?;
        self.shared_memory(&containers, outcome).await?;
        self.interface(&containers, outcome).await?;
        self.names(&containers, outcome).await?;
        Ok(containers)
    }

    /// Every engine answers, every container runs and is in the network.
    async fn containers<'w>(
        &self,
        reached: &'w [Reached<'w>],
        outcome: &mut Outcome,
    ) -> Result<Vec<(&'w Node, &'w Engine)>, PhaseFailed> {
        let start = Instant::now();
        self.progress.phase("containers", "checking that every container runs");
        let (deadline, network) = (self.options.deadline, &self.plan.network);
        let looked = reached.iter().map(|(node, engine)| async move {
            let engine = engine.as_ref().map_err(|problem| (problem.says.clone(), problem.fix.clone()))?;
            let found = tokio::time::timeout(deadline, container::inspect(engine, &node.name)).await;
            let unanswered =
                format!("the Docker engine did not answer within {:.0} s", deadline.as_secs_f64());
            let found = found.map_or(Err(unanswered), |found| found.map_err(String::from));
            let found = found.map_err(|why| (why, Vec::new()))?;
            let up = || vec!["Create and start what is missing: `envdoc cluster up`".to_owned()];
            match found {
                None => Err(("no container of this cluster".to_owned(), up())),
                Some(found) if !found.running => {
                    let exit = found.exit.map_or(String::new(), |exit| format!(" with status {exit}"));
                    let mut fix = up();
                    fix.push(format!("Read why the container exited: `envdoc cluster logs {}`", node.name));
                    Err((format!("its container is not running: {}{exit}", found.status), fix))
                }
                // A container that shares the machine's network is in `host`.
                Some(found) if found.addresses.contains_key(&network.name) => Ok((*node, engine)),
                Some(found) => {
                    let has: Vec<_> = found.addresses.keys().map(String::as_str).collect();
                    let has = if has.is_empty() { "no network".to_owned() } else { has.join(", ") };
                    let fix = vec![
                        format!(
                            "Connect the container on that machine: `docker network connect {} {}`",
                            network.name, node.name
                        ),
                        "Or recreate the cluster: `envdoc cluster down && envdoc cluster up`".to_owned(),
                    ];
                    Err((
                        format!("its container is not in the network {}; it is in {has}", network.name),
                        fix,
                    ))
                }
            }
        });
        let told = reached.iter().zip(looked).map(|((node, _), looked)| async {
            let found = looked.await;
            self.progress.node(&node.name, found.is_ok());
            found
        });
        let all = join_all(told).await;
        let (mut nodes, mut failed) = (Vec::new(), Vec::new());
        for (result, (node, _)) in all.into_iter().zip(reached) {
            match result {
                Ok(found) => nodes.push(found),
                Err((why, fix)) => {
                    failed.push((node.name.clone(), format!("{}: {why}", node.name)));
                    outcome
                        .fix
                        .extend(fix.into_iter().filter(|fix| !outcome.fix.contains(fix)).collect::<Vec<_>>());
                }
            }
        }
        let says = format!("{} containers run in {}", nodes.len(), network.name);
        outcome.finish_phase("containers", start, failed, &says).map(|()| nodes)
    }

    /// The worker is in every container.
    async fn enter<'w>(
        &self,
        nodes: Vec<(&'w Node, &'w Engine)>,
        outcome: &mut Outcome,
    ) -> Result<Vec<ContainerProbe<'w>>, PhaseFailed> {
        let start = Instant::now();
        self.progress.phase("worker", "starting a worker in every container");
        let all = join_all(nodes.into_iter().map(|(node, engine)| async move {
            let entered = container_probe::enter(self.plan, node, engine, self.bundle);
            let entered = tokio::time::timeout(DEPLOY_TIMEOUT, entered).await;
            let entered = entered.unwrap_or(Err(Error::TimedOut { what: "not done", after: DEPLOY_TIMEOUT }));
            self.progress.node(&node.name, entered.is_ok());
            entered.map_err(|why| {
                let says = format!("{}: cannot run envdoc's worker in its container: {why}", node.name);
                (node.name.clone(), says)
            })
        }));
        let (mut containers, mut failed) = (Vec::new(), Vec::new());
        for entered in all.await {
            match entered {
                Ok(one) => containers.push(one),
                Err(says) => failed.push(says),
            }
        }
        let says =
            format!("{} MB copied into each, with its own C library", self.bundle.tar.len() / 1_000_000);
        outcome.finish_phase("worker", start, failed, &says).map(|()| containers)
    }

    /// /dev/shm is what processes of one node talk through.
    async fn shared_memory(
        &self,
        containers: &[ContainerProbe<'_>],
        outcome: &mut Outcome,
    ) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase("shm", "checking the size of /dev/shm");
        let ask = |one: &ContainerProbe<'_>| {
            let session = Arc::clone(&one.session);
            let deadline = self.options.deadline;
            async move { session.ask(Task::Space { path: "/dev/shm".into() }, deadline).await }
        };
        let (mut failed, mut least, mut too_small) = (Vec::new(), u64::MAX, false);
        for (one, answer) in containers.iter().zip(join_all(containers.iter().map(ask)).await) {
            let name = &one.node.name;
            match answer {
                Ok(Answer::Space { total, .. }) => {
                    least = least.min(total);
                    if total < SHM_MIN_BYTES {
                        too_small = true;
                        failed.push((
                            name.clone(),
                            format!(
                                "{name}: /dev/shm has {} KiB, less than \
                                    Docker's default of 64 MiB; NCCL and data loader processes exchange data \
                                    through it and fail",
                                total >> 10
                            ),
                        ));
                    }
                }
                Ok(other) => outcome.remarks.push(format!("{name}: /dev/shm: {other:?}")),
                Err(failure) if matches!(failure.why, Why::Gone | Why::Unanswered) => {
                    failed.push((name.clone(), format!("{name}: {}", failure.says)));
                }
                Err(failure) => outcome.remarks.push(format!("{name}: size of /dev/shm unknown: {failure}")),
            }
        }
        if too_small {
            outcome.fix.push(
                "Set `limits: { shm: 16g }` in cluster.yaml (memory is used only on demand), \
                then apply: `envdoc cluster up`"
                    .into(),
            );
        }
        let says = match least {
            u64::MAX => "size unknown".to_owned(),
            least => format!("/dev/shm has at least {} MiB", least >> 20),
        };
        outcome.finish_phase("shm", start, failed, &says)
    }

    /// NCCL and Gloo use the interface by which the others reach this container.
    async fn interface(
        &self,
        containers: &[ContainerProbe<'_>],
        outcome: &mut Outcome,
    ) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase("interface", "checking which interface NCCL and Gloo use");
        let pins = join_all(containers.iter().map(|one| async {
            match one.node.environment.get("NCCL_SOCKET_IFNAME") {
                Some(pin) => Some(pin.clone()),
                None => container_probe::pinned(one).await,
            }
        }))
        .await;
        let wrong = |(one, pin): (&ContainerProbe<'_>, &Option<String>)| {
            let says = mispinned(pin.as_deref()?, &one.interfaces, &one.interface)?;
            let says = format!(
                "{}: {says}; the other nodes reach it at {} on {}",
                one.node.name, one.address, one.interface
            );
            Some((one.node.name.clone(), says))
        };
        let failed: Vec<_> = containers.iter().zip(&pins).filter_map(wrong).collect();
        if !failed.is_empty() {
            outcome.fix.push(
                "Remove `network: { interface: … }` from cluster.yaml so that the interface \
                with the container's address is pinned, then apply: `envdoc cluster up`"
                    .into(),
            );
        }
        let used: Vec<_> = containers
            .iter()
            .map(|one| format!("{} {} {}", one.node.name, one.interface, one.address))
            .collect();
        let pinned = if pins.iter().any(Option::is_some) { "" } else { " (NCCL is not pinned to it)" };
        outcome.finish_phase("interface", start, failed, &(used.join(", ") + pinned))
    }

    /// Every name gives the right address, from everywhere.
    async fn names(
        &self,
        containers: &[ContainerProbe<'_>],
        outcome: &mut Outcome,
    ) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase("names", "resolving every name in every container");
        let came = self
            .pairs(
                containers,
                |one, other| async {
                    container_probe::resolves(one, other).await.map_err(|why| Error::Other(why.says))
                },
                late,
            )
            .await;
        let failed = came.into_iter().filter_map(|(from, to, came)| {
            let (one, other) = (&containers[from].node.name, &containers[to].node.name);
            Some((one.clone(), format!("{one} cannot resolve {other}: {}", came.err()?)))
        });
        let mut failed: Vec<_> = failed.collect();
        let gone = if failed.is_empty() { Vec::new() } else { self.gone(containers).await };
        let alive = gone.is_empty();
        failed.splice(..0, gone);
        let count = containers.len() * (containers.len() - 1);
        let phase =
            outcome.finish_phase("names", start, failed, &format!("all {count} pairs resolve each other"));
        if phase.is_err() && alive {
            self.why(containers, outcome, "names").await;
        }
        phase
    }

    /// What the interfaces send arrives whole.
    async fn packets(
        &self,
        containers: &[ContainerProbe<'_>],
        outcome: &mut Outcome,
    ) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase("mtu", "testing the largest packets");
        let came = self.pairs(
            containers,
            |one, other| async {
                container_probe::packet(one, other)
                    .await
                    .ok_or_else(|| Error::Other("no datagram is answered although TCP connects".into()))
            },
            late,
        );
        let (mut failed, mut least) = (Vec::new(), u32::MAX);
        for (from, to, came) in came.await {
            let (one, other) = (&containers[from], &containers[to].node.name);
            let name = &one.node.name;
            match (came, one.mtu) {
                (Ok(bytes), Some(mtu)) if bytes < mtu => {
                    let problem = causes::small(self.plan, name, other, bytes, mtu);
                    failed.push((name.clone(), problem.says));
                    if outcome.fix.is_empty() {
                        outcome.fix = problem.fix;
                    }
                }
                (Ok(bytes), _) => least = least.min(bytes),
                (Err(why), _) => failed.push((name.clone(), format!("{name} to {other}: {why}"))),
            }
        }
        if !failed.is_empty() {
            failed.splice(..0, self.gone(containers).await);
        }
        outcome.finish_phase("mtu", start, failed, &format!("packets of {least} bytes arrive unfragmented"))
    }

    /// Workers that have ended, or hang.
    async fn gone(&self, containers: &[ContainerProbe<'_>]) -> Vec<(String, String)> {
        phases::gone(containers.iter().map(|one| (one.node.name.as_str(), &*one.session))).await
    }

    /// What the launcher needs.
    async fn ssh(&self, containers: &[ContainerProbe<'_>], outcome: &mut Outcome) -> Result<(), PhaseFailed> {
        let Some(ssh) = &self.plan.ssh else { return Ok(()) };
        let start = Instant::now();
        self.progress.phase("ssh", "testing ssh between all containers");
        let came = self
            .pairs(
                containers,
                |one, other| container_probe::logs_in(one, &other.node.name, &ssh.user),
                LoginError::TimedOut,
            )
            .await;
        let mut failed = Vec::new();
        for (from, to, came) in came {
            let (one, other) = (&containers[from].node.name, &containers[to].node.name);
            if let Err(why) = came {
                let problem = causes::unlogged(one, other, &why);
                failed.push((one.clone(), problem.says));
                if outcome.fix.is_empty() {
                    outcome.fix = problem.fix;
                }
            }
        }
        let count = containers.len() * (containers.len() - 1);
        outcome.finish_phase("ssh", start, failed, &format!("passwordless SSH works for all {count} pairs"))
    }

    /// Something of every pair, under a deadline; in order.
    async fn pairs<'i, T, E, F: Future<Output = Result<T, E>>>(
        &self,
        containers: &'i [ContainerProbe<'i>],
        what: impl Fn(&'i ContainerProbe<'i>, &'i ContainerProbe<'i>) -> F,
        late: fn(Duration) -> E,
    ) -> Vec<(usize, usize, Result<T, E>)> {
        let deadline = self.options.deadline;
        let count = containers.len();
        let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        let tried = pairs.filter(|(from, to)| from != to).map(|(from, to)| {
            let tried = what(&containers[from], &containers[to]);
            async move {
                let came = tokio::time::timeout(deadline, tried).await;
                (from, to, came.unwrap_or_else(|_| Err(late(deadline))))
            }
        });
        let left = containers.iter().map(|one| (one.node.name.clone(), count - 1)).collect();
        let mut progress = self.progress.counting(left);
        let tried = stream::iter(tried).buffer_unordered(MAX_PARALLEL);
        let tried = tried.inspect(|(from, _, came)| progress(&containers[*from].node.name, came.is_ok()));
        let mut came: Vec<_> = tried.collect().await;
        came.sort_by_key(|(from, to, _)| (*from, *to));
        came
    }

    /// Some do not find or reach each other: what their machines see of each other says why.
    async fn why(&self, containers: &[ContainerProbe<'_>], outcome: &mut Outcome, phase: &str) {
        self.progress.phase(phase, "finding out why containers cannot reach each other");
        let of = |from: usize, to: usize| async move {
            let (one, other) = (&containers[from], &containers[to]);
            let (name, connects) =
                tokio::join!(container_probe::resolves(one, other), container_probe::listened(one, other));
            let neighbour = match connects {
                Ok(()) => None,
                Err(_) => container_probe::neighbour(one, other).await,
            };
            Tried { from, to, name, connects, neighbour, packet: None, ssh: None }
        };
        let asked = async {
            let count = containers.len();
            let pairs = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
            let tried = pairs.filter(|(from, to)| from != to).map(|(from, to)| of(from, to));
            let tried: Vec<Tried> = stream::iter(tried).buffer_unordered(MAX_PARALLEL).collect().await;
            causes::unreached(self.plan, self.bundle, containers, &tried, MAX_CAUSES, false).await.problems
        };
        let Ok(problems) = tokio::time::timeout(CAUSE_SEARCH_TIMEOUT, asked).await else {
            outcome.remarks.push("the cause could not be determined in time".into());
            return;
        };
        if let Some(first) = problems.first() {
            outcome.says = format!("{phase}: {}", first.says);
            outcome.fix.extend(first.fix.iter().cloned());
        }
        outcome.remarks.extend(problems.into_iter().skip(1).map(|problem| problem.says));
    }
}

fn late(deadline: Duration) -> Error {
    Error::TimedOut { what: "no answer", after: deadline }
}

/// What is wrong with a pin. NCCL takes `eth` for every interface that begins so, `=eth0` for that one alone,
/// `^docker` for all others (NVIDIA/nccl:src/misc/socket.cc).
fn mispinned(pin: &str, interfaces: &[Interface], wanted: &str) -> Option<String> {
    let (without, rest) = pin.strip_prefix('^').map_or((false, pin), |rest| (true, rest));
    let (exact, rest) = rest.strip_prefix('=').map_or((false, rest), |rest| (true, rest));
    let named = |name: &str| {
        rest.split(',').any(|word| if exact { name == word } else { name.starts_with(word) }) != without
    };
    if named(wanted) {
        return None;
    }
    let list = |all: Vec<&Interface>| {
        let one = |interface: &&Interface| {
            let address = interface.addresses.iter().find(|(address, _)| address.is_ipv4());
            address.map_or(interface.name.clone(), |(address, _)| format!("{} ({address})", interface.name))
        };
        all.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let real = || interfaces.iter().filter(|interface| !interface.loopback);
    let taken: Vec<&Interface> = real().filter(|interface| named(&interface.name)).collect();
    Some(match taken.is_empty() {
        true => format!("NCCL is pinned to {pin}, but the container has only {}", list(real().collect())),
        false => format!("NCCL is pinned to {pin}, which is {}", list(taken)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_as_nccl_reads_them() {
        let interface = |name: &str, address: &str| Interface {
            name: name.into(),
            addresses: vec![(address.parse().unwrap(), 24)],
            mtu: Some(1450),
            speed: None,
            up: true,
            loopback: name == "lo",
        };
        let all =
            [interface("lo", "127.0.0.1"), interface("eth0", "10.0.1.2"), interface("eth1", "172.18.0.3")];
        for right in ["eth0", "=eth0", "eth", "^lo", "^=eth1", "eth0,ib0"] {
            assert_eq!(mispinned(right, &all, "eth0"), None, "{right}");
        }
        let says = |pin| mispinned(pin, &all, "eth0").unwrap();
        assert_eq!(says("eth1"), "NCCL is pinned to eth1, which is eth1 (172.18.0.3)");
        assert!(says("ens3").ends_with("but the container has only eth0 (10.0.1.2), eth1 (172.18.0.3)"));
        assert_eq!(
            says("=eth"),
            "NCCL is pinned to =eth, but the container has only eth0 (10.0.1.2), eth1 (172.18.0.3)"
        );
        assert!(says("^eth0,lo").contains("eth1"));
    }
}
