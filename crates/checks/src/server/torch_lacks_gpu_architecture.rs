//! torch was compiled without code for a GPU of this machine.

use crate::python::each_torch;
use crate::{Applies, Check, Fix, Group, Judged, Severity, Verdict};
use facts::Facts;
use facts::python::{PythonEnvironment, Torch};

pub(super) const CHECK: Check = Check {
    id: "torch-lacks-gpu-architecture",
    group: Group::Python,
    severity: Severity::Error,
    applies: Applies::Gpu,
    summary: "PyTorch was compiled for the GPUs of this machine",
    explain: include_str!("torch_lacks_gpu_architecture.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    each_torch(&facts.python, |environment, torch| one(facts, environment, torch))
}

fn one(facts: &Facts, environment: &PythonEnvironment, torch: &Torch) -> Judged {
    torch.cuda.require("this PyTorch was not built with CUDA")?;
    let capabilities = facts.compute_capabilities();
    let capabilities = capabilities.require("nvidia-smi lists no GPU")?;
    let unknown = || {
        Verdict::Unknown(
            format!("could not determine which GPUs torch {} was compiled for", torch.full()).into(),
        )
    };
    let release = facts.catalog.torch().release(&torch.version).ok_or_else(unknown)?;
    let build = torch.cuda_build().and_then(|name| release.build(name)).ok_or_else(unknown)?;
    let mut lacking = Vec::new();
    for &capability in capabilities {
        if !*facts.build_runs_on(release, build, capability).require("")? {
            lacking.push(format!("{}.{}", capability.0, capability.1));
        }
    }
    if lacking.is_empty() {
        return Ok(Verdict::Pass);
    }
    let names: Vec<String> =
        facts.gpu.list.known().into_iter().flatten().map(|gpu| gpu.name.clone()).collect();
    let compiled = build.architectures.as_deref().unwrap_or_default().join(", ");
    let message = format!(
        "torch {} in {} was not compiled for compute capability {} ({}); the first kernel fails with \"no \
         kernel image\"",
        torch.full(),
        environment.prefix,
        lacking.join(", "),
        names.first().map(String::as_str).unwrap_or("GPU"),
    );
    let fix = match facts.suitable_build(release) {
        Some(other) => Fix::safe(
            format!(
                "Install the build for CUDA {}, which supports the GPU:",
                other.cuda.as_deref().unwrap_or("")
            ),
            &[&environment.reinstall(facts.catalog, torch, &other.build)],
        ),
        None => match newest_that_runs(facts) {
            Some((version, build)) => Fix::safe(
                format!(
                    "Install torch {version}+{build} (no build of {} supports this machine):",
                    torch.version
                ),
                &[&format!(
                    "{} torch=={version}+{build} --index-url https://download.pytorch.org/whl/{build}",
                    environment.pip("install")
                )],
            ),
            None => Fix::manual("Install a PyTorch build that supports this GPU."),
        },
    };
    Ok(Verdict::error(message, fix)
        .evidence(format!("torch {} was compiled for {compiled}", torch.full()))
        .evidence(format!("source: {}", release.source)))
}

fn newest_that_runs(facts: &Facts) -> Option<(&'static str, &'static str)> {
    facts.catalog.torch().all().iter().rev().find_map(|release| {
        facts.suitable_build(release).map(|build| (release.version.as_str(), build.build.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::status;
    use facts::Fact;
    use facts::testing::files::{node, venv};

    #[test]
    fn build_without_code_for_the_gpu_is_an_error() {
        let cases = [
            ("NVIDIA H100 80GB HBM3 9.0", "2.5.1+cu124 12.4", "pass"),
            ("NVIDIA L40S 8.9", "2.5.1+cu124 12.4", "pass"),
            ("NVIDIA GeForce RTX 5090 12.0", "2.5.1+cu124 12.4", "error"),
            ("NVIDIA GeForce RTX 5090 12.0", "2.12.0+cu130 13.0", "pass"),
            ("Tesla V100-SXM2-32GB 7.0", "2.12.0+cu130 13.0", "error"),
            ("Tesla V100-SXM2-32GB 7.0", "2.12.0+cu126 12.6", "pass"),
            ("Tesla K80 3.7", "2.5.1+cu124 12.4", "error"),
            ("Tesla K80 3.7", "2.5.1+cu118 11.8", "pass"),
            // Not in the catalog: built from source, or by conda.
            ("NVIDIA H100 80GB HBM3 9.0", "2.6.0a0+ecf3bae40a.nv25.01 12.8", "unknown"),
            ("NVIDIA H100 80GB HBM3 9.0", "2.5.1 12.4", "unknown"),
            ("NVIDIA H100 80GB HBM3 9.0", "2.5.1+cpu None", "not-applicable"),
        ];
        for (card, torch, expected) in cases {
            let verdict = crate::judge_one(&CHECK, &node("580.65.06", card, &venv(torch, &[])));
            assert_eq!(status(&verdict), expected, "{card}, {torch}: {verdict:?}");
        }
    }

    #[test]
    fn fix_installs_a_build_with_code_for_the_gpu() {
        let v100 = node("580.65.06", "Tesla V100-SXM2-32GB 7.0", &venv("2.12.0+cu130 13.0", &[]));
        let Ok(Verdict::Found(found)) = judge(&v100) else { panic!() };
        let fix = &found.fixes[0];
        assert!(fix.commands[0].contains("torch==2.12.0+cu126"), "{fix:?}");
        let b200 = node("580.65.06", "NVIDIA B200 10.0", &venv("2.5.1+cu124 12.4", &[]));
        let Ok(Verdict::Found(found)) = judge(&b200) else { panic!() };
        let fix = &found.fixes[0];
        assert!(fix.title.contains("no build of 2.5.1 supports"), "{fix:?}");
    }

    #[test]
    fn an_unknown_capability_stays_unknown() {
        let mut facts = node("580.65.06", "NVIDIA H100 80GB HBM3 9.0", &venv("2.5.1+cu124 12.4", &[]));
        facts.gpu.list = Fact::Unknown("nvidia-smi did not answer".into());
        assert_eq!(judge(&facts), Err(Verdict::Unknown("nvidia-smi did not answer".into())));
    }
}
