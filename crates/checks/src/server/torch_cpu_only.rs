//! A PyTorch without CUDA on a machine with GPUs.

use crate::python::each_torch;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::python::{EnvironmentKind, PythonEnvironment, Torch};
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "torch-cpu-only",
    group: Group::Python,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "PyTorch was built with CUDA",
    explain: include_str!("torch_cpu_only.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    each_torch(&facts.python, |environment, torch| one(facts, environment, torch))
}

fn one(facts: &Facts, environment: &PythonEnvironment, torch: &Torch) -> Judged {
    if torch.cuda.decided()?.is_some() {
        return Ok(Verdict::Pass);
    }
    let kind = match torch.hip.decided()? {
        Some(hip) => format!("for AMD GPUs (ROCm {hip})"),
        None => "for CPU only".into(),
    };
    let message = format!(
        "torch {} in {} was built {kind}; it cannot use this machine's NVIDIA GPUs",
        torch.full(),
        environment.prefix
    );
    let build =
        facts.catalog.torch().release(&torch.version).and_then(|release| facts.suitable_build(release));
    let fix = match (build, &torch.build) {
        (Some(build), _) => Fix::safe(
            format!("Install the CUDA {} build of the same version:", build.cuda.as_deref().unwrap_or("")),
            &[&environment.reinstall(facts.catalog, torch, &build.build)],
        ),
        (None, Fact::Absent) if environment.kind == EnvironmentKind::Conda => {
            Fix::manual("Install the CUDA variant of pytorch in this conda environment.")
        }
        _ => Fix::manual("Install a CUDA build of PyTorch that this driver supports."),
    };
    Ok(Verdict::error(message, fix)
        .evidence(format!("cuda = None (torch/version.py in {})", environment.prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::testing::files::{machine, node, venv};

    const H100: &str = "NVIDIA H100 80GB HBM3 9.0";

    #[test]
    fn cpu_build_on_a_gpu_node_is_an_error() {
        for (torch, expected) in [
            ("2.5.1+cpu None", "error"),
            ("2.5.1+cu124 12.4", "pass"),
            ("2.5.1 12.4", "pass"),
            ("2.5.1 None", "error"),
            ("", "not-applicable"),
        ] {
            let verdict = crate::judge_one(&CHECK, &node("550.54.14", H100, &venv(torch, &[])));
            assert_eq!(status(&verdict), expected, "{torch}: {verdict:?}");
        }
        let verdict = crate::judge_one(&CHECK, &machine(&venv("2.5.1+cpu None", &[])));
        assert_eq!(status(&verdict), "not-applicable", "no GPU: {verdict:?}");
    }

    #[test]
    fn cpu_build_in_an_inactive_environment_is_a_warning() {
        let mut facts = node("550.54.14", H100, &venv("2.5.1+cpu None", &[]));
        if let Fact::Known(environments) = &mut facts.python.environments {
            environments[0].found_by = facts::python::FoundBy::Location;
        }
        let Ok(verdict @ Verdict::Found(_)) = judge(&facts) else { panic!() };
        assert_eq!(status(&verdict), "warning");
    }

    #[test]
    fn a_version_file_that_cannot_be_read_is_unknown() {
        let mut facts = node("550.54.14", H100, &venv("2.5.1+cpu None", &[]));
        if let Fact::Known(environments) = &mut facts.python.environments {
            environments[0].torch = Fact::Unknown("permission denied".into());
        }
        assert_eq!(judge(&facts), Err(Verdict::Unknown("permission denied".into())));
    }
}
