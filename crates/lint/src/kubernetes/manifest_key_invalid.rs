//! Keys and types that the API server refuses.

use catalog::object_keys::Reader;
use serde_yaml::Value;

use crate::read::manifest::{Document, Manifest, Pod};
use crate::rule::{Change, Found, Judge, Rule, Severity, named};
use crate::schema::{Fault, Problem, Schema};

pub(crate) const RULE: Rule = Rule {
    id: "manifest-key-invalid",
    severity: Severity::Error,
    summary: "every key of a manifest exists, at its level, with a value of its type",
    explain: include_str!("manifest_key_invalid.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
                image: b\n\
             \x20     env:\n        - name: WORLD_SIZE\n          value: 8\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
                image: b\n\
             \x20     restartPolicy: Never\n      nodeSelector: {gpu: h100}\n",
        ),
        named(
            "job.yaml",
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      \
             restartPolicy: Never\n      container:\n        - name: a\n      containers: []\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {gpu: true}}\nspec:\n  containers:\n\
                \x20   - \
             name: a\n      image: b\n      imagePullPolicy: always\n",
        ),
        named("config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  DEBUG: on\n"),
    ],
    silent: &[
        // A patch of Kustomize.
        named(
            "patch.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    \
             spec: {containers: [{name: a, args: [--x]}]}\n",
        ),
        // Knative names the container itself.
        named(
            "dumper.yaml",
            "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\nspec:\n  \
             template: {spec: {containers: [{image: b}]}}\n",
        ),
        // Spark adds the container.
        named(
            "driver-pod-template.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodeSelector: {a: b}}\n",
        ),
        // One that removes a volume.
        named(
            "patch.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    \
             spec:\n      containers: [{name: a, image: b}]\n      volumes: [{name: v, $patch: delete}]\n",
        ),
        // One that has an image.
        named(
            "manager.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    \
             spec: {containers: [{name: a, image: b}]}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: a, image: b}]\n  \
             volumes: [{name: v, configMap: {name: c, defaultMode: 0755}}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
                image: b\n\
             \x20     resources: {limits: {cpu: 4, memory: 16Gi}}\n      env: [{name: A, value: \"8\"}]\n",
        ),
        named(
            "queue.yaml",
            "apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nspec: {clusterQueue: a}\n",
        ),
        named("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {b: YQ==}\n"),
        named("config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nbinaryData: {b: YQ==}\n"),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let schema = Schema::new(file.catalog.object_keys(), Reader::Kubernetes);
    let mut found = Vec::new();
    for document in &file.documents {
        match root(&schema, document) {
            Some(name) => {
                let faults = schema.faults(&name, &document.value).into_iter();
                let faults = faults.filter(|fault| !is_left_out(file, document, fault));
                found.extend(faults.map(|fault| finding(document, fault)));
            }
            // Of a kind that is not known, the pods are.
            None => {
                found.extend(document.pods().iter().flat_map(|pod| of_pod(&schema, pod)));
                found.extend(of_metadata(document));
            }
        }
        words_for_yes(document, &document.value, &mut Vec::new(), &mut found);
    }
    found
}

/// Values of labels and annotations of any object that are no strings.
fn of_metadata(document: &Document) -> Vec<Found> {
    let mut found = Vec::new();
    if document.api.is_empty() || document.kind.is_empty() {
        return found;
    }
    for map in ["labels", "annotations"] {
        let entries = document.at(&["metadata", map]).and_then(Value::as_mapping).into_iter().flatten();
        for (key, value) in entries {
            let what = match value {
                Value::Bool(_) => "a boolean",
                Value::Number(_) => "a number",
                _ => continue,
            };
            let Some(key) = key.as_str() else { continue };
            let line = document.line_of(&["metadata", map, key]);
            let message =
                format!("metadata.{map}.{key} must be a string, but is {what}; the API server refuses it");
            let fix = "Put the value in quotes";
            found.push(Found::error(line, message, fix).change(Change::quote(line, key)));
        }
    }
    found
}

/// The object that a document is, of an API group whose objects are known.
fn root(schema: &Schema, document: &Document) -> Option<String> {
    let group = document.api.split_once('/').map_or("", |(group, _)| group);
    let known = match document.kind.as_str() {
        "Job" | "CronJob" => document.api == "batch/v1",
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => document.api == "apps/v1",
        "Pod" | "Service" | "ConfigMap" | "Secret" | "PersistentVolumeClaim" => group.is_empty(),
        "PyTorchJob" => group == "kubeflow.org",
        "MPIJob" => document.api == "kubeflow.org/v2beta1",
        "JobSet" => group == "jobset.x-k8s.io",
        "LeaderWorkerSet" => group == "leaderworkerset.x-k8s.io",
        _ => false,
    };
    (known && schema.object(&document.kind).is_some()).then(|| document.kind.clone())
}

/// Whether a key is missing that another manifest has, or that a program adds, or is one of Kustomize.
fn is_left_out(file: &Manifest, document: &Document, fault: &Fault) -> bool {
    if fault.path.last().is_some_and(|key| key == "$patch") {
        return true;
    }
    let added = document.is_partial() || file.template && document.kind == "Pod";
    matches!(fault.problem, Problem::Missing { .. }) && fault.path == ["spec"] && added
}

/// Whether a container has no name in a Service of Knative, which gives it one.
fn is_named_later(document: &Document, fault: &Fault) -> bool {
    document.api.starts_with("serving.knative.dev/")
        && matches!(&fault.problem, Problem::Missing { key } if key == "name")
        && fault.path.iter().any(|key| key == "containers")
}

fn of_pod(schema: &Schema, pod: &Pod) -> Vec<Found> {
    let faults = schema.faults("PodSpec", pod.spec).into_iter();
    let faults = faults.filter(|fault| !is_named_later(pod.document, fault));
    let placed = faults.map(|fault| Fault { path: [pod.path.clone(), fault.path].concat(), ..fault });
    placed.map(|fault| finding(pod.document, fault)).collect()
}

fn finding(document: &Document, fault: Fault) -> Found {
    let (line, path) = (document.line(&fault.path), fault.path.join("."));
    let key = fault.path.last().map_or("", String::as_str);
    match fault.problem {
        Problem::Unknown { near: Some(ref near), .. } => {
            let message = format!("unknown field {path:?}; the API server refuses it");
            let change = fault.rename(&document.value, near, line);
            Found::error(line, message, format!("Write `{near}`")).change_if(change)
        }
        Problem::Unknown { home: Some(home), .. } => {
            let message = format!("unknown field {path:?}: `{key}` belongs to {home}");
            Found::error(line, message, format!("Move `{key}` to {home}; check its indentation"))
        }
        Problem::Unknown { .. } => {
            let message = format!(
                "unknown field {path:?}; kubectl refuses it, unless the cluster is \
                newer"
            );
            Found::warning(line, message, "Delete it, or check its name and indentation")
        }
        Problem::Type { expected, actual } => {
            let message = format!("{path} must be {expected}, but is {actual}; the API server refuses it");
            if expected != "a string" {
                return Found::error(line, message, format!("Write {expected}"));
            }
            Found::error(line, message, "Put the value in quotes").change(Change::quote(line, key))
        }
        Problem::Word { value, allowed } => {
            let message = format!("{path}: unsupported value {value:?}; supported values: {allowed}");
            Found::error(line, message, format!("Write one of: {allowed}"))
        }
        Problem::Missing { key } => {
            let message = match path.as_str() {
                "" => format!("the manifest has no `{key}`, which is required"),
                path => format!("{path} has no `{key}`, which is required"),
            };
            Found::error(line, message, format!("Add `{key}`"))
        }
    }
}

/// Places whose values are strings, and words that kubectl's YAML 1.1 reads as yes or no.
fn words_for_yes(document: &Document, value: &Value, path: &mut Vec<String>, found: &mut Vec<Found>) {
    let entries: Vec<(String, &Value)> = match value {
        Value::Mapping(map) => {
            map.iter().filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value))).collect()
        }
        Value::Sequence(items) => items.iter().enumerate().map(|(at, one)| (at.to_string(), one)).collect(),
        _ => return,
    };
    let strings = path.last().is_some_and(|key| {
        matches!(key.as_str(), "labels" | "annotations" | "nodeSelector" | "matchLabels" | "data")
    });
    for (key, inner) in entries {
        let in_env = path.iter().any(|one| one == "env") && key == "value";
        path.push(key);
        let word = inner.as_str().filter(|word| is_word_for_yes(word));
        if let Some(word) = word.filter(|word| (strings || in_env) && document.is_plain(path, word)) {
            let message =
                format!("{} is {word}, a boolean in kubectl's YAML, but must be a string", path.join("."));
            let line = document.line(path);
            let change = path.last().map(|key| Change::quote(line, key));
            found.push(Found::error(line, message, format!("Write \"{word}\" in quotes")).change_if(change));
        }
        words_for_yes(document, inner, path, found);
        path.pop();
    }
}

fn is_word_for_yes(word: &str) -> bool {
    ["yes", "no", "on", "off", "y", "n"].iter().any(|one| one.eq_ignore_ascii_case(word))
}
