//! The control group allows very little memory for GPU work.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "cgroup-memory-limit-small",
    group: Group::System,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "the cgroup memory limit leaves room for GPU work",
    explain: include_str!("cgroup_memory_limit_small.md"),
    judge,
};

/// An estimate of envdoc's own: no source names a number; more is a matter of the job.
const LEAST: u64 = 4 << 30;

fn judge(facts: &Facts) -> Judged {
    let limit = *facts.limits.cgroup_memory.require("no memory limit is set")?;
    if limit >= LEAST {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "the cgroup memory limit is {} MiB, too little for PyTorch with CUDA; a process that exceeds it is \
         killed (exit code 137)",
        limit >> 20
    );
    let fix = Fix::restarts_service(
        "Start the container or job with a higher limit:",
        &["docker run --memory=32g …"],
    );
    Ok(Verdict::warning(message, fix)
        .evidence(format!("lowest memory limit in the cgroup hierarchy: {limit} bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    #[test]
    fn small_limits_are_found() {
        let mut facts = gpu_container();
        facts.limits.cgroup_memory = Fact::Known(2 << 30);
        expect(&CHECK, &facts, "warning", "2048 MiB");
        facts.limits.cgroup_memory = Fact::Known(64 << 30);
        expect(&CHECK, &facts, "pass", "");
        facts.limits.cgroup_memory = Fact::Absent;
        expect(&CHECK, &facts, "not-applicable", "");
        facts.limits.cgroup_memory = Fact::Unknown("permission denied".into());
        expect(&CHECK, &facts, "unknown", "");
    }
}
