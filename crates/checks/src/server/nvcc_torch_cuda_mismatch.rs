//! DeepSpeed will refuse to compile its operators: nvcc and torch are of different CUDA versions.

use crate::python::each_torch;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use diagnostic::shell;
use facts::Facts;
use facts::cuda::minor;
use facts::python::{PythonEnvironment, Torch};

pub(super) const CHECK: Check = Check {
    id: "nvcc-torch-cuda-mismatch",
    group: Group::Python,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "DeepSpeed accepts the installed CUDA compiler with the installed PyTorch",
    explain: include_str!("nvcc_torch_cuda_mismatch.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    each_torch(&facts.python, |environment, torch| one(facts, environment, torch))
}

fn one(facts: &Facts, environment: &PythonEnvironment, torch: &Torch) -> Judged {
    let deepspeed = environment.package("deepspeed");
    let deepspeed = *deepspeed.require("DeepSpeed is not installed")?;
    let cuda = torch.cuda.require("this PyTorch was not built with CUDA")?;
    let compiler = facts.cuda.compiler();
    let (path, version) = compiler.require("no CUDA compiler on this machine")?;
    let nvcc = minor(version).unwrap_or(version);
    let of_torch = minor(cuda).unwrap_or(cuda);
    if nvcc == of_torch {
        return Ok(Verdict::Pass);
    }
    let public = deepspeed.split('+').next().unwrap_or(deepspeed);
    let release = facts.catalog.deepspeed().release(public);
    let unknown = || {
        Verdict::Unknown(
            format!("could not determine which CUDA versions DeepSpeed {deepspeed} accepts together").into(),
        )
    };
    let release = release.ok_or_else(unknown)?;
    let skip = facts.environment.variable("DS_SKIP_CUDA_CHECK");
    if release.skip_cuda_check == Some(true) && skip.decided()?.is_some_and(|value| *value == "1") {
        return Err(Verdict::NotApplicable("DS_SKIP_CUDA_CHECK=1 skips DeepSpeed's version check".into()));
    }
    let major = nvcc.split('.').next().and_then(|text| text.parse::<u32>().ok()).unwrap_or_default();
    let allowed = release.cuda_minor_allowed(major).ok_or_else(unknown)?;
    if [nvcc, of_torch].iter().all(|one| allowed.iter().any(|minor| minor == one)) {
        return Ok(Verdict::Pass);
    }
    let message = format!(
        "nvcc is CUDA {nvcc} but torch {} in {} was built with CUDA {of_torch}; DeepSpeed {deepspeed} \
         refuses to compile its operators with this combination",
        torch.full(),
        environment.prefix
    );
    let other = facts.cuda.toolkits.known().into_iter().flatten().find(|toolkit| {
        toolkit.nvcc && toolkit.version.known().is_some_and(|version| minor(version) == Some(of_torch))
    });
    let fix = match other {
        Some(toolkit) => Fix::safe(
            format!("Point CUDA_HOME to the installed CUDA {of_torch} toolkit:"),
            &[&format!("export CUDA_HOME={}", shell::word(&toolkit.path))],
        ),
        None => Fix::manual(format!(
            "Install the CUDA {of_torch} toolkit and point CUDA_HOME to it, or install a PyTorch built with \
             CUDA {nvcc}."
        )),
    };
    Ok(Verdict::warning(message, fix)
        .evidence(format!("nvcc {version} ({path})"))
        .evidence(format!("source: {}", release.source)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::{machine, venv};

    fn facts(toolkit: &'static str, torch: &str, deepspeed: &str, more: &'static str) -> Facts {
        let mut files = venv(torch, &[deepspeed]);
        files[0].1 = more;
        files.push(("/usr/local/cuda/version.json", toolkit));
        files.push(("/usr/local/cuda/bin/nvcc", ""));
        machine(&files)
    }

    #[test]
    fn applies_the_cuda_version_check_of_deepspeed() {
        let plain = "HOME=/root\nVIRTUAL_ENV=/venv";
        let skip = "HOME=/root\nVIRTUAL_ENV=/venv\nDS_SKIP_CUDA_CHECK=1";
        let (c121, c124, c130, c131) = (
            r#"{"cuda":{"version":"12.1.1"}}"#,
            r#"{"cuda":{"version":"12.4.1"}}"#,
            r#"{"cuda":{"version":"13.0.2"}}"#,
            r#"{"cuda":{"version":"13.1.0"}}"#,
        );
        let cases = [
            (c124, "2.5.1+cu124 12.4", "deepspeed-0.16.4", plain, "pass"),
            (c121, "2.5.1+cu124 12.4", "deepspeed-0.16.4", plain, "pass"),
            (c121, "2.5.1+cu124 12.4", "deepspeed-0.14.0", plain, "warning"),
            (c121, "2.5.1+cu118 11.8", "deepspeed-0.16.4", plain, "warning"),
            (c131, "2.12.0+cu130 13.0", "deepspeed-0.19.8", plain, "warning"),
            (c130, "2.12.0+cu130 13.0", "deepspeed-0.19.8", plain, "pass"),
            (c131, "2.12.0+cu130 13.0", "deepspeed-0.19.8", skip, "not-applicable"),
            (c131, "2.12.0+cu130 13.0", "deepspeed-9.9.9", plain, "unknown"),
            (c121, "2.5.1+cu124 12.4", "numpy-2.1.3", plain, "not-applicable"),
        ];
        for (toolkit, torch, deepspeed, environment, expected) in cases {
            let verdict = crate::judge_one(&CHECK, &facts(toolkit, torch, deepspeed, environment));
            assert_eq!(status(&verdict), expected, "{toolkit}, {torch}, {deepspeed}: {verdict:?}");
        }
        let mut facts = facts(c121, "2.5.1+cu124 12.4", "deepspeed-0.14.0", plain);
        facts.cuda.home = Fact::Unknown("no environment".into());
        assert_eq!(judge(&facts), Err(Verdict::Unknown("no environment".into())));
    }
}
