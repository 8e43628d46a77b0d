//! An autoscaler that measures pods by a request that they do not have.

use crate::read::manifest::{Document, Manifest, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "autoscaler-without-request",
    severity: Severity::Warning,
    summary: "pods that are scaled by utilization request what is measured",
    explain: include_str!("autoscaler_without_request.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "serve.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: vllm}\nspec:\n  selector: {matchLabels: \
             {app: v}}\n  template:\n    metadata: {labels: {app: \
             v}}\n    spec:\n      containers:\n        - \
             {name: a, image: b, resources: {limits: {nvidia.com/gpu: 1}}}\n---\napiVersion: \
             autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: vllm}\nspec:\n  scaleTargetRef: \
             {apiVersion: apps/v1, kind: Deployment, name: vllm}\n  minReplicas: 1\n  maxReplicas: 4\n  \
             metrics:\n    - type: Resource\n      resource: {name: cpu, target: {type: Utilization, \
             averageUtilization: 70}}\n",
        ),
        named(
            "serve.yaml",
            "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\nspec:\n  \
             scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}\n  maxReplicas: 4\n  \
             targetCPUUtilizationPercentage: 80\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: \
             {name: a}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: \
             b}}\n    spec: {containers: [{name: a, image: b, resources: {requests: {memory: 1Gi}}}]}\n",
        ),
    ],
    silent: &[
        named(
            "serve.yaml",
            "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\nspec:\n  \
             scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}\n  maxReplicas: 4\n  \
             targetCPUUtilizationPercentage: 80\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: \
             {name: a}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: \
             b}}\n    spec: {containers: [{name: a, image: b, resources: {limits: {cpu: 4}}}]}\n",
        ),
        named(
            "serve.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: {matchLabels: \
             {a: \
             b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: a, image: \
             b}]}\n---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: \
             h}\nspec:\n  \
             scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}\n  maxReplicas: \
             4\n  metrics:\n    \
             - type: Resource\n      resource: {name: cpu, target: {type: AverageValue, averageValue: 2}}\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let scalers = file.documents.iter().filter(|one| one.is("HorizontalPodAutoscaler"));
    scalers.flat_map(|scaler| of_scaler(file, scaler)).collect()
}

/// The resources that an autoscaler measures against the request, with their lines.
fn measured(scaler: &Document) -> Vec<(String, usize)> {
    let old = ["spec", "targetCPUUtilizationPercentage"];
    let mut found: Vec<(String, usize)> =
        scaler.at(&old).map(|_| ("cpu".to_owned(), scaler.line_of(&old))).into_iter().collect();
    let metrics = scaler.at(&["spec"]).map_or_else(Vec::new, |spec| list(spec, "metrics"));
    for (at, metric) in metrics.into_iter().enumerate() {
        let relative = scalar(metric, &["resource", "target", "type"]).as_deref() == Some("Utilization")
            || scalar(metric, &["resource", "targetAverageUtilization"]).is_some();
        let own = scalar(metric, &["type"]).as_deref() == Some("Resource") && relative;
        if let Some(name) = scalar(metric, &["resource", "name"]).filter(|_| own) {
            found.push((name, scaler.line_of(&["spec", "metrics", &at.to_string()])));
        }
    }
    found
}

fn of_scaler(file: &Manifest, scaler: &Document) -> Vec<Found> {
    let reference = |key: &str| scalar(&scaler.value, &["spec", "scaleTargetRef", key]);
    let (Some(kind), Some(name)) = (reference("kind"), reference("name")) else { return Vec::new() };
    let targets = file.documents.iter().chain(&file.others);
    let mut targets = targets.filter(|one| one.kind == kind && one.name == name && !one.kustomized);
    let Some(target) = targets.next() else { return Vec::new() };
    // A LimitRange of the namespace gives what is missing.
    if file.documents.iter().chain(&file.others).any(|one| one.is("LimitRange")) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (resource, line) in measured(scaler) {
        let pods = target.pods();
        let lacking = pods.iter().flat_map(|pod| pod.containers()).find_map(|one| {
            let all = one.resources("requests").into_iter().chain(one.resources("limits"));
            let has = all.into_iter().any(|(name, _)| name == resource);
            (!one.init && !has).then(|| one.name.clone())
        });
        let Some(container) = lacking else { continue };
        let message = format!(
            "the utilization is a percentage of the request, but container {container} of {} requests no \
             {resource}; the autoscaler does nothing (`missing request for {resource}`)",
            target.title()
        );
        let fix = format!("Add `requests: {{{resource}: …}}`, or scale by a metric of the server");
        found.push(Found::warning(line, message, fix));
    }
    found
}
