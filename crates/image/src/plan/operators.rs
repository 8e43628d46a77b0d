//! DeepSpeed's operators that are compiled while the image is built, so that the finished image needs no
//! nvcc.

use catalog::Catalog;
use std::str::FromStr;

use pep440_rs::Version;

use super::super::request::ImageRequest;
use super::package_manager::has_dnf;
use super::pip::{install, install_tools, with_constraints_file};
use super::python_source::Source;
use super::step::{Instruction, Step};
use super::{PlanContext, arch_list, usage_error};
use catalog::deepspeed::Operator;
use diagnostic::error::Error;
use diagnostic::suggest::nearest;
use diagnostic::words;
use resolve::install::{torch_of_image, torch_pin};
use resolve::outcome::Warning;
use resolve::pip::PipRequirement;

/// Libraries that envdoc installs, or that are part of the CUDA toolkit.
const PROVIDED_LIBRARIES: [&str; 2] = ["libaio", "curand"];

/// The catalog rows of the requested operators; unknown ones are left out, see
/// [`check`].
fn requested_operators(
    catalog: &'static Catalog,
    request: &ImageRequest,
) -> impl Iterator<Item = &'static Operator> {
    let row = |name: &String| catalog.deepspeed().operators().iter().find(|row| row.name == *name);
    request.deepspeed_ops.iter().filter_map(row)
}

/// Refuses what cannot be built.
pub(super) fn check(context: &PlanContext) -> Result<(), Error> {
    let request = context.request;
    if request.deepspeed_ops.is_empty() {
        return Ok(());
    }
    let Some(version) = &context.stack.deepspeed else {
        return Err(
            usage_error("`deepspeed_ops`: DeepSpeed is not in this image").hint("add `deepspeed: any`")
        );
    };
    if context.stack.is_cpu() {
        return Err(usage_error(
            "`deepspeed_ops`: envdoc compiles DeepSpeed operators for GPUs, and torch is a CPU build",
        )
        .hint("remove `deepspeed_ops`, or request a CUDA version instead of `cuda: cpu`"));
    }
    if context.locked.is_some() {
        return Err(usage_error(
            "`deepspeed_ops`: a lock installs packages by hash, without compiled DeepSpeed operators",
        )
        .hint("remove the lock, or remove `deepspeed_ops`: operators are then compiled on first use"));
    }
    for name in &request.deepspeed_ops {
        let Some(row) = context.catalog.deepspeed().operators().iter().find(|row| row.name == *name) else {
            return Err(no_operator(context.catalog, name));
        };
        operator(context, row, version)?;
    }
    Ok(())
}

/// The error for an operator that the catalog does not have.
fn no_operator(catalog: &'static Catalog, name: &str) -> Error {
    let names = || {
        catalog.deepspeed().operators().iter().filter(|row| row.module.is_some()).map(|row| row.name.as_str())
    };
    let error = usage_error(format!("`deepspeed_ops`: DeepSpeed has no operator {name:?}"));
    let error = error.did_you_mean(nearest(name, names()));
    error.hint(format!("supported operators: {}", names().collect::<Vec<_>>().join(", ")))
}

fn operator(context: &PlanContext, row: &Operator, version: &str) -> Result<(), Error> {
    let name = &row.name;
    let refusal = |why: String| usage_error(format!("`deepspeed_ops`: {why}"));
    let number = |text: &str| Version::from_str(text).ok();
    let before = row.since.as_deref().filter(|since| number(version) < number(since));
    let after = row.until.as_deref().filter(|until| number(version) > number(until));
    if let Some(since) = before {
        return Err(refusal(format!("DeepSpeed {version} has no {name}; it was added in {since}")));
    }
    if let Some(until) = after {
        return Err(refusal(format!(
            "DeepSpeed {version} has no {name}; {until} was the last release with it"
        )));
    }
    let missing: Vec<&str> = row
        .libraries
        .iter()
        .map(String::as_str)
        .filter(|library| !PROVIDED_LIBRARIES.contains(library))
        .collect();
    if !missing.is_empty() {
        return Err(refusal(format!(
            "{name} needs {} to build, which envdoc does not install",
            words::and(&missing)
        )));
    }
    if row.module.is_none() {
        return Err(refusal(format!("the Python module of {name} is unknown, so envdoc cannot verify it")));
    }
    if !row.needs_nvcc && !row.needs_toolkit {
        return Ok(());
    }
    if context.base.build.is_none() && !context.base.nvcc {
        return Err(refusal(format!(
            "{name} needs nvcc and the CUDA headers, and envdoc does not know whether {} has them",
            context.base.image
        ))
        .hint("set `base_devel` to an image that has them, or use `base: cuda`"));
    }
    if arch_list::step(context).is_none() {
        return Err(refusal(format!(
            "building {name} requires target \
             GPUs"
        ))
        .hint("set `gpus`, for example [h100]"));
    }
    let oldest = row.compute_capability_min.as_deref().and_then(catalog::version::minor);
    match context.request.targets.iter().find(|target| oldest.is_some_and(|oldest| **target < oldest)) {
        Some((major, minor)) => Err(refusal(format!(
            "{name} supports compute capability {} and newer, but sm_{major}{minor} was requested",
            row.compute_capability_min.as_deref().unwrap_or_default()
        ))),
        None => Ok(()),
    }
}

