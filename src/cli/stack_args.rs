//! The options of `resolve`, `render` and `build` that describe a stack.

use catalog::Catalog;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;

use super::headings::{IMAGE, MACHINES, STACK};

use checks::{CHECKS, Verdict, judge_one};
use diagnostic::error::{Error, Kind};
use facts::{Expected, Facts, gather};
use host::snapshot::Snapshot;
use resolve::answer::Warning;
use resolve::machine::{self, Machine, Questions};
use resolve::parse::{self, Typed, Understood};
use resolve::request::{Base, Prefer, Request, Want, Wish};
use resolve::world::World;

/// The requirements of a stack.
#[derive(Debug, Clone, clap::Args)]
pub struct StackArgs {
    /// CUDA version of the torch build and of the image: 12.4.
    #[arg(long, value_name = "VERSION", help_heading = STACK)]
    pub cuda: Option<String>,

    /// Python version: 3.12.
    #[arg(long, value_name = "VERSION", help_heading = STACK)]
    pub python: Option<String>,

    /// torch version: 2.5, '>=2.4,<2.7', 2.6.0+cu124.
    #[arg(long, value_name = "VERSION", help_heading = STACK)]
    pub torch: Option<String>,

    /// Add DeepSpeed [default: any version].
    #[arg(long, value_name = "VERSION", num_args = 0..=1, help_heading = STACK)]
    pub deepspeed: Option<Option<String>>,

    /// More packages, with version ranges: 'trl>=0.9,<1.0'.
    #[arg(long, value_name = "NAME[SPEC],…", help_heading = STACK)]
    pub with: Vec<String>,

    /// Package sets: torch, train, finetune, pretrain, rl, serve.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = STACK,
        hide_short_help = true
    )]
    pub preset: Vec<String>,

    /// Ranking of compatible stacks.
    #[arg(
        long,
        value_enum,
        default_value_t = Preference::Newest,
        help_heading = STACK,
        hide_short_help = true
    )]
    pub prefer: Preference,

    /// GPUs to support: h100,'RTX 4090',sm_86,8.6.
    #[arg(long, value_name = "GPU,…", help_heading = MACHINES)]
    pub gpu: Vec<String>,

    /// Driver to support: 550.54.14; a branch (550) means its oldest release.
    #[arg(long, value_name = "VERSION", help_heading = MACHINES)]
    pub driver: Option<String>,

    /// Recorded machine to support (made with `envdoc snapshot`); repeatable.
    ///
    /// With several, the oldest driver and all GPUs count.
    #[arg(long, value_name = "FILE", help_heading = MACHINES)]
    pub from: Vec<PathBuf>,

    /// Support this machine.
    #[arg(long, help_heading = MACHINES)]
    pub here: bool,

    /// Timeout for reading this machine, in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "2",
        requires = "here",
        value_parser = super::values::seconds,
        help_heading = MACHINES,
        hide_short_help = true
    )]
    pub timeout: Duration,

    /// CPU architecture: x86_64 (amd64) or aarch64 (arm64) [default: that of the machines, else x86_64].
    #[arg(long, value_name = "ARCH", help_heading = MACHINES, hide_short_help = true)]
    pub arch: Option<String>,

    /// Base image: nvidia/cuda, python, pytorch, ngc, a full reference, or none.
    #[arg(long, value_name = "IMAGE", help_heading = IMAGE)]
    pub base: Option<String>,

    /// Operating system of the image: ubuntu22.04, 'Ubuntu 22.04', jammy, debian12.
    #[arg(long, value_name = "SYSTEM", help_heading = IMAGE, hide_short_help = true)]
    pub os: Option<String>,

    /// Include nvcc and a compiler that nvcc supports, to compile CUDA code in the container.
    #[arg(long, help_heading = IMAGE, hide_short_help = true)]
    pub compile: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Preference {
    /// The newest torch.
    Newest,
    /// The newest torch that is not the first release of the newest series.
    Stable,
    /// What is already installed on the machine, where possible.
    Installed,
}

impl StackArgs {
    /// The request of the options and of the machines they name.
    pub fn asked(&self, world: &World) -> Result<Asked, Error> {
        let understood = parse::wishes(world, &self.typed())?;
        self.with_machines(world.catalog, understood)
    }

    /// Adds the requirements of the machines.
    pub fn with_machines(&self, catalog: &'static Catalog, understood: Understood) -> Result<Asked, Error> {
        let machines = self.machines(catalog, &understood.wishes)?;
        let mut asked = Asked {
            request: Request {
                wishes: understood.wishes,
                prefer: match self.prefer {
                    Preference::Newest => Prefer::Newest,
                    Preference::Stable => Prefer::Stable,
                    Preference::Installed => Prefer::Installed,
                },
                today: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
                ..Request::default()
            },
            warnings: understood.warnings,
            notes: Vec::new(),
        };
        for machine in machines {
            asked.request.wishes.extend(machine.wishes);
            asked.warnings.extend(machine.warnings);
            asked.notes.extend(machine.notes);
            for (name, version) in machine.installed {
                asked.request.installed.entry(name).or_insert(version);
            }
        }
        Ok(asked)
    }

    /// The requirements of the named machines.
    fn machines(&self, catalog: &'static Catalog, wishes: &[Wish]) -> Result<Vec<Machine>, Error> {
        let questions = Questions {
            bare: wishes.iter().any(|wish| matches!(wish.want, Want::Base(Base::None))),
            installed: self.prefer == Preference::Installed,
        };
        if questions.installed && self.from.is_empty() && !self.here {
            return Err(Error::new(Kind::Usage, "--prefer installed requires --here or --from")
                .hint("--from takes a snapshot of the machine"));
        }
        let mut machines = Vec::new();
        for file in &self.from {
            let facts = gather::recorded(&Snapshot::open(file)?.host(), Expected::default(), catalog);
            machines.push(asked_of(&self.name(file), &facts, questions));
        }
        if self.here {
            let (_, facts) = super::look(catalog, None, self.timeout, Expected::default())?;
            machines.push(asked_of("this machine", &facts, questions));
        }
        Ok(machines)
    }

    /// The file name; with its path if two files have the same name.
    fn name(&self, file: &Path) -> String {
        let name = |file: &Path| file.file_name().map(|name| name.to_string_lossy().into_owned());
        let alone = self.from.iter().filter(|other| name(other) == name(file)).count() == 1;
        name(file).filter(|_| alone).unwrap_or_else(|| file.display().to_string())
    }

    pub fn typed(&self) -> Typed {
        Typed {
            cuda: self.cuda.clone(),
            python: self.python.clone(),
            torch: self.torch.clone(),
            deepspeed: self.deepspeed.clone().map(Option::unwrap_or_default),
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
}

/// Findings of `envdoc check` that matter to an image for the machine.
const CHECKED: &[&str] =
    &["toolkit-vulnerable", "docker-vulnerable", "docker-end-of-life", "driver-branch-end-of-life"];

fn asked_of(name: &str, facts: &Facts, questions: Questions) -> Machine {
    let mut machine = machine::of(name, facts, questions);
    for check in CHECKS.iter().filter(|check| CHECKED.contains(&check.id)) {
        if let Verdict::Found(found) = judge_one(check, facts) {
            let says = format!("{name}: {}", found.message);
            machine.warnings.push(Warning { id: check.id.into(), says });
        }
    }
    machine
}

/// The requirements of the options and the machines.
#[derive(Debug)]
pub struct Asked {
    pub request: Request,
    pub warnings: Vec<Warning>,
    /// Facts that add no requirement.
    pub notes: Vec<String>,
}
