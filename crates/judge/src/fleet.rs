//! What a check of several machines is.

use diagnostic::rule::{Group, Rule};
use diagnostic::{Judged, Severity, Verdict};
use facts::fleet::Fleet;

/// A check of several machines: a struct of constants with a function pointer.
#[derive(Debug)]
pub struct FleetCheck {
    /// Kebab case, names the fault.
    pub id: &'static str,
    /// The worst that it says.
    pub severity: Severity,
    /// What healthy machines show, in one line without a full stop.
    pub summary: &'static str,
    /// Markdown with the headings "What it checks", "Why it matters", "How to fix it", "Sources".
    pub explain: &'static str,
    /// The judgement; either side is the verdict.
    pub judge: fn(&Fleet) -> Judged,
}

/// The one group of all of them.
pub const GROUP: Group = Group { id: "fleet", title: "Several machines" };

impl Rule for FleetCheck {
    fn id(&self) -> &'static str {
        self.id
    }
    fn severity(&self) -> Severity {
        self.severity
    }
    fn group(&self) -> Group {
        GROUP
    }
    fn summary(&self) -> &'static str {
        self.summary
    }
    fn explain(&self) -> &'static str {
        self.explain
    }
}

/// One check's verdict on the machines.
#[derive(Debug, Clone)]
pub struct FleetResult {
    pub check: &'static FleetCheck,
    /// Unknown where a machine that it needs gave no answer.
    pub verdict: Verdict,
}

/// Runs `checks` on several machines.
pub fn judge(checks: &[&'static FleetCheck], fleet: &Fleet) -> Vec<FleetResult> {
    let verdict = |check: &FleetCheck| match (check.judge)(fleet) {
        Ok(verdict) | Err(verdict) => verdict,
    };
    checks.iter().map(|&check| FleetResult { check, verdict: verdict(check) }).collect()
}
