//! Where the Python comes from, and the environment that packages are installed into.

use super::super::request::{ImageRequest, PythonFrom};
use super::base::Base;
use super::package_manager::{ARCHIVE_KEY, install, preamble};
use super::pip::pip_cache;
use super::python_source::{Python, Source};
use super::step::{Instruction, Stage, Step};
use super::{PlanContext, usage_error, uv};
use catalog::Catalog;
use catalog::systems::{DnfPython, System};
use diagnostic::error::Error;
use resolve::outcome::{self, Stack};

const ENVIRONMENT: &str = "/opt/venv";

/// Where uv's Pythons are.
const PYTHONS: &str = "/opt/python";

/// Chooses the source of Python and the environment that packages are installed into.
pub(super) fn choose(
    catalog: &'static Catalog,
    request: &ImageRequest,
    stack: &Stack,
    base: &Base,
) -> Result<Python, Error> {
    let in_image = request.base_python.as_deref() == Some(&stack.python) && request.base_image.is_some();
    let of_pytorch = stack.python_from == outcome::PythonFrom::Machine && base.known.is_some();
    let source = match stack.python_from {
        _ if in_image || of_pytorch => Source::Image,
        outcome::PythonFrom::Image => Source::Image,
        outcome::PythonFrom::Apt => Source::Apt,
        outcome::PythonFrom::Dnf => Source::Dnf,
        outcome::PythonFrom::Uv => Source::Uv,
        outcome::PythonFrom::Deadsnakes => Source::Deadsnakes,
        other @ outcome::PythonFrom::Machine => {
            return Err(usage_error(format!(
                "Python {} would come from {other}, which envdoc does not support in Dockerfiles yet",
                stack.python
            ))
            .hint("set `os` to Ubuntu or Debian"));
        }
    };
    if let Some(system) = base.system {
        check_dnf(catalog, source, system, &stack.python)?;
        if let Some(from) = request.python_from {
            check_requested_source(catalog, from, source, system, &stack.python)?;
        }
    }
    if source == Source::Uv && request.wheels.is_some() {
        return Err(usage_error(format!(
            "Python {} would come from uv, which downloads it, but `wheels` forbids downloads",
            stack.python
        ))
        .hint(
            "request a Python that the base image has, or a base image that has this one: `base: python`",
        ));
    }
    let environment = (source != Source::Image).then_some(ENVIRONMENT);
    if environment.is_some() && base.system.is_none() {
        if let Some(image) = base.known.filter(|image| image.torch.is_some() && image.python.is_none()) {
            let message = format!("the Python version of {} is unknown", image.reference());
            return Err(usage_error(message).hint("use an nvidia/cuda image (`base: cuda`)"));
        }
        return Err(usage_error(
            "envdoc writes Dockerfiles for Ubuntu, Debian, Rocky Linux and Red Hat UBI, and for images that \
             contain Python",
        )
        .hint("set `os` to one of them"));
    }
    Ok(Python {
        source,
        environment,
        interpreter: environment.map_or("python".into(), |dir| format!("{dir}/bin/python")),
        externally_managed: source == Source::Image
            && base.known.is_some_and(|image| image.externally_managed == Some(true)),
    })
}

/// Refuses a Python that the requested source is not known to have.
fn check_requested_source(
    catalog: &'static Catalog,
    from: PythonFrom,
    source: Source,
    system: &System,
    python: &str,
) -> Result<(), Error> {
    if source == Source::Image {
        return Err(usage_error(format!("`python_from`: Python {python} is already in the base image"))
            .hint("remove `python_from`"));
    }
    let row = catalog.systems().python_source(&system.id, python);
    let (who, has) = match from {
        PythonFrom::Uv => ("uv", row.and_then(|row| row.uv)),
        PythonFrom::Deadsnakes => ("the deadsnakes PPA", row.and_then(|row| row.deadsnakes)),
    };
    let message = match has {
        Some(true) => return Ok(()),
        Some(false) => format!("`python_from`: {who} has no Python {python} for {}", system.name),
        None => format!("`python_from`: unknown whether {who} has Python {python} for {}", system.name),
    };
    Err(usage_error(message)
        .hint("remove `python_from`: Python then comes from the distribution if it has it, else from uv"))
}

