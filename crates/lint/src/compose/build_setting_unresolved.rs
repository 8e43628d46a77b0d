//! Settings of a build that the Dockerfile does not have, or a Dockerfile that is elsewhere.

use serde_yaml::Value;

use crate::read::compose::{Compose, Service, text};
use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::copied::join;
use crate::rule::{Example, Found, Judge, MISSING, Rule, Severity};

const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, companions }
}

const IMAGE: &str = "ARG BASE=ubuntu:24.04\nFROM ${BASE} AS base\nARG TORCH_VERSION\nRUN pip install \
     torch==${TORCH_VERSION}\n";

pub(crate) const RULE: Rule = Rule {
    id: "build-setting-unresolved",
    severity: Severity::Error,
    summary: "the Dockerfile of a service is where it is said to be, and has its target and arguments",
    explain: include_str!("build_setting_unresolved.md"),
    judge: Judge::Compose(judge),
    fires: &[
        with("services:\n  a:\n    build: {context: ., target: runtime}\n", &[("Dockerfile", IMAGE)]),
        with(
            "services:\n  a:\n    build:\n      context: .\n      args:\n        - TORCH_VERSON=2.4.0\n",
            &[("Dockerfile", IMAGE)],
        ),
        with(
            "services:\n  a:\n    build: {context: ./app, dockerfile: app/Dockerfile}\n",
            &[("app/app/Dockerfile", MISSING), ("app/Dockerfile", IMAGE)],
        ),
    ],
    silent: &[
        with(
            "services:\n  a:\n    build: {context: ., target: Base, args: {TORCH_VERSION: \"2.4.0\", \
             BASE: x, \
             HTTP_PROXY: y, BUILDKIT_INLINE_CACHE: 1}}\n",
            &[("Dockerfile", IMAGE)],
        ),
        with("services:\n  a:\n    build: {context: ., target: \"${TARGET}\"}\n", &[("Dockerfile", IMAGE)]),
        with(
            "services:\n  a:\n    build: {context: ./app, dockerfile: Dockerfile.gpu}\n",
            &[("app/Dockerfile.gpu", IMAGE), ("Dockerfile.gpu", IMAGE)],
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let whole = |one: &&Service| !one.extends_elsewhere;
    file.services.iter().filter(whole).flat_map(|service| faults(file, service)).collect()
}

/// The path of the Dockerfile, counted from the directory of the compose file instead of the context.
pub(crate) fn dockerfile_of_project(service: &Service) -> Option<String> {
    let of = |key: &str| service.at(&["build", key]).and_then(text);
    let (context, name) = (of("context")?, of("dockerfile")?);
    let plain = [&context, &name].iter().all(|path| !path.contains(['$', ':']) && !path.starts_with('/'));
    plain.then(|| join("", &name))
}

fn faults(file: &Compose, service: &Service) -> Vec<Found> {
    let Some(image) = file.whole_dockerfile(service) else {
        return elsewhere(file, service).into_iter().collect();
    };
    let mut found: Vec<Found> = target(file, service, &image).into_iter().collect();
    found.extend(arguments(file, service, &image));
    found
}

fn elsewhere(file: &Compose, service: &Service) -> Option<Found> {
    let (path, other) = (service.dockerfile()?, dockerfile_of_project(service)?);
    let missing =
        matches!(file.files.get(&path), Some(None)) && matches!(file.files.get(&other), Some(Some(_)));
    let context = service.build_context()?;
    let message = format!(
        "service {}: there is no {path}; `dockerfile` is relative to the build context {context}, not to \
         this file",
        service.name
    );
    let line = file.line(&["services", &service.name, "build", "dockerfile"]);
    let from_context = other.strip_prefix(&format!("{context}/")).unwrap_or(&other).to_owned();
    missing.then(|| Found::error(line, message, format!("Write `dockerfile: {from_context}`")))
}

fn target(file: &Compose, service: &Service, image: &Dockerfile) -> Option<Found> {
    let target = service.at(&["build", "target"]).and_then(text).filter(|target| !target.contains('$'))?;
    let lower = target.to_ascii_lowercase();
    let names: Vec<&str> = image.stages.iter().filter_map(|stage| stage.name.as_deref()).collect();
    // Stages have numbers too.
    let numbered = target.parse::<usize>().is_ok_and(|index| index < image.stages.len());
    if numbered || names.contains(&lower.as_str()) || image.stages.is_empty() {
        return None;
    }
    let stages = match names.is_empty() {
        true => "no stage has a name".to_owned(),
        false => format!("its stages are {}", names.join(", ")),
    };
    let message = format!(
        "service {}: {} has no stage {target}; {stages}; the build fails",
        service.name,
        service.dockerfile()?
    );
    let line = file.line(&["services", &service.name, "build", "target"]);
    Some(Found::error(line, message, "Name a stage of the Dockerfile"))
}

/// Arguments that BuildKit and Docker know without an ARG.
const PREDEFINED: &[&str] =
    &["http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy", "source_date_epoch"];

fn arguments(file: &Compose, service: &Service, image: &Dockerfile) -> Vec<Found> {
    let given: Vec<String> = match service.at(&["build", "args"]) {
        Some(Value::Mapping(map)) => map.keys().filter_map(text).collect(),
        Some(Value::Sequence(items)) => {
            let name = |item: String| item.split('=').next().unwrap_or_default().to_owned();
            items.iter().filter_map(text).map(name).collect()
        }
        _ => Vec::new(),
    };
    let declared: Vec<&str> = image
        .instructions
        .iter()
        .filter(|one| one.keyword == "ARG")
        .flat_map(|one| one.text.text.split_whitespace())
        .map(|word| word.split('=').next().unwrap_or_default())
        .collect();
    let unknown = given.iter().filter(|name| {
        let lower = name.to_ascii_lowercase();
        let predefined = PREDEFINED.contains(&lower.as_str()) || lower.starts_with("buildkit_");
        !predefined && !name.contains('$') && !declared.contains(&name.as_str())
    });
    let fault = |name: &String| {
        let near = diagnostic::suggest::typo_of(name, declared.iter().copied())?;
        let message = format!(
            "service {}: the Dockerfile has no ARG {name}, but {near}; the build uses the default of {near}",
            service.name
        );
        let line = file.line(&["services", &service.name, "build", "args"]);
        Some(Found::warning(line, message, format!("Write `{near}`")))
    };
    unknown.filter_map(fault).collect()
}
