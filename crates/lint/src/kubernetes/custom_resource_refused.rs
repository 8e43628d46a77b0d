//! Objects of operators that the API server or the operator refuses.

use serde_yaml::Value;

use crate::read::compose::{below, text};
use crate::read::manifest::{Document, Manifest, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "custom-resource-refused",
    severity: Severity::Error,
    summary: "objects of KubeRay and Volcano have values that these accept",
    explain: include_str!("custom_resource_refused.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "ray.yaml",
            "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: r}\nspec:\n  headGroupSpec:\n    \
             rayStartParams:\n      num-gpus: 0\n    template: {spec: {containers: [{name: h, image: b}]}}\n",
        ),
        named(
            "ray.yaml",
            "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: r}\nspec:\n  rayClusterSpec:\n    \
             headGroupSpec:\n      rayStartParams: {}\n      template: {spec: {containers: [{name: h, image: \
             b}]}}\n    workerGroupSpecs:\n      - groupName: g\n        minReplicas: \
             4\n        maxReplicas: 2\n\
             \x20       rayStartParams: {block: true}\n        template: {spec: {containers: [{name: w, \
             image: \
             b}]}}\n",
        ),
        named(
            "job.yaml",
            "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: \
             a}\nspec:\n  minAvailable: 5\n\
             \x20 tasks:\n    - name: worker\n      replicas: 4\n      template: {spec: {restartPolicy: \
             Never, \
             containers: [{name: a, image: b}]}}\n",
        ),
        named(
            "a.yaml",
            "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: r}\nspec:\n  headGroupSpec:\n    \
             rayStartParams: {}\n    template:\n      spec:\n        containers: [{name: h, image: \
             \"rayproject/ray:2.9.0-gpu\"}]\n  workerGroupSpecs:\n    - groupName: g\n      \
             rayStartParams: {}\n      template:\n        spec:\n          containers: [{name: w, image: \
             \"rayproject/ray:2.40.0-py310-gpu\"}]\n",
        ),
    ],
    silent: &[
        named(
            "ray.yaml",
            "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: r}\nspec:\n  headGroupSpec:\n    \
             rayStartParams: {num-gpus: \"0\", dashboard-host: 0.0.0.0}\n    template: {spec: {containers: \
             [{name: h, image: b}]}}\n  workerGroupSpecs:\n    - groupName: g\n      replicas: 2\n      \
             minReplicas: 2\n      maxReplicas: 2\n      rayStartParams: {}\n      template: {spec: \
             {containers: \
             [{name: w, image: b}]}}\n",
        ),
        named(
            "job.yaml",
            "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: \
             a}\nspec:\n  minAvailable: 5\n\
             \x20 tasks:\n    - name: master\n      replicas: 1\n      template: {spec: {restartPolicy: \
             Never, \
             containers: [{name: a, image: b}]}}\n    - name: worker\n      replicas: 4\n      template: \
             {spec: \
             {restartPolicy: Never, containers: [{name: a, image: b}]}}\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let of_document = |one: &Document| {
        let group = one.api.split('/').next().unwrap_or_default();
        match (group, one.kind.as_str()) {
            ("ray.io", "RayCluster") => of_ray(one, &["spec"]),
            ("ray.io", "RayJob") => of_ray(one, &["spec", "rayClusterSpec"]),
            ("ray.io", "RayService") => of_ray(one, &["spec", "rayClusterConfig"]),
            ("batch.volcano.sh", "Job") => of_volcano(one).into_iter().collect(),
            _ => Vec::new(),
        }
    };
    file.documents.iter().flat_map(of_document).collect()
}

fn of_ray(document: &Document, path: &[&str]) -> Vec<Found> {
    let Some(spec) = document.at(path) else { return Vec::new() };
    let mut found: Vec<Found> = releases(document, spec, path).into_iter().collect();
    let head = below(spec, &["headGroupSpec"]).map(|head| (vec!["headGroupSpec".to_owned()], head));
    let workers = list(spec, "workerGroupSpecs").into_iter().enumerate();
    let workers = workers.map(|(at, group)| (vec!["workerGroupSpecs".to_owned(), at.to_string()], group));
    for (at, group) in head.into_iter().chain(workers) {
        let at: Vec<&str> = at.iter().map(String::as_str).collect();
        let parameters = below(group, &["rayStartParams"]).and_then(Value::as_mapping);
        for (key, value) in parameters.into_iter().flatten() {
            let Some(key) = text(key).filter(|_| value.is_number() || value.is_bool()) else { continue };
            let message = format!(
                "rayStartParams.{key} must be a string, but is {}; the API server refuses it",
                if value.is_bool() { "a boolean" } else { "a number" }
            );
            let line = document.line_of(&[path, &at, &["rayStartParams", &key]].concat());
            found.push(Found::error(line, message, "Put the value in quotes"));
        }
        let number = |key: &str| scalar(group, &[key])?.parse::<i64>().ok();
        let (Some(least), Some(most)) = (number("minReplicas"), number("maxReplicas")) else { continue };
        if least > most {
            let message = format!(
                "worker group {} has minReplicas {least} and maxReplicas {most}; KubeRay refuses the cluster",
                scalar(group, &["groupName"]).unwrap_or_default()
            );
            let line = document.line_of(&[path, &at, &["minReplicas"]].concat());
            found.push(Found::error(line, message, "Set maxReplicas to minReplicas or more"));
        }
    }
    found
}

/// Nodes of one Ray cluster with different releases.
fn releases(document: &Document, spec: &Value, path: &[&str]) -> Option<Found> {
    let image = |group: &Value| {
        let containers =
            below(group, &["template", "spec"]).map_or_else(Vec::new, |pod| list(pod, "containers"));
        let image = scalar(containers.first()?, &["image"])?;
        let tag =
            image.strip_prefix("rayproject/ray:").or_else(|| image.strip_prefix("rayproject/ray-ml:"))?;
        let release = tag.split(['-', '.']).take(3).collect::<Vec<_>>().join(".");
        release.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then_some(release)
    };
    let head = image(below(spec, &["headGroupSpec"])?)?;
    list(spec, "workerGroupSpecs").into_iter().enumerate().find_map(|(at, group)| {
        let own = image(group).filter(|own| *own != head)?;
        let message =
            format!("the head runs Ray {head}, this group Ray {own}; its nodes stop with `Version mismatch`");
        let at = at.to_string();
        let inner: &[&str] = &["workerGroupSpecs", &at, "template", "spec", "containers", "0", "image"];
        let line = document.line_of(&[path, inner].concat());
        Some(Found::error(line, message, format!("Use the image of Ray {head} in every group")))
    })
}

fn of_volcano(document: &Document) -> Option<Found> {
    let spec = document.at(&["spec"])?;
    let least: u64 = scalar(spec, &["minAvailable"])?.parse().ok()?;
    let tasks = list(spec, "tasks");
    let all = tasks
        .iter()
        .try_fold(0_u64, |all, task| all.checked_add(scalar(task, &["replicas"])?.parse::<u64>().ok()?))?;
    let message =
        format!("minAvailable is {least}, but the tasks have {all} replicas; Volcano refuses the Job");
    let fix = format!("Set minAvailable to {all}, or raise the replicas");
    (!tasks.is_empty() && least > all)
        .then(|| Found::error(document.line_of(&["spec", "minAvailable"]), message, fix))
}
