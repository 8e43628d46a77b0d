//! `envdoc resolve`.

mod change;
mod stray;

use super::output::Output;
use catalog::Catalog;
use std::cell::OnceCell;
use std::path::PathBuf;

use clap::ValueEnum;

use super::headings::{LOCK, OUTPUT, STACK};
use super::interrupts::Interrupts;
use super::project_args::ProjectArgs;
use super::stack_args::{StackArgs, today};
use crate::cli::explain::text as explain;
use ::build::lock_file::{again, next_to};
use ::build::{LockRequest, PlanRequest, Planned, Requirements, smallest_change};
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::render::json;
use diagnostic::{terminal, visible};
use facts::Facts;
use host::file;
use resolve::lock::{Lock, LockError};
use resolve::outcome::Outcome;
use resolve::report::{ProjectChange, Report};
use resolve::request::Request;
use resolve::universe::Universe;
use resolve::{self, lookup};

/// Find compatible versions of driver, CUDA, Python, torch and more.
///
/// Shows the stack, the reasons for the choice, and the commands that install it. A version is a prefix
/// (12.1) or a range ('>=2.4,<2.7'). Whatever you do not name is chosen. No network access.
///
/// Exit code 0: a compatible stack exists; 1: none exists, the conflict and the nearest alternatives are
/// shown; 2: envdoc could not run; 3: unknown, because what you ask for is older or newer than the
/// catalog.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Request file of an image; options override it.
    ///
    /// The envdoc.lock next to it takes part as in `envdoc render`. docs/request.md describes the file.
    #[arg(long, value_name = "FILE", help_heading = STACK)]
    request: Option<PathBuf>,

    #[command(flatten)]
    project: ProjectArgs,

    /// Apply the smallest change that makes the project's requirements compatible.
    ///
    /// Keeps each original as FILE.orig. Writes all files or none.
    #[arg(long, conflicts_with_all = ["why", "lock"], help_heading = STACK, hide_short_help = true)]
    write: bool,

    #[command(flatten)]
    stack: StackArgs,

    /// Lock file: written on the first run, checked later.
    ///
    /// If FILE exists, its exact stack is requested in addition to the options. Exit code 0: that stack is
    /// still valid, and FILE is not changed; 1: it is not, and the report shows what changed.
    #[arg(long, value_name = "FILE", help_heading = LOCK)]
    lock: Option<PathBuf>,

    /// With --lock: resolve again and replace FILE.
    #[arg(long, requires = "lock", help_heading = LOCK, hide_short_help = true)]
    force: bool,

    /// Fail if the result differs from the lock file: --lock, else the envdoc.lock next to --request.
    #[arg(long, conflicts_with_all = ["force", "why"], help_heading = LOCK, hide_short_help = true)]
    locked: bool,

    /// Explain a version: torch==2.6.0.
    ///
    /// Shows whether it exists, whether it is compatible with the other options, and its alternatives.
    #[arg(
        long,
        value_name = "NAME[==VERSION]",
        conflicts_with_all = ["lock", "format"],
        help_heading = OUTPUT
    )]
    why: Option<String>,

    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = OUTPUT)]
    format: Format,

    /// Requirements without their option, which get a hint.
    #[arg(hide = true)]
    stray: Vec<String>,

    /// Show all alternatives, reasons and sources.
    #[arg(long, short, help_heading = OUTPUT)]
    verbose: bool,

    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

const EXAMPLES: &str = "\
Examples:
  envdoc resolve --cuda 12.4 --python 3.12            # newest torch for these
  envdoc resolve --driver 550 --gpu h100 --deepspeed  # for a driver and a GPU
  envdoc resolve --here --torch '>=2.4,<2.7'          # for this machine
  envdoc resolve --project . --gpu rtx-5090           # do my pins run on it?
  envdoc resolve --request request.yaml --locked      # does envdoc.lock still hold?
  envdoc resolve --cuda 12.4 --format requirements > requirements.txt";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Plain text.
    Text,
    /// JSON with stable keys; schema in docs/schemas/resolve.json.
    Json,
    /// Requirements file for `pip install -r` and `uv pip install -r`.
    Requirements,
    /// pyproject.toml with the index of the torch build, for `uv lock` and `uv sync`.
    Toml,
}

