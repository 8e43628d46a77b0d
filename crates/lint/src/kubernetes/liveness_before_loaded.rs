//! A liveness probe that kills a server while it loads its model.

use crate::read::compose::below;
use crate::read::manifest::{Container, Manifest, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "liveness-before-loaded",
    severity: Severity::Warning,
    summary: "a server has the time to load its model before the liveness probe restarts it",
    explain: include_str!("liveness_before_loaded.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "vllm.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: \
             vllm/vllm-openai:v0.6.3\n      args: [--model, meta-llama/Llama-3.1-70B-Instruct]\n      \
             livenessProbe:\n        httpGet: {path: /health, port: 8000}\n        initialDelaySeconds: 10\n",
        ),
        named(
            "vllm.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: vllm/vllm-openai:v0.6.3\n      args: [--model, meta-llama/Llama-3.1-70B-Instruct]\n\
             \x20     livenessProbe: {httpGet: {path: /health, port: 8000}, initialDelaySeconds: 35}\n",
        ),
    ],
    silent: &[
        named(
            "vllm.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: vllm/vllm-openai:v0.6.3\n      args: [--model, meta-llama/Llama-3.1-70B-Instruct]\n\
             \x20     livenessProbe: {httpGet: {path: /health, port: 8000}, initialDelaySeconds: 40}\n",
        ),
        named(
            "vllm.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: \
             vllm/vllm-openai:v0.6.3\n      args: [--model, meta-llama/Llama-3.1-70B-Instruct]\n      \
             livenessProbe:\n        httpGet: {path: /health, port: 8000}\n      startupProbe:\n        \
             httpGet: {path: /health, port: 8000}\n        failureThreshold: 120\n",
        ),
        named(
            "vllm.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: \
             vllm/vllm-openai:v0.6.3\n      args: [--model, facebook/opt-1.3b]\n      \
             livenessProbe:\n        \
             httpGet: {path: /health, port: 8000}\n",
        ),
    ],
};

/// No such model is read in less, billions of parameters and seconds.
const LARGE: f64 = 30.0;
const SECONDS: u64 = 60;

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(fault)
}

fn fault(container: &Container) -> Option<Found> {
    let image = scalar(container.value, &["image"])?;
    let servers = ["vllm-openai", "text-generation-inference", "sglang", "tensorrt-llm", "lmdeploy"];
    let probe = below(container.value, &["livenessProbe"])?;
    let started = below(container.value, &["startupProbe"]).is_some();
    if started || container.init || !servers.iter().any(|name| image.contains(name)) {
        return None;
    }
    let environment = container.environment();
    let values = environment.iter().map(|(_, value)| value.as_str());
    let words = container.words();
    let (model, _) = words
        .iter()
        .map(String::as_str)
        .chain(values)
        .filter_map(|word| Some((word, billions(word)?)))
        .find(|(_, size)| *size >= LARGE)?;
    let number = |key: &str, default: u64| match scalar(probe, &[key]) {
        Some(text) => text.parse::<u64>().ok(),
        None => Some(default),
    };
    let (delay, period) = (number("initialDelaySeconds", 0)?, number("periodSeconds", 10)?);
    // The first probe comes at once after the delay.
    let seconds = delay + period * number("failureThreshold", 3)?.saturating_sub(1);
    let message = format!(
        "container {}: the liveness probe restarts it {seconds} s after its start, before {model} is \
         loaded; it never gets ready",
        container.name
    );
    let fix = "Add a startupProbe with failureThreshold × periodSeconds longer than the load time";
    (seconds < SECONDS).then(|| Found::warning(container.line(&["livenessProbe"]), message, fix))
}

/// The size in the name of a model: 70 of `Llama-3.1-70B-Instruct`.
fn billions(name: &str) -> Option<f64> {
    let parts = name.rsplit('/').next()?.split(['-', '_', '=']);
    parts.filter_map(|part| part.strip_suffix(['b', 'B'])?.parse::<f64>().ok()).next()
}
