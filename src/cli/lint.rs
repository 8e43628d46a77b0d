//! `envdoc lint`.

use super::output::Output;
use ::cluster::waiting::Waiting;
use ::config::FailOn;
use catalog::Catalog;
use checks::CHECKS;
use std::path::PathBuf;

use crate::cli::format::Format;
use crate::cli::headings::{MACHINES, OUTPUT, SELECTION};
use crate::cli::interrupts::Interrupts;
use crate::cli::lint_files::{self, Linted, Rules};
use crate::cli::settings::SettingsFiles;
use crate::cli::values;
use diagnostic::error::{Error, Kind};
use diagnostic::layout::Layout;
use diagnostic::render::json::IgnoredEntry;
use diagnostic::{terminal, visible};
use facts::{Expected, Facts, gather};
use host::snapshot::Snapshot;
use lint::collect::{Collected, Sources, here};
use lint::fix::{self, Fixes};
use lint::report::{self, Counts, json, rules};
use lint::{File, Finding, Kind as FileKind, Rule};

/// Find mistakes in Dockerfiles, Compose files, Kubernetes manifests, scripts and training settings.
///
/// Reads only the files, offline (except with --here). Also reads requirements files that a Dockerfile
/// installs, and env files of Compose services. It does not report what it cannot determine, such as
/// variables that only the build or the shell knows. `# envdoc: ignore=RULE[,RULE]` disables rules: at the
/// top of a file for the whole file, else for the next instruction or the same line.
///
/// Exit code 0: no finding at or above --fail-on; 1: findings; 2: the only file could not be read, or is of
/// no known type; 3: no finding, but a named file has an unknown type.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files or directories; - is standard input [default: .].
    ///
    /// In a directory: Dockerfiles, Containerfiles, Compose and stack files, Kubernetes manifests,
    /// env files, shell and Slurm scripts, Python scripts, DeepSpeed configurations, hostfiles,
    /// nccl.conf, requirements files, pyproject.toml, conda environments, daemon.json, sshd_config
    /// and the container toolkit's config.toml. The contents decide where they contradict the name. The
    /// report lists the files of each type and the skipped ones.
    /// compose.yaml is merged with compose.override.yaml, like docker compose does.
    #[arg(value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,

    /// Compose files to merge, in this order.
    ///
    /// Like `docker compose -f A -f B`.
    #[arg(long, short, value_name = "FILE", help_heading = INPUT)]
    file: Vec<PathBuf>,

    /// File type [default: detected].
    ///
    /// For files whose name and contents do not show their type.
    #[arg(long = "as", value_name = "TYPE", value_parser = values::file_type, help_heading = INPUT)]
    kind: Option<FileKind>,

    /// Build context of the Dockerfiles.
    ///
    /// Contains the files that they install from. Default: the nearest directory, from the Dockerfile
    /// upwards, that contains everything it copies.
    #[arg(long, value_name = "DIR", help_heading = INPUT)]
    context: Option<PathBuf>,

    /// Treat Compose files as stacks for `docker stack deploy` [default: detected].
    #[arg(long, help_heading = INPUT, hide_short_help = true)]
    stack: bool,

    /// Number of ranks, for DeepSpeed batch sizes.
    ///
    /// Default: the slots of a hostfile next to the configuration.
    #[arg(
        long,
        value_name = "RANKS",
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = INPUT
    )]
    world_size: Option<u64>,

    /// Also check this machine, and files against it.
    ///
    /// Reads /etc/environment, /etc/profile, ~/.bashrc, nccl.conf and .deepspeed_env, and resolves the names
    /// of hostfiles.
    #[arg(long, help_heading = MACHINES)]
    here: bool,

    /// Check the files against a recorded machine.
    ///
    /// Made with `envdoc snapshot`.
    #[arg(long, value_name = "FILE", conflicts_with = "here", help_heading = MACHINES)]
    from: Option<PathBuf>,

    /// List the rules.
    #[arg(long, help_heading = SELECTION)]
    rules: bool,

    /// Run only these rules or groups.
    #[arg(long, value_name = "RULE", value_delimiter = ',', help_heading = SELECTION)]
    only: Vec<String>,

    /// Skip these rules or groups.
    #[arg(
        long,
        value_name = "RULE",
        value_delimiter = ',',
        env = "ENVDOC_LINT_IGNORE",
        hide_env_values = true,
        help_heading = SELECTION
    )]
    ignore: Vec<String>,

    /// Apply the fixes that are certain.
    ///
    /// Reports what remains. These are the `edits` of the JSON report. Prints the changes as a diff (to
    /// standard error if --format is not text), and keeps each old file as FILE.orig. Leaves files alone
    /// that changed since they were read.
    #[arg(long, conflicts_with = "here", help_heading = OUTPUT)]
    fix: bool,

    /// With --fix: print the diff and change nothing.
    ///
    /// The exit code is the one that --fix would have.
    #[arg(long, requires = "fix", conflicts_with = "format", help_heading = OUTPUT)]
    dry_run: bool,

    /// Lowest severity that makes the exit code 1 [default: error].
    #[arg(long, value_enum, help_heading = OUTPUT)]
    fail_on: Option<FailOn>,

    /// Report format.
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = OUTPUT)]
    format: Format,

    #[command(flatten)]
    pub(in crate::cli) output: Output,
}

const INPUT: &str = "Input";

const EXAMPLES: &str = "\
Examples:
  envdoc lint                               # known files below .
  envdoc lint Dockerfile ds_config.json hostfile
  envdoc lint -f compose.yaml -f gpu.yaml   # merged
  envdoc lint . --from gpu1.json --format sarif > lint.sarif
  envdoc lint . --fix --dry-run                   # a diff of the fixes that are certain";

