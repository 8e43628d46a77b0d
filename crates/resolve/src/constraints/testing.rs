//! Parts of the real catalog for the tests of constraints.

use crate::constraint::{Constraint, Environment, Judge};
use crate::criteria::Criteria;
use crate::parameter::Source;
use crate::request::{Gpu, Request, Requirement, RequirementKind};
use crate::testing::universe;
use crate::universe::{Base, Build, Python, Release};
use crate::verdict::Judgement;
use catalog::testing::catalog;

fn requirement(kind: RequirementKind) -> Requirement {
    Requirement { source: Source::Stated(format!("{kind:?}")), kind }
}

/// A row that is in no catalog: rows live as long as the program.
pub(crate) fn row<T>(row: T) -> &'static T {
    Box::leak(Box::new(row))
}

/// `--driver 550.54.14`.
pub(crate) fn driver(version: &str) -> Requirement {
    requirement(RequirementKind::Driver(version.parse().unwrap()))
}

/// A GPU that is in no catalog.
pub(crate) fn gpu(name: &str, capability: (u32, u32), data_centre: Option<bool>) -> Requirement {
    requirement(RequirementKind::Gpu(Gpu {
        name: name.to_owned(),
        capability,
        data_centre,
        driver_branch_min: None,
        open_module_only: false,
        processor: None,
    }))
}

/// A GPU of the catalog(), by its short name.
pub(crate) fn card(alias: &str) -> Requirement {
    let row = catalog().gpus().by_alias(alias).unwrap();
    requirement(RequirementKind::Gpu(crate::parse::of_model(&row.name, row).unwrap()))
}

/// `--gpu TEXT`.
pub(crate) fn named(text: &str) -> Requirement {
    requirement(RequirementKind::Gpu(crate::parse::gpu::gpu(catalog(), text).unwrap()))
}

/// `--with NAME==VERSION`.
pub(crate) fn with(name: &str, versions: &str) -> Requirement {
    requirement(RequirementKind::Package(name.to_owned(), versions.parse().unwrap()))
}

/// `--compile`.
pub(crate) fn compile() -> Requirement {
    requirement(RequirementKind::Compile)
}

/// `--python VERSIONS`.
pub(crate) fn python_requirement(python: &str) -> Requirement {
    requirement(RequirementKind::Python(python.parse().unwrap()))
}

/// `--arch NAME`.
pub(crate) fn architecture(name: &str) -> Requirement {
    requirement(RequirementKind::Architecture(name.to_owned()))
}

/// A build: `2.5.1`, `cu121`.
pub(crate) fn build(version: &str, name: &str) -> &'static Build {
    let is = |build: &&Build| build.release.version == version && build.build.build == name;
    universe().builds.iter().chain(&universe().cpu_builds).find(is).unwrap()
}

/// A Python: `3.12`.
pub(crate) fn python(text: &str) -> &'static Python {
    universe().pythons.iter().find(|python| python.text == text).unwrap()
}

/// A base image: `nvidia/cuda:12.1.1-devel-ubuntu22.04`; an empty text for a machine of an unknown system.
pub(crate) fn base(reference: &str) -> &'static Base {
    let Some((repository, tag)) = reference.rsplit_once(':') else { return &universe().machines()[0] };
    let bases = universe().bases(repository).iter();
    bases.clone().find(|base| base.image.is_some_and(|image| image.tag == tag)).unwrap()
}

/// A release of a package.
pub(crate) fn release(name: &str, version: &str) -> &'static Release {
    let package = universe().package(name).unwrap();
    package.releases.iter().find(|release| release.text == version).unwrap()
}

/// The judgement of a constraint on a build.
pub(crate) fn judged(constraint: &Constraint, requirements: &[Requirement], build: &Build) -> Judgement {
    let request = Request { requirements: requirements.to_vec(), ..Request::default() };
    let Judge::Build(judge) = constraint.judge else { panic!("{} does not look at builds", constraint.id) };
    judge(&Criteria::from_request(catalog(), &request), build)
}

/// The judgement of a constraint on a Python.
pub(crate) fn judged_python(
    constraint: &Constraint,
    requirements: &[Requirement],
    build: &Build,
    python: &Python,
) -> Judgement {
    let request = Request { requirements: requirements.to_vec(), ..Request::default() };
    let Judge::Python(judge) = constraint.judge else { panic!("{} does not look at Pythons", constraint.id) };
    judge(&Criteria::from_request(catalog(), &request), build, python)
}

/// A build, a Python and a base image.
pub(crate) fn environment(torch: (&str, &str), of: &str, image: &str) -> Environment<'static> {
    Environment { build: build(torch.0, torch.1), python: python(of), base: base(image) }
}

/// The judgement of a constraint on a base image, alone or with a Python.
pub(crate) fn judged_base(
    constraint: &Constraint,
    requirements: &[Requirement],
    build: &Build,
    python: &Python,
    base: &Base,
) -> Judgement {
    let request = Request { requirements: requirements.to_vec(), ..Request::default() };
    let criteria = Criteria::from_request(catalog(), &request);
    match constraint.judge {
        Judge::Base(judge) => judge(&criteria, build, base),
        Judge::Environment(judge) => judge(&criteria, &Environment { build, python, base }),
        _ => panic!("{} does not look at base images", constraint.id),
    }
}

/// The judgement of a constraint on a package.
pub(crate) fn judged_package(
    constraint: &Constraint,
    requirements: &[Requirement],
    environment: &Environment,
    release: &Release,
) -> Judgement {
    let request = Request { requirements: requirements.to_vec(), ..Request::default() };
    let criteria = Criteria::from_request(catalog(), &request);
    match constraint.judge {
        Judge::Package(judge) => judge(&criteria, release),
        Judge::PackageBuild(judge) => judge(&criteria, environment.build, release),
        Judge::PackagePython(judge) => judge(&criteria, environment.python, release),
        Judge::PackageWheel(judge) => judge(&criteria, environment.build, environment.python, release),
        Judge::PackageEnvironment(judge) => judge(&criteria, environment, release),
        _ => panic!("{} does not look at one package", constraint.id),
    }
}

/// The judgement of a constraint on two packages.
pub(crate) fn judged_pair(
    constraint: &Constraint,
    environment: &Environment,
    one: &Release,
    two: &Release,
) -> Judgement {
    let request = Request::default();
    let Judge::Packages(judge) = constraint.judge else { panic!("{} does not look at two", constraint.id) };
    judge(&Criteria::from_request(catalog(), &request), environment, one, two)
}
