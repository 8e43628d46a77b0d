//! Numbers of pods that do not fit what the command expects, or each other.

use std::collections::BTreeMap;

use serde_yaml::Value;

use crate::read::manifest::{Document, Manifest, Pod, list, scalar};
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
        named(
            "set.yaml",
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: t}\nspec:\n  serviceName: \
             t\n  replicas: \
             2\n  podManagementPolicy: Parallel\n  selector: {matchLabels: {app: t}}\n  template:\n    \
             metadata: {labels: {app: t}}\n    spec:\n      containers:\n        - name: \
             a\n          image: b\n\
             \x20         command: [torchrun, --nnodes=4, --rdzv-endpoint=t-0.t:29400, train.py]\n",
        ),
        named(
            "lws.yaml",
            "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: t}\nspec:\n  \
             replicas: 4\n  leaderWorkerTemplate:\n    size: 2\n    workerTemplate:\n      spec:\n        \
             containers:\n          - name: a\n            image: b\n            command: [bash, -c, \
             \"torchrun \
             --nnodes 4 --node_rank $LWS_WORKER_INDEX train.py\"]\n",
        ),
        named(
            "job.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata:\n  run.sh: |\n    \
             set -e\n    python t.py --part \"$JOB_COMPLETION_INDEX\"\n---\napiVersion: batch/v1\nkind: \
             Job\nmetadata: {name: a}\nspec:\n  completions: 4\n  parallelism: 2\n  template:\n    \
             spec:\n      \
             restartPolicy: Never\n      containers:\n        - name: a\n          image: b\n          \
             command: \
             [bash, /scripts/run.sh]\n          volumeMounts: [{name: s, mountPath: /scripts}]\n      \
             volumes: [{name: \
             s, configMap: {name: s}}]\n",
        ),
    ],
    silent: &[
        named(
            "job.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata:\n  run.sh: |\n    \
             set -e\n    python t.py --part \"$JOB_COMPLETION_INDEX\"\n---\napiVersion: batch/v1\nkind: \
             Job\nmetadata: {name: a}\nspec:\n  completionMode: Indexed\n  completions: 4\n  parallelism: \
             2\n  \
             template:\n    spec:\n      restartPolicy: Never\n      containers:\n        - name: \
             a\n          image: \
             b\n          command: [bash, /scripts/run.sh]\n          volumeMounts: [{name: s, mountPath: \
             /scripts}]\n      volumes: [{name: s, configMap: {name: s}}]\n",
        ),
        named(
            "set.yaml",
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: t}\nspec:\n  serviceName: \
             t\n  replicas: \
             1\n  selector: {matchLabels: {app: t}}\n  template:\n    metadata: {labels: {app: \
             t}}\n    spec:\n\
             \x20     containers:\n        - name: a\n          image: b\n          command: [torchrun, \
             --nnodes=3, --rdzv-endpoint=t-0.t:29400, train.py]\n---\napiVersion: apps/v1\nkind: \
             StatefulSet\n\
             metadata: {name: w}\nspec:\n  serviceName: w\n  replicas: 2\n  selector: {matchLabels: {app: \
             w}}\n\
             \x20 template:\n    metadata: {labels: {app: w}}\n    spec:\n      containers:\n        - \
             name: a\n\
             \x20         image: b\n          command: [torchrun, --nnodes=3, --rdzv-endpoint=t-0.t:29400, \
             train.py]\n",
        ),
        named(
            "jobset.yaml",
            "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: m}\nspec:\n  \
             replicatedJobs:\n    - name: t\n      replicas: 2\n      template:\n        spec:\n          \
             parallelism: 2\n          template:\n            spec:\n              restartPolicy: Never\n\
             \x20             containers:\n                - name: a\n                  image: b\n\
             \x20                 command: [torchrun, --nnodes=4, --rdzv-endpoint=m-t-0-0.m:29400, \
             train.py]\n",
        ),
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
            "Job" if document.api == "batch/v1" => of_job(file, document),
            "PyTorchJob" => of_training(document),
            _ => of_others(file, document),
        }
    };
    file.documents.iter().flat_map(of_document).collect()
}

fn number(document: &Document, path: &[&str]) -> Option<u64> {
    scalar(&document.value, path)?.parse().ok()
}

