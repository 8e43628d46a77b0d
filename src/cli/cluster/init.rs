//! `envdoc cluster init`.

use catalog::Catalog;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::inspecting::Inspecting;
use crate::cli::interrupts::Interrupts;
use crate::cli::output;
use ::cluster::check::{self, Access, NodeResults, Notice, Options};
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
/// --bring copies. `cluster up` accepts the file; if the number of GPUs of a machine is unknown, none is
/// written.
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

    /// Image that every node runs [default: built from --request].
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,

    /// Request file or Dockerfile from which `cluster up` builds the image [default: request.yaml next to the
    /// cluster file; created if missing].
    #[arg(long, value_name = "FILE", conflicts_with = "image")]
    request: Option<PathBuf>,

    /// GPU count for machines where it cannot be detected; 0 for none.
    #[arg(long, value_name = "COUNT")]
    gpus: Option<u32>,

    /// Name of the cluster [default: the name of the file's directory].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Copy envdoc to machines that lack it (into ~/.cache/envdoc) without asking.
    #[arg(long)]
    bring: bool,

    /// File to write; - is standard output. Other cluster commands name it with -f, which works here too.
    #[arg(
        long,
        short,
        alias = "file",
        short_alias = 'f',
        value_name = "FILE",
        default_value = "cluster.yaml"
    )]
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
        let (build, new_request) = self.image_request()?;
        let asked = init::Asked {
            name: self.name.clone(),
            image: self.image.clone(),
            build,
            gpus: self.gpus,
            user: self.user.clone(),
            nodes: Vec::new(),
        };
        // As `cluster up` will read it.
        let place = if self.is_printed() { PathBuf::from("cluster/cluster.yaml") } else { self.target() };
        init::check(&asked, super::directory_name(&place).as_deref())?;
        self.writable()?;
        let (found, unreachable) = self.found(catalog, interrupts)?;
        let asked = init::Asked { nodes: found, ..asked };
        let text = init::text(&asked)?;
        super::parsed(&place, &text)?;
        if let Some(path) = new_request {
            file::write(&path, init::IMAGE_REQUEST, false)?;
            terminal::note(&format!("wrote {}: the image that `cluster up` builds", visible::path(&path)));
        }
        self.write(&text)?;
        Ok(if unreachable { 3 } else { 0 })
    }

    fn write(&self, text: &str) -> Result<(), Error> {
        if self.is_printed() {
            return terminal::document(text);
        }
        file::write(&self.output, text, self.force)?;
        terminal::note(&format!("wrote {}", visible::path(&self.output)));
        Ok(())
    }

    /// Whether the file goes to standard output.
    fn is_printed(&self) -> bool {
        output::file(Some(&self.output)).is_none()
    }

    /// Where the cluster file is, or would be if it were not printed.
    fn target(&self) -> PathBuf {
        if self.is_printed() { PathBuf::from("cluster.yaml") } else { self.output.clone() }
    }

    /// Refuses a file that cannot be written before the machines are read.
    fn writable(&self) -> Result<(), Error> {
        if self.is_printed() { Ok(()) } else { file::free(&self.output, self.force) }
    }

    /// What `build` of the cluster file names, and the request file that has to be written for it.
    fn image_request(&self) -> Result<(String, Option<PathBuf>), Error> {
        if self.image.is_some() {
            return Ok((String::new(), None));
        }
        let target = self.target();
        let directory = target.parent().unwrap_or(Path::new(""));
        if let Some(request) = &self.request {
            if !file::is_file(request) {
                return Err(file::missing(request).hint("--request requires a request file or a Dockerfile"));
            }
            understood(request)?;
            // `build` is relative to the cluster file.
            let relative = match directory.as_os_str().is_empty() {
                true => request.clone(),
                false => std::path::absolute(request).unwrap_or_else(|_| request.clone()),
            };
            return Ok((relative.display().to_string(), None));
        }
        let request = directory.join(REQUEST);
        match (file::exists(&request), self.is_printed()) {
            (true, _) => understood(&request).map(|()| (REQUEST.into(), None)),
            (false, false) => Ok((REQUEST.into(), Some(request))),
            (false, true) => {
                let message = "the cluster file needs an image, and there is no request.yaml here";
                Err(Error::new(Kind::Usage, message)
                    .hint("pass --image or --request, or write to a file with -o"))
            }
        }
    }
}

/// Refuses a request file that `cluster up` could not read.
fn understood(path: &Path) -> Result<(), Error> {
    match ::cluster::up::is_request(path) {
        true => ::build::request_file::read(path).map(drop),
        // A Dockerfile.
        false => Ok(()),
    }
}

/// The request file next to the cluster file.
const REQUEST: &str = "request.yaml";

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
        let waiting = Inspecting::new();
        let consent = |missing: &_| self.bring || waiting.asked(missing);
        let notice = |notice: Notice<'_>| waiting.notice(notice);
        let runtime = runtime()?;
        runtime.block_on(async {
            tokio::select! {
                inspected = check::machines(&plan, options, consent, notice) => inspected,
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
