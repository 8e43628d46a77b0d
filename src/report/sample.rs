//! One sample of results for the tests of every format.

use crate::checks::{Applies, Check, CheckResult, Fix, Group, Verdict};

const fn check(id: &'static str, group: Group, summary: &'static str) -> Check {
    Check { id, group, applies: Applies::Anywhere, summary, explain: "", judge: |_| Ok(Verdict::Pass) }
}

static CLOCK: Check = check("clock-not-synchronised", Group::System, "the clock is kept by a service");
static MISMATCH: Check =
    check("driver-library-mismatch", Group::Driver, "module and library are one version");
static BRANCH: Check = check("driver-branch-end-of-life", Group::Driver, "the branch gets fixes");
static LOG: Check = check("xid-errors", Group::Gpu, "the kernel logged no Xid");
static RETIRED: Check = check("retired-pages-pending", Group::Gpu, "no page waits for retirement");
static REMAP: Check = check("row-remap-pending", Group::Gpu, "no row waits for a remap");
static ECC: Check = check("ecc-disabled", Group::Gpu, "ECC is on");
static PORT: Check = check("rdma-port-down", Group::Rdma, "every port is up");

/// An error, a warning, unknowns with one reason and another, a pass, and a group that does not apply.
pub fn results() -> Vec<CheckResult> {
    let reboot = Fix::reboot("The module of the new version is loaded at the next boot.", &["sudo reboot"]);
    let mismatch = "the loaded kernel module is 550.54.14, the user library 550.90.07; they must be one version, or nothing \
                    new can use the GPU";
    let upgrade = Fix::disruptive(
        "Take a branch that gets fixes <soon>.",
        &["sudo apt-get update", "sudo apt-get install nvidia-driver-580"],
    );
    let denied = || Verdict::Unknown("/dev/kmsg: permission denied".into());
    let result = |check, verdict| CheckResult { check, verdict };
    vec![
        result(&CLOCK, Verdict::Pass),
        result(
            &MISMATCH,
            Verdict::error(mismatch, reboot).because("loaded module 550.54.14 (/proc/driver/nvidia/version)"),
        ),
        result(&BRANCH, Verdict::warning("branch 550 | ended; 100% of it", upgrade)),
        result(&LOG, denied()),
        result(&RETIRED, denied()),
        result(&REMAP, Verdict::Unknown("`nvidia-smi` did not answer within 2.0 s and was stopped".into())),
        result(&ECC, Verdict::Pass),
        result(&PORT, Verdict::NotApplicable("no RDMA device".into())),
    ]
}

/// The lines above the report.
pub fn machine() -> Vec<String> {
    vec![
        "Ubuntu 22.04.5 LTS · Linux 5.15.0-1063 · x86_64".into(),
        "8 × NVIDIA H100 80GB HBM3 · driver 550.54.14 · CUDA 12.4".into(),
    ]
}
