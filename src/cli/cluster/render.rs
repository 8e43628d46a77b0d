//! `envdoc cluster render`.

use std::path::{Path, PathBuf};

use super::Source;
use ::cluster::render::{self, File};
use ::cluster::{keys, secrets};
use ::image::render::RENDERED_BY;
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use host::file;

/// Write the files of a cluster for those who type the steps themselves: a compose file and settings for every node, launch scripts, a README.
///
/// Nothing is asked of the nodes or of the network. The keys are those that `up` uses: in .envdoc/ssh beside the cluster's description, made when
/// they are missing. A file that envdoc did not render stays unless --force.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    source: Source,

    /// The directory that they are written into; made where it is not there.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,

    /// Leave out keys and secrets: for files that others may see.
    #[arg(long)]
    without_secrets: bool,

    /// Replace files that envdoc did not render.
    #[arg(long)]
    force: bool,

    /// Say what would be written, and stop.
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    /// Settles, makes keys, writes.
    pub fn run(self) -> Result<u8, Error> {
        let plan = self.source.plan()?;
        let (keys, secrets) = match (self.without_secrets, self.dry_run) {
            (true, _) => (None, Vec::new()),
            // Keys of a dry run are nobody's: they tell which files there would be.
            (_, true) => (Some(keys::make(&plan)?), secrets::read(&plan)?),
            _ => (
                Some(keys::load_or_make(&keys::directory(plan.origin.as_deref()), &plan)?),
                secrets::read(&plan)?,
            ),
        };
        let keys = keys.filter(|_| plan.ssh.is_some());
        let files = render::files(&plan, keys.as_ref(), &secrets)?;
        // All are looked at before the first is written.
        let mut todo = Vec::new();
        for one in &files {
            match self.needed(one)? {
                true => todo.push(one),
                false => terminal::note(&format!("{} is up to date", self.output.join(&one.path).display())),
            }
        }
        for one in todo {
            let path = self.output.join(&one.path);
            if self.dry_run {
                terminal::note(&format!("would write {}", path.display()));
                continue;
            }
            file::directory(path.parent().unwrap_or(Path::new("")))?;
            file::write_with_mode(&path, &one.bytes, one.mode)?;
            terminal::note(&format!("wrote {}", path.display()));
        }
        Ok(0)
    }

    /// Whether a file has to be written; an error where somebody else's is in its place.
    fn needed(&self, one: &File) -> Result<bool, Error> {
        let path = self.output.join(&one.path);
        let Some(there) = file::read(&path)? else { return Ok(true) };
        if there.as_bytes() == one.bytes && file::mode(&path) == Some(one.mode) {
            return Ok(false);
        }
        if self.force || there.as_bytes() == one.bytes || ours(&there) || self.of_settings(&one.path)? {
            return Ok(true);
        }
        let says =
            format!("{} exists already, and envdoc did not render it, or it was changed", path.display());
        Err(Error::new(Kind::File, says).hint("use --force to replace it, or another --output"))
    }

    /// Whether a file without a first line of ours (a key, a script) belongs to settings that envdoc rendered: the file `node` tells.
    fn of_settings(&self, path: &str) -> Result<bool, Error> {
        let Some((node, within)) = path.split_once("/settings/") else { return Ok(false) };
        if within == "ds_config.json" {
            return Ok(false);
        }
        let told = file::read(&self.output.join(node).join("settings/node"))?;
        Ok(told.as_deref().is_some_and(ours))
    }
}

/// Whether envdoc rendered a file: its first lines say so.
fn ours(text: &str) -> bool {
    text.lines().take(2).any(|line| line.contains(RENDERED_BY))
}