fn of_job(file: &Manifest, document: &Document) -> Vec<Found> {
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
    let sets = pods.iter().flat_map(Pod::containers).any(|one| {
        list(one.value, "env")
            .iter()
            .any(|one| scalar(one, &["name"]).as_deref() == Some("JOB_COMPLETION_INDEX"))
    });
    let in_script = pods.iter().flat_map(Pod::containers).any(|one| {
        one.scripts(file).iter().any(|text| {
            let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
            code.into_iter().any(|line| {
                ["$JOB_COMPLETION_INDEX", "${JOB_COMPLETION_INDEX}"].iter().any(|used| line.contains(used))
                    || line.contains("\"JOB_COMPLETION_INDEX\"]")
            })
        })
    });
    let in_words = words.iter().any(|word| word.contains("JOB_COMPLETION_INDEX"));
    if !indexed && !sets && (in_words || in_script) {
        let message = match in_words {
            true => "JOB_COMPLETION_INDEX is set only with `completionMode: Indexed`",
            false => {
                "the mounted script uses JOB_COMPLETION_INDEX, which is set only with `completionMode: \
                 Indexed`"
            }
        };
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

/// Pods of a StatefulSet, a LeaderWorkerSet, a JobSet or a Volcano Job, where those of the file together are
/// not as many as the command has nodes.
fn of_others(file: &Manifest, document: &Document) -> Vec<Found> {
    let pods = document.pods();
    let mut found = Vec::new();
    for pod in &pods {
        let Some((own, path)) = count(pod) else { continue };
        let Some((option, wanted)) = nodes(&words(pod)).filter(|(_, nodes)| *nodes > 1) else { continue };
        let all = file.pods();
        let same = all.iter().filter(|one| nodes(&words(one)).is_some_and(|(_, nodes)| nodes == wanted));
        let counts: Vec<Option<u64>> = same.map(|one| count(one).map(|(count, _)| count)).collect();
        // Another kind of document may start the rest.
        let Some(counts) = counts.into_iter().collect::<Option<Vec<u64>>>() else { continue };
        let sum = counts.iter().copied().fold(0, u64::saturating_add);
        if own == wanted || sum == wanted {
            continue;
        }
        let message = format!(
            "the command has {option}, but {} has {own} pods for it; the rendezvous waits for {wanted}",
            document.title()
        );
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let fix = "Use as many pods as nodes";
        found.push(Found::warning(document.line_of(&path), message, fix));
    }
    found
}

/// How many pods a template makes, and the path of that number.
fn count(pod: &Pod) -> Option<(u64, Vec<String>)> {
    let document = pod.document;
    let path = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    let of = |keys: &[&str]| number_or_one(&document.value, keys);
    match document.kind.as_str() {
        "StatefulSet" => Some((of(&["spec", "replicas"])?, path(&["spec", "replicas"]))),
        "LeaderWorkerSet" => {
            let keys = ["spec", "leaderWorkerTemplate", "size"];
            // The leader has a template of its own, and is one of the group.
            Some((of(&keys)?, path(&keys)))
        }
        "JobSet" => {
            let (at, job) = item(pod, "replicatedJobs")?;
            let jobs = number_or_one(job, &["replicas"])?;
            let pods = number_or_one(job, &["template", "spec", "parallelism"])?;
            let keys = ["spec", "replicatedJobs", &at, "template", "spec", "parallelism"];
            Some((jobs.saturating_mul(pods), path(&keys)))
        }
        "Job" if document.api.starts_with("batch.volcano.sh/") => {
            let (at, task) = item(pod, "tasks")?;
            let replicas = scalar(task, &["replicas"])?.parse().ok()?;
            Some((replicas, path(&["spec", "tasks", &at, "replicas"])))
        }
        _ => None,
    }
}

/// The item of a list below `spec` in which a template is, with its index.
fn item<'d>(pod: &Pod<'d>, key: &str) -> Option<(String, &'d Value)> {
    let at = pod.path.get(2).filter(|_| pod.path.get(1).is_some_and(|list| list == key))?;
    let items = list(pod.document.at(&["spec"])?, key);
    Some((at.clone(), *items.get(at.parse::<usize>().ok()?)?))
}

fn number_or_one(value: &Value, path: &[&str]) -> Option<u64> {
    match scalar(value, path) {
        Some(text) => text.parse().ok(),
        None => Some(1),
    }
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
