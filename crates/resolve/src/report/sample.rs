//! Sample answers for the tests of every format.

use catalog::testing::catalog;
use std::collections::BTreeMap;

use crate::outcome::{
    Conflict, Decision, Nearest, Outcome, PythonFrom, Reason, Rejected, Resolution, Stack, Warning,
};
use crate::parameter::Source;
use crate::request::{Requirement, RequirementKind, Versions};

/// A stack of a build that is not PyPI's, with DeepSpeed.
pub(super) fn stack() -> Stack {
    let mut stack = Stack {
        python: "3.12".into(),
        torch: "2.5.1".into(),
        torch_build: "cu121".into(),
        torchvision: Some("0.20.1".into()),
        torchaudio: Some("2.5.1".into()),
        triton: Some("3.1.0".into()),
        cuda: "12.1".into(),
        cudnn: Some("9.1.0.70".into()),
        nccl: Some("2.21.5".into()),
        deepspeed: Some("0.16.4".into()),
        packages: BTreeMap::from([("numpy".into(), "1.26.4".into()), ("pydantic".into(), "2.10.6".into())]),
        unchecked: Vec::new(),
        base_image: Some("nvidia/cuda:12.1.1-devel-ubuntu22.04".into()),
        system: Some("ubuntu22.04".into()),
        architecture: "x86_64".into(),
        index_url: Some("https://download.pytorch.org/whl/cu121".into()),
        driver_min: Some("525.60.13".into()),
        driver_max_branch: None,
        gpu_archs: Some(["5.0", "8.0", "9.0"].map(str::to_owned).to_vec()),
        python_from: PythonFrom::Uv,
        install: Vec::new(),
    };
    stack.install = crate::install::commands(catalog(), &stack);
    stack
}

pub(super) fn requirements() -> Vec<Requirement> {
    let requirement = |message: &str, kind| Requirement { source: Source::Stated(message.into()), kind };
    let versions = |text: &str| text.parse::<Versions>().unwrap();
    vec![
        requirement("--cuda 12.1", RequirementKind::Cuda(versions("12.1"))),
        requirement("--python 3.12", RequirementKind::Python(versions("3.12"))),
        requirement("--deepspeed", RequirementKind::Package("deepspeed".into(), Versions::any())),
    ]
}

fn reason(constraint: &str, message: &str) -> Reason {
    Reason { constraint: constraint.into(), message: message.into() }
}

fn rejected(candidate: &str, reasons: Vec<Reason>) -> Rejected {
    Rejected { candidate: candidate.into(), reasons, predicate: None }
}

/// An answer with everything in it.
pub(super) fn found() -> Outcome {
    let decision = |part: &str, chosen: &str, message: &str| Decision {
        part: part.into(),
        chosen: chosen.into(),
        message: message.into(),
        reason: message.into(),
        constraints: vec!["torch-build-exists".into()],
        sources: vec!["the release matrix that was read".into()],
    };
    let no_build = "torch 2.6 ended the builds for CUDA 12.1; 2.5.1 is the last that has one";
    Outcome::Resolved(Box::new(Resolution {
        stack: stack(),
        decisions: vec![
            decision(
                "torch",
                "2.5.1+cu121",
                "--cuda 12.1 was asked for, and 2.5.1 is the newest torch with a build for it",
            ),
            decision("python", "3.12", "--python 3.12; Ubuntu 22.04 has 3.10 only, so it comes from uv"),
        ],
        rejected: vec![
            rejected(
                "torch 2.15.0",
                vec![reason("asked-for-build", no_build), reason("x", "a second reason")],
            ),
            rejected("torch 2.14.1", vec![reason("asked-for-build", no_build)]),
            rejected("torch 2.14.0", vec![reason("asked-for-build", no_build)]),
            rejected(
                "numpy 2.5.5",
                vec![reason("requirements-met", "deepspeed 0.16.4 was made before numpy 2.5")],
            ),
        ],
        warnings: vec![Warning {
            id: "system-near-end-of-life".into(),
            message: "Ubuntu 22.04 gets fixes until 2027-04-01".into(),
        }],
    }))
}

pub(super) fn none() -> Outcome {
    Outcome::Conflict(Box::new(Conflict {
        undecided: false,
        message: "no torch that has code for the B200 (sm_100) is a 2.5".into(),
        requirements: vec!["--gpu b200".into(), "--torch 2.5".into()],
        reasons: vec![reason(
            "gpu-has-code",
            "sm_100 came with CUDA 12.8, for which torch has builds from 2.7.0 on",
        )],
        nearest: vec![
            Nearest {
                requirement: "--torch 2.5".into(),
                replacement: Some("--torch 2.7".into()),
                change: "torch 2.7.1 instead of 2.5".into(),
                stack: stack(),
            },
            Nearest {
                requirement: "--gpu b200".into(),
                replacement: None,
                change: "it will not run on a B200".into(),
                stack: stack(),
            },
        ],
    }))
}
