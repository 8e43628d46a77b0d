//! A probe, a Service or a port of a container that leads past its server.

use serde_yaml::Value;

use crate::read::compose::{below, text};
use crate::read::manifest::{Container, Document, Manifest, Pod, labels, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::servers::{Server, is_rendezvous, of_pod};

pub(crate) const RULE: Rule = Rule {
    id: "pod-port-unserved",
    severity: Severity::Warning,
    summary: "probes, services and container ports lead to the port of the server",
    explain: include_str!("pod_port_unserved.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: \
             vllm/vllm-openai:v0.8.5\n      args: [--model, a/b]\n      readinessProbe: {httpGet: {path: \
             /health, \
             port: 8080}}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: \
             a}}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n      command: [uvicorn, \"a:b\", --host, 0.0.0.0, --port, \"9000\"]\n---\n\
             apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  selector: {app: \
             a}\n  ports:\n    - \
             {port: 80, targetPort: 8000}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: \
             vllm/vllm-openai:v0.8.5\n      args: [--model, a/b, --port=8001]\n      ports: \
             [{containerPort: 8000}]\n",
        ),
    ],
    silent: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: \
             a}}\nspec:\n  containers:\n    - name: \
             a\n      image: vllm/vllm-openai:v0.8.5\n      args: [--model, a/b]\n      ports: [{name: \
             http, \
             containerPort: 8000}]\n      readinessProbe: {httpGet: {path: /health, port: http}}\n---\n\
             apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  selector: {app: a}\n  ports: \
             [{port: 80, \
             targetPort: http}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: \
             a}}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n      command: [uvicorn, \"a:b\"]\n    - name: proxy\n      image: \
             envoy\n---\n\
             apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  selector: {app: a}\n  ports: \
             [{port: \
             80}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: \
             vllm/vllm-openai:v0.8.5\n      args: [--model, a/b, --port, $(PORT)]\n      readinessProbe: \
             {httpGet: \
             {path: /health, port: 8080}}\n",
        ),
        // Nothing is forwarded: the Service only gives the pods their names.
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: a}}\nspec:\n  containers:\n    - \
             name: a\n      image: vllm/vllm-openai:v0.8.5\n      args: [--model, a/b]\n---\n\
             apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterIP: None, selector: {app: a}, \
             ports: [{port: 29500}]}\n",
        ),
        // The first rank listens on the port of the rendezvous.
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: a}}\nspec:\n  containers:\n    - \
             name: a\n      image: lmsysorg/sglang:v0.3.4-cu121\n      command: [python3, -m, \
             sglang.launch_server]\n      args: [--model-path=a/b, --nnodes=2, --port=30000, \
             --dist-init-addr=a-0.a:20000]\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: \
             {selector: {app: a}, ports: [{port: 20000}]}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: a}}\nspec:\n  containers:\n    - \
             name: a\n      image: vllm/vllm-openai:v0.8.5\n      args: [--model, a/b]\n      env: [{name: \
             MASTER_PORT, value: \"29500\"}]\n      ports: [{containerPort: 29500}]\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let pods = file.pods();
    let mut found = Vec::new();
    for pod in &pods {
        let containers = pod.containers();
        let lasting = containers.iter().filter(|one| !one.init).count();
        for container in containers.iter().filter(|one| !one.init) {
            let Some(server) = of_pod(container).filter(|server| server.ports.is_some()) else { continue };
            // Another container of the pod may listen on its other ports.
            let probes = probes(container, &server);
            let others = match (probes.is_empty(), lasting) {
                (true, 1) => service(file, pod, container, &server).or_else(|| ports(container, &server)),
                _ => None,
            };
            found.extend(probes.into_iter().chain(others));
        }
    }
    found
}

/// Probes that ask another port.
fn probes(container: &Container, server: &Server) -> Vec<Found> {
    let mut found = Vec::new();
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        for kind in ["httpGet", "tcpSocket"] {
            let path = [probe, kind, "port"];
            let Some(port) = below(container.value, &path).and_then(text) else { continue };
            let Some(number) = number(container, &port) else { continue };
            if lasting_containers(container) > 1 || server.listens_on(number) != Some(false) {
                continue;
            }
            let effect = match probe {
                "readinessProbe" => "the pod never gets ready",
                _ => "the kubelet restarts the container again and again",
            };
            let message = format!(
                "container {}: {}, but its {probe} uses port {number}; {effect}",
                container.name,
                server.sentence()
            );
            found.push(Found::warning(container.line(&path), message, fix(server)));
        }
    }
    found.truncate(1);
    found
}

fn lasting_containers(container: &Container) -> usize {
    list(container.pod.spec, "containers").len()
}

/// A Service for the pod whose ports all lead elsewhere.
fn service(file: &Manifest, pod: &Pod, container: &Container, server: &Server) -> Option<Found> {
    let services = file.documents.iter().filter(|one| one.kind == "Service" && one.api == "v1");
    services.filter_map(|service| of_service(service, pod, container, server)).next()
}

fn of_service(service: &Document, pod: &Pod, container: &Container, server: &Server) -> Option<Found> {
    let wanted = labels(service.at(&["spec", "selector"]));
    if wanted.is_empty() || !wanted.iter().all(|one| pod.labels.contains(one)) {
        return None;
    }
    let spec = service.at(&["spec"])?;
    // Names of a headless Service resolve to the pods themselves; its ports forward and refuse nothing.
    if scalar(spec, &["clusterIP"]).as_deref() == Some("None") {
        return None;
    }
    let entries = list(spec, "ports");
    let target = |entry: &Value| {
        let written = scalar(entry, &["targetPort"]).or_else(|| scalar(entry, &["port"]))?;
        number(container, &written)
    };
    let targets: Vec<u16> = entries.into_iter().map(target).collect::<Option<_>>()?;
    let first = targets.first()?;
    if !targets.iter().all(|port| is_unserved(container, server, *port)) {
        return None;
    }
    let message = format!(
        "{} leads to port {first} of {}, but {}; connections are refused",
        service.title(),
        pod.document.title(),
        server.sentence()
    );
    Some(Found::warning(service.line_of(&["spec", "ports"]), message, fix(server)))
}

/// Ports of the container, none of which is the server's.
fn ports(container: &Container, server: &Server) -> Option<Found> {
    let entries = list(container.value, "ports").into_iter();
    let numbers: Vec<u16> =
        entries.map(|one| scalar(one, &["containerPort"])?.parse().ok()).collect::<Option<_>>()?;
    let first = numbers.first()?;
    if !numbers.iter().all(|port| is_unserved(container, server, *port)) {
        return None;
    }
    let message =
        format!("container {}: {}, but its containerPort is {first}", container.name, server.sentence());
    Some(Found::warning(container.line(&["ports"]), message, fix(server)))
}

/// Whether nothing listens on a port: neither the server nor the rendezvous of its ranks.
fn is_unserved(container: &Container, server: &Server, port: u16) -> bool {
    server.listens_on(port) == Some(false)
        && !is_rendezvous(&container.words(), &container.environment(), port)
}

fn fix(server: &Server) -> String {
    server.port().map(|port| format!("Use port {}", port.number)).unwrap_or_default()
}

/// The number of a port that a probe or a Service names.
fn number(container: &Container, port: &str) -> Option<u16> {
    if let Ok(number) = port.parse() {
        return Some(number);
    }
    let named = list(container.value, "ports").into_iter();
    let mut named = named.filter(|one| scalar(one, &["name"]).as_deref() == Some(port));
    scalar(named.next()?, &["containerPort"])?.parse().ok()
}
