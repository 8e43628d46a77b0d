//! Arguments of a container that start the server which the entrypoint of the image already starts.

use crate::image_entrypoints::repeated;
use crate::read::compose::text;
use crate::read::manifest::{Container, Manifest, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "container-entrypoint-repeated",
    severity: Severity::Error,
    summary: "args for images whose entrypoint is a server have only its arguments",
    explain: include_str!("container_entrypoint_repeated.md"),
    judge: Judge::Manifest(judge),
    fires: &[named(
        "pod.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      image: \
         vllm/vllm-openai:v0.8.5\n      args: [vllm, serve, a/b]\n",
    )],
    silent: &[named(
        "pod.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      image: \
         vllm/vllm-openai:v0.8.5\n      args: [--model, a/b]\n    - name: c\n      image: \
         vllm/vllm-openai:v0.8.5\n      command: [vllm, serve]\n      args: [a/b, --port=8001]\n",
    )],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(fault)
}

fn fault(container: &Container) -> Option<Found> {
    if !list(container.value, "command").is_empty() {
        return None;
    }
    let words: Vec<String> = list(container.value, "args").into_iter().filter_map(text).collect();
    let image = scalar(container.value, &["image"])?;
    let message = format!("container {}: {}", container.name, repeated(&image, &words)?);
    let fix = "Leave only the arguments in args, or move the program to command";
    Some(Found::error(container.line(&["args"]), message, fix))
}
