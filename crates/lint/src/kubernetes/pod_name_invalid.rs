//! Names in a pod that are refused, or that refer to nothing in it.

use std::collections::BTreeMap;

use serde_yaml::Value;

use crate::read::compose::below;
use crate::read::manifest::{Container, Document, Manifest, Pod, labels, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

use crate::schema::is_placeholder;

pub(crate) const RULE: Rule = Rule {
    id: "pod-name-invalid",
    severity: Severity::Error,
    summary: "names of containers, ports and variables are valid and unique",
    explain: include_str!("pod_name_invalid.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: Train_A}\nspec:\n  containers: [{name: a, \
                image: b}]\n",
        ),
        job!("", "      containers:\n        - {name: a, image: b}\n        - {name: a, image: c}\n"),
        job!(
            "",
            "      containers:\n        - name: a\n          image: b\n          env:\n            - \
                {name: X, value: \"1\"}\n            - {name: X, value: \"2\"}\n"
        ),
        job!(
            "",
            "      containers:\n        - name: a\n          image: b\n          env: [{name: \"A B\", \
                value: \"1\"}]\n"
        ),
        job!(
            "",
            "      containers:\n        - name: a\n          image: b\n          readinessProbe: \
                {httpGet: {port: web}}\n"
        ),
        job!(
            "",
            "      containers:\n        - name: a\n          image: b\n          ports: [{name: \
                a-very-long-port-name, containerPort: 80}]\n"
        ),
        job!(
            "",
            "      tolerations: [{key: nvidia.com/gpu, operator: Exists, value: present}]\n      \
                containers: [{name: a, image: b}]\n"
        ),
        named(
            "service.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  ports:\n    - port: 8000\n    - \
             port: \
             8001\n      name: metrics\n",
        ),
        named(
            "service.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterIP: none, ports: [{port: \
             80}]}\n",
        ),
        named(
            "service.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  ports: [{port: 80, nodePort: \
             30080}]\n",
        ),
        job!(
            "",
            "      containers:\n        - name: a\n          image: b\n          livenessProbe: \
             {successThreshold: 2, \
             httpGet: {port: 80}}\n"
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: \"my train \
             job\"}}\nspec:\n  containers: \
             [{name: a, image: b}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: {nvidia.com/gpu.product: \
             NVIDIA A100-SXM4-80GB}\n  containers: [{name: a, image: b}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
             \x20     env: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIp}}}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
             \x20     readinessProbe: {httpGet: {path: /health, port: \"8000\"}}\n",
        ),
    ],
    silent: &[
        // Names that somebody is to fill in.
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: stress-__INDEX__}\nspec:\n  \
             containers: [{name: MODEL_NAME-web, image: b}]\n",
        ),
        // A file of eksctl.
        named(
            "cluster.yaml",
            "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: Train, region: a}\n",
        ),
        named(
            "service.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n  ports: [{name: http, port: 80}, \
             {name: \
         metrics, port: 81}]\n---\napiVersion: v1\nkind: Service\nmetadata: {name: c}\nspec: {ports: [{port: \
         80}]}\n",
        ),
        job!(
            "",
            "      tolerations: [{key: nvidia.com/gpu, operator: Exists}]\n      containers:\n        - \
            name: a\n          image: b\n          ports: [{name: http, containerPort: 80}]\n          \
            readinessProbe: {httpGet: {port: http}}\n"
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let documents = file.documents.iter().filter_map(of_document);
    let services = file.documents.iter().filter(|one| one.kind == "Service" && one.api == "v1");
    let pods = file.pods();
    let of_services = services.flat_map(of_service);
    let labels = file.documents.iter().flat_map(of_labels).chain(pods.iter().flat_map(of_pod_labels));
    documents.chain(of_services).chain(pods.iter().flat_map(of_pod)).chain(labels).collect()
}

