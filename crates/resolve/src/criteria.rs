//! What candidates are judged by: the requirements of a request, sorted by kind.

use std::collections::BTreeMap;

use pep440_rs::Version;

use super::markers::Markers;
use super::near::Near;
use super::python::{Python, series};
use super::request::{Base, Gpu, Prefer, Request, RequirementKind, Versions};
use catalog::Catalog;
use facts::driver::DriverVersion;

/// The requirements of a request by kind, and its preferences: what the constraints judge candidates by.
#[derive(Debug)]
pub struct Criteria<'r> {
    /// What the parts are compared with.
    pub catalog: &'static Catalog,
    /// CUDA versions; every one of them must hold, as for all lists here.
    pub cuda: Vec<&'r Versions>,
    /// Whether a CPU build of torch is required.
    pub cpu: bool,
    pub python: Vec<&'r Versions>,
    pub torch: Vec<&'r Versions>,
    /// Packages, by name.
    pub packages: BTreeMap<&'r str, Vec<&'r Versions>>,
    /// What pip installs besides, without a check.
    pub unchecked: Vec<&'r str>,
    pub gpus: Vec<&'r Gpu>,
    pub drivers: Vec<DriverVersion>,
    pub systems: Vec<&'r str>,
    /// CPU architectures that are required; see [`Criteria::architecture`].
    pub architectures: Vec<&'r str>,
    pub bases: Vec<&'r Base>,
    /// Whether CUDA code is compiled in the image.
    pub compile: bool,
    /// Whether DeepSpeed is required.
    pub deepspeed: bool,
    pub prefer: Prefer,
    pub installed: BTreeMap<&'r str, Version>,
    /// Versions to stay near to, which comes before all preferences.
    pub(crate) near: Option<&'r Near>,
    /// The day of the question.
    pub today: &'r str,
}

impl<'r> Criteria<'r> {
    /// Whether this Python is the installed one.
    pub fn is_installed(&self, python: &Python) -> bool {
        self.installed.get("python").is_some_and(|own| series(own) == series(&python.version))
    }

    /// Sorts the requirements of a request.
    pub fn from_request(catalog: &'static Catalog, request: &'r Request) -> Criteria<'r> {
        let mut criteria = Criteria::without_requirements(catalog, request);
        for requirement in &request.requirements {
            match &requirement.kind {
                RequirementKind::Cuda(versions) => criteria.cuda.push(versions),
                RequirementKind::Cpu => {}
                RequirementKind::Python(versions) => criteria.python.push(versions),
                RequirementKind::Torch(versions) => criteria.torch.push(versions),
                RequirementKind::Package(name, versions) => {
                    criteria.packages.entry(name).or_default().push(versions)
                }
                RequirementKind::Unchecked(text) => criteria.unchecked.push(text),
                RequirementKind::Gpu(gpu) => criteria.gpus.push(gpu),
                RequirementKind::Driver(driver) => criteria.drivers.push(*driver),
                RequirementKind::System(system) => criteria.systems.push(system),
                RequirementKind::Architecture(architecture) => criteria.architectures.push(architecture),
                RequirementKind::Base(base) => criteria.bases.push(base),
                RequirementKind::Compile => criteria.compile = true,
            }
        }
        criteria.deepspeed = criteria.packages.contains_key("deepspeed");
        criteria
    }

    /// The preferences of a request.
    fn without_requirements(catalog: &'static Catalog, request: &'r Request) -> Criteria<'r> {
        let parse = |(name, text): (&'r String, &'r String)| Some((name.as_str(), text.parse().ok()?));
        Criteria {
            catalog,
            cuda: vec![],
            cpu: request.requirements.iter().any(|requirement| requirement.kind.is_cpu(catalog)),
            python: vec![],
            torch: vec![],
            packages: BTreeMap::new(),
            unchecked: vec![],
            gpus: vec![],
            drivers: vec![],
            systems: vec![],
            architectures: vec![],
            bases: vec![],
            compile: false,
            deepspeed: false,
            prefer: request.prefer,
            installed: request.installed.iter().filter_map(parse).collect(),
            near: None,
            today: &request.today,
        }
    }

    /// The oldest driver among the nodes.
    pub fn oldest_driver(&self) -> Option<DriverVersion> {
        self.drivers.iter().min().copied()
    }

    /// The CPU architecture: the required one, else that of a GPU that comes with its processor, else
    /// `x86_64`.
    pub fn architecture(&self) -> &'r str {
        let of_gpu = || self.gpu_with_processor().map(|(_, processor)| processor);
        self.architectures.first().copied().or_else(of_gpu).unwrap_or("x86_64")
    }

    /// What requirements of packages depend on, with a Python.
    pub fn markers<'p>(&'p self, python: &'p Python) -> Markers<'p> {
        Markers { python: &python.text, architecture: self.architecture() }
    }

    /// The first GPU that comes with its processor, and that processor.
    pub fn gpu_with_processor(&self) -> Option<(&'r Gpu, &'r str)> {
        self.gpus.iter().find_map(|gpu| Some((*gpu, gpu.processor.as_deref()?)))
    }

    /// Whether something is compiled with nvcc: what the user compiles, or DeepSpeed's operators when they
    /// are first used. Without CUDA nothing is.
    pub fn uses_nvcc(&self) -> bool {
        !self.cpu && (self.compile || self.deepspeed)
    }

    /// The versions required of a package; empty if it was not requested or any version will do.
    pub fn package(&self, name: &str) -> &[&'r Versions] {
        self.packages.get(name).map_or(&[], Vec::as_slice)
    }
}
