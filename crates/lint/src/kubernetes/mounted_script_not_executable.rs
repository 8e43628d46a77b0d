//! The command of a container is a file of a ConfigMap that may not be executed.

use serde_yaml::Value;

use crate::read::compose::below;
use crate::read::manifest::{Container, Manifest, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "mounted-script-not-executable",
    severity: Severity::Error,
    summary: "a script of a ConfigMap that a container starts is executable",
    explain: include_str!("mounted_script_not_executable.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      command: [/start/go.sh, --fast]\n      volumeMounts: [{name: s, mountPath: \
             /start}]\n  volumes: [{name: s, configMap: {name: c}}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      command: [/go.sh]\n      volumeMounts: [{name: s, mountPath: /go.sh, subPath: \
             go.sh}]\n  volumes: [{name: s, configMap: {name: c, defaultMode: 0640}}]\n",
        ),
    ],
    silent: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      command: [/start/go.sh]\n      volumeMounts: [{name: s, mountPath: /start}]\n\
             \x20   - name: d\n      image: b\n      command: [bash, /plain/go.sh]\n      \
             volumeMounts: [{name: \
             t, mountPath: /plain}]\n  volumes: [{name: s, configMap: {name: c, defaultMode: \
             0555}}, {name: t, \
             configMap: {name: c}}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      command: [/start/go.sh]\n      volumeMounts: [{name: s, mountPath: /start}]\n  \
             volumes: [{name: s, configMap: {name: c, items: [{key: k, path: go.sh, mode: 493}]}}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      command: [/start/bin/go.sh]\n      volumeMounts: [{name: s, mountPath: /start}, \
             {name: e, mountPath: /start/bin}]\n  volumes: [{name: s, configMap: {name: c}}, {name: e, \
             emptyDir: {}}]\n",
        ),
    ],
};

/// The mode of files without one of their own.
const DEFAULT: u32 = 0o644;

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(fault)
}

fn fault(container: &Container) -> Option<Found> {
    let program = list(container.value, "command").first().and_then(|word| word.as_str())?;
    let mounts = container.mounts();
    let below_mount = mounts.iter().filter(|(_, path)| {
        let rest = program.strip_prefix(path.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    // The deepest mount is the one that is seen.
    let (name, path) = below_mount.max_by_key(|(_, path)| path.len())?;
    let volumes = container.pod.volumes();
    let (_, _, volume) = volumes.iter().find(|(_, known, _)| known == name)?;
    let kinds = [("configMap", "ConfigMap"), ("secret", "Secret")];
    let (source, kind) = kinds.iter().find_map(|(key, kind)| Some((below(volume, &[key])?, *kind)))?;
    let mode = mode(source, program)?;
    if mode & 0o111 != 0 {
        return None;
    }
    let message = format!(
        "container {}: {program} is a file of the {kind} at {path} with mode {mode:04o}, which may not be \
         executed; the container does not start (`permission denied`)",
        container.name
    );
    let fix = format!("Set `defaultMode: 0755` in the volume {name}, or run it with `bash {program}`");
    Some(Found::error(container.line(&["command"]), message, fix))
}

/// The mode of a file of a volume; nothing where it is not readable.
fn mode(source: &Value, program: &str) -> Option<u32> {
    let base = program.rsplit('/').next().unwrap_or_default();
    let item = list(source, "items").into_iter().find(|item| {
        let names = [scalar(item, &["path"]), scalar(item, &["key"])];
        names.iter().flatten().any(|name| name.rsplit('/').next() == Some(base))
    });
    let own = item.and_then(|item| scalar(item, &["mode"]));
    let Some(text) = own.or_else(|| scalar(source, &["defaultMode"])) else { return Some(DEFAULT) };
    match text.strip_prefix("0o").or(text.strip_prefix('0')) {
        Some("") => Some(0),
        Some(octal) => u32::from_str_radix(octal, 8).ok(),
        None => text.parse().ok(),
    }
}
