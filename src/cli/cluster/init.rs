//! `envdoc cluster init`.

use std::path::PathBuf;
use std::time::Duration;

use crate::cli::running::{interrupted, runtime};
use ::cluster::check::{self, Options};
use ::cluster::init::{self, Found};
use ::cluster::nodes::Limits;
use ::cluster::plan::ClusterPlan;
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use facts::Expected;
use host::file;

/// Write a first cluster.yaml, filled from what is found on the machines.
///
/// This machine is looked at directly, the others over SSH, with the envdoc that is there or that --bring copies. What could not be seen is
/// left to say, in comments: nothing is guessed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The machines' addresses, the one that leads first.
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', required = true)]
    nodes: Vec<String>,

    /// The user that ssh logs in as on the other machines; ssh's own configuration decides unless said otherwise.
    #[arg(long, value_name = "USER")]
    user: Option<String>,

    /// The image that every node runs; without it an image is built from images/multi-node/request.yaml.
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,

    /// The cluster's name; without it the name of the file's directory.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Copy envdoc to machines that lack it (into ~/.cache/envdoc), without a question.
    #[arg(long)]
    bring: bool,

    /// Where it is written; `-` is standard output.
    #[arg(long, short, value_name = "FILE", default_value = "cluster.yaml")]
    output: PathBuf,

    /// Replace a file that is there.
    #[arg(long)]
    force: bool,
}

impl Args {
    /// Writes it.
    pub fn run(self) -> Result<u8, Error> {
        if let Some(twice) = self.nodes.iter().enumerate().find(|(at, node)| self.nodes[..*at].contains(node))
        {
            return Err(Error::new(Kind::Usage, format!("--nodes names {} twice", twice.1))
                .hint("name each machine once"));
        }
        let found = self.found()?;
        let asked = init::Asked { name: self.name, image: self.image, user: self.user, nodes: found };
        let text = init::text(&asked)?;
        if self.output.as_os_str() == "-" {
            return terminal::print(&text).map(|()| 0);
        }
        file::write(&self.output, &text, self.force)?;
        terminal::note(&format!("wrote {}", self.output.display()));
        Ok(0)
    }
}

/// How long a machine is looked at, and how long reaching it may take.
const PATIENCE: Duration = Duration::from_secs(30);
const REACHING: Duration = Duration::from_secs(20);

impl Args {
    /// What is found on each machine, in their order.
    fn found(&self) -> Result<Vec<Found>, Error> {
        let far: Vec<&str> =
            self.nodes.iter().map(String::as_str).filter(|address| !super::own_address(address)).collect();
        let mut seen = match far.is_empty() {
            true => Vec::new(),
            false => self.far(&far)?,
        };
        let found = |address: &String| match seen.iter().position(|found| found.address == *address) {
            Some(place) => seen.swap_remove(place),
            None => here(address),
        };
        Ok(self.nodes.iter().map(found).collect())
    }

    /// Machines over SSH.
    fn far(&self, addresses: &[&str]) -> Result<Vec<Found>, Error> {
        let plan = self.road(addresses)?;
        let options = Options {
            limits: Limits { each: REACHING, ..Limits::default() },
            look: PATIENCE,
            content: PATIENCE,
        };
        let runtime = runtime()?;
        let looked = runtime.block_on(async {
            tokio::select! {
                looked = check::machines(&plan, options, |missing| self.bring || super::check::asked(missing)) => looked,
                () = interrupted() => Err(Error::new(Kind::Interrupted, "interrupted; nothing was written")),
            }
        });
        runtime.shutdown_background();
        let found = |(node, member): (check::NodeResults, facts::fleet::Member)| match node.closed {
            Some(why) => Found::unseen(&member.address, false, &why),
            None => Found::of(&member.address, false, &member.facts),
        };
        Ok(looked?.into_iter().map(found).collect())
    }

    /// A plan that holds nothing but the way to the machines.
    fn road(&self, addresses: &[&str]) -> Result<ClusterPlan, Error> {
        let nodes = addresses.iter().map(|address| cluster::request::NodeRequest {
            address: (*address).to_owned(),
            engine: Some(init::endpoint(address, self.user.as_deref())),
            gpus: Some(cluster::request::GpusRequest::Count(0)),
            ..Default::default()
        });
        cluster::plan::validate(&cluster::request::ClusterRequest {
            name: Some("init".into()),
            image: Some("none".into()),
            nodes: nodes.collect(),
            origin: Some("--nodes".into()),
            ..Default::default()
        })
    }
}

/// What is found on this machine.
fn here(address: &str) -> Found {
    match super::super::look(None, PATIENCE, Expected::default()) {
        Ok((_, facts)) => Found::of(address, true, &facts),
        Err(error) => Found::unseen(address, true, &error.message),
    }
}
