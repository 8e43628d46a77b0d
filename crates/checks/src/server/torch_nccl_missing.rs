//! The NCCL wheel that torch links to is not installed.

use crate::python::each_torch;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use diagnostic::shell;
use facts::Facts;
use facts::python::{PythonEnvironment, Torch};

pub(super) const CHECK: Check = Check {
    id: "torch-nccl-missing",
    group: Group::Nccl,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "the NCCL wheel that PyTorch requires is installed",
    explain: include_str!("torch_nccl_missing.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    each_torch(&facts.python, |environment, torch| one(facts, environment, torch))
}

fn one(facts: &Facts, environment: &PythonEnvironment, torch: &Torch) -> Judged {
    if facts.system.architecture.require("")? != "x86_64" {
        return Err(Verdict::Unknown(
            "could not determine what PyTorch wheels for this architecture require".into(),
        ));
    }
    let build = torch.cuda_build();
    let build =
        build.ok_or_else(|| Verdict::NotApplicable("this PyTorch is not an official CUDA wheel".into()))?;
    let release = facts.catalog.torch().release(&torch.version).ok_or_else(|| {
        Verdict::Unknown(format!("could not determine which NCCL torch {} requires", torch.version).into())
    })?;
    if release.pypi_build.as_deref() != Some(build) {
        return Err(Verdict::NotApplicable("this build may include NCCL".into()));
    }
    let none = || Verdict::NotApplicable("this PyTorch includes NCCL".into());
    let wanted = release.nccl.as_deref().ok_or_else(none)?;
    let packages = environment.packages.require("no packages")?;
    if packages.iter().any(|package| package.name.starts_with("nvidia-nccl")) {
        return Ok(Verdict::Pass);
    }
    let name = format!("nvidia-nccl-{}", build.get(..4).unwrap_or(build));
    let system = facts.libraries.nccl.decided()?.and_then(|found| found.iter().find(|l| l.is_reachable()));
    let fix = Fix::safe(
        "Install the NCCL that this PyTorch requires:",
        &[&format!("{} {}", environment.pip("install"), shell::word(&format!("{name}=={wanted}")))],
    );
    let head = format!(
        "torch {} in {} requires {name} {wanted}, which is not installed",
        torch.full(),
        environment.prefix
    );
    Ok(match system {
        None => Verdict::error(
            format!("{head}; `import torch` fails with \"libnccl.so.2: cannot open shared object file\""),
            fix,
        ),
        Some(library) => Verdict::warning(
            format!("{head}; it loads {} instead, which it was not built with", library.path),
            fix,
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::{machine, venv};

    #[test]
    fn missing_nccl_wheel_is_an_error() {
        let cases = [
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.21.5", "pass"),
            ("2.5.1+cu124 12.4", "numpy-2.1.3", "error"),
            ("2.5.1+cu121 12.1", "numpy-2.1.3", "not-applicable"),
            ("2.5.1 12.4", "numpy-2.1.3", "not-applicable"),
            ("2.9.9+cu128 12.8", "numpy-2.1.3", "unknown"),
        ];
        for (torch, other, expected) in cases {
            let verdict = crate::judge_one(&CHECK, &machine(&venv(torch, &[other])));
            assert_eq!(status(&verdict), expected, "{torch}, {other}: {verdict:?}");
        }
    }

    #[test]
    fn system_nccl_without_the_wheel_is_a_warning() {
        let mut files = venv("2.5.1+cu124 12.4", &[]);
        files.push(("/usr/lib/libnccl.so.2.18.5", ""));
        let verdict = crate::judge_one(&CHECK, &machine(&files));
        assert_eq!(status(&verdict), "warning", "{verdict:?}");
        let mut facts = machine(&files);
        facts.libraries.nccl = Fact::Unknown("permission denied".into());
        assert_eq!(judge(&facts), Err(Verdict::Unknown("permission denied".into())));
    }
}
