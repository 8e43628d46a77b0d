//! The wishes of a request, sorted by what they are about.

use std::collections::BTreeMap;

use pep440_rs::Version;

use super::python::{Python, series};
use super::request::{Base, Gpu, Prefer, Request, Versions, Want};
use catalog::Catalog;
use facts::driver::DriverVersion;

/// What the constraints look at.
#[derive(Debug)]
pub struct Wanted<'r> {
    /// What the parts are compared with.
    pub catalog: &'static Catalog,
    /// CUDA versions; every one of them must hold, as for all lists here.
    pub cuda: Vec<&'r Versions>,
    /// Pythons.
    pub python: Vec<&'r Versions>,
    /// torch.
    pub torch: Vec<&'r Versions>,
    /// Packages, by name.
    pub packages: BTreeMap<&'r str, Vec<&'r Versions>>,
    /// GPUs.
    pub gpus: Vec<&'r Gpu>,
    /// Drivers of the nodes.
    pub drivers: Vec<DriverVersion>,
    /// Systems.
    pub systems: Vec<&'r str>,
    /// The processor; x86-64 where none was asked for.
    pub architectures: Vec<&'r str>,
    /// Base images.
    pub bases: Vec<&'r Base>,
    /// Whether CUDA code is compiled in the image.
    pub compile: bool,
    /// Whether DeepSpeed was asked for.
    pub deepspeed: bool,
    /// What is preferred.
    pub prefer: Prefer,
    /// What is installed.
    pub installed: BTreeMap<&'r str, Version>,
    /// The day of the question.
    pub today: &'r str,
}

impl<'r> Wanted<'r> {
    /// Whether this Python is the installed one.
    pub fn is_installed(&self, python: &Python) -> bool {
        self.installed.get("python").is_some_and(|own| series(own) == series(&python.version))
    }

    /// Sorts the wishes of a request.
    pub fn of(catalog: &'static Catalog, request: &'r Request) -> Wanted<'r> {
        let parse = |(name, text): (&'r String, &'r String)| Some((name.as_str(), text.parse().ok()?));
        let mut wanted = Wanted {
            catalog,
            cuda: vec![],
            python: vec![],
            torch: vec![],
            packages: BTreeMap::new(),
            gpus: vec![],
            drivers: vec![],
            systems: vec![],
            architectures: vec![],
            bases: vec![],
            compile: false,
            deepspeed: false,
            prefer: request.prefer,
            installed: request.installed.iter().filter_map(parse).collect(),
            today: &request.today,
        };
        for wish in &request.wishes {
            match &wish.want {
                Want::Cuda(versions) => wanted.cuda.push(versions),
                Want::Python(versions) => wanted.python.push(versions),
                Want::Torch(versions) => wanted.torch.push(versions),
                Want::Package(name, versions) => wanted.packages.entry(name).or_default().push(versions),
                Want::Gpu(gpu) => wanted.gpus.push(gpu),
                Want::Driver(driver) => wanted.drivers.push(*driver),
                Want::System(system) => wanted.systems.push(system),
                Want::Architecture(architecture) => wanted.architectures.push(architecture),
                Want::Base(base) => wanted.bases.push(base),
                Want::Compile => wanted.compile = true,
            }
        }
        wanted.deepspeed = wanted.packages.contains_key("deepspeed");
        wanted
    }

    /// The oldest driver among the nodes.
    pub fn oldest_driver(&self) -> Option<DriverVersion> {
        self.drivers.iter().min().copied()
    }

    /// The processor: `x86_64` where none was asked for.
    pub fn architecture(&self) -> &'r str {
        self.architectures.first().copied().unwrap_or("x86_64")
    }

    /// Whether something is compiled with nvcc: what the user compiles, or DeepSpeed's operators when they
    /// are first used.
    pub fn uses_nvcc(&self) -> bool {
        self.compile || self.deepspeed
    }

    /// What is wished of a package; empty where it was not asked for or in any version.
    pub fn package(&self, name: &str) -> &[&'r Versions] {
        self.packages.get(name).map_or(&[], Vec::as_slice)
    }
}