fn of_labels(document: &Document) -> Vec<Found> {
    let own = labels(document.at(&["metadata", "labels"]));
    let wrong = own.into_iter().filter(|(_, value)| !is_label_value(value));
    wrong
        .map(|(name, value)| wrong_label(document.line_of(&["metadata", "labels", &name]), &name, &value))
        .collect()
}

fn of_pod_labels(pod: &Pod) -> Vec<Found> {
    if pod.document.kind == "Pod" {
        return Vec::new();
    }
    let mut path = pod.path.clone();
    path.pop();
    path.extend(["metadata".to_owned(), "labels".to_owned()]);
    let wrong = pod.labels.iter().filter(|(_, value)| !is_label_value(value));
    wrong
        .map(|(name, value)| {
            let line = pod.document.line(&[path.as_slice(), std::slice::from_ref(name)].concat());
            wrong_label(line, name, value)
        })
        .collect()
}

fn wrong_label(line: usize, name: &str, value: &str) -> Found {
    let message = format!(
        "label {name} has the value {value:?}; at most 63 letters, digits, `-`, `_` and `.` are allowed, \
         with a \
         letter or digit at both ends"
    );
    Found::error(line, message, "Write an annotation for free text")
}

/// Whether a name has a part that somebody is to fill in: `web-__INDEX__`, `MODEL_NAME-web`.
pub(super) fn has_placeholder(name: &str) -> bool {
    let marked = name.match_indices("__").nth(1).is_some();
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let capitals = words.any(|word| {
        let word = word.trim_matches('_');
        word.contains('_')
            && word.bytes().filter(u8::is_ascii_uppercase).count() >= 3
            && !word.bytes().any(|byte| byte.is_ascii_lowercase())
    });
    marked || capitals || is_placeholder(name)
}

fn is_label_value(value: &str) -> bool {
    let alphanumeric = |letter: char| letter.is_ascii_alphanumeric();
    let fits =
        value.chars().all(|letter| alphanumeric(letter) || "-_.".contains(letter)) && value.len() <= 63;
    value.is_empty()
        || is_placeholder(value)
        || fits && value.starts_with(alphanumeric) && value.ends_with(alphanumeric)
}

/// Ports of a Service need names where there are several.
fn of_service(document: &Document) -> Vec<Found> {
    let ports = document.at(&["spec"]).map(|spec| list(spec, "ports")).unwrap_or_default();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    let of = |key: &str| scalar(&document.value, &["spec", key]).unwrap_or_default();
    if of("clusterIP").eq_ignore_ascii_case("none") && of("clusterIP") != "None" {
        let message = format!(
            "{}: clusterIP {} is no address; only `None` is headless",
            document.title(),
            of("clusterIP")
        );
        found.push(Found::error(
            document.line_of(&["spec", "clusterIP"]),
            message,
            "Write `clusterIP: None`",
        ));
    }
    let inner = matches!(of("type").as_str(), "" | "ClusterIP");
    for (index, port) in ports.iter().enumerate() {
        let Some(node) = scalar(port, &["nodePort"]).filter(|node| node != "0") else { continue };
        let line = document.line_of(&["spec", "ports", &index.to_string(), "nodePort"]);
        let number: Option<u32> = node.parse().ok();
        if inner {
            let message = format!("{}: nodePort {node} is not allowed with type ClusterIP", document.title());
            found.push(Found::error(line, message, "Set `type: NodePort`, or remove nodePort"));
        } else if number.is_some_and(|number| !(30_000..=32_767).contains(&number)) {
            let message = format!(
                "{}: nodePort {node} is outside of the range 30000-32767 that clusters have by default",
                document.title()
            );
            found.push(Found::warning(line, message, "Write a port of the range, or none"));
        }
    }
    for (index, port) in ports.iter().enumerate().filter(|_| ports.len() > 1) {
        let line = document.line_of(&["spec", "ports", &index.to_string()]);
        let Some(name) = scalar(port, &["name"]) else {
            let message = format!("{}: ports of a Service with several need a name", document.title());
            found.push(Found::error(line, message, "Add `name` to each port"));
            continue;
        };
        if let Some(first) = seen.insert(name.clone(), line) {
            let message = format!("two ports of the Service are named {name:?}, first in line {first}");
            found.push(Found::error(line, message, "Rename one of them"));
        }
    }
    found
}

