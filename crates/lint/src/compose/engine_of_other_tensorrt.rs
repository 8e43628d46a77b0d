//! A plan of TensorRT that is made with another release than the one that serves it.

use serde_yaml::Value;

use crate::read::compose::{Compose, Service, bare, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose, named};

pub(crate) const RULE: Rule = Rule {
    id: "engine-of-other-tensorrt",
    severity: Severity::Warning,
    summary: "Triton serves plans that the TensorRT of its own release made",
    explain: include_str!("engine_of_other_tensorrt.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "services:\n  build:\n    image: nvcr.io/nvidia/tensorrt:24.09-py3\n    command: trtexec \
             --onnx=/onnx/a.onnx --saveEngine=/out/a/1/model.plan\n    volumes: [\"./onnx:/onnx:ro\", \
             \"./repo:/out\"]\n  serve:\n    image: nvcr.io/nvidia/tritonserver:24.05-py3\n    command: \
             tritonserver --model-repository=/models\n    volumes: [\"./repo/:/models:ro\"]\n",
        ),
        named(
            "deploy.sh",
            "docker run --rm --gpus all -v plans:/plans -v \"$PWD:/work\" \
             nvcr.io/nvidia/tensorrt:23.10-py3 bash -c \"trtexec --onnx=/work/m.onnx --saveEngine \
             /plans/m/1/model.plan --fp16\"\ndocker run -d --gpus all --shm-size 1g -v plans:/repository \
             nvcr.io/nvidia/tritonserver:24.10-py3 tritonserver --model-store /repository\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  build:\n    image: nvcr.io/nvidia/tensorrt:24.09-py3\n    command: trtexec \
             --onnx=/onnx/a.onnx --saveEngine=/out/a/1/model.plan\n    volumes: [\"./repo:/out\"]\n  \
             serve:\n    image: nvcr.io/nvidia/tritonserver:24.09-py3\n    command: tritonserver \
             --model-repository=/models\n    volumes: [\"./repo:/models:ro\"]\n  llm:\n    image: \
             nvcr.io/nvidia/tritonserver:24.05-trtllm-python-py3\n    command: tritonserver \
             --model-repository=/models\n    volumes: [\"./repo:/models:ro\"]\n",
        ),
        compose(
            "services:\n  build:\n    image: nvcr.io/nvidia/tensorrt:24.09-py3\n    command: trtexec \
             --onnx=/a.onnx --versionCompatible --saveEngine=/out/a/1/model.plan\n    volumes: \
             [\"plans:/out\"]\n  bench:\n    image: nvcr.io/nvidia/tensorrt:24.09-py3\n    command: trtexec \
             --onnx=/a.onnx --saveEngine=/tmp/a.plan\n    volumes: [\"plans:/out\"]\n  serve:\n    image: \
             nvcr.io/nvidia/tritonserver:24.05-py3\n    command: tritonserver --model-repository=/m\n    \
             volumes: [\"plans:/m\"]\nvolumes: {plans: }\n",
        ),
    ],
};

/// A place on the host or in a volume, and the image with which somebody writes or reads it.
struct Place<'f> {
    service: &'f Service,
    image: String,
    /// The month of the release: `24.09`.
    release: String,
    /// The path as the host has it, or behind the name of a volume.
    path: String,
}

/// Plans of a file that are looked at.
const PLANS_LIMIT: usize = 50;

fn judge(file: &Compose) -> Vec<Found> {
    let own = || file.services.iter().filter(|one| !one.extends_elsewhere && one.at(&["build"]).is_none());
    let plans: Vec<Place> = own().filter_map(plan).take(PLANS_LIMIT).collect();
    if plans.is_empty() {
        return Vec::new();
    }
    let served = own().flat_map(repositories);
    served.filter_map(|place| fault(&plans, &place)).collect()
}

