//! torchvision of another torch.

use crate::python::each_torch;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use catalog::version::{Version, at_least};
use facts::Facts;
use facts::python::{PythonEnvironment, Torch};

pub const CHECK: Check = Check {
    id: "torchvision-mismatch",
    group: Group::Python,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "torchvision matches the installed PyTorch",
    explain: include_str!("torchvision_mismatch.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    each_torch(&facts.python, one)
}

fn one(environment: &PythonEnvironment, torch: &Torch) -> Judged {
    let installed = environment.package("torchvision");
    let installed = *installed.require("torchvision is not installed")?;
    let (version, build) = installed.split_once('+').map_or((installed, None), |(v, b)| (v, Some(b)));
    let release = catalog::torch::release(&torch.version).ok_or_else(|| {
        Verdict::Unknown(
            format!("could not determine which torchvision matches torch {}", torch.version).into(),
        )
    })?;
    let wanted = release.torchvision.as_deref().ok_or_else(|| {
        Verdict::Unknown(
            format!("could not determine which torchvision matches torch {}", torch.version).into(),
        )
    })?;
    let series = |text: &str| Version::parse(text).map(|version| version.minor());
    let loose = at_least(version, "0.29.1") == Some(true) && at_least(&torch.version, "2.14") == Some(true);
    let found = series(version).ok_or_else(|| {
        Verdict::Unknown(format!("torchvision {installed} is not a released version").into())
    })?;
    let kind = |build: &str| {
        if build.starts_with("cu") { build.get(2..4).unwrap_or("").to_owned() } else { build.to_owned() }
    };
    let says = if Some(found) != series(wanted) && !loose {
        format!(
            "torchvision {installed} does not match torch {} in {}; {wanted} does, and with another version \
             the import fails or operators are missing",
            torch.full(),
            environment.prefix
        )
    } else if let (Some(own), Some(of_torch)) = (build, torch.build.known())
        && kind(own) != kind(of_torch)
    {
        format!(
            "torchvision {installed} and torch {} in {} are builds for different CUDA versions or processors",
            torch.full(),
            environment.prefix
        )
    } else {
        return Ok(Verdict::Pass);
    };
    let install = environment.pip("install");
    let command = match torch.build.known() {
        Some(build) => format!(
            "{install} --force-reinstall --no-deps torchvision=={wanted} --index-url \
             https://download.pytorch.org/whl/{build}"
        ),
        None => format!("{install} --force-reinstall --no-deps torchvision=={wanted}"),
    };
    Ok(Verdict::error(says, Fix::safe("Install the matching torchvision:", &[&command])).evidence(format!(
        "torch {} and torchvision {installed} in {}",
        torch.full(),
        environment.prefix
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::testing::files::{machine, venv};

    #[test]
    fn the_series_decides() {
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
