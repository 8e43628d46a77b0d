//! What must hold of every container by itself: it runs, takes envdoc's worker, and has shared memory.

use std::time::{Duration, Instant};

use diagnostic::Fix;
use docker::engine::Engine;
use docker::{Cause, container, fan_out};
use host::load::{self, Load};

use super::{Reached, Site};
use crate::Error;
use crate::container_probe::{self, ContainerProbe};
use crate::fixes;
use crate::not_running;
use crate::plan::Node;
use crate::problem::Problem;
use crate::reach::{self, NodeAccess};
use crate::report::unreached::{self, Unreached};
use crate::smoke::outcome::{Outcome, PhaseFailed};
use crate::smoke::phase::PhaseId;
use crate::smoke::shm;

/// The longest that bringing the worker into a container may take, and starting it, where this machine is
/// idle.
const DEPLOY_TIMEOUT: Duration = Duration::from_secs(60);

/// Why a container cannot take part, and what to do.
struct NotRunning {
    message: String,
    fixes: Vec<Fix>,
}

impl Site<'_> {
    /// Every engine answers, every container runs and is in the network.
    pub(super) async fn containers<'w>(
        &self,
        reached: &'w [Reached<'w>],
        outcome: &mut Outcome,
    ) -> Result<Vec<(&'w Node, &'w Engine)>, PhaseFailed> {
        let start = Instant::now();
        self.progress.phase(PhaseId::Containers, "checking that every container runs");
        let inspected = fan_out(reached.iter().map(|(node, engine)| async move {
            let found = self.running(node, engine.as_ref()).await;
            self.progress.node(&node.name, found.is_ok());
            found.map(|engine| (*node, engine))
        }));
        let (mut nodes, mut failed) = (Vec::new(), Vec::new());
        for (result, (node, _)) in inspected.await.into_iter().zip(reached) {
            match result {
                Ok(found) => nodes.push(found),
                Err(NotRunning { message, fixes }) => {
                    failed.push((node.name.clone(), format!("{}: {message}", node.name)));
                    let new: Vec<_> = fixes.into_iter().filter(|fix| !outcome.fixes.contains(fix)).collect();
                    outcome.fixes.extend(new);
                }
            }
        }
        let message = format!("{} containers run in {}", nodes.len(), self.plan.network.name);
        let finished = outcome.finish_phase(PhaseId::Containers, start, failed, &message).map(|()| nodes);
        not_connected(reach::access(reached), outcome);
        finished
    }

    /// Whether a node's container runs in the cluster's network.
    async fn running<'w>(
        &self,
        node: &Node,
        engine: Result<&'w Engine, &'w Problem>,
    ) -> Result<&'w Engine, NotRunning> {
        let of = |message: String, fixes: Vec<Fix>| NotRunning { message, fixes };
        // What to do about these is said once for each cause.
        let engine = engine.map_err(|problem| of(problem.message.clone(), Vec::new()))?;
        let deadline = self.options.deadline;
        let found = tokio::time::timeout(deadline, container::inspect(engine, &node.name)).await;
        let found = found.map_err(|_| {
            let seconds = deadline.as_secs_f64();
            of(format!("the Docker engine did not answer within {seconds:.0} s"), Vec::new())
        })?;
        let found = found.map_err(|error| of(error.to_string(), Vec::new()))?;
        let mut up = vec![Fix::run("Create and start what is missing:", "envdoc cluster up")];
        let Some(found) = found else { return Err(of("no container of this cluster".to_owned(), up)) };
        if !found.running {
            if not_running::has_run(&found) {
                let logs = format!("envdoc cluster logs {}", node.name);
                up.push(Fix::run("Read what the container printed:", logs));
            }
            let state = not_running::state(&found);
            return Err(of(format!("its container {} does not run: it {state}", found.name), up));
        }
        if found.paused() {
            let fixes = vec![not_running::unpause(&node.name, &found.name)];
            return Err(of(format!("its container {} is paused", found.name), fixes));
        }
        let network = &self.plan.network.name;
        // A container that shares the machine's network is in `host`.
        if found.addresses.contains_key(network) {
            return Ok(engine);
        }
        Err(self.outside(node, &found))
    }

    /// A container that runs and is not in the cluster's network.
    fn outside(&self, node: &Node, found: &container::Found) -> NotRunning {
        let network = &self.plan.network.name;
        let has: Vec<_> = found.addresses.keys().map(String::as_str).collect();
        let has = if has.is_empty() { "no network".to_owned() } else { has.join(", ") };
        let connect = format!("docker network connect {network} {}", node.name);
        NotRunning {
            message: format!("its container is not in the network {network}; it is in {has}"),
            fixes: vec![
                Fix::run("Connect the container on that machine:", connect),
                fixes::recreate("Recreate the cluster:"),
            ],
        }
    }

    /// The worker is in every container.
    pub(super) async fn enter<'w>(
        &self,
        nodes: Vec<(&'w Node, &'w Engine)>,
        outcome: &mut Outcome,
    ) -> Result<Vec<ContainerProbe<'w>>, PhaseFailed> {
        let start = Instant::now();
        self.progress.phase(PhaseId::Worker, "starting a worker in every container");
        let limit = load::stretched(DEPLOY_TIMEOUT, Load::now());
        let all = fan_out(nodes.into_iter().map(|(node, engine)| async move {
            let entered = container_probe::enter(self.plan, node, engine, self.bundle);
            let entered = tokio::time::timeout(limit, entered).await;
            let entered = entered.unwrap_or(Err(Error::TimedOut { what: "not done", after: limit }));
            self.progress.node(&node.name, entered.is_ok());
            entered.map_err(|why| (node.name.clone(), why))
        }));
        let (mut containers, mut failed) = (Vec::new(), Vec::new());
        for entered in all.await {
            match entered {
                Ok(one) => containers.push(one),
                Err((node, why)) => {
                    outcome.fixes.extend(containerd(&node, &why));
                    let message = format!("{node}: cannot run envdoc's worker in its container: {why}");
                    failed.push((node, message));
                }
            }
        }
        let message =
            format!("{} MB copied into each, with its own C library", self.bundle.tar.len() / 1_000_000);
        outcome.finish_phase(PhaseId::Worker, start, failed, &message).map(|()| containers)
    }

    /// /dev/shm is what processes of one node talk through.
    pub(super) async fn shared_memory(
        &self,
        containers: &[ContainerProbe<'_>],
        outcome: &mut Outcome,
    ) -> Result<(), PhaseFailed> {
        let start = Instant::now();
        self.progress.phase(PhaseId::Shm, "checking /dev/shm");
        let endpoints: Vec<_> = containers
            .iter()
            .map(|one| shm::Endpoint {
                name: &one.node.name,
                container: Some(&one.node.name),
                session: &one.session,
            })
            .collect();
        shm::check(&endpoints, self.options.deadline, start, outcome).await
    }
}

