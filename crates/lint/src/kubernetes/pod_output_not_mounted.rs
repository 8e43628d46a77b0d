//! Results of a container that are written next to the volume that is mounted for them.

use crate::compose::output_not_mounted::{is_next_to, names_path};
use crate::outputs::outputs;
use crate::read::manifest::{Container, Manifest, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

use super::pod_output_mount_read_only::is_below;

pub(crate) const RULE: Rule = Rule {
    id: "pod-output-not-mounted",
    severity: Severity::Warning,
    summary: "results go to the mounted volume, and not to a directory with almost its name",
    explain: include_str!("pod_output_not_mounted.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "job.yaml",
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      \
             restartPolicy: Never\n      containers:\n        - name: a\n          image: b\n          \
             command: \
             [python, train.py, --output_dir=/mnt/results/a]\n          volumeMounts: [{name: r, mountPath: \
             /mnt/result}]\n      volumes: [{name: r, persistentVolumeClaim: {claimName: r}}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      \
             args: [train.py, --save-dir, /checkpoint/run1]\n      volumeMounts:\n        - {name: c, \
             mountPath: \
             /checkpoints/}\n  volumes:\n    - {name: c, hostPath: {path: /nvme/c}}\n",
        ),
    ],
    silent: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      \
             args: [train.py, --save-dir, /checkpoints/run1]\n      volumeMounts:\n        - {name: c, \
             mountPath: \
             /checkpoints}\n  volumes:\n    - {name: c, hostPath: {path: /nvme/c}}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      \
             args: [t.py, --model, /model/base, --save-dir, /models]\n      volumeMounts:\n        - \
             {name: c, \
             mountPath: /model}\n  volumes:\n    - {name: c, hostPath: {path: /nvme/c}}\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(faults)
}

fn faults(container: &Container) -> Vec<Found> {
    let (words, variables) = (container.words(), container.environment());
    let mounts: Vec<(String, bool)> = list(container.value, "volumeMounts")
        .into_iter()
        .filter_map(|mount| {
            let read_only = scalar(mount, &["readOnly"]).as_deref() == Some("true");
            Some((scalar(mount, &["mountPath"])?.trim_end_matches('/').to_owned(), read_only))
        })
        .collect();
    let directory = scalar(container.value, &["workingDir"]).unwrap_or_default();
    let fault = |output: &crate::outputs::Output| {
        if mounts.iter().any(|(target, _)| is_below(&output.path, target)) {
            return None;
        }
        let used = |target: &str| {
            let all = words.iter().chain(variables.iter().map(|(_, value)| value)).chain([&directory]);
            all.into_iter().any(|text| names_path(text, target))
        };
        let (target, _) = mounts
            .iter()
            .find(|(target, read_only)| !read_only && is_next_to(&output.path, target) && !used(target))?;
        let message = format!(
            "container {}: {} is in no volume, but {target} is one, which nothing uses: the results are \
             lost with \
             the pod",
            container.name, output.set_by
        );
        let fix = format!("Write the same path in both places: mount it there, or write to {target}");
        Some(Found::warning(container.line(&["volumeMounts"]), message, fix))
    };
    outputs(&words, &variables).iter().find_map(fault).into_iter().collect()
}
