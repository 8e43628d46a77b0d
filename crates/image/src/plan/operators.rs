//! DeepSpeed's operators that are compiled while the image is built, so that the finished image needs no
//! nvcc.

use catalog::Catalog;
use std::str::FromStr;

use pep440_rs::Version;

use super::super::request::ImageRequest;
use super::packages::{TOOLS, arch_list, holding, install};
use super::python::Source;
use super::step::{Instruction, Step};
use super::system::has_dnf;
use super::{Work, refused};
use catalog::deepspeed::Operator;
use diagnostic::error::Error;
use diagnostic::words;
use resolve::answer::Warning;
use resolve::install::{torch_of_image, torch_pin};

/// Libraries beyond the CUDA toolkit that envdoc brings, and those that come with the toolkit.
const BROUGHT: [&str; 2] = ["libaio", "curand"];

/// The rows of the operators that are asked for; those that the catalog does not know are left out, see
/// [`check`].
fn asked(catalog: &'static Catalog, request: &ImageRequest) -> impl Iterator<Item = &'static Operator> {
    let row = |name: &String| catalog.deepspeed().operators().iter().find(|row| row.name == *name);
    request.deepspeed_ops.iter().filter_map(row)
}

/// Refuses what cannot be built.
pub fn check(work: &Work) -> Result<(), Error> {
    let request = work.request;
    if request.deepspeed_ops.is_empty() {
        return Ok(());
    }
    let Some(version) = &work.stack.deepspeed else {
        return Err(refused("`deepspeed_ops`: DeepSpeed is not in this image").hint("add `deepspeed: any`"));
    };
    if work.locked.is_some() {
        return Err(refused(
            "`deepspeed_ops`: a lock installs packages by hash, without compiled DeepSpeed operators",
        )
        .hint("remove the lock, or remove `deepspeed_ops`: operators are then compiled on first use"));
    }
    for name in &request.deepspeed_ops {
        let Some(row) = work.catalog.deepspeed().operators().iter().find(|row| row.name == *name) else {
            return Err(no_operator(work.catalog, name));
        };
        operator(work, row, version)?;
    }
    Ok(())
}

/// One that is not in the work.catalog, with the nearest that is.
fn no_operator(catalog: &'static Catalog, name: &str) -> Error {
    let names = || {
        catalog.deepspeed().operators().iter().filter(|row| row.module.is_some()).map(|row| row.name.as_str())
    };
    let score = |known: &&str| strsim::jaro_winkler(name, known);
    let near =
        names().max_by(|one, other| score(one).total_cmp(&score(other))).filter(|near| score(near) > 0.8);
    let error = refused(format!("`deepspeed_ops`: DeepSpeed has no operator {name:?}"));
    let error = match near {
        Some(near) => error.hint(format!("did you mean {near}?")),
        None => error,
    };
    error.hint(format!("supported operators: {}", names().collect::<Vec<_>>().join(", ")))
}

fn operator(work: &Work, row: &Operator, version: &str) -> Result<(), Error> {
    let name = &row.name;
    let says = |why: String| refused(format!("`deepspeed_ops`: {why}"));
    let number = |text: &str| Version::from_str(text).ok();
    let before = row.since.as_deref().filter(|since| number(version) < number(since));
    let after = row.until.as_deref().filter(|until| number(version) > number(until));
    if let Some(since) = before {
        return Err(says(format!("DeepSpeed {version} has no {name}; it was added in {since}")));
    }
    if let Some(until) = after {
        return Err(says(format!("DeepSpeed {version} has no {name}; {until} was the last release with it")));
    }
    let missing: Vec<&str> =
        row.libraries.iter().map(String::as_str).filter(|library| !BROUGHT.contains(library)).collect();
    if !missing.is_empty() {
        return Err(says(format!(
            "{name} needs {} to build, which envdoc does not install",
            words::and(&missing)
        )));
    }
    if row.module.is_none() {
        return Err(says(format!("the Python module of {name} is unknown, so envdoc cannot verify it")));
    }
    if !row.needs_nvcc && !row.needs_toolkit {
        return Ok(());
    }
    if work.base.build.is_none() && !work.base.nvcc {
        return Err(says(format!(
            "{name} needs nvcc and the CUDA headers, and envdoc does not know whether {} has them",
            work.base.image
        ))
        .hint("set `base_devel` to an image that has them, or use `base: cuda`"));
    }
    if arch_list(work).is_none() {
        return Err(says(format!(
            "building {name} requires target \
             GPUs"
        ))
        .hint("set `gpus`, for example [h100]"));
    }
    let oldest = row.compute_capability_min.as_deref().and_then(catalog::version::minor);
    match work.request.targets.iter().find(|target| oldest.is_some_and(|oldest| **target < oldest)) {
        Some((major, minor)) => Err(says(format!(
            "{name} supports compute capability {} and newer, but sm_{major}{minor} was requested",
            row.compute_capability_min.as_deref().unwrap_or_default()
        ))),
        None => Ok(()),
    }
}

/// System packages that the operators are compiled with and run with.
pub fn libraries(work: &Work) -> Vec<&'static str> {
    let aio =
        asked(work.catalog, work.request).any(|row| row.libraries.iter().any(|library| library == "libaio"));
    // Its library is called otherwise on every system; this one brings it along.
    let dnf = work.base.system.is_some_and(|system| has_dnf(&system.id));
    let aio = aio.then_some(if dnf { "libaio-devel" } else { "libaio-dev" });
    // Those for the processor are compiled with OpenMP, whose library is not in every base image.
    let openmp = !dnf && asked(work.catalog, work.request).any(|row| row.name.starts_with("cpu_"));
    aio.into_iter().chain(openmp.then_some("libgomp1")).collect()
}

