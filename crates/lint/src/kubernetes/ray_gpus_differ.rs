//! GPUs that Ray counts otherwise than its pods get them.

use serde_yaml::Value;

use crate::read::compose::below;
use crate::read::manifest::{Document, Manifest, is_gpu, labels, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "ray-gpus-differ",
    severity: Severity::Error,
    summary: "Ray's actors fit the GPUs of its pods, and its nodes offer them",
    explain: include_str!("ray_gpus_differ.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "ray.yaml",
            "apiVersion: ray.io/v1\nkind: RayService\nmetadata: {name: a}\nspec:\n  serveConfigV2: |\n    \
             applications:\n      - name: r\n        import_path: r.app:d\n        deployments:\n          \
             - name: R\n            \
             ray_actor_options: {num_cpus: 4, num_gpus: 2}\n  rayClusterConfig:\n    headGroupSpec:\n      \
             rayStartParams: {}\n      template: {spec: {containers: [{name: h, image: b}]}}\n    \
             workerGroupSpecs:\n      - \
             groupName: g\n        rayStartParams: {}\n        template: {spec: {containers: [{name: w, \
             image: b, \
             resources: {limits: {nvidia.com/gpu: 1}}}]}}\n",
        ),
        named(
            "ray.yaml",
            "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: a}\nspec:\n  entrypoint: python t.py\n  \
             rayClusterSpec:\n    headGroupSpec:\n      rayStartParams: {num-cpus: \"0\"}\n      template: \
             {spec: \
             {containers: [{name: h, image: b}]}}\n    workerGroupSpecs:\n      - groupName: g\n        \
             rayStartParams: \
             {num-gpus: \"0\"}\n        template: {spec: {containers: [{name: w, image: b, resources: \
             {limits: \
             {nvidia.com/gpu: 8}}}]}}\n",
        ),
    ],
    silent: &[
        named(
            "ray.yaml",
            "apiVersion: ray.io/v1\nkind: RayService\nmetadata: {name: a}\nspec:\n  serveConfigV2: |\n    \
             applications:\n      - name: r\n        import_path: r.app:d\n        deployments:\n          \
             - name: R\n            \
             num_replicas: 4\n            ray_actor_options: {num_gpus: 1}\n  rayClusterConfig:\n    \
             headGroupSpec:\n      rayStartParams: {num-gpus: \"0\"}\n      template: {spec: {containers: \
             [{name: h, \
             image: b}]}}\n    workerGroupSpecs:\n      - groupName: g\n        rayStartParams: \
             {num-gpus: \"1\"}\n        \
             template: {spec: {containers: [{name: w, image: b, resources: {limits: {nvidia.com/gpu: \
             1}}}]}}\n",
        ),
        named(
            "ray.yaml",
            "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: a}\nspec:\n  headGroupSpec:\n    \
             rayStartParams: {num-gpus: \"0\"}\n    template: {spec: {containers: [{name: h, image: b, \
             resources: {limits: \
             {nvidia.com/gpu: 1}}}]}}\n  workerGroupSpecs: []\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let of_document = |one: &Document| {
        let path: &[&str] = match (one.api.split('/').next(), one.kind.as_str()) {
            (Some("ray.io"), "RayCluster") => &["spec"],
            (Some("ray.io"), "RayJob") => &["spec", "rayClusterSpec"],
            (Some("ray.io"), "RayService") => &["spec", "rayClusterConfig"],
            _ => return Vec::new(),
        };
        let Some(spec) = one.at(path) else { return Vec::new() };
        let mut found = hidden(one, spec, path);
        found.extend(actors(one, spec));
        found
    };
    file.documents.iter().flat_map(of_document).collect()
}

/// The GPUs of the first container of a group, which runs Ray: those of its limits.
fn limit(group: &Value) -> Option<u64> {
    let containers = below(group, &["template", "spec"]).map_or_else(Vec::new, |pod| list(pod, "containers"));
    let limits = labels(below(containers.first()?, &["resources", "limits"]));
    let gpu = limits.iter().find(|(name, _)| is_gpu(name));
    gpu.map_or(Some(0), |(_, count)| count.parse().ok())
}

/// What Ray offers of a group: KubeRay hands on the limit unless a parameter says otherwise.
fn offered(group: &Value) -> Option<u64> {
    match scalar(group, &["rayStartParams", "num-gpus"]) {
        Some(count) => count.parse().ok(),
        None => limit(group),
    }
}

/// Workers whose GPUs Ray does not use, or of which it uses more.
fn hidden(document: &Document, spec: &Value, path: &[&str]) -> Vec<Found> {
    let groups = list(spec, "workerGroupSpecs").into_iter().enumerate();
    let found = groups.filter_map(|(at, group)| {
        let written = scalar(group, &["rayStartParams", "num-gpus"])?;
        let (set, gpus) = (written.parse::<u64>().ok()?, limit(group)?);
        let name = scalar(group, &["groupName"]).unwrap_or_default();
        let message = match set {
            0 => format!(
                "worker group {name} gets {gpus} GPUs per pod, but num-gpus \"0\" makes Ray offer none; \
                 tasks \
                 and actors that ask for GPUs stay pending"
            ),
            _ => format!("worker group {name} gets {gpus} GPUs per pod, but Ray offers {set} (num-gpus)"),
        };
        let at = at.to_string();
        let line =
            document.line_of(&[path, &["workerGroupSpecs", &at, "rayStartParams", "num-gpus"]].concat());
        let fix = "Remove num-gpus; KubeRay takes the limit of the container";
        (set != gpus && gpus > 0).then(|| Found::warning(line, message, fix))
    });
    found.collect()
}

/// Actors of Ray Serve for which no pod has enough GPUs.
fn actors(document: &Document, spec: &Value) -> Vec<Found> {
    let Some(text) = scalar(&document.value, &["spec", "serveConfigV2"]) else { return Vec::new() };
    let Ok(config) = serde_yaml::from_str::<Value>(&text) else { return Vec::new() };
    let head = below(spec, &["headGroupSpec"]);
    let groups: Option<Vec<u64>> =
        head.into_iter().chain(list(spec, "workerGroupSpecs")).map(offered).collect();
    let Some(most) = groups.and_then(|counts| counts.into_iter().max()) else { return Vec::new() };
    let deployments = list(&config, "applications").into_iter().flat_map(|one| list(one, "deployments"));
    let found = deployments.into_iter().filter_map(|one| {
        let gpus: f64 = scalar(one, &["ray_actor_options", "num_gpus"])?.parse().ok()?;
        let name = scalar(one, &["name"]).unwrap_or_default();
        let message = format!(
            "deployment {name} asks for {gpus} GPUs per replica, but no pod of the cluster offers more than \
             {most}; its replicas stay pending"
        );
        let line = document.line_of(&["spec", "serveConfigV2"]);
        let fix = "Reduce num_gpus, or raise the GPUs of a worker group";
        (gpus > most as f64).then(|| Found::error(line, message, fix))
    });
    found.collect()
}
