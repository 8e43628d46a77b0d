//! A model of Triton that wants a GPU which the container does not have.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::location::{Location, OtherFile};
use crate::model_path::repositories;
use crate::read::compose::{Compose, Gpus, IsStack, Service};
use crate::rule::{Example, Found, Judge, Rule, Severity};
use crate::servers::instance_groups::{Instances, instances};

const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, companions }
}

pub(crate) const RULE: Rule = Rule {
    id: "triton-gpu-not-visible",
    severity: Severity::Error,
    summary: "the GPUs of Triton's models are those that its container has, counted from 0",
    explain: include_str!("triton_gpu_not_visible.md"),
    judge: Judge::Compose(judge),
    fires: &[
        with(
            "services:\n  triton:\n    image: nvcr.io/nvidia/tritonserver:24.10-py3\n    command: \
             tritonserver --model-repository=/repo\n    volumes: [\"./models:/repo:ro\"]\n    deploy: \
             {resources: {reservations: {devices: [{driver: nvidia, device_ids: [\"3\"], capabilities: \
             [gpu]}]}}}\n",
            &[("models/ocr/config.pbtxt", "name: \"ocr\"\ninstance_group [ { count: 1 gpus: [ 3 ] } ]\n")],
        ),
        with(
            "services:\n  triton:\n    image: nvcr.io/nvidia/tritonserver:24.10-py3\n    command: \
             [tritonserver, --model-store, /repo/all]\n    volumes: [\"./:/repo\"]\n    gpus: [{count: 2, \
             capabilities: [gpu]}]\n",
            &[(
                "all/det/config.pbtxt",
                "# two copies\ninstance_group {\n  kind: KIND_GPU\n  gpus: 0\n}\ninstance_group {\n  kind: \
                 KIND_GPU\n  gpus: 2\n}\n",
            )],
        ),
    ],
    silent: &[
        with(
            "services:\n  triton:\n    image: nvcr.io/nvidia/tritonserver:24.10-py3\n    command: \
             tritonserver --model-repository=/repo\n    volumes: [\"./models:/repo:ro\"]\n    deploy: \
             {resources: {reservations: {devices: [{driver: nvidia, device_ids: [\"2\", \"3\"], \
             capabilities: [gpu]}]}}}\n",
            &[
                ("models/a/config.pbtxt", "instance_group [ { kind: KIND_GPU gpus: [ 0, 1 ] } ]\n"),
                ("models/b/config.pbtxt", "instance_group [ { kind: KIND_CPU } ] # gpus: [ 4 ]\n"),
                ("models/c/config.pbtxt", "instance_group [ { kind: KIND_MODEL gpus: [ 5 ] } ]\n"),
            ],
        ),
        with(
            "services:\n  triton:\n    image: nvcr.io/nvidia/tritonserver:24.10-py3\n    command: \
             tritonserver --model-repository=/repo\n    volumes: [\"./models:/repo:ro\"]\n    gpus: all\n  \
             small:\n    image: nvcr.io/nvidia/tritonserver:24.10-py3\n    command: tritonserver \
             --model-repository=/repo --model-control-mode=explicit --load-model=b\n    volumes: \
             [\"./models:/repo:ro\"]\n    gpus: [{count: 1, capabilities: [gpu]}]\n",
            &[("models/a/config.pbtxt", "instance_group [ { kind: KIND_GPU gpus: [ 1 ] } ]\n")],
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    if file.stack == IsStack::Yes {
        return Vec::new();
    }
    // How many services read each repository: another one may have the GPU.
    let mut readers: BTreeMap<String, usize> = BTreeMap::new();
    for path in file.services.iter().flat_map(repositories) {
        *readers.entry(path).or_default() += 1;
    }
    let own = file.services.iter().filter(|one| !one.extends_elsewhere);
    own.filter_map(|service| Some(of_service(file, service, visible(service)?, &readers))).flatten().collect()
}

/// How many GPUs a container certainly has at most.
fn visible(service: &Service) -> Option<usize> {
    let requested = match service.gpus()? {
        Gpus::Count(count) => usize::try_from(count).ok()?,
        Gpus::Ids(ids) if ids.iter().all(|id| !id.contains('$') && id != "all") => ids.len(),
        _ => return None,
    };
    // A MIG device or a list that is not visible is left to other rules.
    (requested > 0).then_some(requested)
}

fn of_service(
    file: &Compose,
    service: &Service,
    visible: usize,
    readers: &BTreeMap<String, usize>,
) -> Vec<Found> {
    let words = service.command();
    // These load only some of the models.
    let chosen = ["explicit", "--load-model", "--model-load-gpu-limit"].iter().any(|one| words.contains(one));
    if chosen {
        return Vec::new();
    }
    let own = repositories(service);
    let mut found = Vec::new();
    for repository in own.iter().filter(|path| readers.get(*path) == Some(&1)) {
        for (path, text) in &file.files {
            let rest = path.strip_prefix(repository.as_str()).and_then(|rest| rest.strip_prefix('/'));
            let is_config =
                rest.is_some_and(|rest| rest.split_once('/').is_some_and(|(_, name)| name == "config.pbtxt"));
            let Some(text) = text.as_deref().filter(|_| is_config) else { continue };
            let groups = instances(text).into_iter();
            let wrong = groups.filter(|group| matches!(group.kind.as_str(), "" | "KIND_GPU" | "KIND_AUTO"));
            found.extend(wrong.filter_map(|group| fault(service, path, &group, visible)));
        }
    }
    found
}

fn fault(service: &Service, path: &str, group: &Instances, visible: usize) -> Option<Found> {
    let (line, gpu) = group.gpus.iter().find(|(_, gpu)| *gpu >= visible)?;
    let have = match visible {
        1 => "only GPU 0".to_owned(),
        count => format!("only GPUs 0 to {}", count - 1),
    };
    let message = format!(
        "instance_group requests GPU {gpu}, but the container of service {} has {have}; Triton rejects the \
         model (`specifies invalid or unsupported gpu id {gpu}`)",
        service.name
    );
    let other = Rc::new(OtherFile { path: path.to_owned(), by: None });
    let fix = match visible {
        1 => "Write `gpus: [ 0 ]`, or remove `gpus`".to_owned(),
        count => format!("Use GPU numbers 0 to {}, or remove `gpus`", count - 1),
    };
    Some(Found::error(Location::new(Some(other), *line), message, fix))
}