/// The modules that the operators become.
pub fn modules(work: &Work) -> Vec<String> {
    asked(work.catalog, work.request).filter_map(|row| row.module.clone()).collect()
}

/// What is to know of the finished image.
pub fn warnings(work: &Work) -> Vec<Warning> {
    let mut all = Vec::new();
    let names: Vec<&str> = asked(work.catalog, work.request).map(|row| row.name.as_str()).collect();
    if names.is_empty() {
        return all;
    }
    if !work.base.nvcc {
        all.push(Warning {
            id: "deepspeed-operators-left-out".into(),
            says: format!(
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
            says: format!(
                "DeepSpeed compiles {} for the CPU of the builder (-march=native); on an older CPU it fails \
                 with an illegal instruction",
                words::and(&native)
            ),
        });
    }
    all
}

/// The steps that build DeepSpeed with its operators.
pub fn steps(work: &Work) -> Vec<Step> {
    let variables: Vec<String> =
        asked(work.catalog, work.request).map(|row| format!("{}=1", row.variable)).collect();
    let Some(version) = work.stack.deepspeed.as_ref().filter(|_| !variables.is_empty()) else {
        return Vec::new();
    };
    let deepspeed = format!("deepspeed=={version}");
    let in_image = torch_of_image(work.stack);
    let mut steps = Vec::new();
    if !in_image {
        steps.push(install(work, &[], &TOOLS.map(str::to_owned)));
    }
    steps.extend(arch_list(work));
    // What pip kept of another build may lack the operators.
    let kept = match (work.request.caches(), work.python.source) {
        (false, _) => None,
        (true, Source::Uv) => Some("--no-cache".to_owned()),
        (true, _) => Some("--no-cache-dir".to_owned()),
    };
    let options: Vec<String> = std::iter::once("--no-build-isolation".to_owned()).chain(kept).collect();
    let packages: Vec<String> =
        (!in_image).then(|| pin(work)).into_iter().chain([deepspeed.clone()]).collect();
    let mut step = install(work, &options, &packages);
    if let Instruction::Run { commands, .. } = &mut step.does {
        commands.insert(0, vec![format!("export DS_ACCELERATOR=cuda {}", variables.join(" "))]);
    }
    let step = if in_image { holding(step, &[deepspeed]) } else { step };
    steps.push(step.because(
        "Compiles the operators for these GPUs. DS_ACCELERATOR=cuda because the build sees no GPU; no pip \
         cache because a cached wheel would have no operators.",
    ));
    steps
}

/// torch, named so that nothing replaces it; without its build where PyPI does not know it.
fn pin(work: &Work) -> String {
    match work.stack.index_url {
        Some(_) => format!("torch=={}", work.stack.torch),
        None => torch_pin(work.stack),
    }
}
