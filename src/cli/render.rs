//! `envdoc render`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::image::{ImageArgs, Settled};
use crate::error::{Error, Kind};
use crate::image::plan::Plan;
use crate::render::{self, File, RENDERED_BY};
use crate::report::{file, screen};

/// Write the files of an image without building it: a Dockerfile and what belongs to it.
///
/// The request is resolved as by `envdoc resolve`; nothing is asked of the network. Written to standard output, or with --output into
/// files: a file that envdoc did not render stays unless --force. Exit code 1: there is no such stack.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is written.
    #[arg(value_enum)]
    what: What,

    #[command(flatten)]
    image: ImageArgs,

    /// A file, or a directory that exists: `dockerfile` then writes all files of the build context.
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,

    /// Replace files that envdoc did not render.
    #[arg(long, requires = "output")]
    force: bool,

    /// Say what would be written, and stop.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// The Dockerfile.
    Dockerfile,
    /// A requirements file with the Python packages.
    Requirements,
    /// The .dockerignore that goes with the Dockerfile.
    Dockerignore,
}

impl Args {
    /// Resolves, plans, writes.
    pub fn run(self) -> Result<u8, Error> {
        let (plan, notes) = match self.image.settle()? {
            Settled::Plan(plan, notes) => (plan, notes),
            Settled::None(report) => {
                screen::note(report.trim_end());
                return Ok(1);
            }
        };
        for note in &notes {
            screen::note(note);
        }
        for warning in &plan.warnings {
            screen::note(&format!("warning: {}", warning.says));
        }
        let Some(output) = &self.output else {
            let text = self.texts(&plan, false)?.remove(0).text;
            return screen::print(&text).map(|()| 0);
        };
        let whole = file::is_directory(output);
        for one in self.texts(&plan, whole)? {
            let path = if whole { output.join(&one.path) } else { output.clone() };
            self.write(&path, &one.text)?;
        }
        Ok(0)
    }

    /// The files, the one that was asked for first.
    fn texts(&self, plan: &Plan, whole: bool) -> Result<Vec<File>, Error> {
        let one = |path: &str, text: String| vec![File { path: path.into(), text }];
        Ok(match self.what {
            What::Dockerfile if whole => render::files(plan)?,
            What::Dockerfile => one("Dockerfile", render::dockerfile(plan)?),
            What::Requirements => one("requirements.txt", render::requirements(plan)?),
            What::Dockerignore => one(".dockerignore", render::dockerignore(plan)?),
        })
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), Error> {
        let there = file::read(path)?;
        if there.as_deref() == Some(text) {
            screen::note(&format!("{} is up to date", path.display()));
            return Ok(());
        }
        let own = there.as_deref().is_some_and(rendered);
        if there.is_some() && !own && !self.force {
            let says = format!("{} exists already, and envdoc did not render it", path.display());
            return Err(Error::new(Kind::File, says).hint("use --force to replace it, or another --output"));
        }
        if self.dry_run {
            screen::note(&format!("would write {}", path.display()));
            return Ok(());
        }
        file::write(path, text, true)?;
        screen::note(&format!("wrote {}", path.display()));
        Ok(())
    }
}

/// Whether envdoc rendered a file: its first line says so.
fn rendered(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.contains(RENDERED_BY))
}
