//! A server in a pod that only the pod itself reaches.

use crate::read::compose::below;
use crate::read::manifest::{Container, Manifest, labels, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::servers::of_pod;

pub(crate) const RULE: Rule = Rule {
    id: "pod-server-on-loopback",
    severity: Severity::Warning,
    summary: "servers that probes or services reach listen on more than the loopback interface",
    explain: include_str!("pod_server_on_loopback.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: \
             lmsysorg/sglang:v0.4.6\n      command: [python3, -m, sglang.launch_server, --model-path, \
             a/b]\n      \
             ports: [{containerPort: 30000}]\n      readinessProbe: {httpGet: {path: /health, port: \
             30000}}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: \
             a}}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n      command: [uvicorn, \"a:b\", --host, 127.0.0.1]\n---\napiVersion: \
             v1\nkind: \
             Service\nmetadata: {name: a}\nspec:\n  selector: {app: a}\n  ports: [{port: 8000}]\n",
        ),
    ],
    silent: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: lmsysorg/sglang:v0.4.6\n      command: [/opt/start, python3, -m, \
             sglang.launch_server]\n      args: [\"--model-path a/b --host 0.0.0.0\"]\n      readinessProbe: \
             {httpGet: {path: /health, port: 30000}}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
             \x20     command: [uvicorn, \"a:b\", --host, 0.0.0.0]\n      readinessProbe: {httpGet: \
             {path: /, port: \
             8000}}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: \
             a}}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n      command: [uvicorn, \"a:b\"]\n    - {name: proxy, image: nginx}\n---\n\
             apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  selector: {app: a}\n  ports: \
             [{port: \
             80}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
             \x20     command: [uvicorn, \"a:b\"]\n      readinessProbe: {exec: {command: [curl, \
             localhost:8000]}}\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(|container| fault(file, container).filter(|_| !container.init))
}

fn fault(file: &Manifest, container: &Container) -> Option<Found> {
    let server = of_pod(container)?;
    let address = server.loopback.as_ref()?;
    let alone = list(container.pod.spec, "containers").len() == 1;
    let effect = match probe(container, &server) {
        Some(probe) => format!("the {probe} cannot connect"),
        // A proxy next to it may be the only one that should reach it.
        None if alone && has_service(file, container) => "its Service cannot connect".to_owned(),
        None => return None,
    };
    let message = format!(
        "container {}: {} listens on the loopback interface of its pod ({address}); {effect}",
        container.name, server.name
    );
    let key = if list(container.value, "command").is_empty() { "args" } else { "command" };
    Some(Found::warning(container.line(&[key]), message, "Listen on 0.0.0.0"))
}

/// A probe of this server that the kubelet sends to the address of the pod.
fn probe(container: &Container, server: &crate::servers::Server) -> Option<&'static str> {
    let asks = |probe: &&str| {
        ["httpGet", "tcpSocket"].iter().any(|kind| {
            let Some(target) = below(container.value, &[probe, kind]) else { return false };
            let port = scalar(target, &["port"]).and_then(|port| port.parse().ok());
            let own = port.is_none_or(|port| server.listens_on(port) != Some(false));
            own && below(target, &["host"]).is_none()
        })
    };
    ["readinessProbe", "livenessProbe", "startupProbe"].into_iter().find(asks)
}

fn has_service(file: &Manifest, container: &Container) -> bool {
    file.documents.iter().filter(|one| one.kind == "Service").any(|service| {
        let wanted = labels(service.at(&["spec", "selector"]));
        !wanted.is_empty() && wanted.iter().all(|one| container.pod.labels.contains(one))
    })
}
