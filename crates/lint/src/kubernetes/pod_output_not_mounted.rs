//! Results of a container that are written next to the volume that is mounted for them.

use crate::outputs::{Output, meant, outputs};
use crate::read::manifest::{Container, Manifest, list, scalar};
use crate::recognize::is_below;
use crate::rule::{Found, Judge, Rule, Severity, named};

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
    let values = variables.iter().map(|(_, value)| value);
    let texts: Vec<&str> = words.iter().chain(values).chain([&directory]).map(String::as_str).collect();
    let fault = |output: &Output| {
        if mounts.iter().any(|(target, _)| is_below(&output.path, target)) {
            return None;
        }
        let writable = mounts.iter().filter(|(_, read_only)| !read_only);
        let target = meant(output, writable.map(|(target, _)| target.as_str()), &texts)?;
        let message = format!(
            "container {}: {} is not on a volume, and the volume mounted at {target} is unused; the results \
             are lost with the pod",
            container.name, output.set_by
        );
        let fix = format!("Use one path: mount the volume there, or write to {target}");
        Some(Found::warning(container.line(&["volumeMounts"]), message, fix))
    };
    outputs(&words, &variables).iter().find_map(fault).into_iter().collect()
}
