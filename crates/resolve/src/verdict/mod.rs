//! The verdict of a constraint on a candidate, as values. [`super::message`] forms the sentences from them.
//!
//! A variant holds what differs between candidates that are refused alike; the names of the candidate itself
//! (torch build, Python, base image, package) come from [`Candidate`], so that a message can name several at
//! once.

mod gap;
mod partner;
mod refusal;
mod refusal_parts;

pub(crate) use gap::{BaseGap, BuildGap, Gap, PackageGap};
pub(crate) use partner::{Partner, nccl_wheel};
pub(crate) use refusal::{
    BaseRefusal, BuildRefusal, CompilerRefusal, Forward, PackageRefusal, Party, PythonRefusal, Refusal,
    Wheels,
};

use facts::driver::DriverVersion;
use pep440_rs::Version;

use super::universe::{Base, Build, Python, Release};

/// Major and minor number of a compute capability: `(9, 0)`.
pub(crate) type Capability = (u32, u32);

/// What a constraint finds for a candidate, the best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Judgement {
    Holds,
    /// It holds, with a remark for the user.
    Notes(Note),
    /// It holds at a price: chosen only where no candidate holds without it.
    Costs(Cost),
    /// Unknown to the catalog: chosen only as a last resort, with a warning.
    Unknown(Gap),
    Fails(Refusal),
}

impl Judgement {
    /// Fails with this reason unless it holds.
    pub(crate) fn unless(holds: bool, refusal: impl FnOnce() -> Refusal) -> Judgement {
        if holds { Judgement::Holds } else { Judgement::Fails(refusal()) }
    }

    /// Both must hold: the worse of the two, the first of two as bad.
    pub(crate) fn and(self, other: Judgement) -> Judgement {
        if other.rank() > self.rank() { other } else { self }
    }

    /// One of them is enough: the better of the two, the first of two as good.
    pub(crate) fn or(self, other: Judgement) -> Judgement {
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
    pub(crate) fn objection(self, tolerance: Tolerance) -> Option<Objection> {
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
pub(crate) enum Objection {
    Cost(Cost),
    Gap(Gap),
    Refusal(Refusal),
}

impl Objection {
    /// From what costs something to what fails for sure.
    pub(crate) fn severity(&self) -> u8 {
        match self {
            Objection::Cost(_) => 0,
            Objection::Gap(_) => 1,
            Objection::Refusal(_) => 2,
        }
    }
}

/// The parts that a constraint judged; all others are `None`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Candidate<'u> {
    pub build: Option<&'u Build>,
    pub python: Option<&'u Python>,
    pub base: Option<&'u Base>,
    pub release: Option<&'u Release>,
}

/// Why a candidate was not chosen.
#[derive(Debug, Clone)]
pub(crate) struct Reason<'u> {
    pub constraint: &'static str,
    pub objection: Objection,
    pub candidate: Candidate<'u>,
}

/// What a candidate costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cost {
    ForwardCompatibility {
        driver: DriverVersion,
    },
    BaseCudaMinor {
        has: Version,
        nvcc: bool,
    },
    /// The image has CUDA, and torch is a CPU build.
    BaseCudaUnused {
        has: Version,
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

/// A remark about a candidate that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Note {
    /// torchvision or torchaudio is left out for this reason.
    LeftOut(Box<Refusal>),
    Start(Cost),
    StartUnknown(Gap),
}

/// How much a search puts up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tolerance {
    /// Accept [`Judgement::Unknown`].
    pub unknown: bool,
    /// Accept [`Judgement::Costs`].
    pub costs: bool,
    /// Accept a refusal that only says that nothing is known ([`Refusal::is_not_known`]): no stack is built
    /// on it, but a conflict that would end with it is not certain.
    pub not_known: bool,
}

impl Tolerance {
    /// From the strictest to the loosest.
    pub(crate) const ALL: [Tolerance; 4] = [
        Tolerance::of(false, false),
        Tolerance::of(false, true),
        Tolerance::of(true, false),
        Tolerance::of(true, true),
    ];

    /// The one that refuses what fails and what nothing speaks for.
    pub(crate) const LOOSEST: Tolerance = Tolerance::ALL[3];

    /// The one that refuses only what certainly fails.
    pub(crate) const UNPROVEN: Tolerance = Tolerance { not_known: true, ..Tolerance::LOOSEST };

    const fn of(unknown: bool, costs: bool) -> Tolerance {
        Tolerance { unknown, costs, not_known: false }
    }

    /// Whether a candidate with this judgement may be chosen.
    pub(crate) fn allows(self, judgement: &Judgement) -> bool {
        match judgement {
            Judgement::Holds | Judgement::Notes(_) => true,
            Judgement::Costs(_) => self.costs,
            Judgement::Unknown(_) => self.unknown,
            Judgement::Fails(refusal) => self.not_known && refusal.is_not_known(),
        }
    }
}
