//! CUDA_HOME and nvcc on PATH are different toolkits.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use diagnostic::shell;
use facts::Facts;
use facts::cuda::minor;

pub(super) const CHECK: Check = Check {
    id: "cuda-home-mismatch",
    group: Group::Cuda,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "CUDA_HOME and nvcc on PATH are the same CUDA version",
    explain: include_str!("cuda_home_mismatch.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let home = facts.cuda.home_toolkit.require("CUDA_HOME does not point to a toolkit")?;
    let path = facts.cuda.nvcc.require("nvcc is not on PATH")?;
    if !home.nvcc {
        return Err(Verdict::NotApplicable("the toolkit in CUDA_HOME has no compiler".into()));
    }
    if path.strip_suffix("/bin/nvcc") == Some(home.path.as_str()) {
        return Ok(Verdict::Pass);
    }
    let unknown = |what: &str| Verdict::Unknown(format!("version of {what}").into());
    let own = home.version.decided()?.ok_or_else(|| unknown(&home.path))?;
    let other = facts.cuda.nvcc_version.decided()?.ok_or_else(|| unknown(path))?;
    if minor(own) == minor(other) {
        return Ok(Verdict::Pass);
    }
    let variable = facts.cuda.home_variable.known().map(String::as_str).unwrap_or("CUDA_HOME");
    let message = format!(
        "{variable} is CUDA {own}, but nvcc on PATH is CUDA {other}; some builds use one and some the other"
    );
    let fix = Fix::safe(
        format!("Put the toolkit in {variable} first on PATH (or point {variable} to the other one):"),
        &[&format!("export PATH={}/bin:$PATH", shell::word(&home.path))],
    );
    Ok(Verdict::warning(message, fix)
        .about(Subject::name(variable))
        .evidence(format!("CUDA {own} ({})", home.path))
        .evidence(format!("CUDA {other} ({path})")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::machine;

    #[test]
    fn nvcc_on_path_must_match_cuda_home() {
        let base = [
            ("environment", "CUDA_HOME=/usr/local/cuda-12.4"),
            ("/usr/local/cuda-12.4/bin/nvcc", ""),
            ("/usr/local/cuda-12.1/bin/nvcc", ""),
        ];
        for (nvcc, expected) in [
            ("/usr/local/cuda-12.4/bin/nvcc", "pass"),
            ("/usr/local/cuda-12.1/bin/nvcc", "warning"),
            ("", "not-applicable"),
        ] {
            let mut files = base.to_vec();
            if !nvcc.is_empty() {
                files.push(("program nvcc", nvcc));
            }
            let mut facts = machine(&files);
            let verdict = crate::judge_one(&CHECK, &facts);
            assert_eq!(status(&verdict), expected, "{nvcc}: {verdict:?}");
            facts.cuda.nvcc = Fact::Unknown("no PATH".into());
            assert_eq!(judge(&facts), Err(Verdict::Unknown("no PATH".into())));
        }
    }
}
