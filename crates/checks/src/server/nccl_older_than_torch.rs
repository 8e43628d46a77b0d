//! The NCCL wheel is older than the one that torch was built with.

use crate::python::each_torch;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use catalog::version::at_least;
use diagnostic::shell;
use facts::Facts;
use facts::python::{PythonEnvironment, Torch};

pub(super) const CHECK: Check = Check {
    id: "nccl-older-than-torch",
    group: Group::Nccl,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "the NCCL wheel is not older than the one PyTorch was built with",
    explain: include_str!("nccl_older_than_torch.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    each_torch(&facts.python, |environment, torch| one(facts, environment, torch))
}

fn one(facts: &Facts, environment: &PythonEnvironment, torch: &Torch) -> Judged {
    let build = torch.cuda_build();
    let build =
        build.ok_or_else(|| Verdict::NotApplicable("this PyTorch is not an official CUDA wheel".into()))?;
    let name = format!("nvidia-nccl-{}", build.get(..4).unwrap_or(build));
    let installed = environment.package(&name);
    let installed = *installed.require("no NCCL wheel for this PyTorch")?;
    let unknown = || {
        Verdict::Unknown(
            format!("could not determine which NCCL torch {} was built with", torch.full()).into(),
        )
    };
    let release = facts.catalog.torch().release(&torch.version).ok_or_else(unknown)?;
    let wanted = release.build(build).and_then(|build| build.nccl.as_deref()).ok_or_else(unknown)?;
    match at_least(installed, wanted) {
        Some(true) => Ok(Verdict::Pass),
        None => Err(Verdict::Unknown(format!("{name} {installed} is not a released version").into())),
        Some(false) => {
            let lacking = facts.catalog.nccl_functions().between(installed, wanted);
            let then = match lacking {
                Some(function) => format!("it lacks {}, so `import torch` fails", function.function),
                None => "`import torch` fails if it lacks a function that torch uses".to_owned(),
            };
            let message = format!(
                "torch {} in {} was built with NCCL {wanted} but {name} {installed} is installed; {then}",
                torch.full(),
                environment.prefix
            );
            let command = format!("{} {name}=={}", environment.pip("install"), shell::word(wanted));
            let fix = Fix::safe("Install the NCCL that this PyTorch requires:", &[&command]);
            let verdict =
                if lacking.is_some() { Verdict::error(message, fix) } else { Verdict::warning(message, fix) };
            Ok(verdict.evidence(format!("{name} {installed} in {}", environment.prefix)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::testing::files::{machine, venv};

    #[test]
    fn nccl_older_than_torch_requires_is_reported() {
        let cases = [
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.21.5", "pass"),
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.26.5", "pass"),
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.18.1", "error"),
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.19.1", "warning"),
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.21.4", "warning"),
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.20.5", "warning"),
            ("2.5.1+cu124 12.4", "numpy-2.1.3", "not-applicable"),
            ("2.5.9+cu124 12.4", "nvidia_nccl_cu12-2.18.1", "unknown"),
        ];
        for (torch, other, expected) in cases {
            let verdict = crate::judge_one(&CHECK, &machine(&venv(torch, &[other])));
            assert_eq!(status(&verdict), expected, "{torch}, {other}: {verdict:?}");
        }
    }
}
