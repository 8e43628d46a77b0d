//! The type of a file, by its name and its contents. The contents decide where they contradict the name.

use diagnostic::yaml::too_deep;

use crate::kind::Kind;
use crate::read::dockerfile::instructions::INSTRUCTIONS;
use crate::read::json::Json;
use crate::recognize::{
    ARGO_WORKFLOWS, COMPOSE_NAMES, OVERRIDE_NAMES, kind_of_name, kind_of_text, name_says_deepspeed,
};

/// What a name and a text show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detected {
    /// A type that rules check.
    Kind(Kind),
    /// No rule checks it.
    Unchecked(Unchecked),
}

/// Why no rule checks a file, in the order of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unchecked {
    /// A template from which Helm renders a manifest.
    Kubernetes,
    /// A template of AWS CloudFormation.
    CloudFormation,
    /// Not text: an image with a name such as `dockerfile-stages.png`.
    Binary,
    /// Another file names it, or a link leads to it, and it is outside of the directories to lint: it was not
    /// read.
    Outside,
    /// A link to a directory, which is not followed.
    LinkedDirectory,
    /// A directory with a `pyvenv.cfg`, which holds installed packages.
    VirtualEnvironment,
    /// Another file names it, and it is too large to be read along.
    TooLarge,
    /// Neither its name nor its contents show a type that rules check.
    UnknownType,
}

impl Unchecked {
    /// The value in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Unchecked::UnknownType => "unknown-type",
            Unchecked::Kubernetes => "kubernetes",
            Unchecked::CloudFormation => "cloudformation",
            Unchecked::Binary => "binary",
            Unchecked::Outside => "outside",
            Unchecked::LinkedDirectory => "linked-directory",
            Unchecked::VirtualEnvironment => "virtual-environment",
            Unchecked::TooLarge => "too-large",
        }
    }

    /// What the file is: `Kubernetes manifest`.
    pub fn title(self) -> &'static str {
        match self {
            Unchecked::UnknownType => "unknown type",
            Unchecked::Kubernetes => "template of a Kubernetes manifest",
            Unchecked::CloudFormation => "CloudFormation template",
            Unchecked::Binary => "binary file",
            Unchecked::LinkedDirectory => "link to a directory, not followed",
            Unchecked::VirtualEnvironment => "virtual environment, not searched",
            Unchecked::TooLarge => "file larger than 1 MiB that another file names, not read",
            Unchecked::Outside => "file outside the linted directory and its repository, not read",
        }
    }
}

/// A file that no rule checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its name, as the report shows it.
    pub name: String,
    /// Why the file was not linted.
    pub why: Unchecked,
    /// Whether the user named the file itself, not only its directory.
    pub named: bool,
}

impl Skipped {
    /// A virtual environment below a directory that the user named.
    pub fn environment(name: String) -> Skipped {
        Skipped { name, why: Unchecked::VirtualEnvironment, named: false }
    }
}

/// The type of a file.
pub fn detect(name: &str, text: &str) -> Detected {
    let known = |kind: Option<Kind>| match kind {
        Some(kind) => Detected::Kind(kind),
        None => format(text).unwrap_or(Detected::Unchecked(Unchecked::UnknownType)),
    };
    match kind_of_name(name) {
        Some(Kind::Dockerfile) if !begins_as_dockerfile(text) => match (format(text), kind_of_text(text)) {
            (Some(other), _) => other,
            (None, Some(kind)) => Detected::Kind(kind),
            (None, None) => known((!is_source(name)).then_some(Kind::Dockerfile)),
        },
        Some(Kind::Compose) => match has_any(text, COMPOSE) {
            true => Detected::Kind(Kind::Compose),
            // `stack.yaml` and `compose-check.yaml` are also names of other programs' files.
            false if format(text).is_some() || !name_says_compose(name) => known(None),
            false => Detected::Kind(Kind::Compose),
        },
        Some(Kind::Conda) if !has(text, "dependencies") => known(None),
        Some(Kind::GithubWorkflow) if !has_any(text, &["jobs"]) => known(None),
        // Other programs have `.service` files too: D-Bus, Avahi.
        Some(Kind::SystemdUnit) if !is_unit(text) => known(None),
        // A script's first line decides who runs it.
        Some(Kind::Shell) if first_line(text).starts_with("#!") && first_line(text).contains("python") => {
            Detected::Kind(Kind::Python)
        }
        Some(kind) => Detected::Kind(kind),
        // Too broken to have a key that shows what it is.
        None if name_says_deepspeed(name) && !is_template(text) && Json::read(text).broken.is_some() => {
            Detected::Kind(Kind::DeepspeedConfig)
        }
        None => known(kind_of_text(text).filter(|_| format(text).is_none())),
    }
}

