//! The NCCL wheel is older than the one that torch was built with.

use super::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use crate::python::each_torch;
use catalog::version::at_least;
use facts::Facts;
use facts::python::{PythonEnvironment, Torch};

/// The check.
pub const CHECK: Check = Check {
    id: "nccl-older-than-torch",
    group: Group::Nccl,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "the NCCL wheel is not older than the one that PyTorch was built with",
    explain: "\
## What it checks
Compares the installed `nvidia-nccl-cu12` (or -cu11, -cu13) with the NCCL that the installed build of
PyTorch requires. A newer one, put in on purpose, is fine as long as every node has the same.

## Why it matters
PyTorch uses the functions of its own NCCL version. An older library may lack some: `import torch` then
fails, as is known of \"undefined symbol: ncclCommRegister\" (new in NCCL 2.19.3) and \"ncclCommResume\"
(2.29.7). Where none of these is between the two versions it is a warning. It happens when another package
brings an older NCCL.

## How to fix it
Install the version that this PyTorch requires.

## Sources
- Metadata of the torch wheels on PyPI (requirement on nvidia-nccl)
- NVIDIA/nccl: src/nccl.h.in at the tags v2.17.1-1 to v2.30.4-1 (functions that came with each)
- https://github.com/pytorch/pytorch/issues/119072, https://github.com/rapidsai/cugraph/issues/4465
  (ncclCommRegister), https://github.com/pytorch/pytorch/issues/186591 (ncclCommResume)
",
    judge,
};

/// Functions of NCCL whose lack is known to stop `import torch`, and the release that brought each.
const MISSED: &[(&str, &str)] = &[("2.19.3", "ncclCommRegister"), ("2.29.7", "ncclCommResume")];

fn judge(facts: &Facts) -> Judged {
    each_torch(&facts.python, one)
}

fn one(environment: &PythonEnvironment, torch: &Torch) -> Judged {
    let build = torch.cuda_build();
    let build =
        build.ok_or_else(|| Verdict::NotApplicable("this PyTorch is no CUDA wheel of the project".into()))?;
    let name = format!("nvidia-nccl-{}", build.get(..4).unwrap_or(build));
    let installed = environment.package(&name);
    let installed = *installed.require("no NCCL wheel beside this PyTorch")?;
    let unknown = || Verdict::Unknown(format!("which NCCL torch {} was built with", torch.full()).into());
    let release = catalog::torch::release(&torch.version).ok_or_else(unknown)?;
    let wanted = release.build(build).and_then(|build| build.nccl.as_deref()).ok_or_else(unknown)?;
    match at_least(installed, wanted) {
        Some(true) => Ok(Verdict::Pass),
        None => Err(Verdict::Unknown(format!("{name} {installed} is not a released version").into())),
        Some(false) => {
            let lacks = |(since, _): &&(&str, &str)| {
                at_least(wanted, since) == Some(true) && at_least(installed, since) == Some(false)
            };
            let lacking = MISSED.iter().find(lacks);
            let then = match lacking {
                Some((_, function)) => format!("it lacks {function}, without which import torch fails"),
                None => "if it lacks a function that torch uses, import torch fails".to_owned(),
            };
            let says = format!(
                "torch {} in {} was built with NCCL {wanted}, and {name} {installed} is installed; {then}",
                torch.full(),
                environment.prefix
            );
            let command = format!("{} {name}=={wanted}", environment.pip("install"));
            let fix = Fix::safe("Install the NCCL that this PyTorch requires.", &[&command]);
            let verdict =
                if lacking.is_some() { Verdict::error(says, fix) } else { Verdict::warning(says, fix) };
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
    fn older_is_wrong_and_newer_is_not() {
        let cases = [
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.21.5", "pass"),
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.26.5", "pass"),
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.18.1", "error"),
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.21.4", "warning"),
            ("2.5.1+cu124 12.4", "nvidia_nccl_cu12-2.20.5", "warning"),
            ("2.5.1+cu124 12.4", "numpy-2.1.3", "not-applicable"),
            ("2.5.9+cu124 12.4", "nvidia_nccl_cu12-2.18.1", "unknown"),
        ];
        for (torch, other, expected) in cases {
            let verdict = super::super::judge_one(&CHECK, &machine(&venv(torch, &[other])));
            assert_eq!(status(&verdict), expected, "{torch}, {other}: {verdict:?}");
        }
    }
}
