//! Parts of the real catalog for the tests of constraints.

use crate::constraint::{Constraint, Judge, Place};
use crate::parameter::Source;
use crate::request::{Gpu, Request, Want, Wish};
use crate::testing::world;
use crate::verdict::Judgement;
use crate::wanted::Wanted;
use crate::world::{Base, Build, Python, Release};
use catalog::testing::catalog;

fn wish(want: Want) -> Wish {
    Wish { source: Source::Stated(format!("{want:?}")), want }
}

/// A row that is in no catalog: rows live as long as the program.
pub fn row<T>(row: T) -> &'static T {
    Box::leak(Box::new(row))
}

/// `--driver 550.54.14`.
pub fn driver(version: &str) -> Wish {
    wish(Want::Driver(version.parse().unwrap()))
}

/// A GPU that is in no catalog.
pub fn gpu(name: &str, capability: (u32, u32), data_centre: Option<bool>) -> Wish {
    wish(Want::Gpu(Gpu { name: name.to_owned(), capability, data_centre, driver_branch_min: None }))
}

/// A GPU of the catalog(), by its short name.
pub fn card(alias: &str) -> Wish {
    let row = catalog().gpus().by_alias(alias).unwrap();
    let (major, minor) = row.compute_capability.split_once('.').unwrap();
    wish(Want::Gpu(Gpu {
        name: row.name.clone(),
        capability: (major.parse().unwrap(), minor.parse().unwrap()),
        data_centre: Some(row.data_centre),
        driver_branch_min: row.driver_branch_min,
    }))
}

/// `--with NAME==VERSION`.
pub fn with(name: &str, versions: &str) -> Wish {
    wish(Want::Package(name.to_owned(), versions.parse().unwrap()))
}

/// `--compile`.
pub fn compile() -> Wish {
    wish(Want::Compile)
}

/// `--arch NAME`.
pub fn architecture(name: &str) -> Wish {
    wish(Want::Architecture(name.to_owned()))
}

/// A build: `2.5.1`, `cu121`.
pub fn build(version: &str, name: &str) -> &'static Build {
    let is = |build: &&Build| build.release.version == version && build.build.build == name;
    world().builds.iter().find(is).unwrap()
}

/// A Python: `3.12`.
pub fn python(text: &str) -> &'static Python {
    world().pythons.iter().find(|python| python.text == text).unwrap()
}

/// A base image: `nvidia/cuda:12.1.1-devel-ubuntu22.04`; an empty text for a machine of an unknown system.
pub fn base(reference: &str) -> &'static Base {
    let Some((repository, tag)) = reference.rsplit_once(':') else { return &world().machines()[0] };
    let bases = world().bases(repository).iter();
    bases.clone().find(|base| base.image.is_some_and(|image| image.tag == tag)).unwrap()
}

/// A release of a package.
pub fn release(name: &str, version: &str) -> &'static Release {
    let package = world().package(name).unwrap();
    package.releases.iter().find(|release| release.text == version).unwrap()
}

/// What a constraint on builds says.
pub fn judged(constraint: &Constraint, wishes: &[Wish], build: &Build) -> Judgement {
    let request = Request { wishes: wishes.to_vec(), ..Request::default() };
    let Judge::Build(judge) = constraint.judge else { panic!("{} does not look at builds", constraint.id) };
    judge(&Wanted::of(catalog(), &request), build)
}

/// What a constraint on Pythons says.
pub fn judged_python(constraint: &Constraint, wishes: &[Wish], build: &Build, python: &Python) -> Judgement {
    let request = Request { wishes: wishes.to_vec(), ..Request::default() };
    let Judge::Python(judge) = constraint.judge else { panic!("{} does not look at Pythons", constraint.id) };
    judge(&Wanted::of(catalog(), &request), build, python)
}

/// A build, a Python and a base image.
pub fn place(torch: (&str, &str), of: &str, image: &str) -> Place<'static> {
    Place { build: build(torch.0, torch.1), python: python(of), base: base(image) }
}

/// What a constraint on base images says, alone or with a Python.
pub fn judged_base(
    constraint: &Constraint,
    wishes: &[Wish],
    build: &Build,
    python: &Python,
    base: &Base,
) -> Judgement {
    let request = Request { wishes: wishes.to_vec(), ..Request::default() };
    let wanted = Wanted::of(catalog(), &request);
    match constraint.judge {
        Judge::Base(judge) => judge(&wanted, build, base),
        Judge::Place(judge) => judge(&wanted, &Place { build, python, base }),
        _ => panic!("{} does not look at base images", constraint.id),
    }
}

/// What a constraint on one package says.
pub fn judged_package(
    constraint: &Constraint,
    wishes: &[Wish],
    place: &Place,
    release: &Release,
) -> Judgement {
    let request = Request { wishes: wishes.to_vec(), ..Request::default() };
    let wanted = Wanted::of(catalog(), &request);
    match constraint.judge {
        Judge::Package(judge) => judge(&wanted, release),
        Judge::PackageBuild(judge) => judge(&wanted, place.build, release),
        Judge::PackagePython(judge) => judge(&wanted, place.python, release),
        Judge::PackageWheel(judge) => judge(&wanted, place.build, place.python, release),
        Judge::PackagePlace(judge) => judge(&wanted, place, release),
        _ => panic!("{} does not look at one package", constraint.id),
    }
}

/// What a constraint on two packages says.
pub fn judged_pair(constraint: &Constraint, place: &Place, one: &Release, two: &Release) -> Judgement {
    let request = Request::default();
    let Judge::Packages(judge) = constraint.judge else { panic!("{} does not look at two", constraint.id) };
    judge(&Wanted::of(catalog(), &request), place, one, two)
}
