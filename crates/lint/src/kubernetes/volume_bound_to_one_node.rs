//! A volume of one node for pods on several.

use crate::read::compose::{below, text};
use crate::read::manifest::{Document, Manifest, Pod, labels, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "volume-bound-to-one-node",
    severity: Severity::Warning,
    summary: "pods on several nodes share a volume that several nodes can mount",
    explain: include_str!("volume_bound_to_one_node.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "job.yaml",
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: \
             [ReadWriteOnce]\n  resources: {requests: {storage: 1Ti}}\n---\napiVersion: batch/v1\nkind: \
             Job\n\
             metadata: {name: a}\nspec:\n  completionMode: Indexed\n  completions: 2\n  parallelism: 2\n  \
             template:\n    spec:\n      restartPolicy: Never\n      containers:\n        - name: a\n\
             \x20         image: b\n          resources: {limits: {nvidia.com/gpu: 8}}\n          \
             volumeMounts: [{name: d, mountPath: /d}]\n      volumes:\n        - name: d\n          \
             persistentVolumeClaim: {claimName: data}\n",
        ),
        named_with(
            "set.yaml",
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec:\n  replicas: 2\n  \
             serviceName: \
             a\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n\
             \x20     containers:\n        - name: a\n          image: b\n          resources: {limits: \
             {nvidia.com/gpu: 8}}\n          volumeMounts: [{name: d, mountPath: /d}]\n      volumes:\n\
             \x20       - name: d\n          persistentVolumeClaim: {claimName: data}\n",
            &[(
                "pvc.yaml",
                "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: \
                 data}\nspec:\n  accessModes: \
                 [ReadWriteOnce]\n  resources: {requests: {storage: 1Ti}}\n",
            )],
        ),
        named_with(
            "deployment.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: 3\n  selector: \
             {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: \
             b}}\n    spec:\n      affinity:\n\
             \x20       podAntiAffinity:\n          \
             requiredDuringSchedulingIgnoredDuringExecution:\n            - \
             {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {a: \
             b}}}\n      containers:\n\
             \x20       - {name: a, image: b, volumeMounts: [{name: d, mountPath: \
             /d}]}\n      volumes:\n        - \
             name: d\n          persistentVolumeClaim: {claimName: data}\n",
            &[(
                "pvc.yaml",
                "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: \
                 data}\nspec:\n  accessModes: \
                 [ReadWriteOnce]\n  resources: {requests: {storage: 1Ti}}\n",
            )],
        ),
    ],
    silent: &[
        named(
            "job.yaml",
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: \
             [ReadWriteMany]\n  resources: {requests: {storage: 1Ti}}\n---\napiVersion: batch/v1\nkind: \
             Job\n\
             metadata: {name: a}\nspec:\n  completionMode: Indexed\n  completions: 2\n  parallelism: 2\n  \
             template:\n    spec:\n      restartPolicy: Never\n      containers:\n        - name: a\n\
             \x20         image: b\n          resources: {limits: {nvidia.com/gpu: 8}}\n          \
             volumeMounts: [{name: d, mountPath: /d}]\n      volumes:\n        - name: d\n          \
             persistentVolumeClaim: {claimName: data}\n",
        ),
        named(
            "job.yaml",
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: \
             [ReadWriteOnce]\n  resources: {requests: {storage: 1Ti}}\n---\napiVersion: batch/v1\nkind: \
             Job\n\
             metadata: {name: a}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      \
             containers:\n        - name: a\n          image: b\n          resources: {limits: \
             {nvidia.com/gpu: 8}}\n          volumeMounts: [{name: d, mountPath: /d}]\n      volumes:\n\
             \x20       - name: d\n          persistentVolumeClaim: {claimName: data}\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let mut claims: Vec<(&str, String)> = Vec::new();
    for document in file.documents.iter().chain(&file.others) {
        let modes = document.at(&["spec"]).map_or_else(Vec::new, |spec| list(spec, "accessModes"));
        let modes: Vec<String> = modes.into_iter().filter_map(text).collect();
        let one = modes.first().filter(|_| document.kind == "PersistentVolumeClaim" && modes.len() == 1);
        claims.extend(
            one.filter(|mode| mode.starts_with("ReadWriteOnce"))
                .map(|mode| (document.name.as_str(), mode.clone())),
        );
    }
    file.pods().iter().filter_map(|pod| fault(pod, &claims)).collect()
}

fn fault(pod: &Pod, claims: &[(&str, String)]) -> Option<Found> {
    let count = together(pod).filter(|count| *count > 1)?;
    // Pods without GPUs may all fit on one node.
    let large = pod.containers().iter().any(|one| one.gpus().is_some_and(|gpus| gpus >= 4));
    let apart = is_apart(pod);
    let large = large && pod.document.kind != "Deployment";
    if !large && !apart {
        return None;
    }
    let mut volumes = pod.volumes().into_iter();
    let (at, name, mode) = volumes.find_map(|(at, _, value)| {
        let name = scalar(value, &["persistentVolumeClaim", "claimName"])?;
        let (_, mode) = claims.iter().find(|(known, _)| *known == name)?;
        Some((at, name, mode.clone()))
    })?;
    let message = format!(
        "{count} pods of {} mount the claim {name}, which is {mode}: pods on a second node cannot mount \
         it and \
         stay in ContainerCreating",
        pod.document.title()
    );
    let fix = "Use a storage class with ReadWriteMany (or ReadOnlyMany), or a claim for each pod";
    Some(Found::warning(pod.line(&["volumes", &at.to_string()]), message, fix))
}

/// How many pods must run at the same time.
fn together(pod: &Pod) -> Option<u64> {
    let document: &Document = pod.document;
    let number = |path: &[&str]| scalar(&document.value, path)?.parse::<u64>().ok();
    match document.kind.as_str() {
        "Job" if scalar(&document.value, &["spec", "completionMode"]).as_deref() == Some("Indexed") => {
            number(&["spec", "parallelism"])
        }
        "StatefulSet" | "Deployment" => number(&["spec", "replicas"]),
        "MPIJob" => number(&["spec", "mpiReplicaSpecs", "Worker", "replicas"])
            .filter(|_| pod.path.iter().any(|key| key == "Worker")),
        "PyTorchJob" => number(&["spec", "pytorchReplicaSpecs", "Worker", "replicas"]),
        _ => None,
    }
}

/// Whether the scheduler must put the pods on different nodes.
fn is_apart(pod: &Pod) -> bool {
    let host = |one: &serde_yaml::Value| {
        scalar(one, &["topologyKey"]).as_deref() == Some("kubernetes.io/hostname") && selects(pod, one)
    };
    let required = below(pod.spec, &["affinity", "podAntiAffinity"]);
    let required =
        required.map_or_else(Vec::new, |anti| list(anti, "requiredDuringSchedulingIgnoredDuringExecution"));
    required.into_iter().any(host)
}

/// Whether a term of an affinity is about the pod itself.
fn selects(pod: &Pod, term: &serde_yaml::Value) -> bool {
    let wanted = labels(below(term, &["labelSelector", "matchLabels"]));
    let expressions =
        below(term, &["labelSelector"]).map_or_else(Vec::new, |one| list(one, "matchExpressions"));
    let of = |one: &&serde_yaml::Value| {
        let key = scalar(one, &["key"]).unwrap_or_default();
        let values: Vec<String> = list(one, "values").into_iter().filter_map(text).collect();
        let mut own = pod.labels.iter().filter(|(name, _)| *name == key);
        match scalar(one, &["operator"]).as_deref() {
            Some("In") => own.any(|(_, value)| values.contains(value)),
            Some("Exists") => own.next().is_some(),
            _ => false,
        }
    };
    let any = !wanted.is_empty() || !expressions.is_empty();
    any && wanted.iter().all(|one| pod.labels.contains(one)) && expressions.iter().all(of)
}