/// System packages that the Python itself needs in the stage where packages are installed.
pub(super) fn system_packages(context: &PlanContext) -> Vec<String> {
    let series = &context.stack.python;
    match context.python.source {
        Source::Apt => vec!["python3".into(), "python3-venv".into()],
        Source::Deadsnakes => vec![format!("python{series}"), format!("python{series}-venv")],
        Source::Dnf => row(context).map(|row| row.package.clone()).into_iter().collect(),
        Source::Image | Source::Uv => Vec::new(),
    }
}

/// Headers of the Python, for what is compiled against it.
pub(super) fn headers(context: &PlanContext) -> Option<String> {
    match context.python.source {
        Source::Apt => Some("python3-dev".into()),
        Source::Deadsnakes => Some(format!("python{}-dev", context.stack.python)),
        Source::Dnf => row(context).map(|row| row.headers.clone()),
        // uv's Pythons contain them.
        Source::Image | Source::Uv => None,
    }
}

/// The packages of the chosen Python, where they come through dnf.
fn row(context: &PlanContext) -> Option<&'static DnfPython> {
    let system = &context.base.system?.id;
    context.catalog.systems().dnf_pythons(system).find(|row| row.python == context.stack.python)
}

/// Refuses a Python of which it is not known how a system with dnf gets it.
fn check_dnf(catalog: &'static Catalog, source: Source, system: &System, python: &str) -> Result<(), Error> {
    let System { id, name, family, .. } = system;
    let known = catalog.systems().dnf_pythons(id).any(|row| row.python == python);
    let other = || {
        let rows: Vec<&str> = catalog.systems().dnf_pythons(id).map(|row| row.python.as_str()).collect();
        match rows.is_empty() {
            true => "set another `os`, for example rockylinux9 or ubuntu24.04".to_owned(),
            false => format!("known versions: {}, and those that uv installs", rows.join(", ")),
        }
    };
    match source {
        Source::Dnf if !known => {
            Err(usage_error(format!("the package name of Python {python} on {name} is unknown"))
                .hint(other()))
        }
        // uv comes through a pip that is new enough for its wheels.
        Source::Uv if !family.has_apt() && catalog.systems().dnf_pythons(id).next().is_none() => {
            Err(usage_error(format!(
                "Python {python} would come from uv, but envdoc does not know how to install \
                 uv on {name}"
            ))
            .hint(other()))
        }
        _ => Ok(()),
    }
}

/// The release that uv installs: `3.12.16`.
fn release(catalog: &'static Catalog, series: &str) -> String {
    let newest = catalog
        .systems()
        .uv()
        .newest
        .iter()
        .find(|release| release.strip_prefix(series).is_some_and(|rest| rest.starts_with('.')));
    newest.map_or(series, String::as_str).to_owned()
}

/// The stage that installs Python with uv, or fetches the key of the deadsnakes PPA, if needed.
pub(super) fn stages(context: &PlanContext) -> Vec<Stage> {
    if context.python.source == Source::Deadsnakes {
        return vec![archive(context)];
    }
    if context.python.source != Source::Uv {
        return Vec::new();
    }
    let series = &context.stack.python;
    // A pip that is new enough for uv's wheels: of RHEL 8's family the system's own is not.
    let newest =
        context.base.system.and_then(|system| context.catalog.systems().dnf_pythons(&system.id).next());
    let (program, packages) = match newest {
        Some(row) => {
            (format!("python{}", row.python), vec!["ca-certificates", row.package.as_str(), row.pip.as_str()])
        }
        None => ("python3".to_owned(), vec!["ca-certificates", "python3-pip"]),
    };
    let mut steps = preamble(context, Some(Source::Apt));
    let mirror = context.request.mirrors.python.clone();
    steps.extend(mirror.map(|url| Step::new(Instruction::Arg("UV_PYTHON_INSTALL_MIRROR".into(), Some(url)))));
    steps.push(install(context, &packages));
    let commands = [
        uv::commands(context, &program),
        vec![vec![format!(
            "UV_PYTHON_INSTALL_DIR={PYTHONS} /opt/uv/bin/uv python install --no-bin {}",
            release(context.catalog, series)
        )]],
    ]
    .concat();
    let mounts = [pip_cache(context), context.secret_mounts()].concat();
    steps.push(Step::new(Instruction::Run { mounts, commands }));
    let has = |system: &System| {
        context.catalog.systems().python_source(&system.id, series).and_then(|row| row.distribution)
    };
    let why = match context.base.system {
        Some(system) if has(system) == Some(false) => {
            format!("{} has no Python {series}, so uv installs it.", system.name)
        }
        _ => format!("uv installs Python {series}."),
    };
    let why = format!("{why} uv itself stays in this build stage.");
    vec![Stage { name: "python".into(), image: context.base.reference(), comments: vec![why], steps }]
}

