//! The control group allows very little memory for GPU work.

use super::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

/// The check.
pub const CHECK: Check = Check {
    id: "cgroup-memory-limit-small",
    group: Group::System,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "the control group allows enough memory",
    explain: "\
## What it checks
Looks at the memory limit of the control group (container, Slurm job, login session) and those above it.
Below 4 GiB it warns; that figure is envdoc's own rule of thumb.

## Why it matters
Loading PyTorch with its CUDA libraries, a context for each GPU and a checkpoint on its way to the GPU all
take host memory. A process that goes over the limit is killed without a word of its own: exit code 137,
\"Memory cgroup out of memory\" in the kernel log. What lies in /dev/shm counts too. The
bound below which envdoc warns, 4 GiB, is its own estimate: how much a job needs, only the job shows.

## How to fix it
Raise the limit: `docker run --memory`, in Kubernetes `resources.limits.memory`, in Slurm `--mem`.

## Sources
- torvalds/linux:Documentation/admin-guide/cgroup-v2.rst (memory.max)
",
    judge,
};

/// An estimate of envdoc's own: no source names a number; more is a matter of the job.
const LEAST: u64 = 4 << 30;

fn judge(facts: &Facts) -> Judged {
    let limit = *facts.limits.cgroup_memory.require("no memory limit is set")?;
    if limit >= LEAST {
        return Ok(Verdict::Pass);
    }
    let says = format!(
        "this control group may use {} MiB of memory, little for PyTorch with CUDA; a process that goes over it is killed (exit \
         code 137)",
        limit >> 20
    );
    let fix = Fix::restarts_service(
        "Start the container or job with a higher limit.",
        &["docker run --memory=32g …"],
    );
    Ok(Verdict::warning(says, fix)
        .evidence(format!("lowest memory limit of the control groups: {limit} bytes")))
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
