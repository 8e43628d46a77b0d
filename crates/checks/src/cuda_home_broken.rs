//! CUDA_HOME points to nothing.

use super::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::{Fact, Facts};

/// The check.
pub const CHECK: Check = Check {
    id: "cuda-home-broken",
    group: Group::Cuda,
    severity: Severity::Warning,
    applies: Applies::Anywhere,
    summary: "CUDA_HOME points to a CUDA toolkit",
    explain: "\
## What it checks
Whether the directory that CUDA_HOME (else CUDA_PATH) names exists and has `bin/nvcc`.

## Why it matters
PyTorch's extension builder believes the variable without looking further, and so does what builds with it
(DeepSpeed): with a wrong one it fails although a toolkit stands elsewhere (\"No such file or directory:
.../bin/nvcc\"). DeepSpeed before 0.19.5 may then fail at import already.

## How to fix it
Point it to the toolkit, or unset it: then nvcc on PATH and `/usr/local/cuda` are used. Runtime images of
CUDA have no nvcc: there, unset it, or use a devel image where something is to be compiled.

## Sources
- pytorch/pytorch:torch/utils/cpp_extension.py@0011ec5c (_find_cuda_home)
- https://github.com/deepspeedai/DeepSpeed/issues/7452
",
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
        Some(path) => {
            Fix::safe("Point it to the toolkit that is here.", &[&format!("export {variable}={path}")])
        }
        None => Fix::safe("Unset it.", &[&format!("unset {variable}")]),
    };
    match toolkit {
        None => {
            let says = format!(
                "{variable} is {home}, which does not exist; builds of CUDA extensions believe it and fail"
            );
            Ok(Verdict::warning(says, fix()))
        }
        Some(toolkit) if !toolkit.nvcc => {
            // An image without a compiler compiles nothing: that is what it is made for, unless another compiler is here.
            match (elsewhere(), &facts.cuda.nvcc) {
                (None, Fact::Absent) => {
                    Err(Verdict::NotApplicable("no CUDA compiler on this machine".into()))
                }
                (None, Fact::Unknown(why)) => Err(Verdict::Unknown(why.clone())),
                _ => {
                    let says = format!(
                        "{variable} is {home}, which has no bin/nvcc, although a CUDA compiler stands elsewhere; builds of CUDA \
                         extensions fail"
                    );
                    Ok(Verdict::warning(says, fix()))
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
    fn it_must_lead_somewhere() {
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
            let verdict = super::super::judge_one(&CHECK, &machine(files));
            assert_eq!(status(&verdict), expected, "{files:?}: {verdict:?}");
        }
        let mut facts = machine(&[set]);
        facts.cuda.home_toolkit = Fact::Unknown("permission denied".into());
        assert_eq!(judge(&facts), Err(Verdict::Unknown("permission denied".into())));
    }
}
