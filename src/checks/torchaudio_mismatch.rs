//! torchaudio of another torch.

use super::{Applies, Check, Fix, Group, Judged, Verdict};
use crate::catalog;
use crate::catalog::version::{Version, at_least};
use crate::facts::Facts;
use crate::facts::python::{PythonEnvironment, Torch};

/// The check.
pub const CHECK: Check = Check {
    id: "torchaudio-mismatch",
    group: Group::Python,
    applies: Applies::Anywhere,
    summary: "torchaudio belongs to the installed PyTorch",
    explain: "\
## What it checks
Compares torchaudio with the one that was released with the installed PyTorch, by series (2.5.x for
2.5.x). From 2.11.0 on, which is its last release and asks for no certain PyTorch, it goes with every
later one.

## Why it matters
The extension of torchaudio before 2.9 is linked to one PyTorch, and \"they have to match\" (its
maintainer): with another, `import torchaudio` fails with an undefined symbol. That of 2.9 and 2.10 still
asks for exactly one PyTorch, but was in part made independent of it: there it is a warning. There is no
torchaudio 2.12 or newer: `torchaudio==2.12.0` cannot be installed.

## How to fix it
Install the torchaudio of this PyTorch from the index of the same build, or remove it if nothing needs it.

## Sources
- Metadata of the torchaudio wheels on PyPI (torch==... up to 2.10; none from 2.11.0 on)
- https://github.com/pytorch/audio/issues/3335 (\"they have to match\")
- https://github.com/RangiLyu/nanodet/issues/547, https://github.com/Lightning-AI/torchmetrics/issues/2188
  (undefined symbol)
- https://github.com/pytorch/audio/pull/4142, https://github.com/pytorch/audio/pull/4147 (stable ABI)
",
    judge,
};

fn judge(facts: &Facts) -> Judged {
    facts.python.each_torch(one)
}

fn one(environment: &PythonEnvironment, torch: &Torch) -> Judged {
    let installed = environment.package("torchaudio");
    let installed = *installed.require("torchaudio is not installed")?;
    let version = installed.split('+').next().unwrap_or(installed);
    let unknown = || Verdict::Unknown(format!("which torchaudio belongs to torch {}", torch.version));
    let release = catalog::torch::release(&torch.version).ok_or_else(unknown)?;
    let wanted = release.torchaudio.as_deref().ok_or_else(unknown)?;
    let series = |text: &str| Version::parse(text).map(|version| version.minor());
    let found = series(version)
        .ok_or_else(|| Verdict::Unknown(format!("torchaudio {installed} is not a released version")))?;
    let loose = at_least(version, "2.11.0") == Some(true) && at_least(&torch.version, "2.11") == Some(true);
    if Some(found) == series(wanted) || loose {
        return Ok(Verdict::Pass);
    }
    let linked = at_least(version, "2.9.0") == Some(false);
    let says = format!(
        "torchaudio {installed} is not the one of torch {} in {}; {wanted} is{}",
        torch.full(),
        environment.prefix,
        if linked { ", and the two must match" } else { "" }
    );
    let index = match torch.build.known() {
        Some(build) if build != "cu132" => format!(" --index-url https://download.pytorch.org/whl/{build}"),
        _ => String::new(),
    };
    let command =
        format!("{} --force-reinstall --no-deps torchaudio=={wanted}{index}", environment.pip("install"));
    let fix = Fix::safe("Install the torchaudio that goes with it.", &[&command]);
    let verdict = if linked { Verdict::error(says, fix) } else { Verdict::warning(says, fix) };
    Ok(verdict.because(format!(
        "torch {} and torchaudio {installed} in {}",
        torch.full(),
        environment.prefix
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::testing::{
        files::{machine, venv},
        word,
    };

    #[test]
    fn the_series_decides() {
        let cases = [
            ("2.5.1+cu121 12.1", "torchaudio-2.5.1+cu121", "pass"),
            ("2.12.0+cu130 13.0", "torchaudio-2.11.0", "pass"),
            ("2.6.0+cu124 12.4", "torchaudio-2.5.1", "error"),
            ("2.12.0+cu130 13.0", "torchaudio-2.10.0", "warning"),
            ("2.7.0.dev20250101+cu126 12.6", "torchaudio-2.5.1", "unknown"),
            ("2.5.1+cu121 12.1", "numpy-2.1.3", "not-applicable"),
        ];
        for (torch, other, expected) in cases {
            let verdict = super::super::judge_one(&CHECK, &machine(&venv(torch, &[other])));
            assert_eq!(word(&verdict), expected, "{torch}, {other}: {verdict:?}");
        }
    }
}
