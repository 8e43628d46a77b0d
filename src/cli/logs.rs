//! Logs that `envdoc diagnose` fetches: of containers, of a cluster, of kernels.

use std::path::PathBuf;
use std::time::Instant;

use ::cluster::logs::{self, KERNEL_TIMEOUT};
use ::cluster::waiting::Waiting;
use catalog::Catalog;
use diagnose::read::{Read, container, kernel};
use diagnostic::error::{Error, Kind};
use diagnostic::words::plural;
use docker::client;
use docker::engine::Engine;
use docker::{interrupted, runtime};
use facts::kernel_log;
use host::live::Live;
use host::snapshot::Snapshot;

/// Log sources that are not files.
#[derive(Debug, clap::Args)]
pub(super) struct Elsewhere {
    /// Read the output of a container, running or exited; repeatable.
    #[arg(long, value_name = "NAME", help_heading = LOGS)]
    container: Vec<String>,

    /// Read the output of a cluster's containers, from all nodes.
    #[arg(long, value_name = "FILE", help_heading = LOGS)]
    cluster: Option<PathBuf>,

    /// Read the kernel log of this machine; of the nodes with --cluster, of the recorded machine with --from.
    #[arg(long, help_heading = LOGS)]
    kernel: bool,
}

pub(super) const LOGS: &str = "Logs";

impl Elsewhere {
    /// Fetches them. A failure to read a cluster or kernel log becomes a remark.
    pub(super) fn reads(
        &self,
        catalog: &'static Catalog,
        from: Option<&Snapshot>,
    ) -> Result<Vec<Read>, Error> {
        let mut reads = Vec::new();
        if !self.container.is_empty() {
            let _waiting = Waiting::new("reading the output of containers");
            reads.extend(waited(containers(catalog, &self.container))??);
        }
        if let Some(file) = &self.cluster {
            let (_, plan) = super::cluster::read(file)?;
            let waiting =
                Waiting::new(format!("reading the output of {}", plural(plan.nodes.len(), "container")));
            reads.extend(waited(logs::containers(catalog, &plan))?);
            if self.kernel {
                waiting.phase(format!("reading the kernel logs of {}", plural(plan.nodes.len(), "node")));
                reads.extend(waited(logs::kernels(catalog, &plan))?);
            }
        } else if self.kernel {
            reads.push(of_kernel(catalog, from));
        }
        Ok(reads)
    }

    /// The container, if it is the only source.
    pub(super) fn one_container(&self) -> Option<&str> {
        match self.container.as_slice() {
            [one] if self.cluster.is_none() && !self.kernel => Some(one),
            _ => None,
        }
    }
}

fn waited<T>(work: impl Future<Output = T>) -> Result<T, Error> {
    let runtime = runtime()?;
    runtime.block_on(async {
        tokio::select! {
            result = work => Ok(result),
            () = interrupted() => Err(Error::new(Kind::Interrupted, "interrupted")),
        }
    })
}

async fn containers(catalog: &'static Catalog, names: &[String]) -> Result<Vec<Read>, Error> {
    let engine = Engine::connect(&client::find(None)?.endpoint).await?;
    let mut reads = Vec::new();
    for name in names {
        reads.push(container::read(catalog, &engine, name, None).await?);
    }
    Ok(reads)
}

fn of_kernel(catalog: &'static Catalog, from: Option<&Snapshot>) -> Read {
    let log = match from {
        Some(snapshot) => kernel_log::text(&*snapshot.clone().host()),
        None => kernel_log::whole(&Live::new(Instant::now() + KERNEL_TIMEOUT)),
    };
    let mut read = kernel::read(catalog, "kernel log".into(), "", log);
    if from.is_some() && read.unread.is_none() {
        read.remarks.push("a recorded machine has only the kernel lines that checks read".into());
    }
    read
}
