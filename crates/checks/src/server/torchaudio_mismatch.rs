//! torchaudio of another torch.

use catalog::torch::CudaBuild;
use facts::Facts;
use facts::python::{PythonEnvironment, Torch};

use crate::partner::Partner;
use crate::python::each_torch;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};

pub(super) const CHECK: Check = Check {
    id: "torchaudio-mismatch",
    group: Group::Python,
    severity: Severity::Error,
    applies: Applies::Anywhere,
    summary: "torchaudio matches the installed PyTorch",
    explain: include_str!("torchaudio_mismatch.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let x86 = facts.system.architecture.known().is_some_and(|name| name == "x86_64");
    each_torch(&facts.python, |environment, torch| one(facts, environment, torch, x86))
}

fn one(facts: &Facts, environment: &PythonEnvironment, torch: &Torch, x86: bool) -> Judged {
    let partner = Partner::find("torchaudio", environment, torch, facts.catalog)?;
    let release = partner.release()?;
    let last = release.torchaudio.as_deref().ok_or_else(|| partner.unknown())?;
    // None: it ended before this build's CUDA came.
    let wanted = match torch.cuda_build() {
        Some(build) => release.torchaudio_of(build).map(String::as_str),
        None => Some(last),
    };
    let version = partner.version();
    let row = facts.catalog.torch_partners().partner("torchaudio");
    let loose = row.is_some_and(|row| row.is_compatible_with(version, &torch.version));
    let linked = row.is_some_and(|row| row.is_linked(version));
    let (installed, full, prefix) = (partner.installed, torch.full(), &environment.prefix);
    let (message, severity) = if !partner.is_in_series_of(last)? && !loose {
        let must = if linked { "; the versions must match" } else { "" };
        let own = wanted.map_or("no torchaudio exists for its CUDA version".to_owned(), |wanted| {
            format!("install {wanted}")
        });
        let message = format!("torchaudio {installed} does not match torch {full} in {prefix}; {own}{must}");
        (message, if linked { Severity::Error } else { Severity::Warning })
    } else if let Some((own, of_torch)) = other_cuda(facts, &partner, torch, x86) {
        let message = format!(
            "torchaudio {installed} in {prefix} is built for CUDA {own} but torch {full} for CUDA \
             {of_torch}; `import torchaudio` fails"
        );
        (message, Severity::Error)
    } else {
        return Ok(Verdict::Pass);
    };
    let fix = wanted.map_or_else(|| uninstall(environment, torch, last), |wanted| partner.install(wanted));
    Ok(partner.finding(severity, message, fix))
}

/// The CUDA of torchaudio and that of torch, where both are known and differ. A distribution without a build
/// in its version is PyPI's; which CUDA that is was measured for the last release on x86-64 alone.
fn other_cuda(facts: &Facts, partner: &Partner, torch: &Torch, x86: bool) -> Option<(String, String)> {
    let of_torch = torch.cuda_build()?;
    let own = match partner.build() {
        Some(build) => build,
        None if x86 && facts.catalog.torch().last_torchaudio() == Some(partner.version()) => {
            facts.catalog.torch().release(partner.version())?.pypi_build.as_deref()?
        }
        None => return None,
    };
    let (own, of_torch) = (CudaBuild::parse(own)?.cuda()?, CudaBuild::parse(of_torch)?.cuda()?);
    (own != of_torch).then_some((own, of_torch))
}

fn uninstall(environment: &PythonEnvironment, torch: &Torch, last: &str) -> Fix {
    let title = format!(
        "Uninstall torchaudio ({last}, the last release, has no build for the CUDA version of \
         torch {}); if something needs it, choose another torch with `envdoc resolve --with torchaudio`:",
        torch.full()
    );
    Fix::safe(title, &[&format!("{} -m pip uninstall torchaudio", environment.interpreter())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::testing::files::{machine, venv};

    #[test]
    fn torchaudio_must_match_torch_series_and_cuda() {
        let cases = [
            ("2.5.1+cu121 12.1", "torchaudio-2.5.1+cu121", "pass"),
            ("2.12.0+cu130 13.0", "torchaudio-2.11.0", "pass"),
            ("2.12.0+cu130 13.0", "torchaudio-2.11.0+cu130", "pass"),
            ("2.15.0+cu132 13.2", "torchaudio-2.11.0", "error"),
            ("2.14.1+cu126 12.6", "torchaudio-2.11.0", "error"),
            ("2.14.1+cu126 12.6", "torchaudio-2.11.0+cu126", "pass"),
            ("2.5.1+cu124 12.4", "torchaudio-2.5.1+cu121", "error"),
            ("2.5.1+cu124 12.4", "torchaudio-2.5.1", "pass"),
            ("2.5.1+cu124 12.4", "torchaudio-2.5.1+cpu", "pass"),
            ("2.6.0+cu124 12.4", "torchaudio-2.5.1", "error"),
            ("2.12.0+cu130 13.0", "torchaudio-2.10.0", "warning"),
            ("2.7.0.dev20250101+cu126 12.6", "torchaudio-2.5.1", "unknown"),
            ("2.5.1+cu121 12.1", "numpy-2.1.3", "not-applicable"),
        ];
        for (torch, other, expected) in cases {
            let verdict = crate::judge_one(&CHECK, &machine(&venv(torch, &[other])));
            assert_eq!(status(&verdict), expected, "{torch}, {other}: {verdict:?}");
        }
    }

    #[test]
    fn fix_installs_a_matching_build_or_uninstalls() {
        let fix = |torch: &str, torchaudio: &str| {
            let verdict = crate::judge_one(&CHECK, &machine(&venv(torch, &[torchaudio])));
            let Verdict::Found(found) = &verdict else { panic!("{verdict:?}") };
            let (fix, message) = (&found.fixes[0], &found.message);
            format!("{message} {fix:?}")
        };
        let ended = fix("2.15.0+cu132 13.2", "torchaudio-2.11.0");
        assert!(ended.contains("CUDA 13.0") && ended.contains("for CUDA 13.2"), "{ended}");
        assert!(ended.contains("pip uninstall torchaudio") && !ended.contains("torchaudio=="), "{ended}");
        assert!(!fix("2.15.0+cu132 13.2", "torchaudio-2.10.0").contains("torchaudio=="));
        let other = fix("2.14.1+cu126 12.6", "torchaudio-2.11.0");
        assert!(
            other.contains("torchaudio==2.11.0 --index-url https://download.pytorch.org/whl/cu126"),
            "{other}"
        );
    }
}
