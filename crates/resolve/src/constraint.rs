//! What makes parts go together: one pure function each, with an id, a sentence and a source.

use super::verdict::{Candidate, Judgement};
use super::wanted::Wanted;
use super::world::{Base, Build, Python, Release};

/// One reason for which parts may not go together.
#[derive(Debug)]
pub struct Constraint {
    /// Kebab case, names what must hold: `driver-new-enough`.
    pub id: &'static str,
    /// What must hold, in a sentence.
    pub says: &'static str,
    /// The document that says so.
    pub source: &'static str,
    /// The parts that it looks at, and the function.
    pub judge: Judge,
}

/// The function of a constraint, by what it looks at. The search calls it as soon as these parts are chosen.
#[derive(Debug, Clone, Copy)]
pub enum Judge {
    /// A torch build against the wishes.
    Build(fn(&Wanted, &Build) -> Judgement),
    /// A Python against the wishes and the build.
    Python(fn(&Wanted, &Build, &Python) -> Judgement),
    /// A base image against the wishes and the build.
    Base(fn(&Wanted, &Build, &Base) -> Judgement),
    /// A Python together with a base image.
    Place(fn(&Wanted, &Place) -> Judgement),
    /// A release of a package against the wishes.
    Package(fn(&Wanted, &Release) -> Judgement),
    /// A release of a package against the torch build.
    PackageBuild(fn(&Wanted, &Build, &Release) -> Judgement),
    /// A release of a package against the Python.
    PackagePython(fn(&Wanted, &Python, &Release) -> Judgement),
    /// A release of a package against the torch build and the Python.
    PackageWheel(fn(&Wanted, &Build, &Python, &Release) -> Judgement),
    /// A release of a package against the torch build, the Python and the base image.
    PackagePlace(fn(&Wanted, &Place, &Release) -> Judgement),
    /// Two packages: called once for each pair, whichever of them was chosen first.
    Packages(fn(&Wanted, &Place, &Release, &Release) -> Judgement),
}

/// Where packages are put: what is chosen before them.
#[derive(Debug, Clone, Copy)]
pub struct Place<'w> {
    /// The torch build.
    pub build: &'w Build,
    /// The Python.
    pub python: &'w Python,
    /// The base image.
    pub base: &'w Base,
}

impl<'w> Place<'w> {
    /// As a candidate, with a release of a package where one is judged.
    pub fn candidate(self, release: Option<&'w Release>) -> Candidate<'w> {
        Candidate { build: Some(self.build), python: Some(self.python), base: Some(self.base), release }
    }
}
