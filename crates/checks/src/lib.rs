//! The checks: what can be wrong with a machine ([`server`]) and with several machines together ([`fleet`]).
//!
//! In: [`Facts`], or a [`facts::fleet::Fleet`]. Out: one [`Verdict`] a check. A check never reads anything itself.
//! A check is `<fault>.rs`, its explanation `<fault>.md`, and one line in the list of its folder.

mod check;
pub mod fleet;
mod python;
pub mod report;
pub mod server;
#[doc(hidden)]
pub mod testing;

pub use check::{Applies, Check, Group};
pub use diagnostic::{Fix, FixClass, Judged, Severity, Verdict};
pub use server::{CHECKS, debug_variable_left_on, nccl_variable_unknown};

use facts::{Fact, Facts};

/// One check's verdict on one machine.
#[derive(Debug, Clone)]
pub struct CheckResult {
    /// The check.
    pub check: &'static Check,
    /// What it says.
    pub verdict: Verdict,
}

/// Runs `checks` on one machine.
pub fn judge(checks: &[&'static Check], facts: &Facts) -> Vec<CheckResult> {
    checks.iter().map(|check| CheckResult { check, verdict: judge_one(check, facts) }).collect()
}

/// Runs one check: first whether it applies to this machine at all, then its own judgement.
pub fn judge_one(check: &Check, facts: &Facts) -> Verdict {
    match applies(check, facts) {
        Ok(()) => (check.judge)(facts).unwrap_or_else(|verdict| verdict),
        Err(verdict) => verdict,
    }
}

/// The way out of a check whose finding would only be a consequence of what one of `roots` says at error level.
fn yield_to(roots: &[&Check], facts: &Facts) -> Result<(), Verdict> {
    let root = roots.iter().find(
        |root| matches!(judge_one(root, facts), Verdict::Found(found) if found.severity == Severity::Error),
    );
    root.map_or(Ok(()), |root| Err(Verdict::NotApplicable(format!("a consequence: see {}", root.id))))
}

fn applies(check: &Check, facts: &Facts) -> Result<(), Verdict> {
    match (check.applies, facts.inside_container()) {
        (Applies::Host | Applies::GpuHost, Fact::Known(true)) => {
            return Err(Verdict::NotApplicable("belongs to the host, and this is a container".into()));
        }
        (Applies::Container, Fact::Known(false)) => {
            return Err(Verdict::NotApplicable("this is not a container".into()));
        }
        (Applies::Host | Applies::GpuHost | Applies::Container, Fact::Unknown(why)) => {
            return Err(Verdict::Unknown(why));
        }
        _ => {}
    }
    if matches!(check.applies, Applies::Gpu | Applies::GpuHost) {
        match facts.has_gpu() {
            Fact::Known(true) => {}
            Fact::Unknown(why) => return Err(Verdict::Unknown(why)),
            _ => return Err(Verdict::NotApplicable("no NVIDIA GPU on this machine".into())),
        }
    }
    Ok(())
}
