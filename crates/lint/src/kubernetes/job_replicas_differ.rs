//! Numbers of pods that do not fit what the command expects, or each other.

use std::collections::BTreeMap;

use crate::read::manifest::{Document, Manifest, Pod, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "job-replicas-differ",
    severity: Severity::Error,
    summary: "a job has as many pods as the ranks in its command and environment",
    explain: include_str!("job_replicas_differ.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        job!("  completionMode: Indexed\n  parallelism: 2\n", "      containers: [{name: a, image: b}]\n"),
        job!(
            "  completionMode: Indexed\n  completions: 2\n  parallelism: 2\n",
            "      containers:\n        - name: a\n          image: b\n          command: [torchrun, \
                --nnodes=4, train.py]\n"
        ),
        job!(
            "  completionMode: Indexed\n  completions: 4\n  parallelism: 2\n",
            "      containers:\n        - name: a\n          image: b\n          command: [torchrun, \
                --nnodes=4, train.py]\n"
        ),
        job!(
            "  completions: 2\n  parallelism: 2\n",
            "      containers:\n        - name: a\n          image: b\n          command: [sh, \
                -c, \"torchrun --nnodes=2 --node_rank=$JOB_COMPLETION_INDEX train.py\"]\n"
        ),
        named(
            "train.yaml",
            "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n  runPolicy: {}\n  \
             pytorchReplicaSpecs:\n    Master:\n      replicas: 2\n      template:\n        spec:\n\
             \x20         \
             containers: [{name: main, image: b}]\n",
        ),
    ],
    silent: &[
        job!(
            "",
            "      containers:\n        - name: a\n          image: b\n          command: [torchrun, \
                --nnodes=2, --node_rank=1, train.py]\n"
        ),
        job!(
            "  completionMode: Indexed\n  completions: 2\n  parallelism: 2\n",
            "      containers:\n        - name: a\n          image: b\n          command: [sh, \
                -c, \"torchrun --nnodes=2 --node_rank=$JOB_COMPLETION_INDEX train.py\"]\n"
        ),
        named(
            "train.yaml",
            "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n  runPolicy: {}\n  \
             pytorchReplicaSpecs:\n    Master:\n      replicas: 1\n      template:\n        spec:\n\
             \x20         \
             containers: [{name: pytorch, image: b}]\n    Worker:\n      replicas: 3\n      template:\n\
             \x20       \
             spec:\n          containers: [{name: pytorch, image: b}]\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let of_document = |document: &Document| -> Vec<Found> {
        match document.kind.as_str() {
            "Job" if document.api == "batch/v1" => of_job(document),
            "PyTorchJob" => of_training(document),
            _ => Vec::new(),
        }
    };
    file.documents.iter().flat_map(of_document).collect()
}

fn number(document: &Document, path: &[&str]) -> Option<u64> {
    scalar(&document.value, path)?.parse().ok()
}

fn of_job(document: &Document) -> Vec<Found> {
    let indexed = scalar(&document.value, &["spec", "completionMode"]).as_deref() == Some("Indexed");
    let (completions, parallelism) =
        (number(document, &["spec", "completions"]), number(document, &["spec", "parallelism"]));
    let mut found = Vec::new();
    if indexed && completions.is_none() {
        let message = "completionMode Indexed requires `completions`; the API server refuses the Job";
        found.push(Found::error(
            document.line_of(&["spec", "completionMode"]),
            message,
            "Add \
            `completions`",
        ));
    }
    let pods = document.pods();
    let Some(words) = pods.first().map(words) else { return found };
    if !indexed && words.iter().any(|word| word.contains("JOB_COMPLETION_INDEX")) {
        let message = "JOB_COMPLETION_INDEX is set only with `completionMode: Indexed`";
        found.push(Found::error(document.line_of(&["spec"]), message, "Add `completionMode: Indexed`"));
    }
    let Some((option, nodes)) = nodes(&words).filter(|(_, nodes)| *nodes > 1) else { return found };
    let pods_at_once = parallelism.unwrap_or(1).min(completions.unwrap_or(u64::MAX));
    if pods_at_once != nodes {
        let message = format!(
            "the command has {option}, but {pods_at_once} pods of the Job run at a time; the rendezvous \
                waits \
             for {nodes}"
        );
        let line =
            document.line_of(&["spec", if parallelism.is_some() { "parallelism" } else { "template" }]);
        found.push(Found::error(line, message, format!("Set `completions` and `parallelism` to {nodes}")));
    }
    found
}

fn words(pod: &Pod) -> Vec<String> {
    pod.containers().iter().filter(|one| !one.init).flat_map(|one| one.words()).collect()
}

/// The number of machines of a launcher: `--nnodes=2`. `None` where a number is its rank: each node then has
/// a manifest of its own.
pub(super) fn nodes(words: &[String]) -> Option<(String, u64)> {
    let of_rank = |text: &str| ["--node_rank", "--node-rank", "--machine_rank"].contains(&text);
    let is_number = |text: &str| text.parse::<u64>().is_ok();
    let fixed = words.iter().enumerate().any(|(at, word)| match word.split_once('=') {
        Some((option, value)) => of_rank(option) && is_number(value),
        None => of_rank(word) && words.get(at + 1).is_some_and(|value| is_number(value)),
    });
    if fixed {
        return None;
    }
    let pairs = words.iter().enumerate().filter_map(|(at, word)| {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, value),
            None => (word.as_str(), words.get(at + 1)?.as_str()),
        };
        let known = ["--nnodes", "--num_machines", "--num_nodes"].contains(&option);
        known.then(|| Some((format!("{option} {value}"), value.trim_matches(['"', '\'']).parse().ok()?)))?
    });
    pairs.into_iter().next()
}

/// What the operator of PyTorchJobs requires.
fn of_training(document: &Document) -> Vec<Found> {
    let specs = ["spec", "pytorchReplicaSpecs"];
    let replicas = |role: &str| {
        document.at(&[specs[0], specs[1], role])?;
        Some(number(document, &[specs[0], specs[1], role, "replicas"]).unwrap_or(1))
    };
    let roles: BTreeMap<&str, u64> =
        ["Master", "Worker"].into_iter().filter_map(|role| Some((role, replicas(role)?))).collect();
    let line = |role: &str| document.line_of(&[specs[0], specs[1], role, "replicas"]);
    let mut found = Vec::new();
    if let Some(masters) = roles.get("Master").filter(|count| **count != 1) {
        let message = format!("Master has {masters} replicas; a PyTorchJob has exactly one master");
        found.push(Found::error(line("Master"), message, "Set `replicas: 1`, and the others under Worker"));
    }
    for pod in document.pods() {
        let containers = pod.containers();
        let role = pod.path.iter().rev().nth(2).cloned().unwrap_or_default();
        if !containers.iter().any(|one| !one.init && one.name == "pytorch") {
            let message = format!("{role} has no container named `pytorch`, which the operator requires");
            found.push(Found::error(
                pod.line(&["containers"]),
                message,
                "Name the training container `pytorch`",
            ));
        }
        let all: u64 = roles.values().copied().fold(0, u64::saturating_add);
        let nodes = nodes(&words(&pod)).filter(|(_, nodes)| *nodes != all && !roles.is_empty());
        found.extend(nodes.map(|(option, _)| {
            let message = format!(
                "{role}: the command has {option}, but the PyTorchJob has {all} \
                replicas"
            );
            Found::error(line(&role), message, "Use as many replicas as machines")
        }));
    }
    found
}
