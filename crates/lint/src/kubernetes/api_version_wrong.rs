//! An apiVersion that has no such kind.

use crate::read::manifest::{Document, Manifest};
use crate::rule::{Change, Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "api-version-wrong",
    severity: Severity::Error,
    summary: "each document's apiVersion serves its kind",
    explain: include_str!("api_version_wrong.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named("d.yaml", "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: a}\n"),
        named("j.yaml", "apiVersion: v1\nkind: Job\nmetadata: {name: a}\n"),
        named("c.yaml", "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\n"),
        named("p.yaml", "apiVersion: v1\nkind: pod\nmetadata: {name: a}\n"),
    ],
    silent: &[
        named("r.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a}\n"),
        named("j.yaml", "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\n"),
        named("s.yaml", "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\n"),
    ],
};

/// Kinds with the version that serves them; others that Kubernetes served until a release.
const KINDS: &[(&str, &str, &[&str])] = &[
    ("Pod", "v1", &[]),
    ("Service", "v1", &[]),
    ("ConfigMap", "v1", &[]),
    ("Secret", "v1", &[]),
    ("PersistentVolumeClaim", "v1", &[]),
    ("PersistentVolume", "v1", &[]),
    ("Namespace", "v1", &[]),
    ("ServiceAccount", "v1", &[]),
    ("Deployment", "apps/v1", &["extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"]),
    ("StatefulSet", "apps/v1", &["apps/v1beta1", "apps/v1beta2"]),
    ("DaemonSet", "apps/v1", &["extensions/v1beta1", "apps/v1beta2"]),
    ("ReplicaSet", "apps/v1", &["extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"]),
    ("Job", "batch/v1", &[]),
    ("CronJob", "batch/v1", &["batch/v1beta1"]),
    ("Ingress", "networking.k8s.io/v1", &["extensions/v1beta1", "networking.k8s.io/v1beta1"]),
    ("NetworkPolicy", "networking.k8s.io/v1", &["extensions/v1beta1"]),
    ("RuntimeClass", "node.k8s.io/v1", &["node.k8s.io/v1beta1"]),
    ("PriorityClass", "scheduling.k8s.io/v1", &["scheduling.k8s.io/v1beta1"]),
    ("StorageClass", "storage.k8s.io/v1", &["storage.k8s.io/v1beta1"]),
    ("PodDisruptionBudget", "policy/v1", &["policy/v1beta1"]),
    ("PyTorchJob", "kubeflow.org/v1", &[]),
    ("MPIJob", "kubeflow.org/v2beta1", &["kubeflow.org/v1alpha2"]),
    ("JobSet", "jobset.x-k8s.io/v1alpha2", &["jobset.x-k8s.io/v1alpha1"]),
    ("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", &[]),
];

/// Groups of Kubernetes itself: a kind that they do not have is refused.
const OWN: &[&str] = &["", "apps", "batch", "extensions", "policy", "networking.k8s.io", "node.k8s.io"];

fn judge(file: &Manifest) -> Vec<Found> {
    file.documents.iter().filter(|one| !one.api.is_empty()).filter_map(wrong).collect()
}

fn wrong(document: &Document) -> Option<Found> {
    let (kind, api) = (document.kind.as_str(), document.api.as_str());
    let line = |key: &str| document.line_of(&[key]);
    let Some((_, right, old)) = KINDS.iter().find(|(known, _, _)| *known == kind) else {
        let (meant, _, _) = KINDS.iter().find(|(known, _, _)| known.eq_ignore_ascii_case(kind))?;
        let message = format!("kind {kind} does not exist; kinds are case-sensitive");
        let change = Change::value(line("kind"), "kind", kind, meant);
        return Some(Found::error(line("kind"), message, format!("Write `kind: {meant}`")).change(change));
    };
    let group = |api: &'_ str| api.split_once('/').map_or(String::new(), |(group, _)| group.to_owned());
    // MPIJob has two versions that operators serve.
    if api == *right || (kind == "MPIJob" && api == "kubeflow.org/v1") {
        return None;
    }
    let fix = format!("Write `apiVersion: {right}`");
    if old.contains(&api) {
        let message = format!("{api} no longer has kind {kind}; current clusters refuse it");
        return Some(Found::error(line("apiVersion"), message, fix));
    }
    let own = OWN.contains(&group(api).as_str()) || group(api) == group(right);
    let message = format!("{api} has no kind {kind}; it is in {right}");
    own.then(|| Found::error(line("apiVersion"), message, fix))
}
