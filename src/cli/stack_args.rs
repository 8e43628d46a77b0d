//! The options of `resolve`, `render` and `build` that describe a stack.

use catalog::Catalog;
use checks::IMAGE_CHECKS;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use super::headings::{IMAGE, MACHINES, STACK};
use super::interrupts::Interrupts;
use ::build::{Machines, ReadMachine, Requirements};
use ::image::request::{Compile, ImageRequest};
use diagnostic::error::Error;
use facts::{Expected, Facts};
use resolve::parse::{self, StackOptions};
use resolve::request::Prefer;
use resolve::universe::Universe;

/// The requirements of a stack.
#[derive(Debug, Clone, clap::Args)]
pub struct StackArgs {
    /// CUDA of the torch build: 12.4, or cpu for none.
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

    /// More packages: numpy, 'trl>=0.9,<1.0'.
    ///
    /// Packages that the catalog does not have, and extras, are passed to pip and not checked.
    #[arg(
        long,
        value_name = "NAME[SPEC],…",
        value_parser = super::values::packages,
        help_heading = STACK
    )]
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

    /// Driver to support: 550.54.14, or branch 550.
    ///
    /// A branch stands for its oldest release.
    #[arg(long, value_name = "VERSION", help_heading = MACHINES)]
    pub driver: Option<String>,

    /// Recorded machine to support (made with `envdoc snapshot`); repeatable.
    ///
    /// With several machines, the stack must support the oldest driver and all GPUs.
    #[arg(long, value_name = "FILE", help_heading = MACHINES, hide_short_help = true)]
    pub from: Vec<PathBuf>,

    /// Support this machine.
    #[arg(long, help_heading = MACHINES)]
    pub here: bool,

    /// Timeout for reading this machine, in seconds [default: 2, on a busy machine up to 8].
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "here",
        value_parser = super::values::seconds,
        help_heading = MACHINES,
        hide_short_help = true
    )]
    pub timeout: Option<Duration>,

    /// CPU architecture: x86_64 (amd64) or aarch64 (arm64) [default: that of the machines, else x86_64].
    #[arg(long, value_name = "ARCH", help_heading = MACHINES, hide_short_help = true)]
    pub arch: Option<String>,

    /// Base image: nvidia/cuda, python, pytorch, ngc.
    ///
    /// Also a full reference, or none.
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

impl Preference {
    fn ranking(self) -> Prefer {
        match self {
            Preference::Newest => Prefer::Newest,
            Preference::Stable => Prefer::Stable,
            Preference::Installed => Prefer::Installed,
        }
    }
}

impl StackArgs {
    /// The requirements of the options and of the machines that they name.
    pub(super) fn requirements(
        &self,
        universe: &Universe,
        read_here: ReadMachine<'_>,
    ) -> Result<Requirements, Error> {
        let parsed = parse::requirements(universe, &self.stack_options())?;
        self.machines().requirements(universe.catalog, parsed, &today(), read_here)
    }

    /// The machines that the stack must run on.
    pub(super) fn machines(&self) -> Machines {
        Machines {
            snapshots: self.from.clone(),
            here: self.here,
            checks: IMAGE_CHECKS,
            prefer: self.prefer.ranking(),
        }
    }

    /// Reads this machine.
    pub(super) fn read_here(
        &self,
        catalog: &'static Catalog,
        interrupts: &Interrupts,
    ) -> Result<Facts, Error> {
        let (_, facts) = super::read_machine(catalog, None, self.timeout, Expected::default(), interrupts)?;
        Ok(facts)
    }

    /// The options as a request file would have them.
    pub(super) fn image_request(&self) -> ImageRequest {
        let packages = self.with.iter().flat_map(|text| parse::split_requirements(text));
        ImageRequest {
            cuda: self.cuda.clone(),
            python: self.python.clone(),
            torch: self.torch.clone(),
            deepspeed: self.deepspeed.clone().map(Option::unwrap_or_default),
            presets: self.preset.clone(),
            packages: packages.map(str::to_owned).collect(),
            base: self.base.clone(),
            os: self.os.clone(),
            architectures: self.arch.iter().cloned().collect(),
            gpus: self.gpu.clone(),
            driver: self.driver.clone(),
            compile: self.compile.then_some(Compile::Run),
            ..ImageRequest::default()
        }
    }

    /// The options that describe the stack, as typed.
    pub fn stack_options(&self) -> StackOptions {
        StackOptions {
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

/// The day of today: `2026-11-21`.
pub(super) fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}
