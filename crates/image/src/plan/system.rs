//! System packages.

use super::base::NvccNeed;
use super::python::{self, ARCHIVE_KEY, ARCHIVE_KEY_MOUNT, Source};
use super::step::{Instruction, Step};
use super::{PlanContext, base, operators, usage_error};
use diagnostic::error::Error;

/// Whether a system's packages come through apt.
pub(super) fn has_apt(id: &str) -> bool {
    id.starts_with("ubuntu") || id.starts_with("debian")
}

/// Whether a system's packages come through dnf.
pub(super) fn has_dnf(id: &str) -> bool {
    id.starts_with("rockylinux") || id.starts_with("ubi")
}

/// What every stage begins with that runs commands: the shell, and where packages come from, as arguments of
/// the build that are no part of the image. `installer` is what installs Python packages in it.
pub(super) fn preamble(context: &PlanContext, installer: Option<Source>) -> Vec<Step> {
    let shell = ["/bin/bash", "-o", "pipefail", "-c"].map(str::to_owned).to_vec();
    let mut steps = vec![Step::new(Instruction::Shell(shell))];
    let mirrors = &context.request.mirrors;
    let more = (!mirrors.extra_index.is_empty()).then(|| mirrors.extra_index.join(" "));
    let (index, extra) = match installer {
        Some(Source::Uv) => ("UV_DEFAULT_INDEX", "UV_INDEX"),
        _ => ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"),
    };
    let of_pip =
        [(index, mirrors.pip_index.clone()), (extra, more)].into_iter().filter(|_| installer.is_some());
    let apt = mirrors.apt.clone().filter(|_| context.base.system.is_none_or(|system| !has_dnf(&system.id)));
    let mut arguments: Vec<Step> = std::iter::once(("APT_MIRROR", apt))
        .chain(of_pip)
        .filter_map(|(name, value)| Some(Step::new(Instruction::Arg(name.into(), Some(value?)))))
        .collect();
    if let Some(first) = arguments.first_mut() {
        first.comments.push("Package mirror during the build; override with --build-arg.".into());
    }
    steps.append(&mut arguments);
    steps
}

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
    let dnf = context.base.system.is_some_and(|system| has_dnf(&system.id));
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
    if !context.base.system.is_none_or(|system| has_apt(&system.id) || has_dnf(&system.id)) {
        return Err(usage_error(
            "`apt` packages are supported in Ubuntu, Debian, Rocky Linux and UBI images only",
        )
        .hint("set `os` to one of them"));
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
    let compiler = match context.base.system.map(|system| system.id.as_str()) {
        Some(id) if has_apt(id) => "g++",
        Some(id) if has_dnf(id) => "gcc-c++",
        _ => return Vec::new(),
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

/// One `apt-get install`, its downloads kept by the builder or thrown away.
pub(super) fn install(context: &PlanContext, packages: &[&str]) -> Step {
    let mut names = packages.to_vec();
    names.sort_unstable();
    names.dedup();
    if context.base.system.is_some_and(|system| has_dnf(&system.id)) {
        return install_by_dnf(context, &names);
    }
    let (options, sources) = mirror(context);
    let mut commands = Vec::new();
    let mut mounts = Vec::new();
    if context.request.uses_cache() {
        mounts.extend(
            ["/var/cache/apt", "/var/lib/apt/lists"]
                .map(|dir| format!("type=cache,target={dir},sharing=locked")),
        );
        // Debian's and Ubuntu's images throw every downloaded package away.
        commands.push(vec!["rm -f /etc/apt/apt.conf.d/docker-clean".to_owned()]);
    }
    commands.extend(sources.map(|line| vec![line]));
    let archive = deadsnakes(context, &names);
    if let Some(line) = &archive {
        mounts.push(format!("type=bind,from=archive,source={ARCHIVE_KEY},target={ARCHIVE_KEY_MOUNT}"));
        let (sign, list) = if options.is_empty() { (">", SOURCES) } else { (">>", LIST) };
        commands.push(vec![format!("printf '%s\\n' \"{line}\" {sign} {list}")]);
    }
    commands.push(vec![format!("apt-get{options} update")]);
    let mut install =
        vec![format!("DEBIAN_FRONTEND=noninteractive apt-get{options} install -y --no-install-recommends")];
    install.extend(names.iter().map(|name| (*name).to_owned()));
    commands.push(install);
    if !options.is_empty() {
        commands.push(vec![format!("rm {LIST}")]);
    } else if archive.is_some() {
        commands.push(vec![format!("rm {SOURCES}")]);
    }
    if !context.request.uses_cache() {
        commands.push(vec!["rm -rf /var/lib/apt/lists/*".to_owned()]);
    }
    Step::new(Instruction::Run { mounts, commands }).ignoring(
        "DL3008",
        "no pinned versions: the repository removes a version when a security update \
         replaces it.",
    )
}

/// The deadsnakes archive as a source of apt, where one of the packages comes from there.
fn deadsnakes(context: &PlanContext, names: &[&str]) -> Option<String> {
    let python = format!("python{}", context.stack.python);
    let codename = context.base.system?.codename.as_ref()?;
    let there =
        context.python.source == Source::Deadsnakes && names.iter().any(|name| name.starts_with(&python));
    there.then(|| {
        format!(
            "deb [signed-by={ARCHIVE_KEY_MOUNT}] {} {codename} main",
            context.catalog.systems().deadsnakes().address
        )
    })
}

/// The list of that source while packages are installed.
const SOURCES: &str = "/etc/apt/sources.list.d/deadsnakes.list";

/// The same through dnf.
fn install_by_dnf(context: &PlanContext, names: &[&str]) -> Step {
    let uses_cache = context.request.uses_cache();
    let keep = if uses_cache { " --setopt=keepcache=True" } else { "" };
    let mut install = vec![format!("dnf install -y --setopt=install_weak_deps=False{keep}")];
    install.extend(names.iter().map(|name| (*name).to_owned()));
    let mut commands = vec![install];
    let mut mounts = Vec::new();
    match uses_cache {
        true => mounts.push("type=cache,target=/var/cache/dnf,sharing=locked".to_owned()),
        false => commands.push(vec!["dnf clean all".to_owned()]),
    }
    let step = Step::new(Instruction::Run { mounts, commands }).ignoring(
        "DL3041",
        "no pinned versions: the repository removes a version when an update replaces \
         it.",
    );
    match uses_cache {
        true => step.ignoring("DL3040", "the dnf cache is in a builder cache mount, not in a layer."),
        false => step,
    }
}

/// Where the list of the mirror is while packages are installed.
const LIST: &str = "/tmp/mirror.list";

/// apt's options for the mirror, and the command that writes its list.
fn mirror(context: &PlanContext) -> (String, Option<String>) {
    let (Some(_), Some(system)) = (&context.request.mirrors.apt, context.base.system) else {
        return (String::new(), None);
    };
    let Some(codename) = &system.codename else { return (String::new(), None) };
    let lines = if system.id.starts_with("debian") {
        let keys = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]";
        [
            format!("deb {keys} $APT_MIRROR/debian {codename} main"),
            format!("deb {keys} $APT_MIRROR/debian {codename}-updates main"),
            format!("deb {keys} $APT_MIRROR/debian-security {codename}-security main"),
        ]
    } else {
        let keys = "[signed-by=/usr/share/keyrings/ubuntu-archive-keyring.gpg]";
        let archive = if context.stack.architecture == "x86_64" { "ubuntu" } else { "ubuntu-ports" };
        ["", "-updates", "-security"]
            .map(|suite| format!("deb {keys} $APT_MIRROR/{archive} {codename}{suite} main universe"))
    };
    let text = lines.map(|line| format!("\"{line}\"")).join(" ");
    let options = format!(" -o Dir::Etc::SourceList={LIST} -o Dir::Etc::SourceParts=-");
    (options, Some(format!("printf '%s\\n' {text} > {LIST}")))
}
