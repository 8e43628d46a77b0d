//! `envdoc render`.

use catalog::Catalog;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::headings::OUTPUT;
use super::image::{self, ImageArgs};
use super::interrupts::Interrupts;
use super::output;
use super::settings::{self, SettingsFiles};
use ::build::{Planned, PlannedImage, lock_file, request_file};
use ::cluster::waiting::Waiting;
use ::config::Settings;
use ::image::plan::Plan;
use ::image::render::{self, File};
use diagnostic::error::{Error, Kind};
use diagnostic::{terminal, visible};
use host::file::{self, Existing};
use resolve::universe::Universe;

/// Write the Dockerfile and files of an image, without building it.
///
/// Resolves the stack like `envdoc resolve`. Only `render lock`, which requires uv, and --pin use the
/// network. Writes to standard output, or with --output to files; files that envdoc did not generate are
/// kept unless --force.
///
/// Exit code 1: no compatible stack exists.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// What to write.
    #[arg(value_enum)]
    what: What,

    /// With `ci`: request files of the images.
    ///
    /// Each needs its rendered Dockerfile next to it.
    #[arg(value_name = "REQUEST")]
    requests: Vec<PathBuf>,

    #[command(flatten)]
    image: ImageArgs,

    /// With `ci`: write a GitHub Actions workflow.
    #[arg(long, conflicts_with = "gitlab", help_heading = CI, hide_short_help = true)]
    github: bool,

    /// With `ci`: write a GitLab pipeline.
    #[arg(long, help_heading = CI, hide_short_help = true)]
    gitlab: bool,

    /// With `ci`: registry to push to (ghcr.io/me) [default: the registry of GitHub or GitLab].
    #[arg(long, value_name = "REGISTRY", help_heading = CI, hide_short_help = true)]
    registry: Option<String>,

    /// File to write, or a directory for all files; - is standard output.
    ///
    /// An existing directory gets all files of the build context.
    #[arg(long, short, value_name = "PATH", help_heading = OUTPUT)]
    output: Option<PathBuf>,

    /// Replace files that envdoc did not generate.
    #[arg(long, help_heading = OUTPUT)]
    force: bool,

    /// Print what would be written, and exit.
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    dry_run: bool,
}

const CI: &str = "CI pipeline";

const EXAMPLES: &str = "\
Examples:
  envdoc render dockerfile --cuda 12.4 --torch 2.6 --deepspeed
  envdoc render dockerfile --request request.yaml -o .    # all files
  envdoc render dockerfile --project .    # pins of requirements.txt
  envdoc render lock --request request.yaml -o envdoc.lock    # pin packages
  envdoc render ci --github train/request.yaml -o .github/workflows/x.yaml";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// The Dockerfile.
    Dockerfile,
    /// Requirements file with the Python packages.
    Requirements,
    /// The .dockerignore that belongs to the Dockerfile.
    Dockerignore,
    /// Lock file: the stack and every Python package with its hashes (requires uv, uses the network).
    Lock,
    /// CI pipeline that builds and pushes the images of several requests.
    Ci,
}

impl Args {
    pub(super) fn run(
        self,
        catalog: &'static Catalog,
        interrupts: &Interrupts,
        files: &SettingsFiles,
    ) -> Result<u8, Error> {
        let settings = files.read()?;
        if self.what == What::Ci {
            return self.ci(&Universe::new(catalog), &settings);
        }
        if let Some(other) = self.requests.first() {
            let message = format!("unexpected argument {}", other.display());
            return Err(Error::new(Kind::Usage, message)
                .hint("use --request for a request file; only `render ci` takes several"));
        }
        if self.what == What::Lock && self.image.locked {
            return Err(Error::new(
                Kind::Usage,
                "--locked cannot be used with `render lock`, which creates the lock",
            )
            .hint("to compare: `envdoc resolve --request FILE --locked`"));
        }
        let mut request = self.image.request(&settings)?;
        request.lock.ignored = self.what == What::Lock;
        let read_here = || self.image.stack.read_here(catalog, interrupts);
        let PlannedImage { plan, notes, .. } =
            match ::build::plan(&Universe::new(catalog), &request, &read_here)? {
                Planned::Plan(planned) => *planned,
                Planned::NoStack(none) => return image::no_stack(&none),
            };
        for note in &notes {
            terminal::note(&visible::line(note));
        }
        for warning in &plan.warnings {
            terminal::note(&format!("warning: {}", visible::line(&warning.message)));
        }
        if self.what == What::Lock {
            return self.lock(&plan, interrupts);
        }
        let Some(output) = output::file(self.output.as_deref()) else {
            let text = self.texts(&plan, false)?.remove(0).text;
            return terminal::document(&text).map(|()| 0);
        };
        let whole = file::is_directory(output);
        for one in self.texts(&plan, whole)? {
            let path = if whole { output.join(&one.path) } else { output.to_owned() };
            self.write(&path, &one.text, render::is_rendered)?;
        }
        Ok(0)
    }

