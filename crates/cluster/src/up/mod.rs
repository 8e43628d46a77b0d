//! `up`: from nodes with an engine to containers that reach each other, in steps that look first and change
//! only what differs.

mod build;
mod clocks;
mod containers;
mod diagnosis;
mod engine_loss;
pub(crate) mod former;
mod healthy;
mod images;
mod joining;
pub(crate) mod limits;
mod network;
mod pair_tests;
mod planning;
pub(crate) mod restart;
mod verify;

pub use build::is_request;
pub use planning::planned;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::keys::Keys;
use super::observed_state::{self, ObservedState};
use super::plan::{ClusterPlan, Node};
use super::probe::Probe;
use super::problem::{Problem, Step};
use super::request::NetworkKind;
use super::secrets::Value;
use super::{fixes, leftovers, swarm};
use crate::progress::{Outcome, Progress};
use crate::report::up::StepEntry;
use crate::worker::bundle::Bundle;
use crate::worker::tcp;
use diagnostic::Fix;
use docker::auth::Logins;
use docker::engine::Engine;
use docker::{fan_out, swarm as engine_swarm};

/// The longest that resolving a name may take.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the first node's engine may take to start its swarm: a run that was killed may have asked for it,
/// and after a reboot it loads the swarm's state.
const SWARM_START_TIMEOUT: Duration = Duration::from_secs(30);
const SWARM_START_INTERVAL: Duration = Duration::from_millis(500);

/// A cluster at work.
pub struct Work<'a> {
    pub plan: &'a ClusterPlan,
    /// The nodes with their engines, in order.
    pub nodes: Vec<(&'a Node, &'a Engine)>,
    /// Where progress is reported.
    pub progress: &'a Progress,
    /// Logins to registries.
    pub logins: Arc<Logins>,
    pub steps: RefCell<Vec<StepEntry>>,
    pub notes: RefCell<Vec<String>>,
    /// The keys of the containers' SSH servers and clients; `None` where there are none.
    pub keys: Option<Keys>,
    /// The containers' secrets.
    pub secrets: Vec<Value>,
    /// Whether containers may be stopped while something runs in them that `up` did not start.
    pub restart: bool,
    /// Names of nodes that were removed from cluster.yaml and shall not be cleaned up.
    pub forget: Vec<String>,
    bundle: OnceCell<Bundle>,
    gossip: OnceCell<Vec<Problem>>,
    /// Containers that keep the nodes in the network until their own containers are in it.
    attached: RefCell<Vec<Probe<'a>>>,
}

