//! `envdoc cluster`: one file a verb.

mod check;
mod down;
mod exec;
mod init;
mod launch;
mod logs;
mod render;
mod rotate_keys;
mod status;
mod up;
mod work;

use std::net::{IpAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Subcommand;

use ::cluster::nodes::Limits;
use ::cluster::plan::{ClusterPlan, validate};
use ::cluster::request::ClusterRequest;
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use host::file;

/// Several machines as one training cluster, described in cluster.yaml.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Args),
    Check(check::Args),
    Render(render::Args),
    Up(up::Args),
    Status(status::Args),
    Exec(exec::Args),
    Logs(logs::Args),
    Launch(launch::Args),
    Down(down::Args),
    RotateKeys(rotate_keys::Args),
}

impl Args {
    /// Runs the verb.
    pub fn run(self) -> Result<u8, Error> {
        match self.command {
            Command::Init(args) => args.run(),
            Command::Check(args) => args.run(),
            Command::Render(args) => args.run(),
            Command::Up(args) => args.run(),
            Command::Status(args) => args.run(),
            Command::Exec(args) => args.run(),
            Command::Logs(args) => args.run(),
            Command::Launch(args) => args.run(),
            Command::Down(args) => args.run(),
            Command::RotateKeys(args) => args.run(),
        }
    }
}

/// How its machines are reached.
#[derive(Debug, Clone, clap::Args)]
pub struct Reaching {
    /// Machines that are worked on at once.
    #[arg(long, value_name = "COUNT", default_value = "32")]
    pub width: usize,

    /// Seconds that reaching a machine may take.
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = crate::cli::seconds)]
    pub connect_timeout: Duration,
}

impl Reaching {
    /// As the connections are opened.
    pub fn limits(&self) -> Limits {
        Limits { width: self.width.max(1), each: self.connect_timeout }
    }
}

/// Which cluster.
#[derive(Debug, Clone, clap::Args)]
pub struct Source {
    /// The cluster's description.
    #[arg(long, short, value_name = "FILE", default_value = "cluster.yaml")]
    pub file: PathBuf,
}

impl Source {
    /// Reads and settles it, and says what to know before using it.
    pub fn plan(&self) -> Result<ClusterPlan, Error> {
        let (_, plan) = read(&self.file)?;
        for warning in &plan.warnings {
            terminal::note(&format!("warning: {warning}"));
        }
        Ok(plan)
    }
}

/// Reads a cluster.yaml and settles it. A node without an engine whose address is this machine's is served by this machine's own.
pub fn read(path: &Path) -> Result<(ClusterRequest, ClusterPlan), Error> {
    let name = path.display().to_string();
    let Some(text) = file::read(path)? else {
        return Err(Error::new(Kind::File, format!("there is no file {name}"))
            .hint("`envdoc cluster init --nodes ADDRESS,ADDRESS` writes one; -f names another"));
    };
    let mut request = ClusterRequest::parse(&name, &text)?;
    request.origin = Some(name);
    if request.name.is_none() {
        // cluster.yaml in the working directory has no directory in its name.
        let whole = std::path::absolute(path).ok();
        let above = whole.as_deref().and_then(Path::parent).and_then(Path::file_name);
        request.name = above.map(|name| name.to_string_lossy().into_owned());
    }
    for node in request.nodes.iter_mut().filter(|node| node.engine.is_none()) {
        if own_address(&node.address) {
            node.engine = Some("unix:///var/run/docker.sock".into());
        }
    }
    let mut plan = validate(&request)?;
    // Seen from the file, as all that it names on this machine.
    let folder = path.parent().unwrap_or(Path::new(""));
    for tls in plan.nodes.iter_mut().filter_map(|node| node.tls.as_mut()) {
        *tls = folder.join(&*tls).display().to_string();
    }
    Ok((request, plan))
}

/// Whether an address is one of this machine's: then something can listen on it here.
pub fn own_address(address: &str) -> bool {
    address.parse::<IpAddr>().is_ok_and(|ip| UdpSocket::bind((ip, 0)).is_ok())
}
