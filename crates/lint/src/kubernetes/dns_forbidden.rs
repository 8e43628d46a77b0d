//! A NetworkPolicy that leaves pods no DNS.

use serde_yaml::Value;

use crate::read::compose::below;
use crate::read::manifest::{Document, Manifest, Pod, labels, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "dns-forbidden",
    severity: Severity::Warning,
    summary: "pods that use names may reach the cluster's DNS",
    explain: include_str!("dns_forbidden.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "train.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: fold}\nspec: {clusterIP: None, selector: {app: \
             fold}, ports: [{port: 29400}]}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: \
             fold}\nspec:\n  \
             completionMode: Indexed\n  completions: 2\n  parallelism: 2\n  template:\n    metadata: \
             {labels: \
             {app: fold}}\n    spec:\n      subdomain: fold\n      restartPolicy: Never\n      \
             containers:\n        \
             - name: a\n          image: b\n          command: [torchrun, --nnodes=2, \
             --node_rank=$(JOB_COMPLETION_INDEX), --master_addr=fold-0.fold, t.py]\n---\napiVersion: \
             networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: only-us}\nspec:\n  podSelector: \
             {matchLabels: {app: fold}}\n  policyTypes: [Ingress, Egress]\n  ingress: [{from: [{podSelector: \
             {matchLabels: {app: fold}}}]}]\n  egress: [{to: [{podSelector: {matchLabels: {app: fold}}}]}]\n",
        ),
        named(
            "web.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: llm}\nspec: {selector: {app: llm}, ports: \
             [{port: \
             8000}]}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {app: web}}\nspec:\n  \
             containers: [{name: web, image: b, env: [{name: URL, value: \"http://llm:8000/v1\"}]}]\n---\n\
             apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: p}\nspec:\n  \
             podSelector: {}\n  \
             egress: [{to: [{podSelector: {matchLabels: {app: llm}}}], ports: [{port: 8000}]}]\n",
        ),
    ],
    silent: &[
        named(
            "web.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: llm}\nspec: {selector: {app: llm}, ports: \
             [{port: \
             8000}]}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {app: web}}\nspec:\n  \
             containers: [{name: web, image: b, env: [{name: URL, value: \"http://llm:8000/v1\"}]}]\n---\n\
             apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: p}\nspec:\n  \
             podSelector: {}\n  \
             egress: [{to: [{podSelector: {matchLabels: {app: llm}}}], ports: [{port: 8000}]}, {ports: \
             [{port: \
             53, protocol: UDP}]}]\n",
        ),
        named(
            "web.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: llm}\nspec: {selector: {app: llm}, ports: \
             [{port: \
             8000}]}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {app: web}}\nspec:\n  \
             containers: [{name: web, image: b, env: [{name: URL, value: \"http://llm:8000/v1\"}]}]\n---\n\
             apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: p}\nspec:\n  \
             podSelector: {}\n  \
             policyTypes: [Ingress]\n  ingress: [{from: [{podSelector: {matchLabels: {app: llm}}}]}]\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let policies = file.documents.iter().filter(|one| one.kind == "NetworkPolicy");
    policies.filter_map(|policy| forbids(file, policy)).collect()
}

fn forbids(file: &Manifest, policy: &Document) -> Option<Found> {
    let spec = policy.at(&["spec"])?;
    let types: Vec<String> =
        list(spec, "policyTypes").into_iter().filter_map(crate::read::compose::text).collect();
    let rules = list(spec, "egress");
    // Without policyTypes rules for egress make it one for egress.
    let egress = types.iter().any(|one| one == "Egress") || types.is_empty() && !rules.is_empty();
    let near = || file.documents.iter().chain(&file.others);
    let other = near().any(|one| one.kind == "NetworkPolicy" && !std::ptr::eq(one, policy));
    if !egress || other || rules.iter().any(|rule| allows_dns(rule)) {
        return None;
    }
    let namespace = |one: &Document| scalar(&one.value, &["metadata", "namespace"]);
    let selector = labels(below(spec, &["podSelector", "matchLabels"]));
    if below(spec, &["podSelector", "matchExpressions"]).is_some() {
        return None;
    }
    let services: Vec<&str> =
        near().filter(|one| one.kind == "Service").map(|one| one.name.as_str()).collect();
    let pods: Vec<Pod> =
        near().filter(|one| namespace(one) == namespace(policy)).flat_map(Document::pods).collect();
    let (pod, name) = pods.iter().find_map(|pod| {
        let selected = selector.iter().all(|label| pod.labels.contains(label));
        let name = services.iter().find(|name| selected && uses(pod, name))?;
        Some((pod, *name))
    })?;
    let message = format!(
        "the policy allows {} no DNS (port 53), and its pods use the name {name}, which does not resolve; \
         another policy may allow it",
        pod.document.title()
    );
    let fix = "Add the egress rule `{ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}`";
    Some(Found::warning(policy.line_of(&["spec", "egress"]), message, fix))
}

/// Whether a rule lets pods ask the DNS: to anywhere, on all ports or port 53.
fn allows_dns(rule: &Value) -> bool {
    let ports = list(rule, "ports");
    let to = list(rule, "to");
    let on_port = ports.is_empty()
        || ports.iter().any(|port| {
            let text = scalar(port, &["port"]).unwrap_or_default();
            let named = text.parse::<u32>().is_err();
            let end: u32 = scalar(port, &["endPort"]).and_then(|end| end.parse().ok()).unwrap_or(0);
            text == "53" || named || text.parse::<u32>().is_ok_and(|first| first <= 53 && end >= 53)
        });
    let anywhere = to.is_empty()
        || to
            .iter()
            .any(|one| below(one, &["namespaceSelector"]).is_some() || below(one, &["ipBlock"]).is_some());
    on_port && anywhere
}

/// Whether the command or a variable of a pod has the name of a service as a host.
fn uses(pod: &Pod, name: &str) -> bool {
    let is_host = |text: &str| {
        text.match_indices(name).any(|(at, _)| {
            let before = &text[..at];
            let behind = &text[at + name.len()..];
            let starts = before.ends_with(['/', '=', '.', '@', ',']) || before.is_empty();
            let ends = behind.starts_with([':', '.', '/', ',']) || behind.is_empty();
            starts && ends
        })
    };
    let is_path = |text: &str| text.starts_with('/') || text.starts_with('.');
    pod.containers().iter().any(|one| {
        let words = one.words();
        let of_words = words.iter().any(|word| {
            let address = word.contains("://")
                || word.contains("addr")
                || word.contains("endpoint")
                || word.contains("host");
            address && !is_path(word) && is_host(word)
        });
        of_words
            || one
                .environment()
                .iter()
                .any(|(_, value)| value.contains(':') && !is_path(value) && is_host(value))
    })
}
