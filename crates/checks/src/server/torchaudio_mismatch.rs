//! torchaudio of another torch.

use crate::python::each_torch;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use catalog::torch::LAST_TORCHAUDIO;
use catalog::version::{Version, at_least};
use facts::Facts;
use facts::python::{PythonEnvironment, Torch};

pub const CHECK: Check = Check {
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
    each_torch(&facts.python, |environment, torch| one(environment, torch, x86))
}

fn one(environment: &PythonEnvironment, torch: &Torch, x86: bool) -> Judged {
    let installed = environment.package("torchaudio");
    let installed = *installed.require("torchaudio is not installed")?;
    let version = installed.split('+').next().unwrap_or(installed);
    let unknown = || {
        Verdict::Unknown(
            format!("could not determine which torchaudio matches torch {}", torch.version).into(),
        )
    };
    let release = catalog::torch::release(&torch.version).ok_or_else(unknown)?;
    let last = release.torchaudio.as_deref().ok_or_else(unknown)?;
    // None: it ended before this build's CUDA came.
    let wanted = match torch.cuda_build() {
        Some(build) => release.torchaudio_of(build).map(String::as_str),
        None => Some(last),
    };
    let series = |text: &str| Version::parse(text).map(|version| version.minor());
    let found = series(version).ok_or_else(|| {
        Verdict::Unknown(format!("torchaudio {installed} is not a released version").into())
    })?;
    let loose = at_least(version, "2.11.0") == Some(true) && at_least(&torch.version, "2.11") == Some(true);
    let (full, prefix) = (torch.full(), &environment.prefix);
    let linked = at_least(version, "2.9.0") == Some(false);
    let (says, certain) = if Some(found) != series(last) && !loose {
        let match_ = if linked { ", and the two must match" } else { "" };
        let own =
            wanted.map_or("none exists for its CUDA version".to_owned(), |wanted| format!("{wanted} does"));
        (format!("torchaudio {installed} does not match torch {full} in {prefix}; {own}{match_}"), linked)
    } else if let Some((own, of_torch)) = other_cuda(installed, torch, x86) {
        let says = format!(
            "torchaudio {installed} in {prefix} is built for CUDA {own} but torch {full} for CUDA \
             {of_torch}; `import torchaudio` fails"
        );
        (says, true)
    } else {
        return Ok(Verdict::Pass);
    };
    let fix = fix(environment, torch, wanted);
    let verdict = if certain { Verdict::error(says, fix) } else { Verdict::warning(says, fix) };
    Ok(verdict.evidence(format!("torch {full} and torchaudio {installed} in {prefix}")))
}

/// The CUDA of torchaudio and that of torch, where both are known and differ. A distribution without a build
/// in its version is PyPI's; which CUDA that is was measured for the last release on x86-64 alone.
fn other_cuda(installed: &str, torch: &Torch, x86: bool) -> Option<(String, String)> {
    let version = installed.split('+').next().unwrap_or(installed);
    let of_torch = torch.cuda_build()?;
    let own = match installed.split_once('+') {
        Some((_, build)) => build,
        None if x86 && version == LAST_TORCHAUDIO => {
            catalog::torch::release(LAST_TORCHAUDIO)?.pypi_build.as_deref()?
        }
        None => return None,
    };
    let (own, of_torch) = (catalog::torch::cuda_of(own)?, catalog::torch::cuda_of(of_torch)?);
    (own != of_torch).then_some((own, of_torch))
}

fn fix(environment: &PythonEnvironment, torch: &Torch, wanted: Option<&str>) -> Fix {
    let Some(wanted) = wanted else {
        let says = format!(
            "Uninstall torchaudio ({LAST_TORCHAUDIO}, the last release, has no build for the CUDA version of \
             torch {}); if something needs it, choose another torch with `envdoc resolve --with torchaudio`:",
            torch.full()
        );
        return Fix::safe(&says, &[&format!("{} -m pip uninstall torchaudio", environment.interpreter())]);
    };
    let index = match torch.build.known() {
        Some(build) => format!(" --index-url https://download.pytorch.org/whl/{build}"),
        None => String::new(),
    };
    let install = environment.pip("install");
    let command = format!("{install} --force-reinstall --no-deps torchaudio=={wanted}{index}");
    Fix::safe("Install the matching torchaudio:", &[&command])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::testing::files::{machine, venv};

    #[test]
    fn the_series_decides() {
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
    fn the_fix_is_one_that_loads() {
        let fix = |torch: &str, torchaudio: &str| {
            let verdict = crate::judge_one(&CHECK, &machine(&venv(torch, &[torchaudio])));
            let Verdict::Found(found) = &verdict else { panic!("{verdict:?}") };
            let (fix, says) = (&found.fixes[0], &found.message);
            format!("{says} {fix:?}")
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
