//! torch was built with a CUDA that the driver cannot run.

use crate::python::each_torch;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::python::{PythonEnvironment, Torch};
use facts::support::CudaSupport;

pub(super) const CHECK: Check = Check {
    id: "torch-cuda-newer-than-driver",
    group: Group::Python,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "the driver supports the CUDA version that PyTorch was built with",
    explain: include_str!("torch_cuda_newer_than_driver.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    each_torch(&facts.python, |environment, torch| one(facts, environment, torch))
}

fn one(facts: &Facts, environment: &PythonEnvironment, torch: &Torch) -> Judged {
    let cuda = torch.cuda.require("this PyTorch was not built with CUDA")?;
    let driver = facts.driver_version();
    let driver = driver.require("the driver is not loaded")?;
    let support = facts.cuda_support(cuda);
    let CudaSupport::No(needs) = support.require("the driver is not loaded")? else {
        return Ok(Verdict::Pass);
    };
    let message = format!(
        "torch {} in {} was built with CUDA {cuda}, which needs driver {needs} or newer, but driver {driver} \
         is loaded; CUDA does not start",
        torch.full(),
        environment.prefix
    );
    let build =
        facts.catalog.torch().release(&torch.version).and_then(|release| facts.suitable_build(release));
    let fix = match build {
        Some(build) => Fix::safe(
            format!(
                "Install the build for CUDA {}, which this driver supports (or upgrade the driver to \
                 {needs}):",
                build.cuda.as_deref().unwrap_or("of an older release")
            ),
            &[&environment.reinstall(facts.catalog, torch, &build.build)],
        ),
        None => Fix::needs_reboot(
            format!("Install driver {needs} or newer, or a PyTorch built with an older CUDA."),
            &[],
        ),
    };
    Ok(Verdict::error(message, fix)
        .evidence(format!("cuda = {cuda:?} (torch/version.py in {})", environment.prefix))
        .evidence(format!("driver {driver}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::{node, venv};

    #[test]
    fn driver_must_support_the_cuda_version_of_torch() {
        let h100 = "NVIDIA H100 80GB HBM3 9.0";
        let cases = [
            ("550.54.14", "2.5.1+cu124 12.4", "pass"),
            // By minor-version compatibility.
            ("525.60.13", "2.5.1+cu124 12.4", "pass"),
            ("570.124.06", "2.12.0+cu130 13.0", "error"),
            ("580.65.06", "2.12.0+cu130 13.0", "pass"),
            ("580.65.06", "2.15.0+cu132 13.2", "pass"),
            ("470.256.02", "2.5.1+cu124 12.4", "error"),
            ("470.256.02", "2.5.1+cu118 11.8", "pass"),
            ("580.65.06", "2.16.0+cu140 14.0", "unknown"),
            ("580.65.06", "2.5.1+cpu None", "not-applicable"),
        ];
        for (driver, torch, expected) in cases {
            let facts = node(driver, h100, &venv(torch, &[]));
            let verdict = crate::judge_one(&CHECK, &facts);
            assert_eq!(status(&verdict), expected, "driver {driver}, torch {torch}: {verdict:?}");
        }
    }

    #[test]
    fn the_fix_names_a_build_that_runs_here() {
        let facts = node(
            "570.124.06",
            "NVIDIA H100 80GB HBM3 9.0",
            &venv("2.12.0+cu130 13.0", &["torchvision-0.27.0"]),
        );
        let Ok(Verdict::Found(found)) = judge(&facts) else { panic!() };
        let (fix, message) = (&found.fixes[0], &found.message);
        assert!(message.contains("needs driver 580 or newer"), "{message}");
        assert_eq!(
            fix.commands,
            ["/venv/bin/python3 -m pip install --force-reinstall torch==2.12.0+cu126 torchvision==0.27.0 \
              --index-url https://download.pytorch.org/whl/cu126"]
        );
    }

    #[test]
    fn a_compat_library_on_the_path_helps_on_data_centre_cards_only() {
        let mut files = venv("2.12.0+cu130 13.0", &[]);
        files[0].1 = "HOME=/root\nVIRTUAL_ENV=/venv\nLD_LIBRARY_PATH=/usr/local/cuda-13.0/compat";
        files.push(("/usr/local/cuda-13.0/compat/libcuda.so.580.65.06", ""));
        for (card, expected) in
            [("NVIDIA H100 80GB HBM3 9.0", "pass"), ("NVIDIA GeForce RTX 4090 8.9", "error")]
        {
            let verdict = crate::judge_one(&CHECK, &node("550.54.14", card, &files));
            assert_eq!(status(&verdict), expected, "{card}: {verdict:?}");
        }
    }

    #[test]
    fn unknown_stays_unknown() {
        let mut facts = node("550.54.14", "NVIDIA H100 80GB HBM3 9.0", &venv("2.5.1+cu124 12.4", &[]));
        facts.driver.module = Fact::Unknown("permission denied".into());
        facts.gpu.driver = Fact::Unknown("hung".into());
        assert_eq!(judge(&facts), Err(Verdict::Unknown("permission denied".into())));
        facts.python.environments = Fact::Unknown("no PATH".into());
        assert_eq!(judge(&facts), Err(Verdict::Unknown("no PATH".into())));
    }
}
