//! `nvidia-smi` ends with an error.

use super::{driver_library_mismatch, gpu_fallen_off_bus, nvidia_smi_hangs};
use crate::nvidia_smi::SmiError;
use crate::root;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::gpu::Failure;
use facts::{Fact, Role};

pub(super) const CHECK: Check = Check {
    id: "nvidia-smi-fails",
    group: Group::Gpu,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "nvidia-smi reports every GPU",
    explain: include_str!("nvidia_smi_fails.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let Some(Failure::Ended { status, said }) = &facts.gpu.failure else {
        if let Some(Failure::Hung(_)) = &facts.gpu.failure {
            return Ok(Verdict::NotApplicable(format!("see {}", nvidia_smi_hangs::CHECK.id)));
        }
        facts.gpu.list.require("nvidia-smi not found")?;
        return Ok(Verdict::Pass);
    };
    let error = SmiError::of(said);
    if let Some(check) = cause(error, facts) {
        return Ok(Verdict::NotApplicable(format!("see {}", check.id)));
    }
    let container = matches!(facts.role(), Fact::Known(Role::Container));
    let (reason, fix) = reason(error, container);
    let ended = status.map_or("a signal".to_owned(), |status| format!("status {status}"));
    Ok(Verdict::error(format!("nvidia-smi fails: {reason}"), fix)
        .evidence(format!("nvidia-smi -q -x exited with {ended}: {said}")))
}

/// The way out of a check that nvidia-smi has no answer for: names the check that reports why.
pub(super) fn answered(facts: &Facts) -> Result<(), Verdict> {
    let (what, check) = match &facts.gpu.failure {
        None => return Ok(()),
        Some(Failure::Hung(_)) => {
            ("did not answer", nvidia_smi_hangs::cause(facts).unwrap_or(&nvidia_smi_hangs::CHECK))
        }
        Some(Failure::Ended { said, .. }) => ("failed", cause(SmiError::of(said), facts).unwrap_or(&CHECK)),
    };
    Err(Verdict::unknown(format!("nvidia-smi {what}: see {}", check.id)))
}

/// The check that finds why nvidia-smi failed with an error.
fn cause(error: SmiError, facts: &Facts) -> Option<&'static Check> {
    let differ = facts.driver.module.known().zip(facts.driver.library.known());
    let differ = differ.is_some_and(|(module, library)| module.version != *library);
    match error {
        SmiError::GpuLost => Some(&gpu_fallen_off_bus::CHECK),
        SmiError::VersionMismatch if differ => Some(&driver_library_mismatch::CHECK),
        _ => root(causes(error), facts),
    }
}

/// The checks that name the cause, where they find it.
fn causes(error: SmiError) -> &'static [&'static Check] {
    use super::{
        closed_module_on_open_only_gpu, device_nodes_missing, driver_libraries_not_injected,
        driver_library_broken, driver_module_not_built, driver_too_new_for_gpu, driver_too_old_for_gpu,
        gpu_without_driver, nouveau_bound, open_module_on_older_gpu, secure_boot_blocks_driver,
    };
    match error {
        SmiError::DriverUnreachable => &[
            &driver_module_not_built::CHECK,
            &secure_boot_blocks_driver::CHECK,
            &gpu_without_driver::CHECK,
            &nouveau_bound::CHECK,
            &device_nodes_missing::CHECK,
        ],
        SmiError::NoDevices => &[
            &driver_too_old_for_gpu::CHECK,
            &driver_too_new_for_gpu::CHECK,
            &closed_module_on_open_only_gpu::CHECK,
            &open_module_on_older_gpu::CHECK,
            &gpu_without_driver::CHECK,
        ],
        SmiError::LibraryMissing => &[&driver_libraries_not_injected::CHECK, &driver_library_broken::CHECK],
        _ => &[],
    }
}

/// What the error means, and what to do.
fn reason(error: SmiError, container: bool) -> (&'static str, Fix) {
    let log = "sudo dmesg | grep NVRM | tail -n 30";
    match error {
        SmiError::DriverUnreachable => (
            "it cannot reach the kernel module, so nothing can use a GPU",
            Fix::safe("Load the module; if that fails, read the kernel log:", &["sudo modprobe nvidia", log]),
        ),
        SmiError::VersionMismatch => (
            "the user library and the loaded kernel module have different versions",
            Fix::needs_reboot(
                "Reboot (in a container: the host) to load the kernel module that matches the library:",
                &["sudo reboot"],
            ),
        ),
        SmiError::LibraryMissing if container => (
            "the driver's library is not in this container",
            Fix::manual(
                "Start the container with GPUs (`docker run --gpus all`); the runtime mounts the library of \
                 the host's driver.",
            ),
        ),
        SmiError::LibraryMissing => (
            "the driver's library libnvidia-ml.so is missing",
            Fix::safe(
                "Reinstall the driver packages, all in one version, and check that the library is found:",
                &["ldconfig -p | grep libnvidia-ml"],
            ),
        ),
        SmiError::NoDevices => (
            "the module is loaded but has no GPU",
            Fix::safe("Find out in the kernel log why the module could not start the GPUs:", &[log]),
        ),
        SmiError::InsufficientPermissions | SmiError::Unknown if container => (
            "this container has no access to the GPUs",
            Fix::restarts_service(
                "Restart the container; it lost access to the GPU device nodes (after `systemctl \
                 daemon-reload` on the host) or never had it.",
                &[],
            ),
        ),
        SmiError::InsufficientPermissions => (
            "this user has no access to the device nodes",
            Fix::safe("Check the owner and mode of the device nodes:", &["ls -l /dev/nvidia*", "id"]),
        ),
        _ => ("unknown cause", Fix::safe("Look for the cause in the kernel log:", &[log])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;
    use facts::testing::{
        smi::{machine, said},
        unknown,
    };
    use host::Reading;

    fn fails(status: i32, words: &str) -> Facts {
        said(Reading::Ran { status: Some(status), stdout: words.into(), stderr: String::new() })
    }

    #[test]
    fn explains_every_known_failure() {
        for (words, expected) in [
            (
                "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
                "cannot reach the kernel module",
            ),
            ("Failed to initialize NVML: Driver/library version mismatch", "different versions"),
            (
                "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.",
                "libnvidia-ml.so is missing",
            ),
            ("No devices were found", "has no GPU"),
            ("Failed to initialize NVML: Insufficient Permissions", "no access to the device nodes"),
            ("something new", "unknown cause"),
        ] {
            let Ok(Verdict::Found(found)) = judge(&fails(9, words)) else { panic!("{words}") };
            let (said, evidence) = (&found.message, &found.evidence);
            assert!(said.contains(expected) && evidence[0].contains(words), "{said}");
        }
        let lost = fails(15, "Unable to determine the device handle for GPU 0000:05:00.0: GPU is lost.");
        assert_eq!(kind(&CHECK, &lost), "not-applicable");
        assert_eq!(kind(&CHECK, &machine(&[""])), "pass");
        assert_eq!(kind(&CHECK, &unknown()), "unknown");
    }
}