impl Args {
    pub(super) fn run(
        self,
        catalog: &'static Catalog,
        interrupts: &Interrupts,
        settings: &SettingsFiles,
    ) -> Result<u8, Error> {
        if self.rules {
            return terminal::print(&rules::list(terminal::width())).map(|()| 0);
        }
        let Rules { chosen, settings, ignored } =
            lint_files::rules(&self.only, &self.ignore, settings.read()?)?;
        let Collected { mut files, unreadable, skipped } = self.collected(catalog)?;
        let facts = self.facts(catalog, &mut files, interrupts)?;
        lint_files::compare(&mut files, &settings, facts, self.world_size);
        let (findings, unwritten) = match self.fix {
            true => self.fixed(&chosen, &mut files)?,
            false => {
                let _waiting = checking(&files);
                (lint::lint_all(&chosen, CHECKS, &files), 0)
            }
        };
        let linted = lint_files::linted(&chosen, &files, findings, &unreadable, skipped);
        match self.dry_run {
            true => IgnoredEntry::statement(&ignored).iter().for_each(|statement| terminal::note(statement)),
            false => terminal::print(&self.report(&linted, &ignored)?)?,
        }
        if unwritten > 0 {
            return Ok(Kind::File.exit_code());
        }
        let counts = Counts::of(&linted.findings);
        Ok(exit_code(settings.fail_on(self.fail_on), counts, linted.complete))
    }

    fn collected(&self, catalog: &'static Catalog) -> Result<Collected, Error> {
        // Whoever types into standard input sees no spinner.
        let _waiting = (!self.reads_standard_input()).then(|| Waiting::new("reading files"));
        let sources = Sources {
            catalog,
            paths: self.paths(),
            compose: self.file.clone(),
            kind: self.kind,
            stack: self.stack,
            context: self.context.clone(),
        };
        sources.files()
    }

    /// Applies the edits of findings: what remains, and how many files could not be written.
    fn fixed(&self, rules: &[&'static Rule], files: &mut [File]) -> Result<(Vec<Finding>, usize), Error> {
        if self.reads_standard_input() {
            return Err(Error::new(Kind::Usage, "--fix cannot change standard input").hint("name the file"));
        }
        let Fixes { files: changed, mut left } = {
            let _waiting = checking(files);
            fix::fix(rules, CHECKS, files)
        };
        let (mut written, mut unwritten, mut backups) = (Vec::new(), Vec::new(), Vec::new());
        let text = self.format == Format::Text && !self.dry_run && !changed.is_empty();
        for file in changed {
            match (self.dry_run, text) {
                (true, _) => {
                    terminal::document(&file.change.diff())?;
                    continue;
                }
                (false, true) => terminal::print(&file.change.diff())?,
                (false, false) => terminal::note(file.change.diff().trim_end()),
            }
            match file.change.write() {
                Ok(backup) => {
                    backups.push(visible::path(&backup));
                    written.push(file);
                }
                Err(error) => {
                    terminal::error(&error);
                    unwritten.push(file);
                }
            }
        }
        if text {
            terminal::print("\n")?;
        }
        if !unwritten.is_empty() {
            left = fix::without(rules, CHECKS, files, &unwritten);
        }
        if !written.is_empty() {
            let findings = report::plural(written.iter().map(|file| file.fixed).sum(), "finding");
            let files = report::plural(written.len(), "file");
            let backups = backups.join(", ");
            terminal::note(&format!("fixed {findings} in {files}; the old text is in {backups}"));
        }
        Ok((left, unwritten.len()))
    }

    fn reads_standard_input(&self) -> bool {
        self.paths.iter().any(|path| path.as_os_str() == "-")
    }

    /// What to lint: the current directory where nothing is named.
    fn paths(&self) -> Vec<PathBuf> {
        match self.paths.is_empty() && self.file.is_empty() && !self.here {
            true => vec![PathBuf::from(".")],
            false => self.paths.clone(),
        }
    }

    /// The facts to check against. With --here also adds the files of this machine.
    fn facts(
        &self,
        catalog: &'static Catalog,
        files: &mut Vec<File>,
        interrupts: &Interrupts,
    ) -> Result<Option<Facts>, Error> {
        if let Some(path) = &self.from {
            return Ok(Some(gather::recorded(&Snapshot::open(path)?.host(), Expected::default(), catalog)));
        }
        if !self.here {
            return Ok(None);
        }
        let (_, facts) = super::read_machine(catalog, None, None, Expected::default(), interrupts)?;
        here::add(&facts, files)?;
        here::names(files);
        Ok(Some(facts))
    }

    fn report(&self, linted: &Linted, ignored: &[IgnoredEntry]) -> Result<String, Error> {
        let Linted { findings, coverage, names, .. } = linted;
        let document = || json::report(findings, names, coverage, ignored.to_vec());
        let json = || diagnostic::render::json::text(&document());
        let text = || lint_files::text(linted, ignored, Layout::of_screen(false));
        self.format.write(|| report::report(findings, coverage).without(ignored.to_vec()), text, json)
    }
}

/// Shown while the rules run.
fn checking(files: &[File]) -> Waiting {
    Waiting::new(format!("checking {}", report::plural(files.len(), "file")))
}

/// `complete`: whether rules checked every named file.
fn exit_code(fail_on: FailOn, counts: Counts, complete: bool) -> u8 {
    match fail_on.any(counts.error, counts.warning, counts.note) {
        true => 1,
        false if complete || fail_on == FailOn::Never => 0,
        false => 3,
    }
}
