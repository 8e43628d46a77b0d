//! `pip install`, or uv's.

use super::python_source::Source;
use super::step::{Instruction, Step};
use super::{PlanContext, uv};
use resolve::install::{CONSTRAINTS_FILE, freeze, install_frozen, torch_of_image};
use resolve::pip::PipRequirement;

/// Where the directory of wheels is mounted.
const WHEELS: &str = "/run/wheels";

/// What a package is compiled with that imports torch while it is built.
const TOOLS: [&str; 5] = ["ninja", "packaging", "psutil", "setuptools", "wheel"];

/// The installation of these tools.
pub(super) fn install_tools(context: &PlanContext) -> Step {
    install(context, &[], &TOOLS.map(|name| PipRequirement::Requested(name.to_owned())))
}

/// What pip and uv may keep between builds.
pub(super) fn pip_cache(context: &PlanContext) -> Vec<String> {
    match context.request.uses_cache() {
        true => vec!["type=cache,target=/root/.cache/pip".into()],
        false => Vec::new(),
    }
}

/// An installation that keeps to what is in the image, but for the packages themselves.
pub(super) fn with_constraints_file(mut step: Step, packages: &[PipRequirement]) -> Step {
    if let Instruction::Run { commands, .. } = &mut step.instruction {
        commands.insert(0, vec![freeze(packages)]);
        commands.push(vec![format!("rm {CONSTRAINTS_FILE}")]);
    }
    step
}

/// One `pip install`, a package a line.
pub(super) fn install(context: &PlanContext, options: &[String], packages: &[PipRequirement]) -> Step {
    let with_uv = context.python.source == Source::Uv;
    let mut flags: Vec<String> = Vec::new();
    if !context.request.uses_cache() {
        flags.push(if with_uv { "--no-cache" } else { "--no-cache-dir" }.into());
    }
    if context.python.externally_managed {
        flags.push("--break-system-packages".into());
    }
    match &context.request.wheels {
        // The wheels are all there is: of the options none may name an index.
        Some(_) => {
            flags.extend(["--no-index".to_owned(), format!("--find-links {WHEELS}")]);
            flags.extend(options.iter().filter(|option| !option.starts_with("--index-url")).cloned());
        }
        None => flags.extend(options.iter().cloned()),
    }
    let program = match (with_uv, context.request.uses_cache()) {
        (true, true) => "UV_LINK_MODE=copy /mnt/uv pip install",
        (true, false) => "/mnt/uv pip install",
        (false, _) => "pip install",
    };
    let program = if torch_of_image(context.stack) { install_frozen() } else { program.to_owned() };
    let first = flags.iter().fold(program, |text, flag| format!("{text} {flag}"));
    let mut command = vec![context.with_secrets(first)];
    command.extend(packages.iter().map(PipRequirement::word));
    let mut mounts =
        if with_uv { uv::mounts(context) } else { [pip_cache(context), context.secret_mounts()].concat() };
    mounts.extend(context.request.wheels.iter().map(|dir| format!("type=bind,source={dir},target={WHEELS}")));
    let step = Step::new(Instruction::Run { mounts, commands: vec![command] });
    let loose = packages.iter().any(|package| package.pinned().is_none() && !package.names_address());
    let step = match loose {
        // The rule knows pip alone.
        true if !with_uv => {
            step.ignoring("DL3013", "the request pins no version for some packages, or they are build tools.")
        }
        _ => step,
    };
    match context.python.externally_managed {
        true => step
            .with_comment("pip may install into the Python of the image, which has no other use (PEP 668)."),
        false => step,
    }
}
