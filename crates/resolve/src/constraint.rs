//! What makes parts compatible: one pure function each, with an id, a sentence and a source.

use super::criteria::Criteria;
use super::universe::{Base, Build, Python, Release};
use super::verdict::{Candidate, Judgement};

/// A rule about which parts are compatible.
#[derive(Debug)]
pub(crate) struct Constraint {
    /// Kebab case, names what must hold: `driver-new-enough`.
    pub id: &'static str,
    /// What must hold, in a sentence.
    pub description: &'static str,
    /// The documents that the rule is taken from.
    pub sources: &'static [&'static str],
    /// The parts that it looks at, and the function.
    pub judge: Judge,
}

/// The function of a constraint, by what it looks at. The search calls it as soon as these parts are chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Judge {
    /// A torch build against the requirements.
    Build(fn(&Criteria, &Build) -> Judgement),
    /// A Python against the requirements and the build.
    Python(fn(&Criteria, &Build, &Python) -> Judgement),
    /// A base image against the requirements and the build.
    Base(fn(&Criteria, &Build, &Base) -> Judgement),
    /// A Python together with a base image.
    Environment(fn(&Criteria, &Environment) -> Judgement),
    /// A release of a package against the requirements.
    Package(fn(&Criteria, &Release) -> Judgement),
    /// A release of a package against the torch build.
    PackageBuild(fn(&Criteria, &Build, &Release) -> Judgement),
    /// A release of a package against the Python.
    PackagePython(fn(&Criteria, &Python, &Release) -> Judgement),
    /// A release of a package against the torch build and the Python.
    PackageWheel(fn(&Criteria, &Build, &Python, &Release) -> Judgement),
    /// A release of a package against the torch build, the Python and the base image.
    PackageEnvironment(fn(&Criteria, &Environment, &Release) -> Judgement),
    /// Two packages: called once for each pair, whichever of them was chosen first.
    Packages(fn(&Criteria, &Environment, &Release, &Release) -> Judgement),
}

/// The environment that packages are installed into; chosen before them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Environment<'u> {
    pub build: &'u Build,
    pub python: &'u Python,
    pub base: &'u Base,
}

impl<'u> Environment<'u> {
    /// As a candidate, with a release of a package where one is judged.
    pub(crate) fn candidate(self, release: Option<&'u Release>) -> Candidate<'u> {
        Candidate { build: Some(self.build), python: Some(self.python), base: Some(self.base), release }
    }
}
