//! `envdoc cluster`: one file per subcommand.

mod check;
mod down;
mod exec;
mod init;
mod inspecting;
mod launch;
mod logs;
mod render;
mod rotate_keys;
mod status;
mod up;
mod work;

pub(in crate::cli) use exec::first_engine;
pub(in crate::cli) use inspecting::connected;
pub(in crate::cli) use work::{Locking, lock_notice, lock_refused};

use catalog::Catalog;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::config::Settings;
use clap::Subcommand;

use super::headings::CONNECTION;
use super::interrupts::Interrupts;
use super::settings::{self, SettingsFiles};
use ::cluster::nodes::Limits;
use ::cluster::plan::ClusterPlan;
use ::cluster::request::ClusterRequest;
use ::cluster::validate::validate;
use diagnostic::error::Error;
use diagnostic::terminal;
use facts::docker::Endpoint;
use host::{addresses, file};

/// Set up, check and use several machines as one training cluster.
///
/// The file cluster.yaml describes the machines.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  envdoc cluster init --nodes 10.0.0.1,10.0.0.2  # write cluster.yaml
  envdoc cluster check                           # check every machine and the network
  envdoc cluster up                              # start the containers
  envdoc cluster launch -- /workspace/train.py   # run a training script on all nodes
  envdoc cluster down                            # remove the containers";

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
    pub(super) fn run(
        self,
        catalog: &'static Catalog,
        interrupts: &Interrupts,
        settings: &SettingsFiles,
    ) -> Result<u8, Error> {
        match self.command {
            Command::Init(args) => args.run(catalog, interrupts),
            Command::Check(args) => args.output.clone().of(|| args.run(catalog, settings)),
            Command::Render(args) => args.run(settings),
            Command::Up(args) => args.output.clone().of(|| args.run(settings)),
            Command::Status(args) => args.output.clone().of(|| args.run(settings)),
            Command::Exec(args) => args.run(settings),
            Command::Logs(args) => args.run(settings),
            Command::Launch(args) => args.run(settings),
            Command::Down(args) => args.output.clone().of(|| args.run(settings)),
            Command::RotateKeys(args) => args.run(settings),
        }
    }
}

/// How the machines of a cluster are reached.
#[derive(Debug, Clone, clap::Args)]
pub struct Reaching {
    /// Maximum number of machines to work on in parallel.
    #[arg(
        long,
        value_name = "COUNT",
        default_value = "32",
        help_heading = CONNECTION,
        hide_short_help = true
    )]
    pub width: usize,

    /// Connection timeout for each machine, in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "20",
        value_parser = crate::cli::values::seconds,
        help_heading = CONNECTION,
        hide_short_help = true
    )]
    pub connect_timeout: Duration,
}

impl Reaching {
    pub(crate) fn limits(&self) -> Limits {
        Limits { width: self.width.max(1), each: self.connect_timeout }
    }
}

/// The cluster file.
#[derive(Debug, Clone, clap::Args)]
pub struct Source {
    /// Cluster file [default: cluster.yaml].
    #[arg(long, short, value_name = "FILE")]
    pub file: Option<PathBuf>,
}

impl Source {
    /// Reads and validates the file, and prints its warnings.
    pub(in crate::cli) fn plan(&self, settings: &SettingsFiles) -> Result<ClusterPlan, Error> {
        let (_, plan) = read(&path(self.file.as_deref(), &settings.read()?)?)?;
        for warning in &plan.warnings {
            terminal::note(&format!("warning: {warning}"));
        }
        Ok(plan)
    }
}

/// The cluster file: as the option says, else the settings.
pub(in crate::cli) fn path(option: Option<&Path>, settings: &Settings) -> Result<PathBuf, Error> {
    match (option, &settings.cluster_file) {
        (Some(option), _) => Ok(option.to_owned()),
        (None, Some(set)) => {
            let what = format!("cluster-file {}", set.shown().value.display());
            settings::usable(set, &what, "or name the cluster file with -f").cloned()
        }
        (None, None) => Ok(PathBuf::from("cluster.yaml")),
    }
}

/// Reads and validates a cluster.yaml. A node without `engine` whose address belongs to this machine uses the
/// local engine.
pub fn read(path: &Path) -> Result<(ClusterRequest, ClusterPlan), Error> {
    let Some(text) = file::read(path)? else {
        return Err(file::missing(path)
            .hint("create it with `envdoc cluster init --nodes ADDRESS,ADDRESS`, or name another with -f"));
    };
    parsed(path, &text)
}

/// The name of a file's directory. cluster.yaml in the working directory has none in its path.
fn directory_name(path: &Path) -> Option<String> {
    let whole = std::path::absolute(path).ok()?;
    Some(whole.parent()?.file_name()?.to_string_lossy().into_owned())
}

/// The text of a cluster.yaml as the file at this path would be read.
fn parsed(path: &Path, text: &str) -> Result<(ClusterRequest, ClusterPlan), Error> {
    let name = path.display().to_string();
    let mut request = ClusterRequest::parse(&name, text)?;
    request.origin = Some(name);
    if request.name.is_none() {
        request.name = directory_name(path);
    }
    for node in request.nodes.iter_mut().filter(|node| node.engine.is_none()) {
        if addresses::is_own(&node.address) {
            node.engine = Some(Endpoint::default().to_string());
        }
    }
    let mut plan = validate(&request)?;
    // Paths are relative to the file.
    let folder = path.parent().unwrap_or(Path::new(""));
    for tls in plan.nodes.iter_mut().filter_map(|node| node.tls.as_mut()) {
        *tls = folder.join(&*tls).display().to_string();
    }
    Ok((request, plan))
}
