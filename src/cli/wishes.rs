//! The wishes of `resolve`, `render` and `build`: one set of options.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;

use checks::{CHECKS, Verdict, judge_one};
use diagnostic::error::{Error, Kind};
use facts::{Expected, Facts, gather};
use host::snapshot::Snapshot;
use resolve::answer::Warning;
use resolve::machine::{self, Machine, Questions};
use resolve::parse::{self, Typed, Understood};
use resolve::request::{Base, Prefer, Request, Want, Wish};
use resolve::world::World;

/// What the stack must be.
#[derive(Debug, Clone, clap::Args)]
pub struct Wishes {
    /// CUDA of the torch build and of the image: 12.1.
    #[arg(long, value_name = "V")]
    pub cuda: Option<String>,

    /// Python: 3.12.
    #[arg(long, value_name = "V")]
    pub python: Option<String>,

    /// torch: 2.5, '>=2.4,<2.7', 2.6.0+cu124.
    #[arg(long, value_name = "V")]
    pub torch: Option<String>,

    /// DeepSpeed, in any version unless one is named.
    #[arg(long, value_name = "V", num_args = 0..=1, default_missing_value = "")]
    pub deepspeed: Option<String>,

    /// More packages, with specifiers where the version matters: 'trl>=0.9,<1.0,numpy<2'.
    #[arg(long, value_name = "NAME[SPEC],…")]
    pub with: Vec<String>,

    /// Packages that are often wanted together: torch, train, finetune, pretrain, rl, serve.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub preset: Vec<String>,

    /// GPUs that it must run on: h100, 'RTX 4090', sm_86, 8.6; several with commas.
    #[arg(long, value_name = "GPU,…")]
    pub gpu: Vec<String>,

    /// The driver that it must run on: 550.54.14. A branch alone (550) is read as its oldest release.
    #[arg(long, value_name = "V")]
    pub driver: Option<String>,

    /// Recorded machines (made with `envdoc snapshot`) that it must run on, one or several: their oldest driver and all their GPUs count.
    #[arg(long, value_name = "FILE")]
    pub from: Vec<PathBuf>,

    /// This machine is one that it must run on.
    #[arg(long)]
    pub here: bool,

    /// Seconds that looking at this machine may take in all.
    #[arg(long, value_name = "SECONDS", default_value = "2", requires = "here", value_parser = super::seconds)]
    pub timeout: Duration,

    /// System of the image: ubuntu22.04, 'Ubuntu 22.04', jammy, debian12.
    #[arg(long, value_name = "SYSTEM")]
    pub os: Option<String>,

    /// Processor: x86_64 (amd64) or aarch64 (arm64); x86_64 unless a machine says otherwise.
    #[arg(long, value_name = "ARCH")]
    pub arch: Option<String>,

    /// Base image: a repository (nvidia/cuda, python, pytorch, ngc), a whole reference, or none.
    #[arg(long, value_name = "IMAGE")]
    pub base: Option<String>,

    /// CUDA code will be compiled in the image: it needs nvcc and a compiler that nvcc accepts.
    #[arg(long)]
    pub compile: bool,

    /// What comes first among the stacks that meet all wishes.
    #[arg(long, value_enum, default_value_t = Preference::Newest)]
    pub prefer: Preference,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Preference {
    /// The newest torch.
    Newest,
    /// The newest torch that is not the first release of the newest series.
    Stable,
    /// What is installed on the machine already, as far as it may stay.
    Installed,
}

impl Wishes {
    /// The request in the options, of the machines that they name too.
    pub fn asked(&self, world: &World) -> Result<Asked, Error> {
        let understood = parse::wishes(world, &self.typed())?;
        self.with_machines(understood)
    }

    /// What was understood, and what the machines ask for.
    pub fn with_machines(&self, understood: Understood) -> Result<Asked, Error> {
        let machines = self.machines(&understood.wishes)?;
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
            machines.push(asked_of(&self.name(file), &facts, questions));
        }
        if self.here {
            let (_, facts) = super::look(None, self.timeout, Expected::default())?;
            machines.push(asked_of("this machine", &facts, questions));
        }
        Ok(machines)
    }

    /// The file's name, with its path where two have one name.
    fn name(&self, file: &Path) -> String {
        let name = |file: &Path| file.file_name().map(|name| name.to_string_lossy().into_owned());
        let alone = self.from.iter().filter(|other| name(other) == name(file)).count() == 1;
        name(file).filter(|_| alone).unwrap_or_else(|| file.display().to_string())
    }

    /// The options, as typed.
    pub fn typed(&self) -> Typed {
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
}

/// Findings of `envdoc check` that whoever makes an image for the machine should hear of.
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

/// What the options and the machines ask for.
#[derive(Debug)]
pub struct Asked {
    /// The request.
    pub request: Request,
    /// What is to know beside the stack.
    pub warnings: Vec<Warning>,
    /// What is to know and asks for nothing.
    pub notes: Vec<String>,
}
