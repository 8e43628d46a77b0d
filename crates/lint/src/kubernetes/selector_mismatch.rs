//! Selectors that match no pod.

use serde_yaml::Value;

use crate::read::compose::below;
use crate::read::manifest::{Document, Manifest, Pod, labels, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "selector-mismatch",
    severity: Severity::Error,
    summary: "selectors match the labels of the pods that they are for",
    explain: include_str!("selector_mismatch.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "job.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterIP: None, selector: \
             {job-name: fit}}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec:\n  \
             template:\n    spec: {subdomain: a, restartPolicy: Never, containers: [{name: a, image: b}]}\n",
        ),
        named(
            "web.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: \
                {matchLabels: {app: \
             vllm}}\n  template:\n    metadata: {labels: {app: vllm-server}}\n    spec:\n      containers: \
             [{name: a, image: b}]\n",
        ),
        named(
            "web.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: trainer}}\nspec:\n  \
                containers: [{name: \
             a, image: b}]\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  selector: \
             {app: \
             train}\n  ports: [{port: 29500}]\n",
        ),
        named(
            "web.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: web}}\nspec:\n  containers: \
                [{name: a, \
             image: b, ports: [{containerPort: 8000, name: http}]}]\n---\napiVersion: v1\nkind: \
             Service\nmetadata: \
             {name: a}\nspec:\n  selector: {app: web}\n  ports: [{port: 80, targetPort: web}]\n",
        ),
    ],
    silent: &[
        // A patch of Kustomize.
        named(
            "manager.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    \
             spec: {containers: [{name: a, image: b}]}\n",
        ),
        named(
            "moe.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterIP: None, selector: {app: a, \
             apps.kubernetes.io/pod-index: \"0\"}}\n---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: \
             {name: a}\nspec:\n  selector: {matchLabels: {app: a}}\n  template:\n    metadata: {labels: \
             {app: a}}\n    spec: {containers: [{name: a, image: b}]}\n",
        ),
        // One that a kustomization names, and a manifest to which it adds labels.
        named_with(
            "config/metrics.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    metadata: \
             {labels: {a: b}}\n    spec: {containers: [{name: a, image: b}]}\n",
            &[("config/kustomization.yaml", "resources: [../base]\npatches:\n  - path: metrics.yaml\n")],
        ),
        named_with(
            "base/manager.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    metadata: \
             {labels: {a: b}}\n    spec: {containers: [{name: a, image: b}]}\n",
            &[("base/kustomization.yaml", "resources: [manager.yaml]\n")],
        ),
        named(
            "job.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterIP: None, selector: \
             {job-name: fit}}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: fit}\nspec:\n  \
             template:\n    spec: {subdomain: a, restartPolicy: Never, containers: [{name: a, image: b}]}\n",
        ),
        named(
            "job.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterIP: None, selector: \
             {job-name: fit}}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: load}\nspec:\n  \
             template:\n    spec: {restartPolicy: Never, containers: [{name: a, image: b}]}\n",
        ),
        named(
            "web.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: \
                {matchLabels: {app: \
             vllm}}\n  template:\n    metadata: {labels: {app: vllm, tier: x}}\n    spec:\n      \
             containers: \
             [{name: a, image: b}]\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  \
             selector: \
             {app: vllm}\n  ports: [{port: 80, targetPort: 8000}]\n",
        ),
        named(
            "web.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: web}}\nspec:\n  containers: \
             [{name: a, image: b}]\n---\napiVersion: v1\nkind: Service\nmetadata: {name: dns}\nspec:\n  \
             selector: {k8s-app: kube-dns}\n  ports: [{port: 53}]\n",
        ),
        named(
            "web.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  selector: {app: elsewhere}\n  \
                ports: \
             [{port: 80}]\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let pods = file.pods();
    let own = pods.iter().flat_map(of_controller);
    let services = file.documents.iter().filter(|one| one.kind == "Service" && one.api == "v1");
    own.chain(services.flat_map(|service| of_service(service, &pods))).collect()
}

fn has(pod: &Pod, wanted: &(String, String)) -> bool {
    pod.labels.contains(wanted) || given(pod).contains(wanted)
}

/// Whether a pod has a label when it runs.
fn has_in_the_end(pod: &Pod, wanted: &(String, String)) -> bool {
    has(pod, wanted) || is_set_by_controller(pod, &wanted.0)
}

/// Labels that the controller of a workload sets on its pods, each with a value of its own: kubernetes
/// pkg/controller/statefulset (updateIdentity), pkg/controller/job, pkg/controller/deployment.
fn is_set_by_controller(pod: &Pod, label: &str) -> bool {
    let document = pod.document;
    match document.kind.as_str() {
        "StatefulSet" => {
            ["apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name", "controller-revision-hash"]
                .contains(&label)
        }
        "DaemonSet" => ["controller-revision-hash", "pod-template-generation"].contains(&label),
        "Deployment" => label == "pod-template-hash",
        "Job" | "CronJob" => ["controller-uid", "job-completion-index"]
            .contains(&label.strip_prefix("batch.kubernetes.io/").unwrap_or(label)),
        "LeaderWorkerSet" => label.starts_with("leaderworkerset.sigs.k8s.io/"),
        "JobSet" => label.starts_with("jobset.sigs.k8s.io/") || label.starts_with("batch.kubernetes.io/"),
        _ => document.api.starts_with("kubeflow.org/") && label.starts_with("training.kubeflow.org/"),
    }
}

const JOB_NAMES: &[&str] = &["job-name", "batch.kubernetes.io/job-name"];

/// The labels that Kubernetes adds to the pods of a Job.
fn given(pod: &Pod) -> Vec<(String, String)> {
    let document = pod.document;
    let is_job = document.kind == "Job" && document.api == "batch/v1" && !document.name.is_empty();
    let own = scalar(&document.value, &["spec", "manualSelector"]).as_deref() == Some("true");
    let names = JOB_NAMES.iter().filter(|_| is_job && !own);
    names.map(|name| ((*name).to_owned(), document.name.clone())).collect()
}

fn of_controller(pod: &Pod) -> Vec<Found> {
    let document = pod.document;
    let workload =
        matches!(document.kind.as_str(), "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet");
    if !workload || document.is_partial() {
        return Vec::new();
    }
    let line = document.line_of(&["spec", "selector", "matchLabels"]);
    let Some(selector) = document.at(&["spec", "selector"]) else {
        let message = format!("{} has no selector, which is required", document.title());
        return vec![Found::error(document.line_of(&["spec"]), message, "Add `selector.matchLabels`")];
    };
    let wanted = labels(below(selector, &["matchLabels"]));
    let missing = wanted.iter().filter(|one| !has(pod, one)).map(|(name, value)| {
        let actual = pod.labels.iter().find(|(known, _)| known == name);
        let actual = actual.map_or("no such label".to_owned(), |(_, value)| format!("{name}: {value}"));
        let message = format!(
            "the selector of {} requires {name}: {value}, but its pod template has {actual}",
            document.title()
        );
        Found::error(line, message, "Give selector and template the same label")
    });
    missing.collect()
}

fn of_service(service: &Document, pods: &[Pod]) -> Vec<Found> {
    let wanted = labels(service.at(&["spec", "selector"]));
    if wanted.is_empty() || pods.is_empty() {
        return Vec::new();
    }
    let is_selected = |pod: &&Pod| wanted.iter().all(|one| has_in_the_end(pod, one));
    let matching: Vec<&Pod> = pods.iter().filter(is_selected).collect();
    if matching.is_empty() {
        return near_miss(service, pods, &wanted).into_iter().collect();
    }
    let ports: Vec<(String, String)> = matching
        .iter()
        .flat_map(|pod| pod.containers().into_iter().flat_map(|one| ports(one.value)).collect::<Vec<_>>())
        .collect();
    let spec = service.at(&["spec"]).cloned().unwrap_or_default();
    let of_port = |(index, port): (usize, &Value)| {
        let target = scalar(port, &["targetPort"])?;
        let named = target.parse::<u32>().is_err();
        let known = ports.iter().any(|(name, _)| *name == target);
        let message =
            format!("{} targets port {target:?}, which no container of its pods names", service.title());
        let line = service.line_of(&["spec", "ports", &index.to_string(), "targetPort"]);
        (named && !known)
            .then(|| Found::error(line, message, "Write a name or number of `ports` of the container"))
    };
    list(&spec, "ports").into_iter().enumerate().filter_map(of_port).collect()
}

/// The named ports of a container.
fn ports(container: &Value) -> Vec<(String, String)> {
    let of = |one: &Value, key| scalar(one, &[key]).unwrap_or_default();
    list(container, "ports").into_iter().map(|one| (of(one, "name"), of(one, "containerPort"))).collect()
}

/// A selector that is probably for a pod of the file: that has all of its names, or a value that is alike.
fn near_miss(service: &Document, pods: &[Pod], wanted: &[(String, String)]) -> Option<Found> {
    let alike = |pod: &&Pod| {
        wanted.iter().all(|(name, value)| {
            pod.labels.iter().any(|(known, actual)| {
                known == name
                    && (actual == value || actual.contains(value.as_str()) || value.contains(actual.as_str()))
            })
        })
    };
    let pod = match pods {
        [only] => only,
        several => several.iter().find(alike)?,
    };
    let (name, value) = wanted.iter().find(|one| !has_in_the_end(pod, one))?;
    // Operators give pods labels of their own.
    let own =
        ["training.kubeflow.org/", "batch.kubernetes.io/", "job-name", "jobset.sigs.k8s.io/", "statefulset."];
    // Jobs get the label with their own name; this one must be the job of the service.
    let subdomain = scalar(pod.spec, &["subdomain"]);
    let of_job = JOB_NAMES.contains(&name.as_str())
        && !given(pod).is_empty()
        && subdomain.as_ref() == Some(&service.name);
    // Pods of clusters and of operators, which no file of a job has.
    let system = ["kube-dns", "rook-ceph"].iter().any(|known| value.starts_with(known));
    let by_others =
        system || own.iter().any(|prefix| name.starts_with(prefix)) || name.contains(".x-k8s.io/");
    if by_others && !of_job {
        return None;
    }
    let message = format!(
        "the selector of {} ({name}: {value}) matches no pod of this file; {} has {}",
        service.title(),
        pod.document.title(),
        shown(pod, of_job)
    );
    Some(Found::warning(service.line_of(&["spec", "selector"]), message, "Give both the same label"))
}

/// The labels of a pod as one text.
fn shown(pod: &Pod, of_job: bool) -> String {
    let added = given(pod).into_iter().take(1).filter(|_| of_job);
    let all = pod.labels.iter().cloned().chain(added);
    all.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(", ")
}
