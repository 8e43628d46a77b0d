//! A chosen stack, written out.

use std::collections::BTreeMap;

use super::constraints::python_wheel::left_out;
use super::criteria::Criteria;
use super::host_driver::HostDriver;
use super::outcome::{NO_CUDA, PythonFrom, Stack};
use super::search::Choice;
use super::universe::{Build, Cuda, Release, Target};
use super::verdict::Partner;
use catalog::images::Reference;

pub(crate) fn stack(criteria: &Criteria, choice: &Choice) -> Stack {
    let (release, build) = (choice.environment.build.release, choice.environment.build.build);
    let of = |name: &str| choice.package(name).map(|release| release.text.clone());
    let packages: BTreeMap<String, String> = installs(criteria, choice)
        .filter(|release| release.package != "deepspeed")
        .map(|release| (release.package.to_owned(), release.text.clone()))
        .collect();
    let partner = |partner: Partner, version: Option<&String>| {
        version
            .filter(|_| !left_out(criteria, choice.environment.build, choice.environment.python, partner))
            .cloned()
    };
    let driver = HostDriver::of(criteria, choice.environment.build);
    let mut stack = Stack {
        python: choice.environment.python.text.clone(),
        torch: release.version.clone(),
        torch_build: build.build.clone(),
        torchvision: partner(Partner::Torchvision, release.torchvision.as_ref()),
        torchaudio: partner(Partner::Torchaudio, release.torchaudio_of(&build.build)),
        triton: triton(criteria, choice),
        cuda: choice.environment.build.cuda().map_or_else(|| NO_CUDA.to_owned(), Cuda::text),
        cudnn: build.cudnn.clone(),
        nccl: build.nccl.clone(),
        deepspeed: of("deepspeed"),
        packages,
        unchecked: criteria.unchecked.iter().map(|text| (*text).to_owned()).collect(),
        base_image: choice.environment.base.image.map(Reference::from),
        system: choice.environment.base.system.map(|system| system.id.clone()),
        architecture: criteria.architecture().to_owned(),
        index_url: index_url(criteria, choice.environment.build),
        driver_min: driver.min,
        driver_max_branch: driver.max_branch,
        gpu_archs: gpu_archs(criteria, choice.environment.build),
        python_from: python_from(criteria, choice),
        install: Vec::new(),
    };
    stack.install = super::install::commands(criteria.catalog, &stack);
    stack
}

fn gpu_archs(criteria: &Criteria, build: &Build) -> Option<Vec<String>> {
    match build.target {
        Target::Cuda(_) => build.build.architectures_for(criteria.architecture()).cloned(),
        Target::Cpu => Some(Vec::new()),
    }
}

/// The packages that are installed. In an image that brings its own torch what the others require is there,
/// or pip finds a release that goes with what is there: only what was asked for is named.
pub(crate) fn installs<'u, 's>(
    criteria: &'s Criteria,
    choice: &'s Choice<'u>,
) -> impl Iterator<Item = &'u Release> + 's {
    let from_image = choice.environment.build.image.is_some();
    let named = move |release: &&&Release| !from_image || criteria.packages.contains_key(release.package);
    choice.packages.iter().filter(named).copied()
}

/// The triton of PyPI's build; which one the wheels on other indexes require is not in the catalog.
fn triton(criteria: &Criteria, choice: &Choice) -> Option<String> {
    let (build, python) = (choice.environment.build, choice.environment.python);
    let required = build.on_pypi(criteria.architecture()) && build.requires_triton(python);
    build.release.triton.clone().filter(|_| required)
}

fn index_url(criteria: &Criteria, build: &Build) -> Option<String> {
    (!build.on_pypi(criteria.architecture()) && build.image.is_none())
        .then(|| criteria.catalog.torch().index_url(build.build))
}

/// Where the Python comes from: the one that is there already; else what the system brings, then uv, whose
/// Pythons run on every glibc system.
pub(crate) fn python_from(criteria: &Criteria, choice: &Choice) -> PythonFrom {
    let (python, base) = (choice.environment.python, choice.environment.base);
    if let Some(image) = base.image {
        match &image.python {
            Some(own) if *own == python.text => return PythonFrom::Image,
            // Its torch is for a Python that nobody knows, and whose pip comes first: another one has to be
            // put next to it.
            None if image.torch.is_some() => return PythonFrom::Uv,
            _ => {}
        }
    }
    if base.image.is_none() && criteria.is_installed(python) {
        return PythonFrom::Machine;
    }
    let Some(system) = base.system else { return PythonFrom::Machine };
    let source = criteria.catalog.systems().python_source(&system.id, &python.text);
    if base.provides_python(criteria.catalog, python) {
        return if system.family.has_apt() { PythonFrom::Apt } else { PythonFrom::Dnf };
    }
    match source {
        Some(source) if source.uv == Some(true) => PythonFrom::Uv,
        Some(source) if source.deadsnakes == Some(true) => PythonFrom::Deadsnakes,
        _ => PythonFrom::Uv,
    }
}