/// The reasons why engines cannot be used come first, each once with all its nodes.
fn not_connected(access: Vec<NodeAccess>, outcome: &mut Outcome) {
    let groups = unreached::by_cause(access.iter().filter_map(Unreached::of));
    if !groups.is_empty() {
        let causes: Vec<String> = groups.iter().map(unreached::Group::message).collect();
        outcome.message = format!("{}: {}", PhaseId::Containers.id(), causes.join("; "));
        outcome.fixes.splice(..0, groups.iter().flat_map(|group| group.fixes()).cloned());
    }
    outcome.access = access;
}

/// What to do where no program can be started because the engine has no containerd.
fn containerd(node: &str, why: &Error) -> Option<Fix> {
    (why.cause() == Cause::NoContainerd).then(|| {
        Fix::restarts_service(
            format!("Find out why containerd does not run, then start it, on {node}:"),
            &[
                "systemctl status containerd",
                "journalctl -u containerd",
                "systemctl restart containerd docker",
            ],
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::six_nodes;

    #[test]
    fn a_cause_is_named_once_with_all_its_nodes() {
        let mut outcome = Outcome::new(catalog::testing::catalog(), Vec::new());
        outcome.fixes = vec![Fix::manual("Create what is missing")];
        not_connected(six_nodes(), &mut outcome);
        assert_eq!(
            outcome.message,
            "containers: node2, node4, node6 (3 nodes): ssh: Connection refused; for example node2: the \
             engine at ssh://10.0.0.2 cannot be used: ssh: connect to host 10.0.0.2: Connection refused; \
             node3, node5 (2 nodes): ssh: the host name cannot be resolved; for example node3: the engine \
             at ssh://10.0.0.3 cannot be used: ssh: Could not resolve hostname node3"
        );
        let fixes = ["do something about node2", "do something about node3", "Create what is missing"];
        assert_eq!(outcome.fixes, fixes.map(Fix::manual));
    }

    #[test]
    fn reached_nodes_change_nothing() {
        let mut outcome = Outcome::new(catalog::testing::catalog(), Vec::new());
        outcome.message = "containers: node2: its container is paused".into();
        let access = six_nodes().into_iter().map(|one| NodeAccess { problem: None, ..one }).collect();
        not_connected(access, &mut outcome);
        assert_eq!(outcome.message, "containers: node2: its container is paused");
        assert!(outcome.fixes.is_empty());
    }
}
