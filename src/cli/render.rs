//! `envdoc render`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::image::{self, ImageArgs, Settled};
use super::locking;
use ::image::plan::Plan;
use ::image::render::{self, Built, File, RENDERED_BY};
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use host::file;
use resolve::lock::Lock;

/// Write the files of an image without building it: a Dockerfile and what belongs to it.
///
/// The request is resolved as by `envdoc resolve`; nothing is asked of the network. Written to standard output, or with --output into
/// files: a file that envdoc did not render stays unless --force. Exit code 1: there is no such stack.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is written.
    #[arg(value_enum)]
    what: What,

    /// With ci: the requests that the pipeline builds, each with its rendered Dockerfile beside it.
    #[arg(value_name = "REQUEST")]
    requests: Vec<PathBuf>,

    #[command(flatten)]
    image: ImageArgs,

    /// With ci: a workflow for GitHub Actions.
    #[arg(long, conflicts_with = "gitlab")]
    github: bool,

    /// With ci: a pipeline for GitLab.
    #[arg(long)]
    gitlab: bool,

    /// With ci: where the images go (ghcr.io/me); the forge's own registry unless said otherwise.
    #[arg(long, value_name = "REGISTRY")]
    registry: Option<String>,

    /// A file, or a directory that exists: `dockerfile` then writes all files of the build context.
    #[arg(long, short, value_name = "PATH")]
    output: Option<PathBuf>,

    /// Replace files that envdoc did not render.
    #[arg(long)]
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
    /// The lock: the stack, and every Python package with its hashes where uv is on this machine, which then asks the index.
    Lock,
    /// A pipeline that builds and pushes the images of several requests.
    Ci,
}

impl Args {
    /// Resolves, plans, writes.
    pub fn run(self) -> Result<u8, Error> {
        if self.what == What::Ci {
            return self.ci();
        }
        if let Some(other) = self.requests.first() {
            let says = format!("{}: which option is this for?", other.display());
            return Err(Error::new(Kind::Usage, says)
                .hint("a request goes after --request; several are for `render ci`"));
        }
        let (plan, notes) = match self.image.settle_on(None, self.what == What::Lock)? {
            Settled::Plan(plan, notes) => (plan, notes),
            Settled::None(report) => {
                terminal::note(report.trim_end());
                return Ok(1);
            }
        };
        for note in &notes {
            terminal::note(note);
        }
        for warning in &plan.warnings {
            terminal::note(&format!("warning: {}", warning.says));
        }
        if self.what == What::Lock {
            return self.lock(&plan);
        }
        let Some(output) = &self.output else {
            let text = self.texts(&plan, false)?.remove(0).text;
            return terminal::print(&text).map(|()| 0);
        };
        let whole = file::is_directory(output);
        for one in self.texts(&plan, whole)? {
            let path = if whole { output.join(&one.path) } else { output.clone() };
            self.write(&path, &one.text, rendered)?;
        }
        Ok(0)
    }

    /// Makes the lock anew: where it goes unless --output says otherwise, or to standard output.
    fn lock(&self, plan: &Plan) -> Result<u8, Error> {
        let (text, note) = locking::text(plan, &plan.says)?;
        if let Some(note) = note {
            terminal::note(&format!("warning: {note}"));
        }
        match self.output.clone().or_else(|| self.image.lock_path()) {
            Some(path) => self.write(&path, &text, |there| Lock::parse(there).is_ok()).map(|()| 0),
            None => terminal::print(&text).map(|()| 0),
        }
    }

    fn ci(&self) -> Result<u8, Error> {
        if self.requests.is_empty() {
            return Err(Error::new(Kind::Usage, "ci: of which requests?")
                .hint("envdoc render ci --github images/*/request.yaml"));
        }
        let images = self.requests.iter().map(|path| built(path)).collect::<Result<Vec<_>, _>>()?;
        let registry = self.registry.as_deref();
        let text = match (self.github, self.gitlab) {
            (true, _) => render::github(&images, registry)?,
            (_, true) => render::gitlab(&images, registry)?,
            _ => return Err(Error::new(Kind::Usage, "ci: for whom?").hint("add --github or --gitlab")),
        };
        match &self.output {
            Some(path) => self.write(path, &text, rendered).map(|()| 0),
            None => terminal::print(&text).map(|()| 0),
        }
    }

    /// The files, the one that was asked for first.
    fn texts(&self, plan: &Plan, whole: bool) -> Result<Vec<File>, Error> {
        let one = |path: &str, text: String| vec![File { path: path.into(), text }];
        Ok(match self.what {
            What::Dockerfile if whole => render::files(plan)?,
            What::Dockerfile => one("Dockerfile", render::dockerfile(plan)?),
            What::Requirements => one("requirements.txt", render::requirements(plan)?),
            What::Dockerignore => one(".dockerignore", render::dockerignore(plan)?),
            // They have roads of their own.
            What::Lock | What::Ci => Vec::new(),
        })
    }

    fn write(&self, path: &Path, text: &str, ours: fn(&str) -> bool) -> Result<(), Error> {
        let there = file::read(path)?;
        if there.as_deref() == Some(text) {
            terminal::note(&format!("{} is up to date", path.display()));
            return Ok(());
        }
        let own = there.as_deref().is_some_and(ours);
        if there.is_some() && !own && !self.force {
            let says = format!("{} exists already, and envdoc did not render it", path.display());
            return Err(Error::new(Kind::File, says).hint("use --force to replace it, or another --output"));
        }
        if self.dry_run {
            terminal::note(&format!("would write {}", path.display()));
            return Ok(());
        }
        file::write(path, text, true)?;
        terminal::note(&format!("wrote {}", path.display()));
        Ok(())
    }
}

/// Whether envdoc rendered a file: its first line says so.
fn rendered(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.contains(RENDERED_BY))
}

/// What a pipeline must know of a request.
fn built(path: &Path) -> Result<Built, Error> {
    let request = image::read(path)?;
    let platform = |architecture: &String| match architecture.as_str() {
        "aarch64" | "arm64" => "linux/arm64",
        _ => "linux/amd64",
    };
    let mut platforms: Vec<&str> = request.architectures.iter().map(platform).collect();
    if platforms.is_empty() {
        platforms.push("linux/amd64");
    }
    let context = path.parent().map(|dir| dir.display().to_string()).filter(|dir| !dir.is_empty());
    Ok(Built {
        name: request.name.unwrap_or_default(),
        context: context.unwrap_or_else(|| ".".into()),
        platforms: platforms.join(","),
    })
}