fn fault(plans: &[Place], served: &Place) -> Option<Found> {
    let is_served = |plan: &&Place| {
        let rest = plan.path.strip_prefix(served.path.as_str());
        rest.is_some_and(|rest| rest.starts_with('/')) && plan.service.name != served.service.name
    };
    // One of the same release may be the one that counts.
    let plan = plans.iter().find(is_served)?;
    if plans.iter().filter(is_served).any(|one| one.release == served.release) {
        return None;
    }
    let message = format!(
        "{}: {} serves {}, but {} builds it with {}; TensorRT loads only plans built by its own release",
        served.service.title, served.image, plan.path, plan.service.title, plan.image
    );
    let fix = format!("Build the plan with nvcr.io/nvidia/tensorrt:{}-py3 (same month)", served.release);
    Some(Found::warning(plan.service.line_of("image"), message, fix))
}

/// The plan that a service writes to what is mounted.
fn plan(service: &Service) -> Option<Place<'_>> {
    let words = words(service);
    let makes = words.iter().any(|word| word.ends_with("trtexec"));
    let compatible = words.iter().any(|word| {
        let word = word.to_ascii_lowercase().replace('-', "");
        word.contains("versioncompatible") || word.contains("hardwarecompatibility")
    });
    let path = value(&words, "--saveEngine").next().filter(|_| makes && !compatible)?;
    place(service, "tensorrt", &path).or_else(|| place(service, "tritonserver", &path))
}

/// The repositories that Triton reads.
fn repositories(service: &Service) -> Vec<Place<'_>> {
    let words = words(service);
    let names = ["--model-repository", "--model-store"];
    let paths = names.iter().flat_map(|name| value(&words, name)).collect::<Vec<_>>();
    paths.iter().filter_map(|path| place(service, "tritonserver", path)).collect()
}

fn words(service: &Service) -> Vec<String> {
    service.words().iter().flat_map(|word| word.split_whitespace()).map(str::to_owned).collect()
}

/// The values of an option: `--name=value`, `--name value`.
fn value<'w>(words: &'w [String], name: &'w str) -> impl Iterator<Item = String> + 'w {
    words.iter().enumerate().filter_map(move |(at, word)| match word.strip_prefix(name)? {
        "" => words.get(at + 1).cloned(),
        rest => rest.strip_prefix('=').map(str::to_owned),
    })
}

/// Where a path of the container is outside of it, for an image of NVIDIA with the release in its tag.
fn place<'s>(service: &'s Service, repository: &str, path: &str) -> Option<Place<'s>> {
    let image = service.text("image")?;
    let tag = image.strip_prefix("nvcr.io/nvidia/")?.strip_prefix(repository)?.strip_prefix(':')?;
    // What else is in an image may need another TensorRT.
    let release = tag.strip_suffix("-py3").filter(|release| {
        let parts: Vec<&str> = release.split('.').collect();
        parts.len() == 2 && parts.iter().all(|part| part.len() == 2 && part.parse::<u8>().is_ok())
    })?;
    let release = release.to_owned();
    let mount = service.mount_of(path)?;
    let rest = path.strip_prefix(mount.target.as_str())?;
    let source = source(service, &mount.target)?;
    let path = format!("{}{}", source.trim_end_matches('/'), rest.trim_end_matches('/'));
    Some(Place { service, image, release, path })
}

/// What is mounted at a target: a directory of the host, or the name of a volume.
fn source(service: &Service, target: &str) -> Option<String> {
    let items = service.at(&["volumes"])?.as_sequence()?;
    items.iter().find_map(|item| {
        let (source, at) = match text(item) {
            Some(short) => {
                let (source, rest) = short.split_once(':')?;
                (source.to_owned(), rest.split(':').next().unwrap_or_default().to_owned())
            }
            None => {
                let of = |key: &str| below(bare(item), &[key]).and_then(|value: &Value| text(value));
                (of("source")?, of("target")?)
            }
        };
        (at.trim_end_matches('/') == target).then_some(source)
    })
}
