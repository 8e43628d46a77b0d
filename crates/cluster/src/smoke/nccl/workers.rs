//! The processes of the ranks: on this machine, or in the containers of a cluster.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use super::error::RankError;
use super::{Answer, Ground, Task};
use crate::container_probe::ContainerProbe;
use crate::smoke::local::{self, Process};
use crate::worker::Why;
use crate::worker::bundle::Bundle;
use crate::worker::container as worker_container;
use crate::worker::session::Session;

/// The longest that looking into a container may take.
const INSPECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a process may take to end by itself before it is killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(6);

/// Where the ranks are.
pub enum Site<'s> {
    /// On this machine.
    Local,
    /// In containers that run already.
    Cluster {
        containers: &'s [ContainerProbe<'s>],
        /// What was brought into them.
        bundle: &'s Bundle,
    },
}

/// The process of a rank.
pub struct Rank {
    pub node: String,
    /// Which of the node's GPUs it has.
    pub device: usize,
    session: Session,
}

impl Rank {
    /// Does a task. What came of it, or why it could not be done.
    pub async fn ask(&self, task: Task, deadline: Duration) -> Result<Answer, RankError> {
        match self.session.ask_custom(&task, deadline).await {
            Ok(Answer::Broken { message }) => Err(message.into()),
            Ok(answer) => Ok(answer),
            Err(failure) if failure.why == Why::Gone => Err(RankError::Exited),
            Err(failure) => Err(failure.into()),
        }
    }

    /// `node2, GPU 3`.
    pub fn name(&self) -> String {
        format!("{}, GPU {}", self.node, self.device)
    }
}

/// All of them; [`Workers::end`] ends them.
#[derive(Default)]
pub struct Workers {
    /// In the order of the ranks.
    pub ranks: Vec<Rank>,
    children: Vec<Process>,
}

impl Site<'_> {
    /// The names of the nodes.
    pub fn nodes(&self) -> Vec<String> {
        match self {
            Site::Local => vec!["this machine".into()],
            Site::Cluster { containers, .. } => containers.iter().map(|one| one.node.name.clone()).collect(),
        }
    }

    /// Variables for NCCL on a node, where it has none of its own.
    pub fn environment(&self, node: usize) -> BTreeMap<String, String> {
        match self {
            Site::Local => BTreeMap::new(),
            Site::Cluster { containers, .. } => {
                let interface = containers.get(node).map(|one| one.interface.clone());
                interface
                    .map(|interface| ("NCCL_SOCKET_IFNAME".to_owned(), format!("={interface}")))
                    .into_iter()
                    .collect()
            }
        }
    }

    /// Starts the rank of a node's GPU.
    pub async fn start(&self, node: usize, device: usize, workers: &mut Workers) -> Result<Rank, RankError> {
        let name = self.nodes().get(node).cloned().unwrap_or_default();
        let session = match self {
            Site::Local => {
                let (session, child) = local::worker(Stdio::null()).await?;
                workers.children.push(child);
                session
            }
            Site::Cluster { containers, bundle } => {
                let one = containers.get(node).ok_or(RankError::NoNode)?;
                let argv = command(bundle, &ground(one).await?);
                worker_container::worker(one.engine, &one.node.name, argv).await?
            }
        };
        Ok(Rank { node: name, device, session })
    }
}

impl Workers {
    /// Closes what they read from, which ends them, and waits until those of this machine are gone.
    pub async fn end(mut self) {
        self.ranks.clear();
        for child in &mut self.children {
            if tokio::time::timeout(EXIT_TIMEOUT, child.wait()).await.is_err() {
                let _ = child.kill().await;
            }
        }
    }
}

/// What decides how a rank is to be started in a container.
pub async fn ground(one: &ContainerProbe<'_>) -> Result<Ground, RankError> {
    match one.session.ask_custom(&Task::Look, INSPECT_TIMEOUT).await {
        Ok(Answer::Ground(ground)) => Ok(ground),
        Ok(other) => Err(RankError::Unexpected(Box::new(other))),
        Err(failure) => Err(failure.into()),
    }
}

/// How the worker is started where it loads libraries of the image: on the newer of the two C libraries, for
/// the older one lacks what the other's libraries need.
fn command(bundle: &Bundle, ground: &Ground) -> Vec<String> {
    let silence = worker_container::SILENCE_LIMIT.as_secs().to_string();
    let arguments = ["worker", "--silence", &silence];
    let version = |text: &Option<String>| -> Vec<u32> {
        text.iter().flat_map(|text| text.split('.').filter_map(|part| part.parse().ok())).collect()
    };
    match ground.image.is_some() && version(&ground.image) >= version(&ground.own) {
        true => bundle.plain("/", &arguments),
        false => bundle.command_with("/", &ground.library_path, &arguments),
    }
}
