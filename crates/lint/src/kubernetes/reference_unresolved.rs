//! A ConfigMap, Secret, claim or account that a pod names, and that has another name or namespace.

use serde_yaml::Value;

use crate::read::compose::below;
use crate::read::manifest::{Document, Manifest, Pod, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "reference-unresolved",
    severity: Severity::Warning,
    summary: "pods name ConfigMaps, Secrets and claims of their namespace",
    explain: include_str!("reference_unresolved.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cfg, namespace: ml}\ndata: {a: b}\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: train}\nspec:\n  containers:\n    - \
             name: a\n      image: b\n      volumeMounts: [{name: c, mountPath: /c}]\n  volumes: [{name: c, \
             configMap: {name: cfg}}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: hf-token}\nstringData: {HF_TOKEN: x}\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: \
             b\n      envFrom:\n        - secretRef: {name: hf-tokn}\n",
        ),
        named(
            "job.yaml",
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: dataset}\nspec:\n  accessModes: \
             [ReadWriteMany]\n  resources: {requests: {storage: 1Ti}}\n---\napiVersion: batch/v1\nkind: Job\n\
             metadata: {name: a}\nspec:\n  template:\n    spec:\n      restartPolicy: \
             Never\n      containers:\n\
             \x20       - name: a\n          image: b\n          volumeMounts: [{name: d, mountPath: /d}]\n\
             \x20     volumes: [{name: d, persistentVolumeClaim: {claimName: datasets}}]\n",
        ),
    ],
    silent: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: hf-token, namespace: a}\nstringData: {A: \
             x}\n---\n\
             apiVersion: v1\nkind: Secret\nmetadata: {name: hf-token, namespace: b}\nstringData: {A: \
             x}\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\nspec:\n  containers:\n    - \
             name: a\n\
             \x20     image: b\n      envFrom: [{secretRef: {name: hf-token}}, {secretRef: {name: other}}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: train-1}\ndata: {A: x}\n---\napiVersion: v1\n\
             kind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      image: \
             b\n      envFrom: \
             [{configMapRef: {name: train-1}}, {configMapRef: {name: train-2}}, {configMapRef: {name: \
             train-11, \
             optional: true}}]\n",
        ),
    ],
};

/// What a pod names.
struct Reference {
    kind: &'static str,
    name: String,
    line: usize,
}

fn judge(file: &Manifest) -> Vec<Found> {
    let pods = file.pods();
    let all: Vec<(&Pod, Vec<Reference>)> = pods.iter().map(|pod| (pod, references(pod))).collect();
    let used = |kind: &str, name: &str| {
        all.iter().any(|(_, references)| references.iter().any(|one| one.kind == kind && one.name == name))
    };
    let mut found = Vec::new();
    for (pod, references) in &all {
        found.extend(references.iter().filter_map(|one| fault(file, pod, one, &used)));
    }
    found
}

fn space(document: &Document) -> Option<String> {
    scalar(&document.value, &["metadata", "namespace"])
}

fn fault(file: &Manifest, pod: &Pod, one: &Reference, used: &dyn Fn(&str, &str) -> bool) -> Option<Found> {
    let objects: Vec<&Document> =
        file.documents.iter().chain(&file.others).filter(|object| object.kind == one.kind).collect();
    let own = space(pod.document);
    let named: Vec<&&Document> = objects.iter().filter(|object| object.name == one.name).collect();
    if named.iter().any(|object| space(object).is_none() || own.is_none() || space(object) == own) {
        return None;
    }
    if let Some(elsewhere) = named.first() {
        let message = format!(
            "{} {} is in namespace {}, but {} is in {}; a pod finds only those of its own namespace",
            one.kind,
            one.name,
            space(elsewhere)?,
            pod.document.title(),
            own?
        );
        return Some(Found::warning(one.line, message, "Create it in the namespace of the pod"));
    }
    // cert-manager and the operators of secrets make what their objects name.
    let maker = |object: &Document| {
        [&["spec", "secretName"][..], &["spec", "target", "name"]]
            .iter()
            .any(|path| scalar(&object.value, path).as_deref() == Some(one.name.as_str()))
            || matches!(object.kind.as_str(), "SealedSecret" | "ExternalSecret") && object.name == one.name
    };
    let certificate =
        one.kind == "Secret" && ["-cert", "-tls", "-certs"].iter().any(|end| one.name.ends_with(end));
    if certificate || file.documents.iter().chain(&file.others).any(maker) {
        return None;
    }
    let near = objects.iter().find(|object| {
        let same_space = space(object) == own;
        let slip = diagnostic::suggest::is_typo(&one.name, &object.name);
        // Names that differ in a number are two objects.
        let numbered = letters(&one.name) == letters(&object.name);
        same_space && slip && !numbered && !used(one.kind, &object.name)
    })?;
    let message = format!(
        "{} {} is not in these files, but {} is, and no pod uses it; the pod does not start without it",
        one.kind, one.name, near.name
    );
    Some(Found::warning(one.line, message, format!("Write `{}`", near.name)))
}

fn letters(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// The objects that a pod needs, with the lines of their names.
fn references(pod: &Pod) -> Vec<Reference> {
    let mut found = Vec::new();
    let mut add = |kind: &'static str, value: &Value, key: &str, line: usize| {
        let optional = scalar(value, &["optional"]).as_deref() == Some("true");
        let name = scalar(value, &[key]).filter(|name| !optional && !name.contains(['$', '{', '<']));
        found.extend(name.map(|name| Reference { kind, name, line }));
    };
    for (at, _, volume) in pod.volumes() {
        let at = at.to_string();
        for (field, key, kind) in [
            ("configMap", "name", "ConfigMap"),
            ("secret", "secretName", "Secret"),
            ("persistentVolumeClaim", "claimName", "PersistentVolumeClaim"),
        ] {
            if let Some(source) = below(volume, &[field]) {
                add(kind, source, key, pod.line(&["volumes", &at, field, key]));
            }
        }
    }
    for container in pod.containers() {
        for (at, source) in list(container.value, "envFrom").into_iter().enumerate() {
            for (field, kind) in [("configMapRef", "ConfigMap"), ("secretRef", "Secret")] {
                if let Some(value) = below(source, &[field]) {
                    add(kind, value, "name", container.line(&["envFrom", &at.to_string(), field, "name"]));
                }
            }
        }
        for (at, variable) in list(container.value, "env").into_iter().enumerate() {
            for (field, kind) in [("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")] {
                if let Some(value) = below(variable, &["valueFrom", field]) {
                    let path = ["env", &at.to_string(), "valueFrom", field, "name"];
                    add(kind, value, "name", container.line(&path));
                }
            }
        }
    }
    found
}
