//! The verdict of a constraint on a candidate, as values. [`super::message`] forms the sentences from them.
//!
//! A variant holds what differs between candidates that are refused alike; the names of the candidate itself
//! (torch build, Python, base image, package) come from [`Candidate`], so that a message can name several at
//! once.

mod gap;
mod refusal;

pub use gap::Gap;
pub use refusal::{Forward, Party, Refusal, Wheels};

use facts::driver::DriverVersion;
use pep440_rs::Version;

use super::world::{Base, Build, Python, Release};

/// Major and minor number of a compute capability: `(9, 0)`.
pub type Capability = (u32, u32);

/// What a constraint finds for a candidate, the best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// Nothing to report.
    Holds,
    /// It holds, and there is something to do or to know.
    Notes(Note),
    /// It holds at a price: chosen only where no candidate holds without it.
    Costs(Cost),
    /// The catalog does not tell: chosen only where nothing else is left, with a warning.
    Unknown(Gap),
    /// It does not hold.
    Fails(Refusal),
}

impl Judgement {
    /// Fails with this reason unless it holds.
    pub fn unless(holds: bool, refusal: impl FnOnce() -> Refusal) -> Judgement {
        if holds { Judgement::Holds } else { Judgement::Fails(refusal()) }
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

    /// What speaks against the candidate, where the tolerance does not allow it.
    pub fn objection(self, tolerance: Tolerance) -> Option<Objection> {
        if tolerance.allows(&self) {
            return None;
        }
        match self {
            Judgement::Holds | Judgement::Notes(_) => None,
            Judgement::Costs(cost) => Some(Objection::Cost(cost)),
            Judgement::Unknown(gap) => Some(Objection::Gap(gap)),
            Judgement::Fails(refusal) => Some(Objection::Refusal(refusal)),
        }
    }
}

/// What speaks against a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    Cost(Cost),
    Gap(Gap),
    Refusal(Refusal),
}

/// The parts that a constraint looked at; those that it did not look at are `None`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Candidate<'w> {
    pub build: Option<&'w Build>,
    pub python: Option<&'w Python>,
    pub base: Option<&'w Base>,
    pub release: Option<&'w Release>,
}

/// Why a candidate was not chosen.
#[derive(Debug, Clone)]
pub struct Reason<'w> {
    /// Id of the constraint.
    pub constraint: &'static str,
    pub objection: Objection,
    pub candidate: Candidate<'w>,
}

/// What a candidate costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cost {
    ForwardCompatibility {
        driver: DriverVersion,
    },
    BaseCudaMinor {
        has: Version,
        nvcc: bool,
    },
    NoNvcc,
    /// DeepSpeed runs, but cannot compile its operators.
    Compilation(Box<Refusal>),
    DriverOfImage {
        needs: DriverVersion,
        driver: DriverVersion,
    },
    RequireCuda {
        driver: DriverVersion,
        driver_cuda: &'static str,
        requires: &'static str,
    },
}

/// What there is to know about a candidate that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// torchvision or torchaudio is left out for this reason.
    LeftOut(Box<Refusal>),
    Start(Cost),
    StartUnknown(Gap),
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