/// System packages that the operators are compiled with and run with.
pub(super) fn libraries(context: &PlanContext) -> Vec<&'static str> {
    let aio = requested_operators(context.catalog, context.request)
        .any(|row| row.libraries.iter().any(|library| library == "libaio"));
    // The name of its library differs between systems; the -dev package depends on it.
    let dnf = has_dnf(context);
    let aio = aio.then_some(if dnf { "libaio-devel" } else { "libaio-dev" });
    // Those for the processor are compiled with OpenMP, whose library is not in every base image.
    let openmp =
        !dnf && requested_operators(context.catalog, context.request).any(|row| row.name.starts_with("cpu_"));
    aio.into_iter().chain(openmp.then_some("libgomp1")).collect()
}

/// The modules that the operators become.
pub(super) fn modules(context: &PlanContext) -> Vec<String> {
    requested_operators(context.catalog, context.request).filter_map(|row| row.module.clone()).collect()
}

/// Warnings about the finished image.
pub(super) fn warnings(context: &PlanContext) -> Vec<Warning> {
    let mut all = Vec::new();
    let names: Vec<&str> =
        requested_operators(context.catalog, context.request).map(|row| row.name.as_str()).collect();
    if names.is_empty() {
        return all;
    }
    if !context.base.nvcc {
        all.push(Warning {
            id: "deepspeed-operators-left-out".into(),
            message: format!(
                "Only the DeepSpeed operators {} {} built; any other is compiled on first use, which fails \
                 in an image without nvcc",
                words::and(&names),
                if names.len() == 1 { "is" } else { "are" }
            ),
        });
    }
    let native: Vec<&str> = names.iter().copied().filter(|name| name.starts_with("cpu_")).collect();
    if !native.is_empty() {
        all.push(Warning {
            id: "deepspeed-operators-native".into(),
            message: format!(
                "DeepSpeed compiles {} for the CPU of the builder (-march=native); on an older CPU it fails \
                 with an illegal instruction",
                words::and(&native)
            ),
        });
    }
    all
}

/// The steps that build DeepSpeed with its operators.
pub(super) fn steps(context: &PlanContext) -> Vec<Step> {
    let variables: Vec<String> = requested_operators(context.catalog, context.request)
        .map(|row| format!("{}=1", row.variable))
        .collect();
    let Some(version) = context.stack.deepspeed.as_ref().filter(|_| !variables.is_empty()) else {
        return Vec::new();
    };
    let deepspeed = PipRequirement::pin("deepspeed", version);
    let in_image = torch_of_image(context.stack);
    let mut steps = Vec::new();
    if !in_image {
        steps.push(install_tools(context));
    }
    steps.extend(arch_list::step(context));
    // What pip kept of another build may lack the operators.
    let kept = match (context.request.uses_cache(), context.python.source) {
        (false, _) => None,
        (true, Source::Uv) => Some("--no-cache".to_owned()),
        (true, _) => Some("--no-cache-dir".to_owned()),
    };
    let options: Vec<String> = std::iter::once("--no-build-isolation".to_owned()).chain(kept).collect();
    let packages: Vec<PipRequirement> =
        (!in_image).then(|| pin(context)).into_iter().chain([deepspeed.clone()]).collect();
    let mut step = install(context, &options, &packages);
    if let Instruction::Run { commands, .. } = &mut step.instruction {
        commands.insert(0, vec![format!("export DS_ACCELERATOR=cuda {}", variables.join(" "))]);
    }
    let step = if in_image { with_constraints_file(step, &[deepspeed]) } else { step };
    steps.push(step.with_comment(
        "Compiles the operators for these GPUs. DS_ACCELERATOR=cuda because the build sees no GPU; no pip \
         cache because a cached wheel would have no operators.",
    ));
    steps
}

/// torch, named so that nothing replaces it; without its build where PyPI does not know it.
fn pin(context: &PlanContext) -> PipRequirement {
    match context.stack.index_url {
        Some(_) => PipRequirement::pin("torch", &context.stack.torch),
        None => torch_pin(context.stack),
    }
}
