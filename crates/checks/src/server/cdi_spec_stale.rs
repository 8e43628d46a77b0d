//! The CDI specification is of another driver.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "cdi-spec-stale",
    group: Group::Toolkit,
    severity: Severity::Warning,
    applies: Applies::GpuHost,
    summary: "CDI specifications match the loaded driver and name files that exist",
    explain: include_str!("cdi_spec_stale.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let specs = facts.toolkit.gpu_specs();
    let specs = specs.require("no CDI directory")?;
    if specs.is_empty() {
        return Err(Verdict::NotApplicable("no CDI specification for a GPU found".into()));
    }
    // Without the module its device nodes are not there either, and a new specification cannot be made.
    let module = facts.driver.module.require("the driver is not loaded")?;
    let used = facts.toolkit.mode() == Fact::Known("cdi".into())
        || matches!(facts.docker.gives_gpus_by_cdi(&facts.toolkit), Ok(true));
    let finding = if used { Verdict::error } else { Verdict::warning };
    let refresh = facts.toolkit.refresh_unit.known() == Some(&true);
    for spec in specs {
        let command = if refresh && spec.path == "/var/run/cdi/nvidia.yaml" {
            "sudo systemctl restart nvidia-cdi-refresh.service".to_owned()
        } else {
            format!("sudo nvidia-ctk cdi generate --output={}", spec.path)
        };
        let fix = Fix::safe("Regenerate the CDI specification:", &[&command]);
        let missing = spec.missing.require("the specification names no files")?;
        if let Some(first) = missing.first() {
            let more =
                if missing.len() > 1 { format!(" and {} more", missing.len() - 1) } else { String::new() };
            let message = format!(
                "{} names {first}{more}, which does not exist; containers that get GPUs through CDI do not \
                 start",
                spec.path
            );
            return Ok(finding(message, fix).about(Subject::file(&spec.path)));
        }
        let Some(driver) = spec.driver.decided()? else { continue };
        if *driver != module.version.to_string() {
            let message = format!(
                "{} was generated for driver {driver}, but {} is loaded; containers that get GPUs through \
                 CDI get the wrong driver libraries",
                spec.path, module.version
            );
            return Ok(finding(message, fix).about(Subject::file(&spec.path)));
        }
    }
    Ok(Verdict::Pass)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{Sparse, sparse::gpu_host};

    use facts::testing::sparse::SOCKET;

    const SPEC: &str = "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: all\ncontainerEdits:\n  \
                        mounts:\n  - hostPath: /usr/lib/libcuda.so.550.54.14\n    containerPath: \
                        /usr/lib/libcuda.so.550.54.14\n";
    const VERSION: &str = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  VERSION  Thu Feb 22 01:44:30 UTC \
                           2024\nGCC version:  gcc version 12.3.0\n";

    fn of(loaded: &str, library: bool) -> String {
        let version = VERSION.replace("VERSION", loaded);
        let mut readings = vec![
            ("list /var/run/cdi", "nvidia.yaml"),
            ("read /var/run/cdi/nvidia.yaml", SPEC),
            ("read /proc/driver/nvidia/version", version.as_str()),
        ];
        if library {
            readings.push(("stat /usr/lib/libcuda.so.550.54.14", SOCKET));
        }
        verdict_line(&CHECK, &gpu_host(&Sparse::new(&readings)))
    }

    #[test]
    fn version_and_files_are_compared() {
        assert_eq!(of("550.54.14", true), "pass");
        assert!(
            of("570.86.15", true).contains("was generated for driver 550.54.14, but 570.86.15 is loaded"),
            "{}",
            of("570.86.15", true)
        );
        assert!(of("550.54.14", false).contains("which does not exist"));
        let mut facts = gpu_host(&Sparse::new(&[]));
        assert!(verdict_line(&CHECK, &facts).starts_with("not-applicable"));
        facts.toolkit.cdi = Fact::Unknown("no rights".into());
        assert_eq!(verdict_line(&CHECK, &facts), "unknown: no rights");
    }
}