impl<'a> Work<'a> {
    /// Nothing done yet.
    pub fn new(
        plan: &'a ClusterPlan,
        nodes: Vec<(&'a Node, &'a Engine)>,
        progress: &'a Progress,
        logins: Arc<Logins>,
        keys: Option<Keys>,
        secrets: Vec<Value>,
    ) -> Work<'a> {
        Work {
            plan,
            nodes,
            progress,
            logins,
            keys,
            secrets,
            restart: false,
            forget: Vec::new(),
            steps: RefCell::default(),
            notes: RefCell::default(),
            bundle: OnceCell::new(),
            gossip: OnceCell::new(),
            attached: RefCell::default(),
        }
    }

    /// The first node's engine.
    fn leader(&self) -> Result<(&'a Node, &'a Engine), Vec<Problem>> {
        let none = || vec![Problem::new(Step::Connect, "the cluster has no nodes")];
        self.nodes.first().copied().ok_or_else(none)
    }

    /// Tells and keeps how a step ended.
    pub fn done(&self, step: Step, node: &str, message: impl Into<String>, outcome: Outcome) {
        let message = message.into();
        self.progress.done(step, node, &message, outcome);
        self.keep(step, node, message, outcome);
    }

    fn keep(&self, step: Step, node: &str, message: impl Into<String>, outcome: Outcome) {
        let entry = StepEntry { step, node: node.into(), message: message.into(), outcome };
        self.steps.borrow_mut().push(entry);
    }

    /// Tells and keeps what should be known, once.
    pub fn note(&self, message: impl Into<String>) {
        let message = message.into();
        if !self.notes.borrow().contains(&message) {
            self.notes.borrow_mut().push(message);
        }
    }

    /// The program that is brought into containers.
    fn bundle(&self) -> Result<&Bundle, Problem> {
        if let Some(bundle) = self.bundle.get() {
            return Ok(bundle);
        }
        let bundle = Bundle::make().map_err(|error| Problem::new(Step::Image, error.message))?;
        Ok(self.bundle.get_or_init(|| bundle))
    }

    /// Removes the containers that [`network::ready`] left in the network.
    async fn detach(&self) {
        let attached = self.attached.take();
        fan_out(attached.into_iter().map(Probe::end)).await;
    }

    /// Whether anything was changed.
    pub fn changed(&self) -> bool {
        self.steps.borrow().iter().any(|step| step.outcome == Outcome::Changed)
    }

    async fn look(&self) -> Result<Vec<ObservedState>, Vec<Problem>> {
        observed_state::look(self.plan, &self.nodes).await
    }

    async fn members(&self, observed: &[ObservedState]) -> Result<Vec<engine_swarm::Member>, Vec<Problem>> {
        let (leader, engine) = self.leader()?;
        match observed.first().is_some_and(|first| first.machine.swarm.manager) {
            true => engine_swarm::members(engine).await.map_err(|why| {
                let message = format!("the manager cannot list its members: {why}");
                vec![Problem::of(Step::Swarm, &leader.name, message).closed(why.is_closed()).fix(Fix::run(
                    "Check whether the swarm has a leader (it needs a majority of its managers):",
                    "docker node ls",
                ))]
            }),
            false => Ok(Vec::new()),
        }
    }
}

/// Does everything; what was done is in [`Work::steps`].
pub async fn up(work: &Work<'_>) -> Result<(), Vec<Problem>> {
    let result = steps(work).await;
    work.detach().await;
    match result {
        Ok(()) => Ok(()),
        Err(problems) => Err(engine_loss::first(work, problems).await),
    }
}

/// What `up` does once it knows that nothing speaks against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UpStep {
    Removed,
    Image,
    Swarm,
    Network,
    Containers,
    Healthy,
    Verify,
}

impl UpStep {
    /// The steps of a cluster, in their order.
    fn of(plan: &ClusterPlan) -> impl Iterator<Item = UpStep> {
        let overlay = plan.network.kind == NetworkKind::Overlay;
        let all = [
            UpStep::Removed,
            UpStep::Image,
            UpStep::Swarm,
            UpStep::Network,
            UpStep::Containers,
            UpStep::Healthy,
            UpStep::Verify,
        ];
        all.into_iter().filter(move |step| overlay || *step != UpStep::Swarm)
    }

    /// Carries it out. `observed` is from before the first step.
    async fn run(self, work: &Work<'_>, observed: &[ObservedState]) -> Result<(), Vec<Problem>> {
        match self {
            UpStep::Removed => former::step(work, observed).await,
            UpStep::Image => images::same_everywhere(work, observed).await,
            UpStep::Swarm => joining::one_swarm(work).await,
            UpStep::Network => network::ready(work).await,
            UpStep::Containers => containers::made(work).await,
            UpStep::Healthy => healthy::all(work).await,
            UpStep::Verify => verify::all(work).await,
        }
    }
}

async fn steps(work: &Work<'_>) -> Result<(), Vec<Problem>> {
    let observed = ready(work).await?;
    // While `up` has the lock no job runs, so that what is there is left over.
    let containers: Vec<_> = work.nodes.iter().map(|(node, engine)| (node.name.clone(), *engine)).collect();
    for one in leftovers::find(&containers, &[]).await {
        work.note(one.to_string());
    }
    let mut tried = BTreeSet::new();
    limits::all(work, &observed, &mut tried).await?;
    for step in UpStep::of(work.plan) {
        step.run(work, &observed).await?;
        if step == UpStep::Containers {
            work.detach().await;
        }
        // The nodes that had no image before.
        if step == UpStep::Image && tried.len() < work.nodes.len() {
            limits::all(work, &work.look().await?, &mut tried).await?;
        }
    }
    Ok(())
}

