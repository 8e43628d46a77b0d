//! Names of other pods that cannot be resolved.

use crate::pod_names::unresolved;
use crate::read::manifest::{Container, Document, Manifest, Pod, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "pod-peer-unresolved",
    severity: Severity::Error,
    summary: "names of other pods and services resolve where they are used",
    explain: include_str!("pod_peer_unresolved.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "job.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: ddp}\nspec: {clusterIP: None, selector: \
                {job-name: \
             a}}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  template:\n    \
             spec:\n      \
             restartPolicy: Never\n      subdomain: dpp\n      containers: [{name: a, image: b}]\n",
        ),
        named(
            "job.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: ddp}\nspec: {clusterIP: None, selector: \
                {job-name: \
             a}}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  template:\n    \
             spec:\n      \
             restartPolicy: Never\n      hostNetwork: true\n      containers:\n        - name: a\n\
             \x20         image: \
             b\n          env: [{name: MASTER_ADDR, value: a-0.ddp}]\n",
        ),
        named(
            "set.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: nodes}\nspec: {selector: {a: b}, ports: \
                [{port: \
             29500}]}\n---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: node}\nspec:\n  \
             serviceName: \
             nodes\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    \
             spec:\n      \
             containers:\n        - name: a\n          image: b\n          env: [{name: MASTER_ADDR, \
             value: \
             node-0.nodes}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  hostNetwork: \
             true\n  containers:\n    - \
             name: a\n      image: b\n      env: [{name: MASTER_ADDR, value: \
             master.ml.svc.cluster.local}]\n",
        ),
        named(
            "ray.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: w}\nspec:\n  selector: {matchLabels: \
             {a: \
             b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      hostNetwork: true\n      \
             containers:\n        - name: a\n          image: b\n          command: [bash, -c, \"ray start \
             --address=ray-head.ray.svc.cluster.local:6379 --block\"]\n",
        ),
        named(
            "set.yaml",
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: trainer}\nspec:\n  serviceName: \
             trainer\n\
             \x20 selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    \
             spec:\n      \
             containers:\n        - name: a\n          image: b\n          args: [--master-addr, \
             trainer-0.trainer-hl.ml.svc.cluster.local]\n",
        ),
        named(
            "jobset.yaml",
            "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: moe}\nspec:\n  \
             replicatedJobs:\n    - name: trainer\n      replicas: 1\n      template:\n        spec:\n\
             \x20         completions: 4\n          parallelism: 4\n          template:\n            spec:\n\
             \x20             restartPolicy: Never\n              containers:\n                - name: a\n\
             \x20                 image: b\n                  env: [{name: MASTER_ADDR, value: \
             moe-trainer-0.moe}]\n",
        ),
        named(
            "jobset.yaml",
            "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: moe}\nspec:\n  network: \
             {subdomain: net}\n  replicatedJobs:\n    - name: trainer\n      template:\n        spec:\n\
             \x20         parallelism: 2\n          template:\n            spec:\n              \
             restartPolicy: Never\n              containers:\n                - name: a\n                  \
             image: b\n                  args: [--master-addr=moe-trainer-0-0.moe]\n",
        ),
        job!(
            "  completionMode: Indexed\n  completions: 2\n  parallelism: 2\n",
            "      containers:\n        - name: a\n          image: b\n          command: [torchrun, \
             --nnodes=2, --rdzv-endpoint=a-0.ddp:29400, train.py]\n"
        ),
        job!(
            "  completions: 2\n  parallelism: 2\n",
            "      subdomain: ddp\n      containers:\n        - name: a\n          image: b\n          \
             command: [torchrun, --nnodes=2, --rdzv-endpoint=a-0.ddp:29400, train.py]\n"
        ),
        named(
            "set.yaml",
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: node}\nspec:\n  serviceName: nodes\n\
             \x20 replicas: 2\n  podManagementPolicy: Parallel\n  selector: {matchLabels: {a: b}}\n  \
             template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n        - name: a\n\
             \x20         image: b\n          env: [{name: MASTER_ADDR, value: node-0}]\n",
        ),
    ],
    silent: &[
        named(
            "set.yaml",
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: trainer}\nspec:\n  serviceName: \
             trainer\n\
             \x20 selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    \
             spec:\n      \
             containers:\n        - name: a\n          image: b\n          args: [--master-addr, \
             trainer-0.trainer.ml.svc, --metrics-host=trainer-0.example.com]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  hostNetwork: true\n  \
             containers:\n    - \
             name: a\n      image: b\n      env: [{name: NO_PROXY, value: \".svc,a.b.svc\"}]\n",
        ),
        named(
            "jobset.yaml",
            "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: moe}\nspec:\n  network: \
             {subdomain: net}\n  replicatedJobs:\n    - name: trainer\n      template:\n        spec:\n\
             \x20         parallelism: 2\n          template:\n            spec:\n              \
             restartPolicy: Never\n              containers:\n                - name: a\n                  \
             image: b\n                  env: [{name: MASTER_ADDR, value: moe-trainer-0-0.net}, {name: \
             OTHER_HOST, value: moe-trainer.example.com}]\n",
        ),
        job!(
            "  completionMode: Indexed\n  completions: 2\n  parallelism: 2\n",
            "      subdomain: ddp\n      containers:\n        - name: a\n          image: b\n          \
             command: [torchrun, --nnodes=2, --rdzv-endpoint=a-0.ddp:29400, train.py]\n"
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  hostNetwork: \
             true\n  containers:\n    - \
             name: a\n      image: b\n      env: [{name: API_URL, value: \"https://example.com/v1\"}, \
             {name: \
             MASTER_ADDR, value: 10.0.0.1}]\n",
        ),
        named(
            "job.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: ddp}\nspec: {clusterIP: None, selector: \
            {job-name: \
             a}}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  completionMode: \
             Indexed\n  completions: 2\n  parallelism: 2\n  template:\n    \
             spec:\n      \
             restartPolicy: Never\n      subdomain: ddp\n      hostNetwork: true\n      dnsPolicy: \
             ClusterFirstWithHostNet\n      containers:\n        - name: a\n          image: b\n\
             \x20         env: \
             [{name: MASTER_ADDR, value: a-0.ddp}]\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let of_kind = |one: &&Document| one.kind == "Service";
    let services: Vec<&Document> = file.documents.iter().filter(of_kind).collect();
    let others: Vec<&str> = file.others.iter().filter(of_kind).map(|one| one.name.as_str()).collect();
    let pods = file.pods();
    pods.iter().flat_map(|pod| of_pod(pod, &services, &others)).collect()
}

fn of_pod(pod: &Pod, services: &[&Document], others: &[&str]) -> Vec<Found> {
    let mut found = Vec::new();
    let known = |name: &str| services.iter().find(|one| one.name == name);
    let group = match pod.document.kind.as_str() {
        "StatefulSet" => scalar(&pod.document.value, &["spec", "serviceName"])
            .map(|name| (name, pod.document.line_of(&["spec", "serviceName"]), "serviceName")),
        _ => scalar(pod.spec, &["subdomain"]).map(|name| (name, pod.line(&["subdomain"]), "subdomain")),
    };
    if let Some((name, line, key)) =
        group.filter(|(name, _, _)| known(name).is_none() && !services.is_empty())
    {
        let names: Vec<&str> = services.iter().map(|one| one.name.as_str()).collect();
        let message = format!("{key} is {name}, but the services of this file are {}", names.join(", "));
        found.push(Found::warning(line, message, "Name the headless service of the pods"));
    }
    let containers = pod.containers();
    for container in &containers {
        found.extend(addresses(container).iter().filter_map(|(line, host)| {
            without_cluster_dns(pod, host, services, others)
                .or_else(|| of_host(*line, host, services))
                .or_else(|| of_name(pod, *line, host, services, others))
        }));
        let named = names_of_cluster(container).into_iter();
        found.extend(named.filter_map(|host| without_cluster_dns(pod, &host, services, others)).take(1));
    }
    found.dedup();
    let dns = pod.line(&["hostNetwork"]);
    let mut known = false;
    found.retain(|one| one.line != dns || !std::mem::replace(&mut known, true));
    found
}

/// Full names of services in any variable or word: `head.ray.svc`, `head.ray.svc.cluster.local`.
fn names_of_cluster(container: &Container) -> Vec<String> {
    let values = container.environment().into_iter();
    let values = values.filter(|(name, _)| !name.eq_ignore_ascii_case("no_proxy")).map(|(_, value)| value);
    let mut found: Vec<String> = Vec::new();
    for text in values.chain(container.words()) {
        let names = text.split(|letter: char| !letter.is_ascii_alphanumeric() && !".-$_".contains(letter));
        let names = names.map(|name| name.trim_end_matches('.')).filter(|name| {
            let full = name.ends_with(".svc") || name.ends_with(".svc.cluster.local");
            full && !name.starts_with('.') && !name.contains('$')
        });
        found.extend(names.map(str::to_owned));
    }
    found
}

/// Addresses in variables and options, with their lines.
fn addresses(container: &Container) -> Vec<(usize, String)> {
    let variables = list(container.value, "env").into_iter().enumerate();
    let mut found: Vec<(usize, String)> = variables
        .filter_map(|(at, one)| {
            let (name, value) = (scalar(one, &["name"])?, scalar(one, &["value"])?);
            let bare = name == "MASTER_ADDR" || name.ends_with("_HOST") || name.ends_with("_ADDR");
            let address = match value.split_once("://") {
                Some((_, rest)) => rest.split(['/', '?']).next()?.rsplit('@').next()?.to_owned(),
                None => value.clone(),
            };
            (bare || address.len() < value.len())
                .then(|| (container.line(&["env", &at.to_string(), "value"]), address))
        })
        .collect();
    let words = container.words();
    for (at, word) in words.iter().enumerate() {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (word.as_str(), words.get(at + 1).cloned()),
        };
        let known =
            ["--master_addr", "--master-addr", "--rdzv_endpoint", "--rdzv-endpoint"].contains(&option);
        let line = container.line(&["command"]);
        found.extend(value.filter(|_| known).map(|value| (line, value)));
    }
    let host =
        |value: String| value.trim_matches(['"', '\'']).split(':').next().unwrap_or_default().to_owned();
    found
        .into_iter()
        .map(|(line, value)| (line, host(value)))
        .filter(|(_, host)| !host.contains('$'))
        .collect()
}

/// A name of the cluster in a pod that uses the DNS of its node.
fn without_cluster_dns(pod: &Pod, host: &str, services: &[&Document], others: &[&str]) -> Option<Found> {
    let labels: Vec<&str> = host.split('.').collect();
    let known = |name: &&str| services.iter().any(|one| one.name == *name) || others.contains(name);
    let of_cluster = host.ends_with(".svc") || host.ends_with(".svc.cluster.local");
    let host_network = scalar(pod.spec, &["hostNetwork"]).as_deref() == Some("true");
    let policy = scalar(pod.spec, &["dnsPolicy"]).unwrap_or_default();
    let own_dns = matches!(policy.as_str(), "ClusterFirstWithHostNet" | "None");
    if !host_network || own_dns || !(of_cluster || labels.iter().take(2).any(known)) {
        return None;
    }
    let message =
        format!("{host} is a name of the cluster, but with hostNetwork the pod uses the DNS of its node");
    Some(Found::warning(pod.line(&["hostNetwork"]), message, "Set `dnsPolicy: ClusterFirstWithHostNet`"))
}

fn of_host(line: usize, host: &str, services: &[&Document]) -> Option<Found> {
    let labels: Vec<&str> = host.split('.').collect();
    let service = |name: &str| services.iter().find(|one| one.name == name);
    // `POD.SERVICE` is a name of headless services only.
    let (first, second) = (labels.first()?, labels.get(1)?);
    if let Some(named) = service(second) {
        let headless = scalar(&named.value, &["spec", "clusterIP"]).as_deref() == Some("None");
        let message = format!(
            "{host} names one pod behind service {second}, which is not headless; it does not resolve"
        );
        let of_pods = service(first).is_none();
        return (of_pods && !headless).then(|| {
            Found::warning(named.line_of(&["spec"]), message, "Set `clusterIP: None` in the service")
        });
    }
    let near = services.iter().find(|one| is_slip(&one.name, second))?;
    let message = format!("{host}: this file has no service {second}, but {}", near.name);
    Some(Found::warning(line, message, format!("Write `{first}.{}`", near.name)))
}

/// A name that only looks like one of the pods of this namespace.
fn of_name(pod: &Pod, line: usize, host: &str, services: &[&Document], others: &[&str]) -> Option<Found> {
    let is_service = |name: &str| services.iter().any(|one| one.name == name) || others.contains(&name);
    let wrong = unresolved(pod.document, host, &is_service)?;
    Some(Found::error(line, wrong.message, wrong.fix).unless_certain(wrong.certain))
}

fn is_slip(known: &str, typed: &str) -> bool {
    known != typed && diagnostic::suggest::is_typo(typed, known)
}