/// The stage that fetches the key of the deadsnakes archive: what fetches it stays there.
fn archive(context: &PlanContext) -> Stage {
    let deadsnakes = context.catalog.systems().deadsnakes();
    let mut steps = preamble(context, None);
    steps.push(install(context, &["ca-certificates", "dirmngr", "gnupg"]));
    let key = &deadsnakes.key;
    let commands = vec![
        vec![format!("gpg --batch --keyserver hkp://{}:80 --recv-keys {key}", deadsnakes.keyserver)],
        vec![format!("gpg --batch --export {key} > {ARCHIVE_KEY}")],
    ];
    let run = Step::new(Instruction::Run { mounts: Vec::new(), commands });
    steps.push(run.with_comment("Full fingerprint, so that a keyserver cannot substitute another key."));
    let why = "Fetches the key of the deadsnakes PPA; gpg and its tools stay in this build stage.";
    Stage { name: "archive".into(), image: context.base.reference(), comments: vec![why.into()], steps }
}

/// The steps that make the environment.
pub(super) fn steps(context: &PlanContext) -> Result<Vec<Step>, Error> {
    let from = context.request.python_from.map(outcome::PythonFrom::from);
    let requested = from.map(|from| format!("Python {} from {from}, as requested.", context.stack.python));
    let decided = context.decision("python").map(|decision| decision.message.as_str());
    let comment = requested.as_deref().or(decided);
    let run = |mounts, command: &str| {
        Step::new(Instruction::Run { mounts, commands: vec![vec![command.to_owned()]] })
    };
    let made = match context.python.source {
        Source::Image => return Ok(Vec::new()),
        Source::Apt => {
            vec![
                run(Vec::new(), &format!("/usr/bin/python3 -m venv {ENVIRONMENT}"))
                    .with_optional_comment(comment),
            ]
        }
        Source::Dnf | Source::Deadsnakes => {
            let command = format!("/usr/bin/python{} -m venv {ENVIRONMENT}", context.stack.python);
            vec![run(Vec::new(), &command).with_optional_comment(comment)]
        }
        Source::Uv => {
            let copied = Instruction::Copy {
                from: Some("python".into()),
                owner: None,
                sources: vec![PYTHONS.into()],
                to: PYTHONS.into(),
            };
            let command = format!(
                "UV_PYTHON_INSTALL_DIR={PYTHONS} /mnt/uv venv --no-python-downloads --seed --python {} \
                 {ENVIRONMENT}",
                release(context.catalog, &context.stack.python)
            );
            vec![
                Step::new(copied).with_optional_comment(comment),
                run(uv::mounts(context), &context.with_secrets(command)),
            ]
        }
    };
    let path = Instruction::Env(vec![
        ("VIRTUAL_ENV".into(), ENVIRONMENT.into()),
        ("PATH".into(), format!("{ENVIRONMENT}/bin:$PATH")),
    ]);
    Ok(made.into_iter().chain([Step::new(path)]).collect())
}

/// Copies the environment from the build stage.
pub(super) fn copied_environment(context: &PlanContext) -> Vec<Step> {
    let copy = |path: &str, from: &str| {
        Step::new(Instruction::Copy {
            from: Some(from.into()),
            owner: None,
            sources: vec![path.into()],
            to: path.into(),
        })
    };
    let mut steps = Vec::new();
    if context.python.source == Source::Uv {
        steps.push(copy(PYTHONS, "python"));
    }
    steps.push(copy(ENVIRONMENT, "build"));
    let path =
        vec![("VIRTUAL_ENV".into(), ENVIRONMENT.into()), ("PATH".into(), format!("{ENVIRONMENT}/bin:$PATH"))];
    steps.push(Step::new(Instruction::Env(path)));
    steps
}
