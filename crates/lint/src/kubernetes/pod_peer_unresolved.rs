//! Names of other pods that cannot be resolved.

use crate::read::manifest::{Container, Document, Manifest, Pod, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "pod-peer-unresolved",
    severity: Severity::Warning,
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
    ],
    silent: &[named(
        "job.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: ddp}\nspec: {clusterIP: None, selector: \
            {job-name: \
             a}}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  template:\n    \
             spec:\n      \
             restartPolicy: Never\n      subdomain: ddp\n      hostNetwork: true\n      dnsPolicy: \
             ClusterFirstWithHostNet\n      containers:\n        - name: a\n          image: b\n\
             \x20         env: \
             [{name: MASTER_ADDR, value: a-0.ddp}]\n",
    )],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let services: Vec<&Document> = file.documents.iter().filter(|one| one.kind == "Service").collect();
    let pods = file.pods();
    pods.iter().flat_map(|pod| of_pod(pod, &services)).collect()
}

fn of_pod(pod: &Pod, services: &[&Document]) -> Vec<Found> {
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
        found.extend(
            addresses(container).iter().filter_map(|(line, host)| of_host(pod, *line, host, services)),
        );
    }
    found.dedup();
    found
}

/// Addresses in variables and options, with their lines.
fn addresses(container: &Container) -> Vec<(usize, String)> {
    let variables = container.environment().into_iter();
    let mut found: Vec<(usize, String)> = variables
        .filter(|(name, _)| name == "MASTER_ADDR" || name.ends_with("_HOST") || name.ends_with("_ADDR"))
        .map(|(_, value)| (container.line(&["env"]), value))
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

fn of_host(pod: &Pod, line: usize, host: &str, services: &[&Document]) -> Option<Found> {
    let labels: Vec<&str> = host.split('.').collect();
    let service = |name: &str| services.iter().find(|one| one.name == name);
    let own = labels.iter().take(2).find_map(|name| service(name));
    let host_network = scalar(pod.spec, &["hostNetwork"]).as_deref() == Some("true");
    let policy = scalar(pod.spec, &["dnsPolicy"]).unwrap_or_default();
    if own.is_some() && host_network && !matches!(policy.as_str(), "ClusterFirstWithHostNet" | "None") {
        let message = format!(
            "{host} is a name of the cluster, but with hostNetwork the pod uses the DNS of its \
                node"
        );
        return Some(Found::warning(
            pod.line(&["hostNetwork"]),
            message,
            "Set `dnsPolicy: ClusterFirstWithHostNet`",
        ));
    }
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

fn is_slip(known: &str, typed: &str) -> bool {
    known != typed && diagnostic::suggest::is_typo(typed, known)
}
