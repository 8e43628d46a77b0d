//! What makes parts go together: one pure function each, with an id, a sentence and a source.

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

/// What a constraint says of a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// It holds.
    Holds,
    /// It holds, and there is something to do or to know for it, which the sentence names.
    Notes(String),
    /// It holds at a price, which the sentence names: chosen only where nothing comes without it.
    Costs(String),
    /// Nobody knows; the sentence says what is not known. Chosen only where nothing is known to do, and with a warning.
    Unknown(String),
    /// It does not hold, and why.
    Fails(String),
}

impl Judgement {
    /// Fails with this reason unless it holds.
    pub fn unless(holds: bool, why: impl FnOnce() -> String) -> Judgement {
        if holds { Judgement::Holds } else { Judgement::Fails(why()) }
    }

    /// Both must hold: the worse of the two, the first of two as bad.
    pub fn and(self, other: Judgement) -> Judgement {
        if other.rank() > self.rank() { other } else { self }
    }

    /// One of them is enough: the better of the two, the first of two as good.
    pub fn or(self, other: Judgement) -> Judgement {
        if other.rank() < self.rank() { other } else { self }
    }

    fn rank(&self) -> u8 {
        match self {
            Judgement::Holds => 0,
            Judgement::Notes(_) => 1,
            Judgement::Costs(_) => 2,
            Judgement::Unknown(_) => 3,
            Judgement::Fails(_) => 4,
        }
    }
}

/// How much a search puts up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tolerance {
    /// Judgements that nobody knows.
    pub unknown: bool,
    /// Judgements that cost something.
    pub costs: bool,
}

impl Tolerance {
    /// From the strictest to the one that refuses only what certainly fails.
    pub const ALL: [Tolerance; 4] = [
        Tolerance { unknown: false, costs: false },
        Tolerance { unknown: false, costs: true },
        Tolerance { unknown: true, costs: false },
        Tolerance { unknown: true, costs: true },
    ];

    /// The one that refuses only what certainly fails.
    pub const LOOSEST: Tolerance = Tolerance::ALL[3];

    /// Whether a candidate with this judgement may be chosen.
    pub fn allows(self, judgement: &Judgement) -> bool {
        match judgement {
            Judgement::Holds | Judgement::Notes(_) => true,
            Judgement::Costs(_) => self.costs,
            Judgement::Unknown(_) => self.unknown,
            Judgement::Fails(_) => false,
        }
    }
}

/// Why a candidate was not chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// Id of the constraint.
    pub constraint: &'static str,
    /// What it says.
    pub says: String,
}
