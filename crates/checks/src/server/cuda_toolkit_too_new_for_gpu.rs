//! The toolkit no longer (or not yet) compiles for a GPU of this machine.

use std::cmp::Ordering;

use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use catalog::version::compare;
use facts::Facts;
use facts::cuda;

pub(super) const CHECK: Check = Check {
    id: "cuda-toolkit-too-new-for-gpu",
    group: Group::Cuda,
    severity: Severity::Warning,
    applies: Applies::Gpu,
    summary: "the installed CUDA toolkit compiles for the GPUs of this machine",
    explain: include_str!("cuda_toolkit_too_new_for_gpu.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let compiler = facts.cuda.compiler();
    let (path, version) = compiler.require("no CUDA toolkit with a compiler")?;
    let minor = cuda::minor(version).unwrap_or(version);
    let capabilities = facts.compute_capabilities();
    let one = |&(major, below): &(u32, u32)| {
        let name = format!("{major}.{below}");
        let unknown = || {
            Verdict::Unknown(
                format!("could not determine which CUDA toolkits compile for compute capability {name}")
                    .into(),
            )
        };
        let row = facts.catalog.cuda().architecture((major, below)).ok_or_else(unknown)?;
        let newer =
            row.last_toolkit.as_deref().and_then(|last| compare(minor, last)) == Some(Ordering::Greater);
        let older =
            row.first_toolkit.as_deref().and_then(|first| compare(minor, first)) == Some(Ordering::Less);
        let bound = match (newer, older, &row.last_toolkit, &row.first_toolkit) {
            (true, _, Some(last), _) => format!("CUDA {last} is the last toolkit that supports it"),
            (_, true, _, Some(first)) => format!("CUDA {first} is the first toolkit that supports it"),
            _ => return Ok(Verdict::Pass),
        };
        let message = format!(
            "the toolkit in {path} is CUDA {version}, which cannot compile for compute capability {name} \
             ({}); {bound}",
            row.architecture
        );
        let wanted = row.last_toolkit.as_ref().filter(|_| newer).or(row.first_toolkit.as_ref());
        let fix = Fix::manual(format!(
            "Install CUDA {} next to it and point CUDA_HOME there.",
            wanted.map(String::as_str).unwrap_or("in a version that supports the GPU")
        ));
        Ok(Verdict::warning(message, fix).evidence(format!("source: {}", row.source)))
    };
    Verdict::together(
        capabilities.require("nvidia-smi lists no GPU")?.iter().map(one),
        "nvidia-smi lists no GPU",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::node;

    #[test]
    fn toolkit_outside_the_range_of_the_gpu_is_a_warning() {
        let cases = [
            ("Tesla V100-SXM2-32GB 7.0", r#"{"cuda":{"version":"13.0.1"}}"#, "warning"),
            ("Tesla V100-SXM2-32GB 7.0", r#"{"cuda":{"version":"12.9.1"}}"#, "pass"),
            ("NVIDIA B200 10.0", r#"{"cuda":{"version":"12.4.1"}}"#, "warning"),
            ("NVIDIA B200 10.0", r#"{"cuda":{"version":"12.8.1"}}"#, "pass"),
            ("NVIDIA Next 99.0", r#"{"cuda":{"version":"12.8.1"}}"#, "unknown"),
        ];
        for (card, json, expected) in cases {
            let files = [
                ("environment", "CUDA_HOME=/usr/local/cuda-x"),
                ("/usr/local/cuda-x/version.json", json),
                ("/usr/local/cuda-x/bin/nvcc", ""),
            ];
            let mut facts = node("580.65.06", card, &files);
            let verdict = crate::judge_one(&CHECK, &facts);
            assert_eq!(status(&verdict), expected, "{card}, {json}: {verdict:?}");
            facts.gpu.list = Fact::Unknown("nvidia-smi did not answer".into());
            assert_eq!(judge(&facts), Err(Verdict::Unknown("nvidia-smi did not answer".into())));
        }
    }
}
