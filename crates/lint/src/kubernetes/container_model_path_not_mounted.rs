//! A server in a pod that loads a model from a directory that its image does not have.

use crate::model_path::{local_models, not_mounted};
use crate::read::compose::text;
use crate::read::manifest::{Container, Manifest, list, scalar};
use crate::recognize::is_below;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "container-model-path-not-mounted",
    severity: Severity::Warning,
    summary: "models that servers load from a directory are mounted there",
    explain: include_str!("container_model_path_not_mounted.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "triton.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: nvcr.io/nvidia/tritonserver:24.10-py3\n      args: [tritonserver, \
             --model-repository=/models]\n      volumeMounts: [{name: m, mountPath: \
             /model-repository}]\n  volumes: [{name: m, emptyDir: {}}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  initContainers:\n    - name: \
             load\n      \
             image: python:3.12\n      command: [sh, -c, \"hf download a/b --local-dir /models/b\"]\n      \
             volumeMounts: [{name: m, mountPath: /models}]\n  containers:\n    - name: a\n      image: \
             vllm/vllm-openai:v0.9.1\n      args: [--model, /models/b]\n      volumeMounts: [{name: m, \
             mountPath: /data}]\n  volumes: [{name: m, emptyDir: {}}]\n",
        ),
        named(
            "web.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: {matchLabels: \
             {a: \
             b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n        - \
             name: a\n\
             \x20         image: lmsysorg/sglang:v0.4.6\n          command:\n            - \
             python3\n            \
             - -m\n            - sglang.launch_server\n            - \
             --model-path=/models/qwen\n            - \
             --host=0.0.0.0\n",
        ),
    ],
    silent: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: nvcr.io/nvidia/tritonserver:24.10-py3\n      args: [tritonserver, \
             --model-repository=gs://bucket/models]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: \
             vllm/vllm-openai:v0.9.1\n      args: [--model, /models/b]\n      volumeMounts: [{name: m, \
             mountPath: /models}]\n  volumes: [{name: m, emptyDir: {}}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: \
             example.net/vllm-openai:v0.9.1\n      args: [--model, /models/b]\n    - name: c\n      image: \
             vllm/vllm-openai:v0.9.1\n      args: [--model, a/b]\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(fault)
}

fn fault(container: &Container) -> Option<Found> {
    let image = scalar(container.value, &["image"])?;
    let of = |key| list(container.value, key).into_iter().filter_map(text);
    let words: Vec<String> = of("command").chain(of("args")).collect();
    let mounts = container.mounts();
    let is_mounted =
        |path: &String| mounts.iter().any(|(_, target)| is_below(path, target) || is_below(target, path));
    let mut models = local_models(&image, &words, &container.environment()).into_iter();
    let (option, path) = models.find(|(_, path)| !is_mounted(path))?;
    // Agents of such annotations mount more.
    let annotated = container.pod.document.at(&["spec", "template", "metadata", "annotations"]).is_some();
    if annotated {
        return None;
    }
    let targets: Vec<&str> = mounts.iter().map(|(_, target)| target.as_str()).collect();
    let message = not_mounted(("container", &container.name), (&option, &path), &image, &targets);
    let key = ["args", "command", "env"].into_iter().find(|key| !list(container.value, key).is_empty());
    let line = container.line(&[key.unwrap_or("name")]);
    Some(Found::warning(line, message, format!("Mount the directory of the model at {path}")))
}