/// The nodes as they are, when nothing speaks against the first step.
async fn ready(work: &Work<'_>) -> Result<Vec<ObservedState>, Vec<Problem>> {
    let mut observed = work.look().await?;
    let started = Instant::now();
    while observed.first().is_some_and(swarm::is_starting) && started.elapsed() < SWARM_START_TIMEOUT {
        tokio::time::sleep(SWARM_START_INTERVAL).await;
        observed = work.look().await?;
    }
    connected(work, &observed)?;
    refused(work, &observed).await?;
    Ok(observed)
}

/// What the nodes are, and what speaks against them.
fn connected(work: &Work<'_>, observed: &[ObservedState]) -> Result<(), Vec<Problem>> {
    for ((node, engine), observed) in work.nodes.iter().zip(observed) {
        let message = format!("{} on {} ({})", engine.name, observed.machine.hostname, node.engine);
        work.done(Step::Connect, &node.name, message, Outcome::Unchanged);
    }
    for note in swarm::namesakes(observed) {
        work.note(note);
    }
    let problems = clocks::apart(observed);
    for note in clocks::slightly_apart(observed) {
        work.note(note);
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// A node's address as the number that engines want.
async fn ip(node: &Node) -> Result<String, Problem> {
    if node.address.parse::<std::net::IpAddr>().is_ok() {
        return Ok(node.address.clone());
    }
    let found = tokio::time::timeout(RESOLVE_TIMEOUT, tcp::lookup(&node.address)).await;
    let why = match found {
        Ok(Ok(all)) => match all.first() {
            Some(address) => return Ok(address.to_string()),
            None => "no address".to_owned(),
        },
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", RESOLVE_TIMEOUT.as_secs()),
    };
    let message = format!("cannot resolve {} on this machine: {why}", node.address);
    let problem = Problem::of(Step::Connect, &node.name, message);
    Err(problem.fix(fixes::name_resolution("this machine")).fix(fixes::addresses()))
}

/// Refuses what cannot be, before anything is changed.
async fn refused(work: &Work<'_>, observed: &[ObservedState]) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    for (node, _) in &work.nodes {
        problems.extend(ip(node).await.err());
    }
    if work.plan.network.kind == NetworkKind::Overlay {
        let members = work.members(observed).await?;
        let former = observed_state::former(work.plan, observed);
        if let Err(found) = swarm::decide(observed, &members, &former) {
            problems.extend(found);
        }
    }
    if let Err(problem) = super::network::decide(work.plan, observed) {
        problems.push(problem);
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// Does something with all nodes at once; the problems of all.
async fn on_all<'w, T, F: Future<Output = Result<T, Problem>>>(
    nodes: impl IntoIterator<Item = (&'w Node, &'w Engine)>,
    mut what: impl FnMut(&'w Node, &'w Engine) -> F,
) -> Result<Vec<T>, Vec<Problem>> {
    let all = fan_out(nodes.into_iter().map(|(node, engine)| what(node, engine))).await;
    let (mut done, mut problems) = (Vec::new(), Vec::new());
    for result in all {
        match result {
            Ok(value) => done.push(value),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(done) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn only_an_overlay_needs_a_swarm() {
        let steps = |more: &str| UpStep::of(&testing::two_nodes(more)).collect::<Vec<_>>();
        let overlay = steps("");
        assert_eq!(overlay[..4], [UpStep::Removed, UpStep::Image, UpStep::Swarm, UpStep::Network]);
        let host: Vec<_> = overlay.into_iter().filter(|step| *step != UpStep::Swarm).collect();
        assert_eq!(steps("network: {kind: host}\n"), host);
    }
}