    /// Prints the lock, or writes it to --output.
    fn lock(&self, plan: &Plan, interrupts: &Interrupts) -> Result<u8, Error> {
        let path = output::file(self.output.as_deref()).map(|path| match file::is_directory(path) {
            true => path.join(lock_file::NAME),
            false => path.to_owned(),
        });
        // Before uv asks the index.
        if let Some(path) = &path {
            file::writable(path)?;
            self.replaceable(path, lock_file::is_lock)?;
        }
        interrupts.leave_to_command();
        interrupts.end_programs();
        let waiting = Waiting::new("resolving packages with uv");
        let lock = lock_file::text(plan);
        drop(waiting);
        interrupts.take_back();
        if interrupts.arrived() {
            return Err(Error::new(Kind::Interrupted, "interrupted; no lock was written"));
        }
        let lock = lock?;
        if let Some(why) = lock.without_hashes {
            terminal::note(&format!("warning: {why}"));
        }
        match path {
            Some(path) => self.write(&path, &lock.text, lock_file::is_lock).map(|()| 0),
            None => terminal::document(&lock.text).map(|()| 0),
        }
    }

    fn ci(&self, universe: &Universe, settings: &Settings) -> Result<u8, Error> {
        if self.requests.is_empty() {
            return Err(Error::new(Kind::Usage, "`render ci` requires at least one request file")
                .hint("envdoc render ci --github images/*/request.yaml"));
        }
        let built = self.requests.iter().map(|path| request_file::built(universe, path));
        let images = built.collect::<Result<Vec<_>, _>>()?;
        let registry = match (&self.registry, &settings.registry) {
            (Some(option), _) => Some(option.as_str()),
            (None, Some(set)) => {
                Some(settings::usable(set, "registry of the settings", "or pass --registry")?.as_str())
            }
            (None, None) => None,
        };
        let text = match (self.github, self.gitlab) {
            (true, _) => render::github(&images, registry)?,
            (_, true) => render::gitlab(&images, registry)?,
            _ => return Err(Error::new(Kind::Usage, "`render ci` requires --github or --gitlab")),
        };
        match output::file(self.output.as_deref()) {
            Some(path) => self.write(path, &text, render::is_rendered).map(|()| 0),
            None => terminal::document(&text).map(|()| 0),
        }
    }

    /// The files; the requested one is first.
    fn texts(&self, plan: &Plan, whole: bool) -> Result<Vec<File>, Error> {
        let one = |path: &str, text: String| vec![File { path: path.into(), text }];
        Ok(match self.what {
            What::Dockerfile if whole => render::files(plan)?,
            What::Dockerfile => one("Dockerfile", render::dockerfile(plan)?),
            What::Requirements => one("requirements.txt", render::requirements(plan)?),
            What::Dockerignore => one(".dockerignore", render::dockerignore(plan)?),
            // Written by `lock` and `ci`.
            What::Lock | What::Ci => Vec::new(),
        })
    }

    /// What is there now. Only --force replaces what envdoc did not write.
    fn replaceable(&self, path: &Path, ours: fn(&str) -> bool) -> Result<Existing, Error> {
        let judged = file::look(path)?;
        if judged.text.as_deref().is_some_and(|text| !ours(text)) && !self.force {
            let message = format!("{} already exists and was not generated by envdoc", path.display());
            return Err(
                Error::new(Kind::File, message).hint("use --force to replace it, or choose another --output")
            );
        }
        Ok(judged)
    }

    fn write(&self, path: &Path, text: &str, ours: fn(&str) -> bool) -> Result<(), Error> {
        let judged = self.replaceable(path, ours)?;
        if judged.text.as_deref() == Some(text) {
            terminal::note(&format!("{} is up to date", visible::path(path)));
            return Ok(());
        }
        if self.dry_run {
            terminal::note(&format!("would write {}", visible::path(path)));
            return Ok(());
        }
        match self.force {
            true => file::write(path, text, true)?,
            false => file::write_over(path, text.as_bytes(), None, &judged)?,
        }
        terminal::note(&format!("wrote {}", visible::path(path)));
        Ok(())
    }
}
