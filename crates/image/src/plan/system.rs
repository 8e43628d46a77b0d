//! System packages.

use super::base::NvccNeed;
use super::package_manager::{has_dnf, install, preamble};
use super::python_source::Source;
use super::step::Step;
use super::{PlanContext, base, operators, python, usage_error};
use diagnostic::error::Error;

/// The system packages of the stage that compiles.
pub(super) fn build_steps(context: &PlanContext) -> Result<Vec<Step>, Error> {
    let mut names = python::system_packages(context);
    names.extend(compiler(context));
    names.extend(operators::libraries(context).into_iter().map(str::to_owned));
    let mut steps = preamble(context, Some(context.python.source));
    if !names.is_empty() {
        steps.push(install(context, &borrowed(&names)));
    }
    Ok(steps)
}

fn borrowed(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// The system packages of the finished image.
pub(super) fn run_steps(context: &PlanContext) -> Result<Vec<Step>, Error> {
    let installer = context.base.build.is_none().then_some(context.python.source);
    let mut steps = preamble(context, installer);
    let mut names: Vec<String> = Vec::new();
    match (context.python.source, &context.base.build) {
        // What makes the environment stays in the stage that compiles.
        (Source::Apt, Some(_)) => names.push("python3".into()),
        (Source::Deadsnakes, Some(_)) => names.push(format!("python{}", context.stack.python)),
        (Source::Dnf, Some(_)) => names.extend(python::system_packages(context)),
        _ => names.extend(python::system_packages(context)),
    }
    let compiles = base::nvcc_need(context.catalog, context.request, context.stack).0 != NvccNeed::Never
        && context.base.build.is_none();
    let at_run = runtime_compiler(context);
    if compiles || at_run.is_some() {
        names.extend(compiler(context));
    }
    names.extend(operators::libraries(context).into_iter().map(str::to_owned));
    let dnf = has_dnf(context);
    if dnf && context.request.user.as_deref().is_some_and(|user| user != "root") {
        // useradd.
        names.push("shadow-utils".into());
    }
    for package in &context.request.apt {
        check(context, package)?;
        names.push(package.clone());
    }
    if names.is_empty() {
        return Ok(steps);
    }
    let mut step = install(context, &borrowed(&names));
    if compiles && context.base.nvcc {
        step = step.with_comment("nvcc needs a C++ compiler; Python extensions need the Python headers.");
    }
    if let Some(why) = at_run {
        step = step.with_comment(format!("{why}: that needs a compiler and the Python headers."));
    }
    steps.push(step);
    Ok(steps)
}

/// Why the container needs a compiler when it runs; `None`: no package of the stack is known to.
fn runtime_compiler(context: &PlanContext) -> Option<&'static str> {
    let reason = |name: &String| context.catalog.package(name)?.runtime_compiler.as_deref();
    context.stack.packages.keys().find_map(reason)
}

/// A compiler and the headers of Python.
fn compiler(context: &PlanContext) -> Vec<String> {
    let compiler = match context.base.system.map(|system| system.family.has_apt()) {
        Some(true) => "g++",
        Some(false) => "gcc-c++",
        None => return Vec::new(),
    };
    std::iter::once(compiler.to_owned()).chain(python::headers(context)).collect()
}

/// Refuses packages that cannot be there, or have no place in an image.
fn check(context: &PlanContext, package: &str) -> Result<(), Error> {
    let name = package.split(['=', '/', ':']).next().unwrap_or_default();
    if name.starts_with("nvidia-driver")
        || name == "cuda-drivers"
        || name.starts_with("libnvidia-compute")
        || name == "nvidia-docker2"
    {
        return Err(usage_error(format!("`apt`: {name} must not be installed in an image"))
            .hint("the NVIDIA container toolkit mounts the driver libraries of the host"));
    }
    let (Some(system), Some(rest)) = (context.base.system, name.strip_prefix("python3.")) else {
        return Ok(());
    };
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let series = format!("3.{digits}");
    let source = context.catalog.systems().python_source(&system.id, &series);
    if source.is_some_and(|source| source.distribution == Some(false)) {
        return Err(usage_error(format!("`apt`: {} has no {name}", system.name))
            .hint(format!("set `python: \"{series}\"`; envdoc then installs that Python")));
    }
    if rest.ends_with("-distutils") && digits.parse().is_ok_and(|minor: u32| minor >= 12) {
        return Err(usage_error(format!("`apt`: {name} does not exist; Python 3.12 removed distutils"))
            .hint("add the Python package setuptools instead"));
    }
    Ok(())
}
