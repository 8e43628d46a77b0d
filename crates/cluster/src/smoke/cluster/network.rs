//! What must hold between the containers: the interface, names, packet sizes, ssh; and why they do not reach
//! each other.

use std::time::{Duration, Instant};

use diagnostic::Fix;
use docker::fan_out;
use futures_util::{StreamExt, stream};

use super::Site;
use super::pin::mispinned;
use super::stopped::{self, Stopped};
use crate::Error;
use crate::causes;
use crate::container_probe::{self, ContainerProbe, LOGIN_TIMEOUT, Tried};
use crate::smoke::outcome::{Outcome, PhaseFailed};
use crate::smoke::phase::PhaseId;
use crate::smoke::phases;
use crate::ssh::{self, LoginError};

/// The longest that the search for a cause may take.
const CAUSE_SEARCH_TIMEOUT: Duration = Duration::from_secs(90);
/// Pairs that are tried at once.
const MAX_PARALLEL: usize = 32;
/// How many times the deadline a second attempt at a login that was late may take.
const PATIENCE: u32 = 3;
/// Pairs whose cause is looked for.
const MAX_CAUSES: usize = 6;

/// What came of the logins: from which container, to which.
type Logins = [(usize, usize, Result<(), LoginError>)];

/// Of each container the SSH server that does not answer a login because it is stopped.
async fn stopped_servers(containers: &[ContainerProbe<'_>], came: &Logins) -> Vec<Option<Stopped>> {
    let is_silent =
        |to: usize| came.iter().any(|one| one.1 == to && matches!(one.2, Err(LoginError::TimedOut(_))));
    fan_out(
        containers
            .iter()
            .enumerate()
            .map(|(to, one)| async move { if is_silent(to) { stopped::sshd(one).await } else { None } }),
    )
    .await
}

impl Site<'_> {
    /// NCCL and Gloo use the interface by which the others reach this container.
    pub(super) async fn interface(
        &self,
        containers: &[ContainerProbe<'_>],
        outcome: &mut Outcome,
    ) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase(PhaseId::Interface, "checking which interface NCCL and Gloo use");
        let pins = fan_out(containers.iter().map(|one| async {
            match one.node.environment.get("NCCL_SOCKET_IFNAME") {
                Some(pin) => Some(pin.clone()),
                None => container_probe::pinned(one).await,
            }
        }))
        .await;
        let wrong = |(one, pin): (&ContainerProbe<'_>, &Option<String>)| {
            let message = mispinned(pin.as_deref()?, &one.interfaces, &one.interface)?;
            let message = format!(
                "{}: {message}; the other nodes reach it at {} on {}",
                one.node.name, one.address, one.interface
            );
            Some((one.node.name.clone(), message))
        };
        let failed: Vec<_> = containers.iter().zip(&pins).filter_map(wrong).collect();
        if !failed.is_empty() {
            outcome.fixes.push(Fix::restarts_service(
                "Remove `network: { interface: … }` from cluster.yaml so that the interface with the \
                    container's address is pinned, then apply:",
                &["envdoc cluster up"],
            ));
        }
        let used: Vec<_> = containers
            .iter()
            .map(|one| format!("{} {} {}", one.node.name, one.interface, one.address))
            .collect();
        let pinned = if pins.iter().any(Option::is_some) { "" } else { " (NCCL is not pinned to it)" };
        outcome.finish_phase(PhaseId::Interface, start, failed, &(used.join(", ") + pinned))
    }

    /// Every name gives the right address, from everywhere.
    pub(super) async fn names(
        &self,
        containers: &[ContainerProbe<'_>],
        outcome: &mut Outcome,
    ) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase(PhaseId::Names, "resolving every name in every container");
        let came = self
            .pairs(
                containers,
                |one, other| async {
                    container_probe::resolves(one, other).await.map_err(|why| Error::Other(why.message))
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
        let phase = outcome.finish_phase(
            PhaseId::Names,
            start,
            failed,
            &format!("all {count} pairs resolve each other"),
        );
        if phase.is_err() && alive {
            self.why(containers, outcome, PhaseId::Names).await;
        }
        phase
    }

    /// What the interfaces send arrives whole.
    pub(super) async fn packets(
        &self,
        containers: &[ContainerProbe<'_>],
        outcome: &mut Outcome,
    ) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase(PhaseId::Mtu, "testing the largest packets");
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
                    failed.push((name.clone(), problem.message));
                    if outcome.fixes.is_empty() {
                        outcome.fixes = problem.fixes;
                    }
                }
                (Ok(bytes), _) => least = least.min(bytes),
                (Err(why), _) => failed.push((name.clone(), format!("{name} to {other}: {why}"))),
            }
        }
        if !failed.is_empty() {
            failed.splice(..0, self.gone(containers).await);
        }
        outcome.finish_phase(
            PhaseId::Mtu,
            start,
            failed,
            &format!("packets of {least} bytes arrive unfragmented"),
        )
    }

    /// Workers that have ended, or hang.
    pub(super) async fn gone(&self, containers: &[ContainerProbe<'_>]) -> Vec<(String, String)> {
        phases::gone(containers.iter().map(|one| (one.node.name.as_str(), &*one.session))).await
    }

    /// What the launcher needs.
    pub(super) async fn ssh(
        &self,
        containers: &[ContainerProbe<'_>],
        outcome: &mut Outcome,
    ) -> Result<(), PhaseFailed> {
        let Some(ssh) = &self.plan.ssh else { return Ok(()) };
        let start = Instant::now();
        self.progress.phase(PhaseId::Ssh, "testing ssh between all containers");
        let mut came = self
            .pairs(
                containers,
                |one, other| container_probe::logs_in(one, &other.node.name, &ssh.user, LOGIN_TIMEOUT),
                LoginError::TimedOut,
            )
            .await;
        let servers = stopped_servers(containers, &came).await;
        self.late_logins(containers, &ssh.user, &servers, &mut came).await;
        let mut failed = Vec::new();
        for (from, to, came) in &came {
            let (one, other) = (&containers[*from].node.name, &containers[*to].node.name);
            let Err(why) = came else { continue };
            let mut problem = ssh::unlogged(one, other, why);
            if let Some(server) = servers[*to] {
                problem.message += &format!("; the sshd of {other} {}", server.message());
                problem.fixes.insert(0, server.fix(other));
            }
            failed.push((one.clone(), problem.message));
            if outcome.fixes.is_empty() {
                outcome.fixes = problem.fixes;
            }
        }
        let count = containers.len() * (containers.len() - 1);
        outcome.finish_phase(
            PhaseId::Ssh,
            start,
            failed,
            &format!("passwordless SSH works for all {count} pairs"),
        )
    }

    /// Tries logins again that were late, though no server is stopped: packets passed before, so that they
    /// may only lack a processor.
    async fn late_logins(
        &self,
        containers: &[ContainerProbe<'_>],
        user: &str,
        servers: &[Option<Stopped>],
        came: &mut Logins,
    ) {
        let patience = self.options.deadline * PATIENCE;
        let late = came
            .iter_mut()
            .filter(|(_, to, came)| servers[*to].is_none() && matches!(came, Err(LoginError::TimedOut(_))));
        stream::iter(late)
            .for_each_concurrent(MAX_PARALLEL, |(from, to, came)| async move {
                let (one, other) = (&containers[*from], &containers[*to].node.name);
                let login = container_probe::logs_in(one, other, user, patience);
                let again = tokio::time::timeout(patience, login).await;
                *came = again.unwrap_or(Err(LoginError::TimedOut(patience)));
            })
            .await;
    }

    /// Something of every pair, under a deadline; in order.
    pub(super) async fn pairs<'i, T, E, F: Future<Output = Result<T, E>>>(
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
    pub(super) async fn why(&self, containers: &[ContainerProbe<'_>], outcome: &mut Outcome, phase: PhaseId) {
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
            let before = causes::Before::default();
            causes::unreached(self.plan, self.bundle, containers, &tried, MAX_CAUSES, before).await.problems
        };
        let Ok(problems) = tokio::time::timeout(CAUSE_SEARCH_TIMEOUT, asked).await else {
            outcome.remarks.push("the cause could not be determined in time".into());
            return;
        };
        if let Some(first) = problems.first() {
            outcome.message = format!("{}: {}", phase.id(), first.message);
            outcome.fixes.extend(first.fixes.iter().cloned());
        }
        outcome.remarks.extend(problems.into_iter().skip(1).map(|problem| problem.message));
    }
}

fn late(deadline: Duration) -> Error {
    Error::TimedOut { what: "no answer", after: deadline }
}
