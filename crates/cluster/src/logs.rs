//! The logs of a cluster's nodes, for `envdoc diagnose --cluster`.

use std::time::{Duration, Instant};

use catalog::Catalog;
use diagnose::read::{Read, container, kernel};
use docker::fan_out;
use facts::{Fact, kernel_log};
use host::live::Live;

use crate::nodes::{self, Limits, Location, Node};
use crate::plan::ClusterPlan;
use crate::reach;

/// Timeout for reading a kernel log.
pub const KERNEL_TIMEOUT: Duration = Duration::from_secs(15);
/// The kernel ring buffer if the login may read it, else the journal.
const REMOTE_KERNEL_COMMAND: &str = "dmesg 2>/dev/null || journalctl --dmesg --boot --quiet --no-pager";

/// The output of the container of every node. What could not be read is [`Read::unread`].
pub async fn containers(catalog: &'static Catalog, plan: &ClusterPlan) -> Vec<Read> {
    let reached = reach::connect(plan).await;
    let reads = fan_out(reached.iter().map(|(node, engine)| async {
        let missing = |why: &str| Read::missing(format!("container {}", node.name), why);
        match engine {
            Ok(engine) => {
                let read = container::read(catalog, engine, &node.name, Some(&node.name)).await;
                read.unwrap_or_else(|why| missing(&why.to_string()))
            }
            Err(problem) => missing(&problem.message),
        }
    }));
    reads.await
}

/// The kernel log of every node, with the node's name before each line.
pub async fn kernels(catalog: &'static Catalog, plan: &ClusterPlan) -> Vec<Read> {
    let limits = Limits { each: KERNEL_TIMEOUT, ..Limits::default() };
    let open = nodes::open(&plan.nodes, limits).await;
    nodes::side_by_side(&open, limits.width, |node| async move {
        let log = kernel_log_of(node).await;
        let (name, prefix) = (format!("kernel log of {}", node.name), format!("{}  | ", node.name));
        kernel::read(catalog, name, &prefix, log)
    })
    .await
}

async fn kernel_log_of(node: &Node) -> Fact<String> {
    match node.location() {
        Location::Here => kernel_log::whole(&Live::new(Instant::now() + KERNEL_TIMEOUT)),
        Location::There(connection) => {
            let deadline = Instant::now() + KERNEL_TIMEOUT;
            match connection.run(REMOTE_KERNEL_COMMAND, b"", deadline).await {
                Ok(ran) if ran.status == 0 => Fact::Known(ran.text()),
                Ok(ran) => {
                    let said = ran.stderr.trim();
                    Fact::unknown(format!("permission denied for dmesg and journalctl: {said}"))
                }
                Err(blocked) => Fact::unknown(blocked.message),
            }
        }
        Location::EngineOnly | Location::Blocked(_) => Fact::unknown(node.closed().unwrap_or_default()),
    }
}
