//! apt and dnf: what a stage begins with, and how system packages are installed.

use super::PlanContext;
use super::python_source::Source;
use super::step::{Instruction, Step};
use catalog::systems::Family;

/// Path of the key of the deadsnakes PPA in its stage.
pub(super) const ARCHIVE_KEY: &str = "/deadsnakes.gpg";

/// Where the key is mounted in later stages.
pub(super) const ARCHIVE_KEY_MOUNT: &str = "/run/deadsnakes.gpg";

/// Whether the packages of the image come through dnf.
pub(super) fn has_dnf(context: &PlanContext) -> bool {
    context.base.system.is_some_and(|system| !system.family.has_apt())
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
    let apt = mirrors.apt.clone().filter(|_| !has_dnf(context));
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

/// One `apt-get install`, its downloads kept by the builder or thrown away.
pub(super) fn install(context: &PlanContext, packages: &[&str]) -> Step {
    let mut names = packages.to_vec();
    names.sort_unstable();
    names.dedup();
    if has_dnf(context) {
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
    let lines = if system.family == Family::Debian {
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
