//! What the finished image must answer when it is asked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Work, operators};

/// What a container of the image must say of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The program to ask: `/opt/venv/bin/python`, or a name on PATH.
    pub interpreter: String,
    /// Its series: `3.12`.
    pub python: String,
    /// torch without its build: `2.5.1`.
    pub torch: String,
    /// The build: `cu121`.
    pub torch_build: String,
    /// What `torch.version.cuda` must be: `12.1`.
    pub cuda: String,
    /// The NCCL that torch was built with, where it is known.
    pub nccl: Option<String>,
    /// Versions of installed packages by their names on PyPI, torch apart.
    pub packages: BTreeMap<String, String>,
    /// Modules that must import.
    pub imports: Vec<String>,
    /// The CUDA of the nvcc that must be on PATH, as `12.1`; empty: any; `None`: it need not be there.
    pub nvcc: Option<String>,
    /// Variables that must be set.
    pub environment: BTreeMap<String, String>,
}

/// What the plan promises.
pub fn proof(work: &Work) -> Proof {
    let stack = work.stack;
    let mut packages = stack.packages.clone();
    let partners = [
        ("torchvision", &stack.torchvision),
        ("torchaudio", &stack.torchaudio),
        ("deepspeed", &stack.deepspeed),
    ];
    let own_torch = work.python.environment.is_none() && work.base.has_torch(&stack.torch);
    for (name, version) in partners {
        // The image's own torch brings its partners in versions of its own.
        if let Some(version) = version.as_ref().filter(|_| !own_torch || name == "deepspeed") {
            packages.insert(name.into(), version.clone());
        }
    }
    let modules = packages.keys().map(|name| module(name));
    let cuda = work.base.known.and_then(|image| image.cuda.as_deref());
    Proof {
        interpreter: work.python.interpreter.clone(),
        python: stack.python.clone(),
        torch: stack.torch.clone(),
        torch_build: stack.torch_build.clone(),
        cuda: stack.cuda.clone(),
        nccl: stack.nccl.clone(),
        imports: std::iter::once("torch".to_owned()).chain(modules).chain(operators::modules(work)).collect(),
        packages,
        nvcc: work.base.nvcc.then(|| cuda.map_or(String::new(), minor)),
        environment: work.request.env.clone(),
    }
}

/// The module of a package: `stable_baselines3`.
fn module(package: &str) -> String {
    package.replace('-', "_")
}

fn minor(version: &str) -> String {
    version.split('.').take(2).collect::<Vec<_>>().join(".")
}
