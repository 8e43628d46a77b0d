//! The NCCL that torch uses has a documented fault.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use facts::python::PythonEnvironment;
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "nccl-known-bad",
    group: Group::Nccl,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "the NCCL that PyTorch uses has no known bug that affects this machine",
    explain: include_str!("nccl_known_bad.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    const NONE: &str = "no NCCL wheel in the Python environments found here";
    let environments = facts.python.environments.require(NONE)?;
    Verdict::together(environments.iter().filter(|e| e.active()).map(|e| one(facts, e)), NONE)
}

fn one(facts: &Facts, environment: &PythonEnvironment) -> Judged {
    let packages = environment.packages.require("no packages")?;
    let wheel = packages.iter().find(|package| package.name.starts_with("nvidia-nccl-cu"));
    let wheel = wheel.ok_or_else(|| Verdict::NotApplicable("no NCCL wheel".into()))?;
    let release = facts.catalog.nccl().release(&wheel.version);
    let release = release.ok_or_else(|| {
        Verdict::Unknown(format!("envdoc's catalog does not list NCCL {}", wheel.version).into())
    })?;
    let Some(fault) = &release.known_bad else { return Ok(Verdict::Pass) };
    if release.known_bad_speed_only {
        return Ok(Verdict::Pass);
    }
    if release.known_bad_cuda_major.is_some_and(|major| wheel.name != format!("nvidia-nccl-cu{major}")) {
        return Ok(Verdict::Pass);
    }
    if let Some(capability) = &release.known_bad_capability {
        match facts.compute_capabilities() {
            Fact::Known(all)
                if all.iter().any(|(major, minor)| format!("{major}.{minor}") == *capability) => {}
            Fact::Unknown(why) => return Err(Verdict::Unknown(why)),
            _ => return Ok(Verdict::Pass),
        }
    }
    let fixed = release.fixed_in.as_deref();
    let message = format!(
        "NCCL {} in {} has a known bug: {fault}{}",
        wheel.version,
        environment.prefix,
        fixed.map(|version| format!("; fixed in {version}")).unwrap_or_default()
    );
    let command =
        fixed.map(|version| format!("{} --no-deps {}=={version}", environment.pip("install"), wheel.name));
    let commands: Vec<&str> = command.iter().map(String::as_str).collect();
    let fix = Fix::safe("Install the release that fixes it, the same on every node:", &commands).punctuated();
    Ok(Verdict::warning(message, fix)
        .about(Subject::name(&wheel.name))
        .evidence(format!("source: {}", release.source)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::testing::files::{node, venv};

    #[test]
    fn reports_only_bugs_that_affect_the_installed_gpu() {
        let h100 = "NVIDIA H100 80GB HBM3 9.0";
        let cases = [
            (h100, "nvidia_nccl_cu13-2.28.3", "warning"),
            (h100, "nvidia_nccl_cu12-2.21.5", "pass"),
            (h100, "nvidia_nccl_cu12-2.26.2", "pass"),
            (h100, "nvidia_nccl_cu13-2.27.3", "pass"),
            ("Tesla T4 7.5", "nvidia_nccl_cu13-2.27.3", "warning"),
            (h100, "nvidia_nccl_cu12-2.99.1", "unknown"),
            (h100, "numpy-2.1.3", "not-applicable"),
        ];
        for (card, wheel, expected) in cases {
            let facts = node("580.65.06", card, &venv("2.9.0+cu130 13.0", &[wheel]));
            let verdict = crate::judge_one(&CHECK, &facts);
            assert_eq!(status(&verdict), expected, "{card}, {wheel}: {verdict:?}");
        }
    }
}