impl Args {
    pub(super) fn run(self, catalog: &'static Catalog, interrupts: &Interrupts) -> Result<u8, Error> {
        if let Some(stray) = self.stray.first() {
            return Err(stray::unexpected(catalog, stray));
        }
        let universe = &Universe::new(catalog);
        let read = OnceCell::new();
        // With --locked two questions are about this machine; it is read once.
        let read_here = || match read.get() {
            Some(facts) => Ok(Facts::clone(facts)),
            None => {
                let facts = self.stack.read_here(catalog, interrupts)?;
                Ok(read.get_or_init(|| facts).clone())
            }
        };
        let asked = self.asked();
        asked.lock.check()?;
        change::check(self.write, &asked)?;
        let required = match (&asked.file, &asked.project) {
            (None, None) => self.stack.requirements(universe, &read_here)?,
            _ => ::build::requirements(universe, &asked, &read_here)?,
        };
        let Requirements { request, warnings, mut notes, mut project } = required;
        if let Some(subject) = &self.why {
            return why(universe, &request, subject);
        }
        // What is not part of the stack counts too: the packages with their hashes, and other architectures.
        let planned = match self.locked.then(|| ::build::plan(universe, &asked, &read_here)).transpose()? {
            Some(Planned::NoStack(none)) => return self.no_stack(catalog, &none.report()),
            Some(Planned::Plan(planned)) => Some(planned),
            None => None,
        };
        let kept = self.kept()?;
        let mut whole = request.clone();
        if let Some((lock, name)) = &kept {
            let error = |error: LockError| Error::new(Kind::File, format!("{name}: {error}"));
            whole.requirements.extend(lock.requirements(name).map_err(error)?);
        }
        let outcome = match planned.filter(|planned| planned.required == whole) {
            Some(planned) => Outcome::Resolved(planned.resolution),
            None => resolve::resolve(universe, &whole),
        };
        if let (Some((lock, name)), Outcome::Resolved(resolution)) = (&kept, &outcome) {
            notes.push(format!("the stack in {name} is still valid"));
            let differences = lock.differences(&resolution.stack);
            notes.extend(differences.iter().map(|difference| format!("{name}: {difference}")));
        }
        let of_lock = &whole.requirements[request.requirements.len()..];
        let change = smallest_change(universe, &asked, &outcome, (&whole, of_lock), &read_here)?;
        if let (Some(files), Some(change)) = (&mut project, &change) {
            files.change = Some(ProjectChange { applied: self.write, ..change.shown.clone() });
        }
        let report = Report {
            requirements: &whole.requirements,
            outcome: &outcome,
            warnings: &warnings,
            notes: &notes,
            project: project.as_ref(),
        };
        let Outcome::Resolved(resolution) = &outcome else {
            let code = self.no_stack(catalog, &report)?;
            return if self.write { change::write(change.as_ref(), code) } else { Ok(code) };
        };
        if self.write {
            terminal::note("nothing was written: the project runs as it is");
        }
        if let (Some(path), None) = (&self.lock, &kept) {
            let text = json::text(&Lock::new(&resolution.stack, &request.requirements))?;
            file::write(path, &text, self.force)?;
            terminal::note(&format!("wrote the stack to {}", visible::path(path)));
        }
        let text = self.report(catalog, &report)?;
        match self.format {
            Format::Text | Format::Json => terminal::print(&text)?,
            Format::Requirements | Format::Toml => terminal::document(&text)?,
        }
        Ok(0)
    }

    /// Reports that no stack meets the request; the exit code.
    fn no_stack(&self, catalog: &'static Catalog, report: &Report) -> Result<u8, Error> {
        match self.format {
            Format::Text | Format::Json => terminal::print(&self.report(catalog, report)?)?,
            // A file that others read gets no sentence.
            Format::Requirements | Format::Toml => terminal::note(self.text(report).trim_end()),
        }
        let undecided = matches!(report.outcome, Outcome::Conflict(conflict) if conflict.undecided);
        Ok(if undecided { 3 } else { 1 })
    }

    /// The request file, the options over it and the lock.
    fn asked(&self) -> PlanRequest {
        PlanRequest {
            file: self.request.clone(),
            options: self.stack.image_request(),
            project: self.project.request(),
            machines: self.stack.machines(),
            lock: LockRequest {
                path: self.lock_path(),
                required: self.locked,
                exact: self.locked,
                // What --lock wrote without a request file has a stack and no packages.
                versions_suffice: self.request.is_none(),
                ignored: false,
            },
            today: today(),
            ..PlanRequest::default()
        }
    }

    fn lock_path(&self) -> Option<PathBuf> {
        self.lock.clone().or_else(|| self.request.as_deref().map(next_to))
    }

    /// The existing lock and its file name.
    fn kept(&self) -> Result<Option<(Lock, String)>, Error> {
        let Some(path) = self.lock_path().filter(|_| !self.force) else { return Ok(None) };
        let name = path.display().to_string();
        let Some(text) = file::read(&path)? else { return Ok(None) };
        let lock = Lock::parse(&text).map_err(|error| {
            let error = Error::new(Kind::File, format!("{name}: {error}"));
            match &self.lock {
                Some(_) => error.hint("use --force to replace it, or choose another file name"),
                // --force requires --lock.
                None => error.hint(format!("regenerate it: {}", again(&name))),
            }
        })?;
        Ok(Some((lock, name)))
    }

    fn report(&self, catalog: &'static Catalog, report: &Report) -> Result<String, Error> {
        match self.format {
            Format::Text => Ok(self.text(report)),
            Format::Json => json::text(&resolve::report::json::report(report)),
            Format::Requirements | Format::Toml => Ok(match (report.outcome, self.format) {
                (Outcome::Conflict(_), _) => String::new(),
                (Outcome::Resolved(found), Format::Toml) => {
                    resolve::report::project::file(catalog, report, &found.stack)
                }
                (Outcome::Resolved(found), _) => {
                    resolve::report::requirements::file(catalog, report, &found.stack)
                }
            }),
        }
    }

    fn text(&self, report: &Report) -> String {
        let layout = Layout::of_screen(self.verbose);
        resolve::report::text::report(report, layout)
    }
}

/// `--why`: whether `subject` exists, and whether it is compatible with the other options.
fn why(universe: &Universe, request: &Request, subject: &str) -> Result<u8, Error> {
    let answer = lookup::asked(universe, request, subject).map_err(|unknown| {
        let error = Error::new(Kind::Usage, format!("--why: {unknown}"));
        error.did_you_mean(unknown.nearest)
    })?;
    terminal::print(&explain::lookup(&answer.explanation, terminal::width()))?;
    let Some(together) = &answer.together else { return Ok(0) };
    let text = resolve::report::text::together(together);
    terminal::print(&format!("\n{}\n", textwrap::fill(&text, terminal::width())))?;
    Ok(u8::from(!together.compatible()))
}