/// The name of an object, as most kinds restrict it.
fn of_document(document: &Document) -> Option<Found> {
    let name = document.name.as_str();
    let valid =
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte))
            && !name.starts_with(['-', '.'])
            && !name.ends_with(['-', '.']);
    // Roles may have any name; eksctl reads its files itself.
    let own = ["rbac.", "eksctl.io/"].iter().any(|group| document.api.starts_with(group));
    if own || document.api.is_empty() || name.is_empty() || valid || has_placeholder(name) {
        return None;
    }
    let message = format!("name {name:?}: only lower-case letters, digits, `-` and `.` are allowed");
    let fix = format!("Write `{}`", name.to_ascii_lowercase().replace(['_', ' '], "-"));
    Some(Found::error(document.line_of(&["metadata", "name"]), message, fix))
}

fn of_pod(pod: &Pod) -> Vec<Found> {
    let containers = pod.containers();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for container in &containers {
        let line = container.line(&["name"]);
        if let Some(first) = seen.insert(&container.name, line).filter(|_| !container.name.is_empty()) {
            let message = format!("two containers are named {:?}, first in line {first}", container.name);
            found.push(Found::error(line, message, "Rename one of them"));
        }
        found.extend(label(&container.name, "container name", 63, line));
        found.extend(variables(container));
        found.extend(ports(container));
    }
    found.extend(tolerations(pod));
    found.extend(selected(pod));
    found
}

/// Values of nodeSelector that no node can have.
fn selected(pod: &Pod) -> Vec<Found> {
    let all = labels(below(pod.spec, &["nodeSelector"])).into_iter();
    let wrong = all.filter(|(name, value)| !is_label_value(value) && !has_placeholder(name));
    wrong
        .map(|(name, value)| {
            let message = format!(
                "nodeSelector {name} has the value {value:?}, which no label can have: at most 63 letters, \
                 digits, `-`, `_` and `.`; the API server refuses it"
            );
            let fix = match value.contains(' ') {
                true => format!("Write `{}`", value.trim().replace(' ', "-")),
                false => "Write the value of the label as the nodes have it".to_owned(),
            };
            Found::error(pod.line(&["nodeSelector", &name]), message, fix)
        })
        .collect()
}

/// A name that must be a label of DNS.
fn label(name: &str, what: &str, length: usize, line: usize) -> Option<Found> {
    let fits = name.len() <= length
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-');
    let message = format!(
        "{what} {name:?}: at most {length} lower-case letters, digits and `-` are \
        allowed"
    );
    (!fits && !has_placeholder(name)).then(|| Found::error(line, message, ""))
}

fn variables(container: &Container) -> Vec<Found> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (index, one) in list(container.value, "env").into_iter().enumerate() {
        let line = container.line(&["env", &index.to_string()]);
        let Some(name) = scalar(one, &["name"]) else { continue };
        let fix = "Write `- name: NAME` and `value: \"…\"`";
        if name.contains('=') {
            let message = format!("{name:?} is not a valid variable name");
            found.push(Found::error(line, message, fix));
        } else if name.contains(' ') {
            let message = format!("variable name {name:?} contains a space; older Kubernetes refuses it");
            found.push(Found::warning(line, message, fix));
        }
        if below(one, &["value"]).is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
            && below(one, &["valueFrom"]).is_some()
        {
            let message = format!("variable {name} has both value and valueFrom; only one is allowed");
            found.push(Found::error(line, message, "Keep one of them"));
        }
        if let Some(path) =
            scalar(one, &["valueFrom", "fieldRef", "fieldPath"]).filter(|path| !is_field(path))
        {
            let message = format!(
                "variable {name}: fieldPath {path} is none that the API server supports: {}",
                FIELD_PATHS.join(", ")
            );
            found.push(Found::error(line, message, "Write one of these, in this spelling"));
        }
        if let Some(first) = seen.insert(name.clone(), line) {
            let message = format!(
                "variable {name} is set twice, first in line {first}; which value counts depends on how the \
                 manifest is applied"
            );
            found.push(Found::warning(line, message, "Keep one of them"));
        }
    }
    found
}