/// Whether a JSON file looks like one that somebody still fills in.
fn is_template(text: &str) -> bool {
    ["{{", "{%", "${"].iter().any(|mark| text.contains(mark))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Top-level keys of which a Compose file has one at least.
const COMPOSE: &[&str] = &["services", "include", "networks", "volumes", "secrets", "configs", "models"];

/// Whether a YAML file is one that docker compose takes by itself, whatever is in it.
fn name_says_compose(name: &str) -> bool {
    let base = name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    COMPOSE_NAMES.iter().chain(OVERRIDE_NAMES).any(|known| *known == base)
}

/// Endings of programs' source files: `dockerfile.go` is none of Docker's unless it looks like one.
fn is_source(name: &str) -> bool {
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    const SOURCES: &[&str] =
        &["go", "rs", "ts", "tsx", "js", "mjs", "java", "rb", "c", "h", "cc", "cpp", "css", "svg", "xml"];
    SOURCES.iter().any(|one| end.eq_ignore_ascii_case(one))
}

/// Whether a text has a section of systemd's units of services.
fn is_unit(text: &str) -> bool {
    text.lines().any(|line| matches!(line.trim(), "[Unit]" | "[Service]" | "[Install]"))
}

/// Whether the first line that is no comment is an instruction; an empty file may become one.
fn begins_as_dockerfile(text: &str) -> bool {
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let first = lines.into_iter().find(|line| !line.is_empty() && !line.starts_with('#'));
    let word = first.and_then(|line| line.split_whitespace().next());
    word.is_none_or(|word| INSTRUCTIONS.iter().any(|one| one.eq_ignore_ascii_case(word)))
}

/// A format of YAML that other programs read.
fn format(text: &str) -> Option<Detected> {
    if (has(text, "apiVersion") && has(text, "kind")) || is_object_in_flow_style(text) {
        return Some(match text.contains("{{") {
            true if is_helm(text) => Detected::Kind(Kind::HelmTemplate),
            true if is_argo(text) => Detected::Kind(Kind::Kubernetes),
            true => Detected::Unchecked(Unchecked::Kubernetes),
            false => Detected::Kind(Kind::Kubernetes),
        });
    }
    let resources = has(text, "Resources") && text.contains("AWS::");
    (resources || has(text, "AWSTemplateFormatVersion"))
        .then_some(Detected::Unchecked(Unchecked::CloudFormation))
}

/// Whether a template uses what Helm gives to templates.
fn is_helm(text: &str) -> bool {
    [".Values", ".Release.", ".Chart."].iter().any(|mark| text.contains(mark))
}

/// Whether what is in braces is for Argo Workflows, which reads the file as it is: it is YAML, and only
/// objects of Argo have any.
fn is_argo(text: &str) -> bool {
    let of_argo = |part: &str| {
        let root = serde_yaml::from_str::<serde_yaml::Value>(part).unwrap_or_default();
        let of = |key: &str| root.get(key).and_then(serde_yaml::Value::as_str).unwrap_or_default();
        of("apiVersion").starts_with("argoproj.io/") && ARGO_WORKFLOWS.contains(&of("kind"))
    };
    let mut parts = text.split("\n---").filter(|part| part.contains("{{"));
    text.contains("argoproj.io/") && parts.all(|part| too_deep(part).is_none() && of_argo(part))
}

/// Whether a text is an object of Kubernetes as JSON, or in flow style: its keys are indented.
fn is_object_in_flow_style(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    // `{{` begins a template.
    let flow = text.starts_with('{') && !text.starts_with("{{");
    if !flow || !text.contains("apiVersion") || !text.contains("kind") {
        return false;
    }
    let root = serde_yaml::from_str::<serde_yaml::Value>(text).unwrap_or_default();
    ["apiVersion", "kind"].iter().all(|key| root.get(key).is_some_and(serde_yaml::Value::is_string))
}

/// Whether a text in YAML is a compose file, whatever its name: services with an image or a build, and only
/// keys that these files have.
pub(crate) fn is_compose(text: &str) -> bool {
    const KEYS: &[&str] =
        &["services", "volumes", "networks", "configs", "secrets", "name", "version", "include", "models"];
    let root = match too_deep(text) {
        Some(_) => return false,
        None => serde_yaml::from_str::<serde_yaml::Value>(text).unwrap_or_default(),
    };
    let Some(root) = root.as_mapping() else { return false };
    let known = |key: &serde_yaml::Value| {
        key.as_str().is_some_and(|key| KEYS.contains(&key) || key.starts_with("x-"))
    };
    let services = root.get("services").and_then(serde_yaml::Value::as_mapping);
    let mut of_services = services.into_iter().flatten().map(|(_, service)| service).peekable();
    // What a service merges or extends may have the image.
    let runs = |one: &serde_yaml::Value| {
        ["image", "build", "extends", "<<"].iter().any(|key| one.get(key).is_some())
    };
    root.keys().all(known) && of_services.peek().is_some() && of_services.all(runs)
}

fn has_any(text: &str, keys: &[&str]) -> bool {
    // `{services: {…}}`, in one line or several.
    let flow = text.trim_start().starts_with('{');
    keys.iter().any(|key| has(text, key) || (flow && text.contains(key)))
}

/// Whether a mapping in block style has the key at its top.
fn has(text: &str, key: &str) -> bool {
    text.trim_start_matches('\u{feff}').lines().any(|line| {
        let line = line.trim_start_matches(['"', '\'']);
        let rest = line.strip_prefix(key).map(|rest| rest.trim_start_matches(['"', '\'']).trim_start());
        rest.is_some_and(|rest| rest == ":" || rest.starts_with(": ") || rest.starts_with(":\t"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &str) -> Result<Kind, Unchecked> {
        match detect(name, text) {
            Detected::Kind(kind) => Ok(kind),
            Detected::Unchecked(why) => Err(why),
        }
    }

    #[test]
    fn a_stack_is_one_by_its_contents() {
        let template = "AWSTemplateFormatVersion: \"2010-09-09\"\nResources: {}\n";
        assert_eq!(of("vpc-stack.yaml", template), Err(Unchecked::CloudFormation));
        let old = "Resources:\n  a:\n    Type: AWS::EC2::VPC\n";
        assert_eq!(of("vpc-stack.yaml", old), Err(Unchecked::CloudFormation));
        assert_eq!(of("stack.yaml", "resolver: lts-22.0\npackages: [.]\n"), Err(Unchecked::UnknownType));
        assert_eq!(of("stack.yaml", "version: '3.8'\nservices:\n  a:\n    image: b\n"), Ok(Kind::Compose));
        assert_eq!(of("gpu-stack.yml", "\"services\" : {a: {image: b}}\n"), Ok(Kind::Compose));
        assert_eq!(of("stack.yml", "{services: {a: {image: b}}}\n"), Ok(Kind::Compose));
        assert_eq!(of("docker-compose-missing.yaml", "id: missing\n"), Err(Unchecked::UnknownType));
        // The name is Compose's own: docker compose refuses the file.
        assert_eq!(of("compose.yaml", "foo: bar\n"), Ok(Kind::Compose));
        assert_eq!(of("compose.yaml", "apiVersion: v1\nkind: Pod\n"), Ok(Kind::Kubernetes));
    }

    #[test]
    fn a_dockerfile_is_one_by_its_contents() {
        let pod = "apiVersion: v1\nkind: Pod\nspec: {}\n";
        assert_eq!(of("Dockerfile.llama", pod), Ok(Kind::Kubernetes));
        assert_eq!(of("Dockerfile.gpu", "services:\n  a:\n    image: b\n"), Ok(Kind::Compose));
        assert_eq!(of("Dockerfile.sh2", "#!/bin/bash\nset -e\n"), Ok(Kind::Shell));
        assert_eq!(of("dockerfile.go", "package dockerfile\n"), Err(Unchecked::UnknownType));
        for (name, text) in [
            ("Dockerfile.go", "# syntax=docker/dockerfile:1\nfrom golang\n"),
            ("Dockerfile.part", "RUN true\n"),
            ("Dockerfile", ""),
            ("Dockerfile", "FRMO python\n"),
            ("Dockerfile.k8s", "FROM a\nRUN <<E\napiVersion: v1\nkind: Pod\nE\n"),
        ] {
            assert_eq!(of(name, text), Ok(Kind::Dockerfile), "{name} {text}");
        }
    }

    #[test]
    fn compose_files_by_their_contents() {
        assert!(is_compose(
            "x-a: &a {image: b}\nservices:\n  a:\n    <<: *a\n  c:\n    build: .\nvolumes: {d: }\n"
        ));
        for text in [
            "services: [docker]\nimage: a\n",
            "services:\n  a:\n    class: B\n",
            "services:\n  a:\n    image: b\nstages: [c]\n",
            "services: {}\n",
            "services:\n  a: {{ b }}\n",
            "a: b\n",
        ] {
            assert!(!is_compose(text), "{text}");
        }
    }

    #[test]
    fn other_files() {
        assert_eq!(of("run.sh", "#!/usr/bin/env python3\nimport torch\n"), Ok(Kind::Python));
        assert_eq!(of("run.sh", "#!/bin/bash -e\ncat <<E\nservices:\nE\n"), Ok(Kind::Shell));
        assert_eq!(of("environment.yml", "name: a\ndependencies:\n  - pip\n"), Ok(Kind::Conda));
        assert_eq!(of("environment.yaml", "stage: prod\n"), Err(Unchecked::UnknownType));
        let template = "apiVersion: v1\nkind: Pod\nspec: {{ .Values.spec }}\n";
        assert_eq!(of("templates/pod.yaml", template), Ok(Kind::HelmTemplate));
        let other = "apiVersion: v1\nkind: Pod\nspec: {{ spec }}\n";
        assert_eq!(of("templates/pod.yaml", other), Err(Unchecked::Kubernetes));
        assert_eq!(of("pod.yaml", "apiVersion: v1\nkind: Pod\n"), Ok(Kind::Kubernetes));
        let argo = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\na: \"{{inputs.parameters.x}}\"\n";
        assert_eq!(of("train.yaml", argo), Ok(Kind::Kubernetes));
        let mixed = format!("{argo}---\napiVersion: v1\nkind: ConfigMap\na: \"{{{{ a }}}}\"\n");
        assert_eq!(of("train.yaml", &mixed), Err(Unchecked::Kubernetes));
        let unquoted = argo.replace('"', "").replace("}}", "}} y");
        assert_eq!(of("train.yaml", &unquoted), Err(Unchecked::Kubernetes));
        let json = "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"Pod\"\n}\n";
        assert_eq!(of("pod.yaml", json), Ok(Kind::Kubernetes));
        let inner = "{\"a\": {\"apiVersion\": \"v1\", \"kind\": \"Pod\"}}\n";
        assert_eq!(of("a.yaml", inner), Err(Unchecked::UnknownType));
        for text in ["{\"a\":", "", "{", "[1,", "train_batch_size: 8\n"] {
            assert_eq!(of("conf/ds_config.json", text), Ok(Kind::DeepspeedConfig), "{text}");
            assert_eq!(of("conf/config.json", text), Err(Unchecked::UnknownType), "{text}");
        }
        for text in ["{\"a\": 1}", "{\"a\": {{ a }}"] {
            assert_eq!(of("ds_config.json", text), Err(Unchecked::UnknownType), "{text}");
        }
        assert_eq!(of("a.service", "[Service]\nExecStart=/bin/a\n"), Ok(Kind::SystemdUnit));
        assert_eq!(of("a.service", "[D-BUS Service]\nName=a\n"), Err(Unchecked::UnknownType));
        let workflow = "on: push\njobs:\n  a:\n    runs-on: x\n";
        assert_eq!(of(".github/workflows/a.yml", workflow), Ok(Kind::GithubWorkflow));
        assert_eq!(of(".github/workflows/a.yml", "a: 1\n"), Err(Unchecked::UnknownType));
        assert_eq!(of("notes.md", "FROM here\n"), Ok(Kind::Dockerfile));
        assert_eq!(of("notes.md", "hello\n"), Err(Unchecked::UnknownType));
    }
}
