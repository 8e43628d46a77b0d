//! `envdoc resolve`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;

use crate::error::{Error, Kind};
use crate::facts::{Expected, gather};
use crate::host::snapshot::Snapshot;
use crate::report::resolve::Report;
use crate::report::{self, json, screen};
use crate::resolve::answer::Answer;
use crate::resolve::machine::{self, Machine, Questions};
use crate::resolve::parse::{self, Mistake, Typed};
use crate::resolve::request::{Base, Prefer, Request, Want, Wish};
use crate::resolve::world::World;

/// Find versions of driver, CUDA, Python, torch and the packages around it that go together, and say why.
///
/// Versions are the beginning of a version (12.1) or a range ('>=2.4,<2.7'). What is not named is chosen. Nothing is asked of the
/// network. Exit code 0: there is a stack; 1: there is none, the conflict and what comes nearest are shown; 2: envdoc could not do
/// its work.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// CUDA of the torch build and of the image: 12.1.
    #[arg(long, value_name = "V")]
    cuda: Option<String>,

    /// Python: 3.12.
    #[arg(long, value_name = "V")]
    python: Option<String>,

    /// torch: 2.5, '>=2.4,<2.7', 2.6.0+cu124.
    #[arg(long, value_name = "V")]
    torch: Option<String>,

    /// DeepSpeed, in any version unless one is named.
    #[arg(long, value_name = "V", num_args = 0..=1, default_missing_value = "")]
    deepspeed: Option<String>,

    /// More packages, with specifiers where the version matters: 'trl>=0.9,<1.0,numpy<2'.
    #[arg(long, value_name = "NAME[SPEC],…")]
    with: Vec<String>,

    /// Packages that are often wanted together: torch, deepspeed, rl, llm-finetune.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    preset: Vec<String>,

    /// GPUs that it must run on: h100, 'RTX 4090', sm_86, 8.6; several with commas.
    #[arg(long, value_name = "GPU,…")]
    gpu: Vec<String>,

    /// The driver that it must run on: 550.54.14. A branch alone (550) is read as its oldest release.
    #[arg(long, value_name = "V")]
    driver: Option<String>,

    /// Recorded machines (made with `envdoc snapshot`) that it must run on: their oldest driver and all their GPUs count.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from: Vec<PathBuf>,

    /// This machine is one that it must run on.
    #[arg(long)]
    here: bool,

    /// Seconds that looking at this machine may take in all.
    #[arg(long, value_name = "SECONDS", default_value = "2", requires = "here", value_parser = super::seconds)]
    timeout: Duration,

    /// System of the image: ubuntu22.04, 'Ubuntu 22.04', jammy, debian12.
    #[arg(long, value_name = "SYSTEM")]
    os: Option<String>,

    /// Processor: x86_64 (amd64) or aarch64 (arm64); x86_64 unless a machine says otherwise.
    #[arg(long, value_name = "ARCH")]
    arch: Option<String>,

    /// Base image: a repository (nvidia/cuda, python, pytorch, ngc), a whole reference, or none.
    #[arg(long, value_name = "IMAGE")]
    base: Option<String>,

    /// CUDA code will be compiled in the image: it needs nvcc and a compiler that nvcc accepts.
    #[arg(long)]
    compile: bool,

    /// What comes first among the stacks that meet all wishes.
    #[arg(long, value_enum, default_value_t = Preference::Newest)]
    prefer: Preference,

    /// How the answer is written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Show every alternative that was not taken, all reasons and their sources.
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Preference {
    /// The newest torch.
    Newest,
    /// The newest torch that is not the first release of the newest series.
    Stable,
    /// What is installed on the machine already, as far as it may stay.
    Installed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For machines; stable keys, schema in docs/schemas/resolve.json.
    Json,
}

impl From<Mistake> for Error {
    fn from(mistake: Mistake) -> Error {
        Error { kind: Kind::Usage, message: mistake.says, hints: mistake.hints }
    }
}

impl Args {
    /// Resolves and reports.
    pub fn run(self) -> Result<u8, Error> {
        let world = World::get();
        let mut understood = parse::wishes(world, &self.typed())?;
        let machines = self.machines(&understood.wishes)?;
        let mut notes = Vec::new();
        let mut installed = BTreeMap::new();
        for machine in machines {
            understood.wishes.extend(machine.wishes);
            understood.warnings.extend(machine.warnings);
            notes.extend(machine.notes);
            for (name, version) in machine.installed {
                installed.entry(name).or_insert(version);
            }
        }
        let request = Request {
            wishes: understood.wishes,
            installed,
            prefer: match self.prefer {
                Preference::Newest => Prefer::Newest,
                Preference::Stable => Prefer::Stable,
                Preference::Installed => Prefer::Installed,
            },
            today: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            ..Request::default()
        };
        let answer = crate::resolve::resolve(world, &request);
        let report = Report {
            wishes: &request.wishes,
            answer: &answer,
            warnings: &understood.warnings,
            notes: &notes,
        };
        screen::print(&self.report(&report)?)?;
        Ok(u8::from(matches!(answer, Answer::None(_))))
    }

    /// What the machines ask for that were named.
    fn machines(&self, wishes: &[Wish]) -> Result<Vec<Machine>, Error> {
        let questions = Questions {
            bare: wishes.iter().any(|wish| matches!(wish.want, Want::Base(Base::None))),
            installed: self.prefer == Preference::Installed,
        };
        if questions.installed && self.from.is_empty() && !self.here {
            return Err(Error::new(Kind::Usage, "--prefer installed: on which machine?")
                .hint("add --here, or --from with a snapshot of the machine"));
        }
        let mut machines = Vec::new();
        for file in &self.from {
            let facts = gather::recorded(&Snapshot::open(file)?.host(), Expected::default());
            machines.push(machine::of(&self.name(file), &facts, questions));
        }
        if self.here {
            let (_, facts) = super::look(None, self.timeout, Expected::default())?;
            machines.push(machine::of("this machine", &facts, questions));
        }
        Ok(machines)
    }

    /// The file's name, with its path where two have one name.
    fn name(&self, file: &Path) -> String {
        let name = |file: &Path| file.file_name().map(|name| name.to_string_lossy().into_owned());
        let alone = self.from.iter().filter(|other| name(other) == name(file)).count() == 1;
        name(file).filter(|_| alone).unwrap_or_else(|| file.display().to_string())
    }

    fn typed(&self) -> Typed {
        Typed {
            cuda: self.cuda.clone(),
            python: self.python.clone(),
            torch: self.torch.clone(),
            deepspeed: self.deepspeed.clone(),
            with: self.with.clone(),
            preset: self.preset.clone(),
            gpu: self.gpu.clone(),
            driver: self.driver.clone(),
            os: self.os.clone(),
            arch: self.arch.clone(),
            base: self.base.clone(),
            compile: self.compile,
        }
    }

    fn report(&self, report: &Report) -> Result<String, Error> {
        match self.format {
            Format::Text => {
                let layout = report::text::Layout {
                    width: screen::width(),
                    unicode: screen::unicode(),
                    verbose: self.verbose,
                    root: false,
                };
                Ok(report::resolve::text::report(report, layout))
            }
            Format::Json => json::text(&report::resolve::json::report(report)),
        }
    }
}
