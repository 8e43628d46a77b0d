//! `envdoc cluster init`.

use std::path::PathBuf;
use std::time::Duration;

use crate::cluster::init::{self, Found};
use crate::error::{Error, Kind};
use crate::facts::Expected;
use crate::report::{file, screen};

/// Write a first cluster.yaml.
///
/// What is left to say is in comments: nothing is guessed.
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
        let found = self.nodes.iter().map(|address| found(address)).collect();
        let asked = init::Asked { name: self.name, image: self.image, user: self.user, nodes: found };
        let text = init::text(&asked)?;
        if self.output.as_os_str() == "-" {
            return screen::print(&text).map(|()| 0);
        }
        file::write(&self.output, &text, self.force)?;
        screen::note(&format!("wrote {}", self.output.display()));
        Ok(0)
    }
}

/// How long this machine is looked at.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is found on a machine: on this one by looking, on others nothing yet.
fn found(address: &str) -> Found {
    if !super::own_address(address) {
        return Found::unseen(address, false, "`envdoc cluster check` will, once this file names its engine");
    }
    match super::super::look(None, PATIENCE, Expected::default()) {
        Ok((_, facts)) => Found::of(address, true, &facts),
        Err(error) => Found::unseen(address, true, &error.message),
    }
}
