//! The image's glibc is as new as the wheels ask for.

use crate::catalog::version::at_least;
use crate::resolve::constraint::{Constraint, Judge, Judgement};
use crate::resolve::wanted::Wanted;
use crate::resolve::world::{Base, Build};

/// See the module.
pub const CONSTRAINT: Constraint = Constraint {
    id: "glibc-new-enough",
    says: "The system's glibc is at least the one in the tag of torch's wheels.",
    source: "https://peps.python.org/pep-0600/",
    judge: Judge::Base(judge),
};

fn judge(_wanted: &Wanted, build: &Build, base: &Base) -> Judgement {
    let Some(system) = base.system else {
        return Judgement::Unknown(format!("the system of {}", base.name()));
    };
    let (Some(needs), Some(has)) = (&build.release.glibc_min, &system.glibc) else {
        return Judgement::Unknown(format!("the glibc of {}", system.name));
    };
    Judgement::unless(at_least(has, needs) == Some(true), || {
        format!("{} has glibc {has}, the wheels of {} need {needs}", system.name, build.name())
    })
}
