//! /dev/shm is missing, small or full.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;

pub(super) const CHECK: Check = Check {
    id: "shared-memory-too-small",
    group: Group::System,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "/dev/shm is large enough for NCCL and data loaders",
    explain: include_str!("shared_memory_too_small.md"),
    judge,
};

const MIB: u64 = 1 << 20;
/// What Docker gives when nothing is asked for.
const DOCKER: u64 = 64 * MIB;
/// What the example in NCCL's documentation gives.
const SCARCE: u64 = 1024 * MIB;

fn judge(facts: &Facts) -> Judged {
    let container = facts.system.container.decided()?.is_some();
    let Some(space) = facts.limits.shared_memory.decided()? else {
        let message = "/dev/shm does not exist; NCCL and PyTorch data loaders cannot share memory";
        let commands: &[&str] = if container { &[] } else { &["sudo mount -t tmpfs tmpfs /dev/shm"] };
        return Ok(Verdict::error(message, Fix::safe("Mount a tmpfs on /dev/shm:", commands).punctuated()));
    };
    let total = space.total / MIB;
    let evidence = format!("/dev/shm: {total} MiB, {} MiB free", space.available / MIB);
    if space.total < SCARCE {
        let message = format!(
            "/dev/shm has {total} MiB; NCCL and PyTorch data loaders fail with \"No space left on device\" \
             or \"Bus error\" if they need more"
        );
        let fix = if container {
            Fix::restarts_service(
                "Start the container with a larger /dev/shm (memory is allocated only when used):",
                &["docker run --shm-size=8g …"],
            )
        } else {
            Fix::safe(
                "Enlarge /dev/shm now (and in /etc/fstab for the next boot):",
                &["sudo mount -o remount,size=50% /dev/shm"],
            )
        };
        // One process on one GPU without data loaders gets by with it.
        let several = facts.driver.device_nodes.known().is_none_or(|nodes| nodes.gpus.len() != 1);
        let verdict = if container && several && space.total <= DOCKER {
            Verdict::error(message, fix)
        } else {
            Verdict::warning(message, fix)
        };
        return Ok(verdict.evidence(evidence));
    }
    if space.available < DOCKER {
        let message =
            format!("/dev/shm ({total} MiB) is full; new jobs fail with \"No space left on device\"");
        let fix = Fix::safe("Delete files left by jobs that have ended:", &["ls -la /dev/shm"]);
        return Ok(Verdict::error(message, fix).evidence(evidence));
    }
    Ok(Verdict::Pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::expect;
    use facts::Fact;
    use facts::testing::roles::*;

    use host::Space;

    fn space(total: u64, available: u64) -> Fact<Space> {
        Fact::Known(Space { total: total * MIB, available: available * MIB })
    }

    #[test]
    fn dockers_default_is_an_error_in_a_container() {
        let mut facts = gpu_container();
        facts.limits.shared_memory = space(64, 64);
        expect(&CHECK, &facts, "error", "64 MiB");
        facts.limits.shared_memory = space(512, 512);
        expect(&CHECK, &facts, "warning", "512 MiB");
        facts.limits.shared_memory = space(8192, 8192);
        expect(&CHECK, &facts, "pass", "");
    }

    #[test]
    fn missing_and_full_ones_are_found() {
        let mut facts = gpu_node();
        facts.limits.shared_memory = Fact::Absent;
        expect(&CHECK, &facts, "error", "does not exist");
        facts.limits.shared_memory = space(65_536, 3);
        expect(&CHECK, &facts, "error", "is full");
        facts.limits.shared_memory = Fact::Unknown("permission denied".into());
        expect(&CHECK, &facts, "unknown", "");
        expect(&CHECK, &build_host(), "not-applicable", "");
    }
}
