//! A container that writes its results to a volume that it may only read.

use crate::outputs::{Output, outputs};
use crate::read::compose::below;
use crate::read::manifest::{Container, Manifest, list, scalar};
use crate::recognize::is_below;
use crate::rule::{Found, Judge, Rule, Severity, named};

macro_rules! trainer {
    ($command:literal, $pod:literal) => {
        named(
            "pod.yaml",
            concat!(
                "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
                 image: b\n      command: ",
                $command,
                "\n",
                $pod
            ),
        )
    };
}

pub(crate) const RULE: Rule = Rule {
    id: "pod-output-mount-read-only",
    severity: Severity::Warning,
    summary: "containers write results only to volumes that they may write to",
    explain: include_str!("pod_output_mount_read_only.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        trainer!(
            "[torchrun, train.py, --data, /data/set, --save-dir, /data/ckpt]",
            "      volumeMounts: [{name: d, mountPath: /data, readOnly: true}]\n  volumes: [{name: d, \
             hostPath: {path: /srv}}]\n"
        ),
        trainer!(
            "[bash, -c, \"cd /app && python train.py --output_dir=/conf/out\"]",
            "      volumeMounts:\n        - {name: c, mountPath: /conf}\n  volumes:\n    - name: c\n      \
             configMap: {name: c}\n"
        ),
        trainer!(
            "[python, train.py]",
            "      env: [{name: OUTPUT_DIR, value: /out}]\n      volumeMounts: [{name: d, mountPath: /out}]\n\
             \x20 volumes: [{name: d, persistentVolumeClaim: {claimName: d, readOnly: true}}]\n"
        ),
        trainer!(
            "[python, train.py, --output-dir, /workspace/out]",
            "      securityContext: {readOnlyRootFilesystem: true}\n      volumeMounts: [{name: t, \
             mountPath: /tmp}]\n  volumes: [{name: t, emptyDir: {}}]\n"
        ),
    ],
    silent: &[
        trainer!(
            "[torchrun, train.py, --data, /data/set, --save-dir, /data/ckpt]",
            "      volumeMounts:\n        - {name: d, mountPath: /data, readOnly: true}\n        - {name: o, \
             mountPath: /data/ckpt}\n  volumes: [{name: d, hostPath: {path: /srv}}, {name: o, emptyDir: \
             {}}]\n"
        ),
        trainer!(
            "[vllm, serve, /models/a, --download-dir, /models]",
            "      volumeMounts: [{name: d, mountPath: /models, readOnly: true}]\n  volumes: [{name: d, \
             hostPath: {path: /srv}}]\n"
        ),
        trainer!(
            "[torchrun, chat.py, --ckpt_dir, /models/llama]",
            "      volumeMounts: [{name: d, mountPath: /models, readOnly: true}]\n  volumes: [{name: d, \
             hostPath: {path: /srv}}]\n"
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(faults)
}

fn faults(container: &Container) -> Vec<Found> {
    let outputs = outputs(&container.words(), &container.environment());
    let fault = |output: &Output| {
        let why = read_only(container, &output.path)?;
        let message = format!(
            "container {}: {} is {why}; the first write fails (`Read-only file system`)",
            container.name, output.set_by
        );
        let key = ["args", "command", "env"].into_iter().find(|key| {
            let items = list(container.value, key);
            items.iter().any(|one| match *key {
                "env" => scalar(one, &["value"]).is_some_and(|value| value == output.path),
                _ => crate::read::compose::text(one).is_some_and(|text| text.contains(&output.path)),
            })
        });
        Some(Found::warning(container.line(&[key.unwrap_or("name")]), message, FIX))
    };
    outputs.iter().filter_map(fault).collect()
}

const FIX: &str = "Mount a writable volume there, or write to another directory";

/// Why a path may not be written to.
fn read_only(container: &Container, path: &str) -> Option<String> {
    let mounts = list(container.value, "volumeMounts");
    let target = |mount: &serde_yaml::Value| scalar(mount, &["mountPath"]).unwrap_or_default();
    let above = mounts.iter().filter(|mount| is_below(path, &target(mount)));
    // The deepest mount is the one that is written to.
    let Some(mount) = above.max_by_key(|mount| target(mount).trim_end_matches('/').len()) else {
        let root = scalar(container.value, &["securityContext", "readOnlyRootFilesystem"]);
        return (root.as_deref() == Some("true"))
            .then(|| "in the image, which readOnlyRootFilesystem makes read-only".to_owned());
    };
    let (at, name) = (target(mount), scalar(mount, &["name"]).unwrap_or_default());
    if scalar(mount, &["readOnly"]).as_deref() == Some("true") {
        return Some(format!("below {at}, which is mounted with readOnly: true"));
    }
    let volumes = container.pod.volumes();
    let (_, _, volume) = volumes.iter().find(|(_, known, _)| *known == name)?;
    let kinds = [("configMap", "a ConfigMap"), ("secret", "a Secret"), ("projected", "a projected volume")];
    let source = kinds.iter().find(|(key, _)| below(volume, &[key]).is_some());
    if let Some((_, kind)) = source {
        return Some(format!("below {at}, the mount of {kind}, which is read-only"));
    }
    let claim = scalar(volume, &["persistentVolumeClaim", "readOnly"]);
    (claim.as_deref() == Some("true")).then(|| format!("below {at}, whose volume {name} has readOnly: true"))
}
