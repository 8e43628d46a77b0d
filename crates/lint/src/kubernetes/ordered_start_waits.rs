//! Pods that start one after the other, and of which each is ready only when all have started.

use serde_yaml::Value;

use super::job_replicas_differ::nodes;
use crate::read::compose::below;
use crate::read::manifest::{Container, Document, Manifest, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

macro_rules! set {
    ($policy:literal, $probe:literal) => {
        named(
            "set.yaml",
            concat!(
                "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: t}\nspec:\n  serviceName: t\n",
                $policy,
                "  replicas: 2\n  selector: {matchLabels: {app: t}}\n  template:\n    metadata: {labels: \
                 {app: t}}\n    spec:\n      containers:\n        - name: t\n          image: b\n          \
                 command: [torchrun, --nnodes=2, --rdzv-endpoint=t-0.t:29400, train.py]\n          \
                 readinessProbe: ",
                $probe,
                "\n"
            ),
        )
    };
}

pub(crate) const RULE: Rule = Rule {
    id: "ordered-start-waits",
    severity: Severity::Warning,
    summary: "pods of a StatefulSet that wait for each other start in parallel",
    explain: include_str!("ordered_start_waits.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        set!("", "{exec: {command: [test, -f, /tmp/ready]}}"),
        set!("  podManagementPolicy: OrderedReady\n", "{httpGet: {path: /healthz, port: 8080}}"),
        named(
            "set.yaml",
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: ddp\nspec:\n  serviceName: ddp\n  \
             replicas: 4\n  selector: {matchLabels: {app: t}}\n  template:\n    metadata: {labels: {app: \
             t}}\n    spec:\n      containers:\n        - name: t\n          image: b\n          command: \
             [python, train.py]\n          env:\n            - {name: MASTER_ADDR, value: ddp-0.ddp}\n\
             \x20           - {name: WORLD_SIZE, value: \
             \"4\"}\n          readinessProbe:\n            exec:\n\
             \x20             command: [sh, -c, \"test -e /run/joined\"]\n",
        ),
    ],
    silent: &[
        set!("  podManagementPolicy: Parallel\n", "{exec: {command: [test, -f, /tmp/ready]}}"),
        set!("", "{tcpSocket: {port: 29400}}"),
        set!("", "{exec: {command: [nvidia-smi]}}"),
        named(
            "set.yaml",
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: w}\nspec:\n  serviceName: w\n  \
             replicas: 2\n  selector: {matchLabels: {app: t}}\n  template:\n    metadata: {labels: {app: \
             t}}\n    spec:\n      containers:\n        - name: t\n          image: b\n          command: \
             [vllm, serve, a/b]\n          readinessProbe: {httpGet: {path: /health, port: 8000}}\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(fault)
}

fn fault(container: &Container) -> Option<Found> {
    let document = container.pod.document;
    let of = |key: &str| scalar(&document.value, &["spec", key]);
    let ordered = of("podManagementPolicy").is_none_or(|policy| policy == "OrderedReady");
    let replicas: u64 = of("replicas")?.parse().ok()?;
    if document.kind != "StatefulSet" || container.init || !ordered || replicas < 2 {
        return None;
    }
    let peers = peers(document, container, replicas)?;
    let probe = below(container.value, &["readinessProbe"])?;
    let condition = condition(container, probe)?;
    let message = format!(
        "StatefulSet {0} starts {0}-1 only when {0}-0 is ready, but {0}-0 waits for its peers ({peers}) and \
         the readiness probe needs {condition}",
        document.name
    );
    let line = document.line_of(&["spec", "podManagementPolicy"]);
    Some(Found::warning(line, message, "Set `podManagementPolicy: Parallel`"))
}

/// What shows that a container waits for the other pods.
fn peers(document: &Document, container: &Container, replicas: u64) -> Option<String> {
    let words = container.words();
    if let Some((option, _)) = nodes(&words).filter(|(_, count)| *count == replicas) {
        return Some(option);
    }
    let environment = container.environment();
    let of =
        |name: &str| environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let first = of("MASTER_ADDR").filter(|host| host.starts_with(&format!("{}-0", document.name)))?;
    let size = of("WORLD_SIZE").and_then(|size| size.parse::<u64>().ok()).filter(|size| *size >= replicas)?;
    Some(format!("MASTER_ADDR={first}, WORLD_SIZE={size}"))
}

/// What the probe asks for, where the program gives it only once it runs.
fn condition(container: &Container, probe: &Value) -> Option<String> {
    if let Some(port) = scalar(probe, &["httpGet", "port"]) {
        return Some(format!("an HTTP server on port {port}"));
    }
    let command = below(probe, &["exec", "command"])?.as_sequence()?;
    let text: Vec<String> = command.iter().filter_map(crate::read::compose::text).collect();
    let text = text.join(" ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let file = words.windows(3).find(|three| three[0] == "test" && matches!(three[1], "-f" | "-e"));
    let file = file.map(|three| three[2]).or_else(|| match words[..] {
        ["cat", file] => Some(file),
        _ => None,
    })?;
    let file = file.trim_matches(['"', '\'', ';']);
    // The command itself may make the file before it joins.
    let made_before = container.words().iter().any(|word| word.contains(file));
    (file.starts_with('/') && !made_before).then(|| format!("the file {file}"))
}
