//! torchvision of another torch.

use catalog::torch::CudaBuild;
use facts::Facts;
use facts::python::{PythonEnvironment, Torch};

use crate::partner::Partner;
use crate::python::each_torch;
use crate::{Applies, Check, Group, Judged, Severity, Verdict};

pub(super) const CHECK: Check = Check {
    id: "torchvision-mismatch",
    group: Group::Python,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "torchvision matches the installed PyTorch",
    explain: include_str!("torchvision_mismatch.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    each_torch(&facts.python, |environment, torch| one(facts, environment, torch))
}

fn one(facts: &Facts, environment: &PythonEnvironment, torch: &Torch) -> Judged {
    let partner = Partner::find("torchvision", environment, torch, facts.catalog)?;
    let wanted = partner.release()?.torchvision.as_deref().ok_or_else(|| partner.unknown())?;
    let row = facts.catalog.torch_partners().partner("torchvision");
    let loose = row.is_some_and(|row| row.is_compatible_with(partner.version(), &torch.version));
    // Of `cu117.with.pypi.cudnn` the CUDA is the first part.
    let cuda = |build: &str| CudaBuild::parse(build.split('.').next()?).map(|cuda| cuda.major);
    let differ = |own: &str, of_torch: &str| match (cuda(own), cuda(of_torch)) {
        (Some(own), Some(of_torch)) => own != of_torch,
        _ => own != of_torch,
    };
    let (installed, full, prefix) = (partner.installed, torch.full(), &environment.prefix);
    let message = if !partner.is_in_series_of(wanted)? && !loose {
        format!(
            "torchvision {installed} does not match torch {full} in {prefix}; {wanted} does, and with \
             another version the import fails or operators are missing"
        )
    } else if let (Some(own), Some(of_torch)) = (partner.build(), torch.build.known())
        && differ(own, of_torch)
    {
        format!(
            "torchvision {installed} and torch {full} in {prefix} are builds for different CUDA versions or \
             processors"
        )
    } else {
        return Ok(Verdict::Pass);
    };
    Ok(partner.finding(Severity::Error, message, partner.install(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::testing::files::{machine, venv};

    #[test]
    fn torchvision_must_match_torch_series_and_cuda() {
        let cases = [
            ("2.5.1+cu121 12.1", "torchvision-0.20.1+cu121", "pass"),
            ("2.5.1+cu124 12.4", "torchvision-0.20.1", "pass"),
            ("2.5.1+cu124 12.4", "torchvision-0.20.0", "pass"),
            ("2.6.0+cu124 12.4", "torchvision-0.17.0", "error"),
            ("2.5.1+cu121 12.1", "torchvision-0.20.1+cpu", "error"),
            ("2.5.1+cu121 12.1", "torchvision-0.20.1+cu118", "error"),
            ("2.15.0+cu132 13.2", "torchvision-0.29.2", "pass"),
            ("2.7.0.dev20250101+cu126 12.6", "torchvision-0.20.1", "unknown"),
            ("2.5.1+cu121 12.1", "numpy-2.1.3", "not-applicable"),
        ];
        for (torch, other, expected) in cases {
            let verdict = crate::judge_one(&CHECK, &machine(&venv(torch, &[other])));
            assert_eq!(status(&verdict), expected, "{torch}, {other}: {verdict:?}");
        }
    }
}
