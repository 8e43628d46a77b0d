//! The NCCL wheel is older than the one that torch was built with.

use super::{Applies, Check, Fix, Group, Judged, Verdict};
use crate::catalog;
use crate::catalog::version::{Version, at_least};
use crate::facts::Facts;
use crate::facts::python::{PythonEnvironment, Torch};

/// The check.
pub const CHECK: Check = Check {
    id: "nccl-older-than-torch",
    group: Group::Nccl,
    applies: Applies::Anywhere,
    summary: "the NCCL wheel is not older than the one that PyTorch was built with",
    explain: "\
## What it checks
Compares the installed `nvidia-nccl-cu12` (or -cu11, -cu13) with the NCCL that the installed build of
PyTorch requires. A newer one, put in on purpose, is fine as long as every node has the same.

## Why it matters
PyTorch uses the functions of its own NCCL version. An older library may lack some: `import torch` then
fails with \"undefined symbol: ncclCommRegister\" or the like. It happens when another package asks for an older
NCCL wheel.

## How to fix it
Install the version that this PyTorch requires.

## Sources
- Metadata of the torch wheels on PyPI (requirement on nvidia-nccl)
- https://github.com/NVIDIA/nccl/issues/1180
- https://github.com/rwth-i6/returnn/issues/1802
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    facts.python.each_torch(one)
}

fn one(environment: &PythonEnvironment, torch: &Torch) -> Judged {
    let build = torch.cuda_build();
    let build =
        build.ok_or_else(|| Verdict::NotApplicable("this PyTorch is no CUDA wheel of the project".into()))?;
    let name = format!("nvidia-nccl-{}", build.get(..4).unwrap_or(build));
    let installed = environment.package(&name);
    let installed = *installed.require("no NCCL wheel beside this PyTorch")?;
    let unknown = || Verdict::Unknown(format!("which NCCL torch {} was built with", torch.full()));
    let release = catalog::torch::release(&torch.version).ok_or_else(unknown)?;
    let wanted = release.build(build).and_then(|build| build.nccl.as_deref()).ok_or_else(unknown)?;
    match at_least(installed, wanted) {
        Some(true) => Ok(Verdict::Pass),
        None => Err(Verdict::Unknown(format!("{name} {installed} is not a released version"))),
        Some(false) => {
            let says = format!(
                "torch {} in {} was built with NCCL {wanted}, and {name} {installed} is installed; if it lacks a function that \
                 torch uses, import torch fails",
                torch.full(),
                environment.prefix
            );
            let command = format!("{} -m pip install {name}=={wanted}", environment.interpreter());
            let fix = Fix::safe("Install the NCCL that this PyTorch requires.", &[&command]);
            // NCCL adds functions with a minor release; within one an older patch mostly still serves.
            let minor = |text: &str| Version::parse(text).map(|version| version.minor());
            let verdict = if minor(installed) == minor(wanted) {
                Verdict::warning(says, fix)
            } else {
                Verdict::error(says, fix)
            };
            Ok(verdict.because(format!("{name} {installed} in {}", environment.prefix)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::composed::{machine, venv, word};

    #[test]
    fn older_is_wrong_and_newer_is_not() {
        let cases = [
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.21.5", "pass"),
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.26.5", "pass"),
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.18.1", "error"),
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.21.4", "warning"),
            ("2.5.1+cu124 12.4", "numpy-2.1.3", "not-applicable"),
            ("2.5.9+cu124 12.4", "nvidia_nccl_cu12-2.18.1", "unknown"),
        ];
        for (torch, other, expected) in cases {
            let verdict = super::super::judge_one(&CHECK, &machine(&venv(torch, &[other])));
            assert_eq!(word(&verdict), expected, "{torch}, {other}: {verdict:?}");
        }
    }
}
