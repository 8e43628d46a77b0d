//! Mounts and volumes that do not belong together.

use std::collections::{BTreeMap, BTreeSet};

use serde_yaml::Value;

use crate::read::compose::{below, text};
use crate::read::manifest::{Container, Document, Manifest, Pod, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

use crate::schema::is_placeholder;

pub(crate) const RULE: Rule = Rule {
    id: "volume-mount-invalid",
    severity: Severity::Error,
    summary: "every mount has a volume, every volume is mounted, at one place each",
    explain: include_str!("volume_mount_invalid.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        job!(
            "",
            "      containers:\n        - name: a\n          image: b\n          volumeMounts: [{name: \
                x, mountPath: /x}]\n"
        ),
        job!(
            "",
            "      containers:\n        - name: a\n          image: b\n      volumes:\n        - name: \
                dshm\n          emptyDir: {medium: Memory}\n"
        ),
        job!(
            "",
            "      containers:\n        - name: a\n          image: b\n          volumeMounts:\n\
                \x20           - {name: x, mountPath: /d}\n            - {name: x, mountPath: /d/}\n\
                \x20     volumes: [{name: x, emptyDir: {}}]\n"
        ),
        job!(
            "",
            "      containers:\n        - name: a\n          image: b\n          volumeMounts:\n\
                \x20           - {name: x, mountPath: /d}\n            - {name: x, mountPath: /d}\n\
                \x20     volumes: [{name: x, emptyDir: {}}]\n"
        ),
        job!(
            "",
            "      containers:\n        - name: a\n          image: b\n          volumeMounts: [{name: \
                x, mountPath: /shm}]\n      volumes: [{name: x, emptyDir: {medium: Memory}}]\n"
        ),
        job!(
            "",
            "      containers:\n        - name: a\n          image: b\n          volumeMounts: [{name: \
                x, mountPath: d}]\n      volumes: [{name: x}]\n"
        ),
    ],
    silent: &[
        // The operator adds the volume.
        named(
            "mpijob.yaml",
            "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: a}\nspec:\n  \
             mpiReplicaSpecs:\n    Launcher:\n      template: {spec: {containers: [{name: a, image: b, \
             volumeMounts: [{name: mpi-job-config, mountPath: /etc/mpi}]}]}}\n",
        ),
        named(
            "ray.yaml",
            "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: a}\nspec:\n  headGroupSpec:\n    \
             template: {spec: {containers: [{name: a, image: b, \
             volumeMounts: [{name: ray-token, mountPath: /t}]}]}}\n",
        ),
        // An operator completes the pod.
        job!(
            "",
            "      containers:\n        - name: a\n          image: FILLED BY THE OPERATOR\n\
                \x20         volumeMounts: [{name: x, mountPath: /x}]\n"
        ),
        // The sidecar of GKE uses it by its name.
        job!(
            "",
            "      containers: [{name: a, image: b}]\n      volumes: [{name: gke-gcsfuse-cache, \
             emptyDir: {}}]\n"
        ),
        named(
            "jobset.yaml",
            "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec:\n  \
             volumeClaimPolicies: [{templates: [{metadata: {name: v}}]}]\n  replicatedJobs:\n    \
             - name: w\n      template: {spec: {template: {spec: {containers: [{name: a, image: b, \
             volumeMounts: [{name: v, mountPath: /v}]}]}}}}\n",
        ),
        job!(
            "",
            "      containers:\n        - name: a\n          image: b\n          volumeMounts: [{name: \
                x, mountPath: /dev/shm}]\n      volumes: [{name: x, emptyDir: {medium: Memory, \
                sizeLimit: 8Gi}}]\n"
        ),
        job!(
            "",
            "      initContainers:\n        - name: i\n          image: b\n          volumeMounts: \
                [{name: x, mountPath: /d}]\n      containers:\n        - name: a\n          image: b\n\
                \x20     volumes: [{name: x, hostPath: {path: /d}}]\n"
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let of_pod = |pod: &Pod| {
        let containers = pod.containers();
        let volumes = pod.volumes();
        let mut names: BTreeSet<String> = volumes.iter().map(|(_, name, _)| name.clone()).collect();
        names.extend(claims(pod.document));
        let mut found: Vec<Found> = containers.iter().flat_map(|one| mounts(pod, one, &names)).collect();
        found.extend(judge_volumes(pod, &volumes, &containers));
        found
    };
    file.pods().iter().flat_map(of_pod).collect()
}

/// The volumes that the controller adds to the pods: of a StatefulSet, a LeaderWorkerSet and a JobSet.
fn claims(document: &Document) -> Vec<String> {
    let own =
        [&["spec", "volumeClaimTemplates"][..], &["spec", "leaderWorkerTemplate", "volumeClaimTemplates"]];
    let own = own.into_iter().filter_map(|path| document.at(path)?.as_sequence()).flatten();
    let policies = document.at(&["spec", "volumeClaimPolicies"]).and_then(Value::as_sequence);
    let of_policies = policies.into_iter().flatten().flat_map(|policy| list(policy, "templates"));
    own.chain(of_policies).filter_map(|one| scalar(one, &["metadata", "name"])).collect()
}

/// Whether Kubernetes itself makes the pods; an operator may add volumes to them.
fn is_core(document: &Document) -> bool {
    match document.kind.as_str() {
        "Pod" => document.api == "v1",
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" => document.api.starts_with("apps/"),
        "Job" | "CronJob" => document.api.starts_with("batch/"),
        _ => false,
    }
}

/// Whether an operator adds a volume to the pods.
fn is_added(pod: &Pod, name: &str) -> bool {
    let document = pod.document;
    let of_mpi = document.kind == "MPIJob" && matches!(name, "mpi-job-config" | "ssh-auth");
    of_mpi || document.api.starts_with("ray.io/") || is_of_sidecar(name) || is_filled_in(pod)
}

/// Whether a program completes the pod before it applies it: the name of an image has no spaces.
fn is_filled_in(pod: &Pod) -> bool {
    let images = pod.containers().into_iter().filter_map(|one| scalar(one.value, &["image"]));
    images.map(|image| image.trim().to_owned()).any(|image| image.contains(' '))
}

/// Volumes that GKE's sidecar for gcsfuse adds to pods, and uses by name where they are given.
fn is_of_sidecar(name: &str) -> bool {
    name.starts_with("gke-gcsfuse-")
}

fn mounts(pod: &Pod, container: &Container, volumes: &BTreeSet<String>) -> Vec<Found> {
    let mut paths: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut found = Vec::new();
    for (index, (name, path)) in container.mounts().into_iter().enumerate() {
        let line = container.line(&["volumeMounts", &index.to_string()]);
        let own = &container.name;
        if !volumes.contains(&name) && !is_added(pod, &name) {
            let near = diagnostic::suggest::nearest(&name, volumes.iter().map(String::as_str));
            let near = near.map(|near| format!("Write `name: {near}`"));
            let message = format!("container {own} mounts volume {name:?}, which the pod does not have");
            let fix = near.unwrap_or_else(|| format!("Add `{name}` to `volumes` of the pod"));
            found.push(match is_core(pod.document) {
                true => Found::error(line, message, fix),
                false => Found::warning(line, message, fix),
            });
        }
        if !path.starts_with('/') && !path.is_empty() && !is_placeholder(&path) {
            let message =
                format!("container {own}: mountPath {path:?} is not absolute; kubelet mounts it at /{path}");
            found.push(Found::note(line, message, format!("Write `/{path}`")));
        }
        let place = path.trim_end_matches('/').to_owned();
        if let Some((first, before)) = paths.insert(place, (line, path.clone())) {
            let twice = format!("container {own} mounts {path} twice, first in line {first}");
            let fix = "Keep one of the mounts";
            found.push(match before == path {
                true => Found::error(line, format!("{twice}; it must be unique"), fix),
                false => Found::warning(line, format!("{twice} as {before}; one hides the other"), fix),
            });
        }
    }
    found
}

fn judge_volumes(pod: &Pod, volumes: &[(usize, String, &Value)], containers: &[Container]) -> Vec<Found> {
    let mut paths: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, path) in containers.iter().flat_map(|one| one.mounts().into_iter().chain(devices(one))) {
        paths.entry(name).or_default().push(path);
    }
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (index, name, volume) in volumes {
        let line = pod.line(&["volumes", &index.to_string()]);
        if let Some(first) = seen.insert(name, line) {
            let message = format!("volume {name:?} is declared twice, first in line {first}");
            found.push(Found::error(line, message, "Rename one of them"));
        }
        found.extend(sources(name, volume, line));
        if !is_of_sidecar(name) {
            found.extend(unused(name, volume, paths.get(name).map_or(&[], Vec::as_slice), line));
        }
    }
    found
}

/// Volumes that a container has as block devices.
fn devices(container: &Container) -> Vec<(String, String)> {
    let items = list(container.value, "volumeDevices");
    items.into_iter().filter_map(|one| Some((scalar(one, &["name"])?, String::new()))).collect()
}

/// A volume has one source.
fn sources(name: &str, volume: &Value, line: usize) -> Option<Found> {
    let keys: Vec<String> =
        volume.as_mapping().into_iter().flatten().filter_map(|(key, _)| text(key)).collect();
    let sources: Vec<&str> = keys.iter().map(String::as_str).filter(|key| *key != "name").collect();
    let message = match sources.len() {
        0 => format!("volume {name:?} has no source; it becomes an empty directory of the pod"),
        1 => return None,
        _ => format!("volume {name:?} has several sources: {}; only one is allowed", sources.join(", ")),
    };
    Some(match sources.len() {
        0 => Found::warning(line, message, "Add a source, or write `emptyDir: {}`"),
        _ => Found::error(line, message, "Keep one of them"),
    })
}

fn unused(name: &str, volume: &Value, mounts: &[String], line: usize) -> Option<Found> {
    let memory = scalar(volume, &["emptyDir", "medium"]).as_deref() == Some("Memory");
    let shared = memory && name.contains("shm");
    if mounts.is_empty() {
        let message = match memory {
            true => {
                format!("no container mounts the memory-backed volume {name:?}; /dev/shm stays at 64 MiB")
            }
            false => format!("no container mounts volume {name:?}"),
        };
        let fix = match memory {
            true => format!("Add `volumeMounts: [{{name: {name}, mountPath: /dev/shm}}]`"),
            false => "Mount it, or remove it".to_owned(),
        };
        let found = if memory { Found::warning(line, message, fix) } else { Found::note(line, message, fix) };
        return Some(found);
    }
    let near = mounts
        .iter()
        .find(|path| matches!(path.trim_end_matches('/'), "/shm" | "/dev/shmem" | "/dev/smh" | "/dev"));
    let elsewhere = shared && !mounts.iter().any(|path| path.trim_end_matches('/') == "/dev/shm");
    if !memory || !(elsewhere || near.is_some()) {
        return None;
    }
    let place = mounts.join(", ");
    let message = format!(
        "the memory-backed volume {name:?} is mounted at {place}; NCCL and data loaders use /dev/shm"
    );
    Some(Found::warning(line, message, "Set `mountPath: /dev/shm`"))
}

/// Whether a container has a volume of its own at /dev/shm.
pub(super) fn has_shared_memory(container: &Container) -> bool {
    container.mounts().iter().any(|(_, path)| path.trim_end_matches('/') == "/dev/shm")
        || below(container.pod.spec, &["hostIPC"]).and_then(Value::as_bool) == Some(true)
}
