//! `envdoc cluster init`.

use catalog::Catalog;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::cli::interrupts::Interrupts;
use ::cluster::check::{self, Access, NodeResults, Options};
use ::cluster::init::{self, Found};
use ::cluster::nodes::Limits;
use ::cluster::plan::ClusterPlan;
use ::cluster::report::check as report;
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::{terminal, visible};
use docker::{interrupted, runtime};
use facts::Expected;
use facts::docker::Endpoint;
use facts::fleet::Member;
use host::file;

/// Create a cluster.yaml from what the machines report.
///
/// Reads this machine directly and the others over SSH, with the envdoc installed there or the one that
/// --bring copies. What could not be read is left as a comment to fill in.
///
/// Exit code 3: the file was written, but a machine is unreachable.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Addresses of the machines; the first one is the swarm manager and runs rank 0.
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', required = true)]
    nodes: Vec<String>,

    /// SSH user on the other machines [default: from the SSH configuration].
    #[arg(long, value_name = "USER")]
    user: Option<String>,

    /// Image that every node runs [default: built from images/multi-node/request.yaml].
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,

    /// Name of the cluster [default: the name of the file's directory].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Copy envdoc to machines that lack it (into ~/.cache/envdoc) without asking.
    #[arg(long)]
    bring: bool,

    /// File to write; - is standard output.
    #[arg(long, short, value_name = "FILE", default_value = "cluster.yaml")]
    output: PathBuf,

    /// Replace an existing file.
    #[arg(long)]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  envdoc cluster init --nodes 10.0.0.1,10.0.0.2
  envdoc cluster init --nodes 10.0.0.1,10.0.0.2 --user ubuntu --image team/train:1.0";

impl Args {
    pub(super) fn run(self, catalog: &'static Catalog, interrupts: &Interrupts) -> Result<u8, Error> {
        if let Some(twice) = self.nodes.iter().enumerate().find(|(at, node)| self.nodes[..*at].contains(node))
        {
            return Err(Error::new(Kind::Usage, format!("--nodes names {} twice", twice.1))
                .hint("list each machine once"));
        }
        let loopback = |node: &&String| node.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        let own = self.nodes.iter().find(|node| *node == "localhost" || loopback(node));
        if let Some(node) = own.filter(|_| self.nodes.len() > 1) {
            return Err(Error::new(Kind::Usage, format!("--nodes: {node} is a loopback address"))
                .hint("give the address under which the other nodes reach this machine"));
        }
        let asked = init::Asked {
            name: self.name.clone(),
            image: self.image.clone(),
            user: self.user.clone(),
            nodes: Vec::new(),
        };
        init::check(&asked)?;
        let (found, unreachable) = self.found(catalog, interrupts)?;
        let asked = init::Asked { nodes: found, ..asked };
        let text = init::text(&asked)?;
        if self.output.as_os_str() == "-" {
            terminal::document(&text)?;
        } else {
            file::write(&self.output, &text, self.force)?;
            terminal::note(&format!("wrote {}", visible::path(&self.output)));
        }
        Ok(if unreachable { 3 } else { 0 })
    }
}

/// Timeouts for reading a machine, and for connecting to it.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

impl Args {
    /// What was found, in the order of the machines, and whether some were unreachable.
    fn found(&self, catalog: &'static Catalog, interrupts: &Interrupts) -> Result<(Vec<Found>, bool), Error> {
        let far: Vec<&str> = self
            .nodes
            .iter()
            .map(String::as_str)
            .filter(|address| !host::addresses::is_own(address))
            .collect();
        let inspected = match far.is_empty() {
            true => Vec::new(),
            false => self.far(catalog, &far)?,
        };
        let (nodes, members): (Vec<_>, Vec<_>) = inspected.into_iter().unzip();
        let unreachable = nodes.iter().any(|node| node.access == Access::Unreachable);
        if unreachable {
            terminal::note(report::access(&nodes, Layout::of_screen(false)).trim_end());
        }
        let of = |(node, member): (&NodeResults, &Member)| match &node.closed {
            Some(why) => Found::unseen(&member.address, false, why),
            None => Found::of(&member.address, false, &member.facts),
        };
        let mut found_nodes: Vec<Found> = nodes.iter().zip(&members).map(of).collect();
        let found = |address: &String| match found_nodes.iter().position(|found| found.address == *address) {
            Some(index) => found_nodes.swap_remove(index),
            None => here(catalog, address, interrupts),
        };
        Ok((self.nodes.iter().map(found).collect(), unreachable))
    }

    fn far(
        &self,
        catalog: &'static Catalog,
        addresses: &[&str],
    ) -> Result<Vec<(NodeResults, Member)>, Error> {
        let plan = self.connections(addresses)?;
        let options = Options {
            catalog,
            checks: checks::CHECKS,
            limits: Limits { each: CONNECT_TIMEOUT, ..Limits::default() },
            look: READ_TIMEOUT,
            content: READ_TIMEOUT,
        };
        let consent = |missing: &_| self.bring || super::check::asked(missing);
        let runtime = runtime()?;
        runtime.block_on(async {
            tokio::select! {
                inspected = check::machines(&plan, options, consent) => inspected,
                () = interrupted() => Err(Error::new(Kind::Interrupted, "interrupted; nothing was written")),
            }
        })
    }

    /// A plan with only the connections to the machines.
    fn connections(&self, addresses: &[&str]) -> Result<ClusterPlan, Error> {
        let nodes = addresses.iter().map(|address| cluster::request::NodeRequest {
            address: (*address).to_owned(),
            engine: Some(Endpoint::over_ssh(self.user.as_deref(), address).to_string()),
            gpus: Some(cluster::request::GpusRequest::Count(0)),
            ..Default::default()
        });
        cluster::validate::validate(&cluster::request::ClusterRequest {
            name: Some("init".into()),
            image: Some("none".into()),
            nodes: nodes.collect(),
            origin: Some("--nodes".into()),
            ..Default::default()
        })
    }
}

fn here(catalog: &'static Catalog, address: &str, interrupts: &Interrupts) -> Found {
    match crate::cli::read_machine(catalog, None, Some(READ_TIMEOUT), Expected::default(), interrupts) {
        Ok((_, facts)) => Found::of(address, true, &facts),
        Err(error) => Found::unseen(address, true, &error.message),
    }
}
