//! triton of another torch.

use crate::python::each_torch;
use std::str::FromStr;

use pep440_rs::VersionSpecifiers;

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use catalog::version::Version;
use facts::Facts;
use facts::expected::contains;
use facts::python::{PythonEnvironment, Torch};

pub const CHECK: Check = Check {
    id: "triton-mismatch",
    group: Group::Python,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "triton is the version that the installed PyTorch requires",
    explain: include_str!("triton_mismatch.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    each_torch(&facts.python, one)
}

fn one(environment: &PythonEnvironment, torch: &Torch) -> Judged {
    let installed = environment.package("triton");
    let installed = *installed.require("triton is not installed")?;
    let build = torch.cuda_build();
    let build =
        build.ok_or_else(|| Verdict::NotApplicable("this PyTorch is not an official CUDA wheel".into()))?;
    let unknown = || {
        Verdict::Unknown(format!("could not determine which triton torch {} requires", torch.version).into())
    };
    let release = catalog::torch::release(&torch.version).ok_or_else(unknown)?;
    release.build(build).ok_or_else(unknown)?;
    let wanted = release.triton.as_deref().ok_or_else(unknown)?;
    let version = installed.split('+').next().unwrap_or(installed);
    let found = Version::parse(version)
        .ok_or_else(|| Verdict::Unknown(format!("triton {installed} is not a released version").into()))?;
    let fits = match Version::parse(wanted) {
        Some(wanted) => found.minor() == wanted.minor(),
        None => {
            let range = VersionSpecifiers::from_str(wanted).map_err(|_| unknown())?;
            contains(&range, version).ok_or_else(unknown)?
        }
    };
    if fits {
        return Ok(Verdict::Pass);
    }
    let says = format!(
        "torch {} in {} requires triton {wanted}, but {installed} is installed; torch.compile may fail",
        torch.full(),
        environment.prefix
    );
    let requirement =
        if Version::parse(wanted).is_some() { format!("=={wanted}") } else { wanted.to_owned() };
    let command = format!("{} 'triton{requirement}'", environment.pip("install"));
    Ok(Verdict::warning(says, Fix::safe("Install the triton that this PyTorch requires:", &[&command]))
        .evidence(format!("triton {installed} in {}", environment.prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::testing::files::{machine, venv};

    #[test]
    fn the_series_decides() {
        let cases = [
            ("2.5.1+cu124 12.4", "triton-3.1.0", "pass"),
            ("2.5.1+cu124 12.4", "triton-3.2.0", "warning"),
            ("2.5.1+cu124 12.4", "triton-2.3.1", "warning"),
            ("2.5.1+cu124 12.4", "numpy-2.1.3", "not-applicable"),
            ("2.5.1 12.4", "triton-3.2.0", "not-applicable"),
            ("2.7.0.dev20250101+cu126 12.6", "triton-3.2.0", "unknown"),
        ];
        for (torch, other, expected) in cases {
            let verdict = crate::judge_one(&CHECK, &machine(&venv(torch, &[other])));
            assert_eq!(status(&verdict), expected, "{torch}, {other}: {verdict:?}");
        }
    }
}
