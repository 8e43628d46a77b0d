//! CUDA_HOME points to nothing.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use diagnostic::shell;
use facts::{Fact, Facts};

pub(super) const CHECK: Check = Check {
    id: "cuda-home-broken",
    group: Group::Cuda,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "CUDA_HOME points to a CUDA toolkit",
    explain: include_str!("cuda_home_broken.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let home = facts.cuda.home.require("neither CUDA_HOME nor CUDA_PATH is set")?;
    let variable = facts.cuda.home_variable.known().map(String::as_str).unwrap_or("CUDA_HOME");
    let toolkit = facts.cuda.home_toolkit.decided()?;
    let elsewhere = || {
        let toolkits = facts.cuda.toolkits.known().into_iter().flatten();
        toolkits.filter(|toolkit| toolkit.nvcc).map(|toolkit| toolkit.path.clone()).next()
    };
    let fix = || match elsewhere() {
        Some(path) => Fix::safe(
            "Point the variable to the installed toolkit:",
            &[&format!("export {variable}={}", shell::word(&path))],
        ),
        None => Fix::safe("Unset the variable:", &[&format!("unset {variable}")]),
    };
    match toolkit {
        None => {
            let message = format!(
                "{variable} is {home}, which does not exist; builds of CUDA extensions use it and fail"
            );
            Ok(Verdict::warning(message, fix()).about(Subject::name(variable)))
        }
        Some(toolkit) if !toolkit.nvcc => {
            // An image without a compiler compiles nothing: that is what it is made for, unless another
            // compiler is here.
            match (elsewhere(), &facts.cuda.nvcc) {
                (None, Fact::Absent) => {
                    Err(Verdict::NotApplicable("no CUDA compiler on this machine".into()))
                }
                (None, Fact::Unknown(why)) => Err(Verdict::Unknown(why.clone())),
                _ => {
                    let message = format!(
                        "{variable} is {home}, which has no bin/nvcc, but a CUDA compiler is installed \
                         elsewhere; builds of CUDA extensions fail"
                    );
                    Ok(Verdict::warning(message, fix()).about(Subject::name(variable)))
                }
            }
        }
        Some(_) => Ok(Verdict::Pass),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::testing::files::machine;

    #[test]
    fn cuda_home_must_contain_a_toolkit() {
        let set = ("environment", "CUDA_HOME=/usr/local/cuda-11.8");
        let other = ("/usr/local/cuda-12.4/bin/nvcc", "");
        let cases: [(&[(&str, &str)], &str); 5] = [
            (&[set, ("/usr/local/cuda-11.8/bin/nvcc", "")], "pass"),
            (&[set], "warning"),
            (&[set, ("/usr/local/cuda-11.8/version.json", "{}")], "not-applicable"),
            (&[set, ("/usr/local/cuda-11.8/version.json", "{}"), other], "warning"),
            (&[("environment", ""), other], "not-applicable"),
        ];
        for (files, expected) in cases {
            let verdict = crate::judge_one(&CHECK, &machine(files));
            assert_eq!(status(&verdict), expected, "{files:?}: {verdict:?}");
        }
        let mut facts = machine(&[set]);
        facts.cuda.home_toolkit = Fact::Unknown("permission denied".into());
        assert_eq!(judge(&facts), Err(Verdict::Unknown("permission denied".into())));
    }
}
