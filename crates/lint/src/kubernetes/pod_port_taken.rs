//! Two servers of one pod on one port.

use crate::read::manifest::{Manifest, Pod};
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::servers::of_pod;

macro_rules! servers {
    ($first:literal, $second:literal) => {
        named(
            "pod.yaml",
            concat!(
                "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
                 llm\n      \
                 image: vllm/vllm-openai:v0.9.1\n      args: ",
                $first,
                "\n    - name: other\n",
                $second,
                "\n"
            ),
        )
    };
}

pub(crate) const RULE: Rule = Rule {
    id: "pod-port-taken",
    severity: Severity::Error,
    summary: "the servers of a pod listen on different ports",
    explain: include_str!("pod_port_taken.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        servers!(
            "[--model, a/b]",
            "      image: vllm/vllm-openai:v0.9.1\n      args: [--model, c/d, --task, embed]"
        ),
        servers!(
            "[--model, a/b, --port, \"8080\"]",
            "      image: example.net/gateway:1\n      command: [uvicorn, \"app:app\", --host, 0.0.0.0, \
             --port=8080]"
        ),
    ],
    silent: &[
        servers!(
            "[--model, a/b]",
            "      image: vllm/vllm-openai:v0.9.1\n      args: [--model, c/d, --port, \"8001\"]"
        ),
        servers!("[--model, a/b]", "      image: example.net/gateway:1\n      command: [python, app.py]"),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.pods().iter().flat_map(of_servers).collect()
}

fn of_servers(pod: &Pod) -> Vec<Found> {
    let containers = pod.containers();
    let servers: Vec<_> = containers
        .iter()
        .filter(|one| !one.init)
        .filter_map(|one| {
            let server = of_pod(one)?;
            let port = server.port()?.number;
            Some((one, server, port))
        })
        .collect();
    let mut found = Vec::new();
    for (at, (container, server, port)) in servers.iter().enumerate() {
        let Some((other, _, _)) = servers[..at].iter().find(|(_, _, taken)| taken == port) else { continue };
        let message = format!(
            "container {}: {}, and so does container {}; they share the network of the pod, and the \
             second one \
             fails (`address already in use`)",
            container.name,
            server.sentence(),
            other.name
        );
        found.push(Found::error(container.line(&["name"]), message, "Give one of them another port"));
    }
    found
}
