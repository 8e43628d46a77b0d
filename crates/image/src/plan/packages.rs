//! The Python packages, and how they are installed.

use super::pip::{install, install_tools, with_constraints_file};
use super::python_source::Source;
use super::step::{Instruction, Step};
use super::{LOCKED, PlanContext, arch_list, operators};
use diagnostic::error::Error;
use pep440_rs::Version;
use resolve::install::{flash_attn_wheel, other_packages, partners, torch_of_image, torch_pin};
use resolve::outcome::Warning;
use resolve::parse;
use resolve::pip::PipRequirement;

/// Since this release the build of flash-attn reads FLASH_ATTN_CUDA_ARCHS (its setup.py at the tags).
const FLASH_ATTN_ARCHS_SINCE: [u64; 3] = [2, 7, 3];

/// Packages of the request that the catalog does not know, and extras of known ones: pip chooses their
/// versions.
pub(super) fn unknown(context: &PlanContext) -> Vec<String> {
    let foreign = |text: &&String| !parse::is_package(&parse::package_name(text));
    let packages = context.request.packages.iter().filter(foreign);
    packages.chain(&context.stack.unchecked).cloned().collect()
}

fn requested(context: &PlanContext) -> impl Iterator<Item = PipRequirement> {
    let declared = context.request.declared.iter().cloned();
    unknown(context).into_iter().chain(declared).map(PipRequirement::Requested)
}

/// A warning about them; none if a lock pins them. Packages that only the project declares cause no warning.
pub(super) fn warning(context: &PlanContext) -> Option<Warning> {
    let unknown = unknown(context);
    (!unknown.is_empty() && context.locked.is_none()).then(|| parse::unchecked_warning(&unknown))
}

/// Everything that is installed, as a requirements file names it.
pub(super) fn requirements(context: &PlanContext) -> Vec<PipRequirement> {
    let stack = context.stack;
    let flash_attn = stack.packages.get("flash-attn").map(|version| {
        flash_attn_wheel(context.catalog, stack, version)
            .unwrap_or_else(|| PipRequirement::pin("flash-attn", version))
    });
    // NVIDIA's torch is in its image and on no index.
    let torch = (!torch_of_image(stack)).then(|| torch_pin(stack));
    torch
        .into_iter()
        .chain(partners(stack))
        .chain(other_packages(stack))
        .chain(requested(context))
        .chain(flash_attn)
        .collect()
}

pub(super) fn steps(context: &PlanContext) -> Result<Vec<Step>, Error> {
    let stack = context.stack;
    let mut steps = Vec::new();
    let with_torch: Vec<PipRequirement> = [torch_pin(stack)].into_iter().chain(partners(stack)).collect();
    // Built with operators it is a step of its own, after torch.
    let built = |one: &PipRequirement| one.name() == "deepspeed" && !context.request.deepspeed_ops.is_empty();
    let rest = other_packages(stack).into_iter().chain(requested(context));
    let rest: Vec<PipRequirement> = rest.filter(|one| !built(one)).collect();
    // Without its build, which PyPI does not have.
    let public = PipRequirement::pin("torch", &stack.torch);
    operators::check(context)?;
    if context.locked.is_some() {
        steps.extend(LOCKED.map(|file| locked(context, file)));
        steps.extend(flash_attn(context));
        return Ok(steps);
    }
    if torch_of_image(stack) {
        return Ok([nvidia_image_steps(context, &rest), operators::steps(context)].concat());
    }
    let own_torch = context.python.source == Source::Image && context.base.has_torch(&stack.torch);
    if own_torch {
        // The image's own torch has no build in its version: pinning one would replace it.
        let pins: Vec<PipRequirement> = [public].into_iter().chain(rest).collect();
        let why = format!(
            "torch {} is already in the image; it is listed so that pip does not replace it.",
            stack.torch
        );
        steps.push(install(context, &[], &pins).with_comment(why));
    } else if let Some(url) = &stack.index_url {
        let step = install(context, &[format!("--index-url {url}")], &with_torch)
            .with_optional_comment(torch_comment(context));
        steps.push(step);
        if !rest.is_empty() {
            let why = "torch is listed again so that pip does not replace it; without the build suffix, \
                which PyPI does not have.";
            let pins: Vec<PipRequirement> = [public].into_iter().chain(rest).collect();
            steps.push(install(context, &[], &pins).with_comment(why));
        }
    } else {
        // torch alone in its layer: it is the largest part and changes least.
        steps.push(install(context, &[], &with_torch).with_optional_comment(torch_comment(context)));
        if !rest.is_empty() {
            let pins: Vec<PipRequirement> = [torch_pin(stack)].into_iter().chain(rest).collect();
            let why = "torch is listed again so that pip does not replace it.";
            steps.push(install(context, &[], &pins).with_comment(why));
        }
    }
    steps.extend(operators::steps(context));
    steps.extend(flash_attn(context));
    Ok(steps)
}

