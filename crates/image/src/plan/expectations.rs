//! What the verification of the finished image must find.

use super::{PlanContext, operators};
use crate::verify::Expectations;

pub(super) fn expectations(context: &PlanContext) -> Expectations {
    let stack = context.stack;
    let mut packages = stack.packages.clone();
    let partners = [
        ("torchvision", &stack.torchvision),
        ("torchaudio", &stack.torchaudio),
        ("deepspeed", &stack.deepspeed),
    ];
    let own_torch = context.python.environment.is_none() && context.base.has_torch(&stack.torch);
    for (name, version) in partners {
        // The partners of the image's own torch have versions of their own.
        if let Some(version) = version.as_ref().filter(|_| !own_torch || name == "deepspeed") {
            packages.insert(name.into(), version.clone());
        }
    }
    let modules = packages.keys().map(|name| module(name));
    let cuda = context.base.known.and_then(|image| image.cuda.as_deref());
    Expectations {
        interpreter: Some(context.python.interpreter.clone()),
        python: Some(stack.python.clone()),
        torch: Some(stack.torch.clone()),
        torch_build: Some(stack.torch_build.clone()),
        cuda: (!stack.is_cpu()).then(|| stack.cuda.clone()),
        nccl: stack.nccl.clone(),
        imports: std::iter::once("torch".to_owned())
            .chain(modules)
            .chain(operators::modules(context))
            .collect(),
        packages,
        nvcc: context.base.nvcc.then(|| cuda.map_or(String::new(), minor)),
        environment: context.request.env.clone(),
    }
}

/// The module of a package: `stable_baselines3`.
fn module(package: &str) -> String {
    package.replace('-', "_")
}

fn minor(version: &str) -> String {
    version.split('.').take(2).collect::<Vec<_>>().join(".")
}
