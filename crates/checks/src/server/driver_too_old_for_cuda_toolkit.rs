//! Programs compiled with the toolkit of this machine cannot run on its driver.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::cuda;
use facts::support::CudaSupport;

pub(super) const CHECK: Check = Check {
    id: "driver-too-old-for-cuda-toolkit",
    group: Group::Cuda,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "the driver runs programs compiled with the installed CUDA toolkit",
    explain: include_str!("driver_too_old_for_cuda_toolkit.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let compiler = facts.cuda.compiler();
    let (path, version) = compiler.require("no CUDA toolkit with a compiler")?;
    let driver = facts.driver_version();
    let driver = driver.require("the driver is not loaded")?;
    let support = facts.cuda_support(version);
    let CudaSupport::No(needs) = support.require("the driver is not loaded")? else {
        return Ok(Verdict::Pass);
    };
    let minor = cuda::minor(version).unwrap_or(version);
    let message = format!(
        "driver {driver} is too old for programs compiled with CUDA {version}, which need {needs} or newer; \
         they do not start"
    );
    let fix = Fix::needs_reboot(
        format!(
            "Install driver {needs} or newer, or a toolkit from an older major version than CUDA {minor}."
        ),
        &[],
    );
    Ok(Verdict::error(message, fix)
        .evidence(format!("CUDA {version} ({path})"))
        .evidence(format!("driver {driver}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::node;

    fn facts(driver: &str, json: &'static str) -> Facts {
        let files = [
            ("environment", "CUDA_HOME=/usr/local/cuda-x"),
            ("/usr/local/cuda-x/version.json", json),
            ("/usr/local/cuda-x/bin/nvcc", ""),
        ];
        node(driver, "NVIDIA H100 80GB HBM3 9.0", &files)
    }

    #[test]
    fn driver_must_support_the_toolkit_major() {
        let cases = [
            ("550.54.14", r#"{"cuda":{"version":"12.4.0"}}"#, "pass"),
            ("550.54.14", r#"{"cuda":{"version":"12.8.1"}}"#, "pass"),
            ("550.54.14", r#"{"cuda":{"version":"13.0.1"}}"#, "error"),
            ("580.65.06", r#"{"cuda":{"version":"11.8.0"}}"#, "pass"),
            ("580.65.06", r#"{"cuda":{"version":"14.0.0"}}"#, "unknown"),
            ("580.65.06", r#"{}"#, "unknown"),
        ];
        for (driver, json, expected) in cases {
            let verdict = crate::judge_one(&CHECK, &facts(driver, json));
            assert_eq!(status(&verdict), expected, "{driver}, {json}: {verdict:?}");
        }
        let mut facts = facts("580.65.06", r#"{"cuda":{"version":"13.0.1"}}"#);
        facts.cuda.home_toolkit = Fact::Absent;
        assert_eq!(status(&crate::judge_one(&CHECK, &facts)), "not-applicable");
    }
}