/// Installs into an NVIDIA PyTorch image, in which nothing may be replaced.
fn nvidia_image_steps(context: &PlanContext, rest: &[PipRequirement]) -> Vec<Step> {
    let flash_attn = context.stack.packages.get("flash-attn");
    let pin = flash_attn.map(|version| PipRequirement::pin("flash-attn", version));
    let packages: Vec<PipRequirement> = rest.iter().cloned().chain(pin).collect();
    if packages.is_empty() {
        return Vec::new();
    }
    let options = if flash_attn.is_some() { vec!["--no-build-isolation".to_owned()] } else { Vec::new() };
    let step = with_constraints_file(install(context, &options, &packages), &packages);
    let steps = flash_attn_archs(context).filter(|_| flash_attn.is_some()).into_iter();
    steps
        .chain([step.with_comment(format!(
            "Keeps all packages of {}, torch included: their versions are written to a constraints file for \
             pip. pip refuses a package that needs another version; add that dependency to `packages` to \
             replace it.",
            context.base.image
        ))])
        .collect()
}

/// What a file of the lock names, with its hashes.
fn locked(context: &PlanContext, file: &str) -> Step {
    let options =
        ["--no-deps".to_owned(), "--require-hashes".to_owned(), format!("--requirement /run/{file}")];
    let mut step = install(context, &options, &[]);
    if let Instruction::Run { mounts, .. } = &mut step.instruction {
        mounts.push(format!("type=bind,source={file},target=/run/{file}"));
    }
    let of = match context.locked.and_then(|set| set.project) {
        Some(project) => format!("from {}", project.file),
        None => "generated by `envdoc render lock`".to_owned(),
    };
    step.with_comment(format!("All packages including dependencies, pinned by hash; {of}."))
}

/// Why this torch was chosen, without its partners if they are left out.
fn torch_comment<'a>(context: &'a PlanContext) -> Option<&'a str> {
    let decision = context.decision("torch")?;
    Some(match context.request.partners {
        Some(false) => &decision.reason,
        _ => &decision.message,
    })
}

/// flash-attn: its wheel, or a build with the torch that is there.
fn flash_attn(context: &PlanContext) -> Vec<Step> {
    let Some(version) = context.stack.packages.get("flash-attn") else { return Vec::new() };
    // PyPI does not know its build; the one that is there satisfies the version.
    let pin = PipRequirement::pin("torch", &context.stack.torch);
    if let Some(wheel) = flash_attn_wheel(context.catalog, context.stack, version) {
        return vec![install(context, &[], &[pin, wheel]).with_comment(
            "Prebuilt flash-attn wheel for this torch, Python and CUDA; nothing is compiled.",
        )];
    }
    // The operators of DeepSpeed were compiled before, with the same tools for the same GPUs.
    let mut steps = Vec::new();
    if context.request.deepspeed_ops.is_empty() {
        steps.push(install_tools(context));
    }
    steps.extend(flash_attn_archs(context));
    steps.push(
        Step::new(Instruction::Arg("MAX_JOBS".into(), Some("4".into())))
            .with_comment("Parallel compile jobs; each needs several GB of memory."),
    );
    let package = PipRequirement::pin("flash-attn", version);
    steps.push(
        install(context, &["--no-build-isolation".into()], &[pin, package])
            .with_comment("--no-build-isolation: its build imports torch."),
    );
    steps
}

/// For which GPUs flash-attn is compiled: its build passes the architectures to nvcc itself, and torch's list
/// does nothing.
fn flash_attn_archs(context: &PlanContext) -> Option<Step> {
    let version: Version = context.stack.packages.get("flash-attn")?.parse().ok()?;
    if version.release() < FLASH_ATTN_ARCHS_SINCE.as_slice() {
        return None;
    }
    let list = arch_list::of_flash_attn(&context.request.targets)?;
    let step = Step::new(Instruction::Arg("FLASH_ATTN_CUDA_ARCHS".into(), Some(list)));
    Some(step.with_comment(
        "The requested GPUs; without this flash-attn is compiled for all of its architectures.",
    ))
}
