//! triton of another torch.

use diagnostic::shell;
use std::str::FromStr;

use catalog::version::Version;
use facts::Facts;
use facts::expected::contains;
use facts::python::{PythonEnvironment, Torch};
use pep440_rs::VersionSpecifiers;

use crate::partner::Partner;
use crate::python::each_torch;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};

pub(super) const CHECK: Check = Check {
    id: "triton-mismatch",
    group: Group::Python,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "triton is the version that the installed PyTorch requires",
    explain: include_str!("triton_mismatch.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    each_torch(&facts.python, |environment, torch| one(facts, environment, torch))
}

fn one(facts: &Facts, environment: &PythonEnvironment, torch: &Torch) -> Judged {
    let partner = Partner::find("triton", environment, torch, facts.catalog)?;
    let build = torch.cuda_build();
    let build =
        build.ok_or_else(|| Verdict::NotApplicable("this PyTorch is not an official CUDA wheel".into()))?;
    let unknown = || partner.unknown();
    let release = partner.release()?;
    release.build(build).ok_or_else(unknown)?;
    let wanted = release.triton.as_deref().ok_or_else(unknown)?;
    let exact = Version::parse(wanted).is_some();
    let fits = partner.is_in_series_of(wanted)?
        || !exact && {
            let range = VersionSpecifiers::from_str(wanted).map_err(|_| unknown())?;
            contains(&range, partner.version()).ok_or_else(unknown)?
        };
    if fits {
        return Ok(Verdict::Pass);
    }
    let (installed, full, prefix) = (partner.installed, torch.full(), &environment.prefix);
    let message = format!(
        "torch {full} in {prefix} requires triton {wanted}, but {installed} is installed; torch.compile may \
         fail"
    );
    let requirement = if exact { format!("=={wanted}") } else { wanted.to_owned() };
    let command =
        format!("{} {}", environment.pip("install"), shell::quoted(&format!("triton{requirement}")));
    let fix = Fix::safe("Install the triton that this PyTorch requires:", &[&command]);
    Ok(partner.finding(Severity::Warning, message, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::testing::files::{machine, venv};

    #[test]
    fn triton_must_match_the_version_torch_requires() {
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