/// What a variable may take from its pod (core/v1 EnvVarSource, fieldRef).
const FIELD_PATHS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

fn is_field(path: &str) -> bool {
    let keyed = ["metadata.labels[", "metadata.annotations["].iter().any(|start| path.starts_with(start));
    keyed || FIELD_PATHS.contains(&path) || path.contains(['$', '{'])
}

fn ports(container: &Container) -> Vec<Found> {
    let mut names = Vec::new();
    let mut found = Vec::new();
    for (index, one) in list(container.value, "ports").into_iter().enumerate() {
        let line = container.line(&["ports", &index.to_string()]);
        if let Some(name) = scalar(one, &["name"]) {
            found.extend(label(&name, "port name", 15, line));
            names.push(name);
        }
        let number = scalar(one, &["containerPort"]).and_then(|port| port.parse::<u64>().ok());
        if number.is_some_and(|port| port == 0 || port > 65_535) {
            found.push(Found::error(line, "containerPort must be between 1 and 65535", ""));
        }
    }
    for probe in ["readinessProbe", "livenessProbe", "startupProbe"] {
        let Some(value) = below(container.value, &[probe]).filter(|value| value.is_mapping()) else {
            continue;
        };
        let line = container.line(&[probe]);
        let handlers = ["httpGet", "tcpSocket", "exec", "grpc"];
        let set: Vec<&str> =
            handlers.into_iter().filter(|key| value.get(*key).is_some_and(|one| !one.is_null())).collect();
        let successes = scalar(value, &["successThreshold"]).filter(|count| count != "1");
        if let Some(count) = successes.filter(|_| probe != "readinessProbe") {
            let message =
                format!("{probe}.successThreshold is {count}, but must be 1; the API server refuses it");
            found.push(Found::error(line, message, "Remove successThreshold"));
        }
        if set.len() != 1 {
            let message = format!("{probe} must have exactly one of {}", handlers.join(", "));
            found.push(Found::error(line, message, ""));
        }
        found.extend(set.iter().filter_map(|handler| {
            let written = value.get(*handler).and_then(|one| one.get("port")).and_then(Value::as_str)?;
            let message = format!(
                "{probe}.{handler}.port is the text {written:?}: the API server takes a number, or a name \
                 with a letter"
            );
            let digits = !written.is_empty() && written.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| Found::error(line, message, format!("Write {written} without quotes")))
        }));
        found.extend(set.iter().filter_map(|handler| {
            let port = scalar(value, &[handler, "port"]).filter(|port| port.parse::<u32>().is_err())?;
            let message =
                format!("{probe} uses port {port:?}, which container {} does not name", container.name);
            (!names.contains(&port))
                .then(|| Found::error(line, message, "Add the name to `ports`, or write a number"))
        }));
    }
    found
}

fn tolerations(pod: &Pod) -> Vec<Found> {
    let items = list(pod.spec, "tolerations").into_iter().enumerate();
    let exists = |(index, one): (usize, &Value)| {
        let value = scalar(one, &["value"]).filter(|value| !value.is_empty())?;
        let message = format!("a toleration with operator Exists must have no value, but has {value:?}");
        let line = pod.line(&["tolerations", &index.to_string()]);
        (scalar(one, &["operator"]).as_deref() == Some("Exists"))
            .then(|| Found::error(line, message, "Remove the value"))
    };
    items.filter_map(exists).collect()
}
