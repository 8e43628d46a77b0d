//! Values that the API server or the kubelet refuses.

use serde_yaml::Value;

use crate::read::compose::{below, text};
use crate::read::manifest::{Document, Manifest, Pod, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "manifest-value-refused",
    severity: Severity::Error,
    summary: "values are in their ranges and go together",
    explain: include_str!("manifest_value_refused.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "a.yaml",
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  backoffLimit: -1\n  \
             template:\n    spec:\n      restartPolicy: Never\n      containers: [{name: a, image: b}]\n",
        ),
        named(
            "a.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  affinity:\n    nodeAffinity:\n      \
             requiredDuringSchedulingIgnoredDuringExecution:\n        nodeSelectorTerms:\n          - \
             matchExpressions:\n              - {key: gpu.memory, operator: Gt, values: [\"40Gi\"]}\n  \
             containers: [{name: a, image: b}]\n",
        ),
        named(
            "a.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  affinity:\n    nodeAffinity:\n      \
             preferredDuringSchedulingIgnoredDuringExecution:\n        - weight: 1\n          \
             preference:\n            matchExpressions:\n              - {key: gpu, operator: Exists, \
             values: [\"true\"]}\n  containers: [{name: a, image: b}]\n",
        ),
        named(
            "a.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  strategy:\n    type: \
             Recreate\n    rollingUpdate: {maxSurge: 1}\n  selector: {matchLabels: {a: b}}\n  \
             template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers: [{name: a, image: b}]\n",
        ),
        named(
            "a.yaml",
            "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec:\n  \
             scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}\n  minReplicas: 4\n  \
             maxReplicas: 2\n",
        ),
        named(
            "a.yaml",
            "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec:\n  minAvailable: \
             1\n  maxUnavailable: 1\n  selector: {matchLabels: {a: b}}\n",
        ),
        named(
            "a.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  volumes: [{name: ib, hostPath: \
             {path: /dev/infiniband, type: File}}]\n  containers: [{name: a, image: b, volumeMounts: \
             [{name: ib, mountPath: /dev/infiniband}]}]\n",
        ),
        named(
            "a.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      securityContext: {capabilities: {add: [CAP_IPC_LOCK]}}\n",
        ),
        named(
            "a.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  strategy: {rollingUpdate: \
             {maxSurge: 0, maxUnavailable: 0}}\n  selector: {matchLabels: {a: \
             b}}\n  template:\n    metadata: \
             {labels: {a: b}}\n    spec: {containers: [{name: a, image: b}]}\n",
        ),
        named(
            "a.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  volumes: [{name: d, hostPath: {path: \
             /data, type: directory}}]\n  containers: [{name: a, image: b, volumeMounts: [{name: d, \
             mountPath: \
             /data}]}]\n",
        ),
        named(
            "a.yaml",
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec:\n  rules:\n    - \
             http:\n\
             \x20       paths:\n          - path: /\n            backend: {service: {name: v, port: {number: \
             80}}}\n",
        ),
        named(
            "a.yaml",
            "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: a}\nvalue: 2000000000\n",
        ),
    ],
    silent: &[
        named(
            "a.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  affinity:\n    nodeAffinity:\n      \
             requiredDuringSchedulingIgnoredDuringExecution:\n        nodeSelectorTerms:\n          - \
             matchExpressions:\n              - {key: gpu.memory, operator: Gt, values: \
             [\"40000\"]}\n              - {key: gpu, operator: Exists}\n              - {key: zone, \
             operator: In, values: [a, b]}\n  volumes: [{name: ib, hostPath: {path: /dev/infiniband, type: \
             Directory}}]\n  containers: [{name: a, image: b, securityContext: {capabilities: {add: \
             [IPC_LOCK]}}, volumeMounts: [{name: ib, mountPath: /dev/infiniband}]}]\n",
        ),
        named(
            "a.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: 0\n  strategy: \
             {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}\n  selector: {matchLabels: {a: b}}\n  \
             template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers: [{name: a, image: b}]\n",
        ),
        named(
            "a.yaml",
            "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec:\n  \
             scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}\n  minReplicas: 2\n  \
             maxReplicas: 2\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let documents = file.documents.iter().flat_map(of_document);
    let mut found: Vec<Found> = documents.collect();
    for pod in file.pods() {
        found.extend(requirements(&pod));
        found.extend(pod.volumes().iter().filter_map(|(at, _, volume)| host_path(&pod, *at, volume)));
        found.extend(capabilities(&pod));
    }
    found
}

/// Counts that may not be negative, by kinds.
const COUNTS: &[(&str, &[&str])] = &[
    (
        "Job",
        &["backoffLimit", "completions", "parallelism", "ttlSecondsAfterFinished", "activeDeadlineSeconds"],
    ),
    ("Deployment", &["replicas", "minReadySeconds", "revisionHistoryLimit"]),
    ("StatefulSet", &["replicas", "minReadySeconds"]),
    ("ReplicaSet", &["replicas"]),
];

fn of_document(document: &Document) -> Vec<Found> {
    let number = |key: &str| scalar(&document.value, &["spec", key])?.parse::<i64>().ok();
    let line = |key: &str| document.line_of(&["spec", key]);
    let counts = COUNTS.iter().filter(|(kind, _)| *kind == document.kind).flat_map(|(_, keys)| *keys);
    let negative = counts.filter_map(|key| {
        let value = number(key).filter(|value| *value < 0)?;
        let message = format!("{key} is {value}; the API server takes no negative number");
        Some(Found::error(line(key), message, "Write 0 or more, or remove the key"))
    });
    let mut found: Vec<Found> = negative.collect();
    let has = |path: &[&str]| document.at(path).is_some();
    match document.kind.as_str() {
        "Deployment" => {
            let kind = scalar(&document.value, &["spec", "strategy", "type"]);
            if kind.as_deref() == Some("Recreate") && has(&["spec", "strategy", "rollingUpdate"]) {
                let message = "strategy has rollingUpdate, which the API server forbids with type Recreate";
                let line = document.line_of(&["spec", "strategy", "rollingUpdate"]);
                found.push(Found::error(line, message, "Remove rollingUpdate"));
            }
            let zero = |key: &str| {
                let value = scalar(&document.value, &["spec", "strategy", "rollingUpdate", key]);
                value.is_some_and(|value| matches!(value.as_str(), "0" | "0%"))
            };
            if zero("maxSurge") && zero("maxUnavailable") {
                let message = "maxSurge and maxUnavailable are both 0: no pod may be added and none \
                 removed; the API \
                     server refuses it";
                let line = document.line_of(&["spec", "strategy", "rollingUpdate", "maxUnavailable"]);
                found.push(Found::error(line, message, "Set one of them to 1 or more"));
            }
        }
        "HorizontalPodAutoscaler" => {
            let (least, most) = (number("minReplicas"), number("maxReplicas"));
            if let (Some(least), Some(most)) = (least, most)
                && least > most
            {
                let message =
                    format!("minReplicas is {least}, but maxReplicas {most}; the API server refuses it");
                found.push(Found::error(
                    line("minReplicas"),
                    message,
                    "Set maxReplicas to minReplicas or more",
                ));
            }
        }
        "PriorityClass" => {
            let value = scalar(&document.value, &["value"]).and_then(|value| value.parse::<i64>().ok());
            let own = document.name.starts_with("system-");
            if let Some(value) = value.filter(|value| *value > PRIORITY_MAX && !own) {
                let message = format!(
                    "value {value} is above {PRIORITY_MAX}, the highest for classes that the system does not \
                     reserve; the API server refuses it"
                );
                found.push(Found::error(document.line_of(&["value"]), message, "Write a smaller number"));
            }
        }
        "Ingress" if document.api == "networking.k8s.io/v1" => found.extend(paths(document)),
        "PodDisruptionBudget" if has(&["spec", "minAvailable"]) && has(&["spec", "maxUnavailable"]) => {
            let message = "minAvailable and maxUnavailable exclude each other; the API server refuses both";
            found.push(Found::error(line("maxUnavailable"), message, "Remove one of them"));
        }
        _ => {}
    }
    found
}

/// The highest priority that is not reserved (kubernetes: pkg/apis/scheduling/types.go,
/// HighestUserDefinablePriority).
const PRIORITY_MAX: i64 = 1_000_000_000;

/// Paths of an Ingress without a type.
fn paths(document: &Document) -> Vec<Found> {
    let rules = document.at(&["spec"]).map_or_else(Vec::new, |spec| list(spec, "rules"));
    let mut found = Vec::new();
    for (rule, one) in rules.into_iter().enumerate() {
        let paths = below(one, &["http"]).map_or_else(Vec::new, |http| list(http, "paths"));
        for (at, path) in paths.into_iter().enumerate() {
            if below(path, &["pathType"]).is_none() {
                let place = ["spec", "rules", &rule.to_string(), "http", "paths", &at.to_string()];
                let message = "the path has no `pathType`, which is required; the API server refuses it";
                found.push(Found::error(document.line_of(&place), message, "Add `pathType: Prefix`"));
            }
        }
    }
    found
}

/// What nodes are asked for.
fn requirements(pod: &Pod) -> Vec<Found> {
    const AFFINITY: &[&str] = &["affinity", "nodeAffinity"];
    let (hard, soft) =
        ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution");
    let mut terms: Vec<(Vec<String>, &Value)> = Vec::new();
    let Some(affinity) = below(pod.spec, AFFINITY) else { return Vec::new() };
    if let Some(hard_terms) = below(affinity, &[hard]) {
        let all = list(hard_terms, "nodeSelectorTerms").into_iter().enumerate();
        let path = |at: usize| vec![hard.to_owned(), "nodeSelectorTerms".to_owned(), at.to_string()];
        terms.extend(all.map(|(at, term)| (path(at), term)));
    }
    for (at, one) in list(affinity, soft).into_iter().enumerate() {
        let path = vec![soft.to_owned(), at.to_string(), "preference".to_owned()];
        terms.extend(below(one, &["preference"]).map(|term| (path, term)));
    }
    let mut found = Vec::new();
    for (path, term) in terms {
        for (at, one) in list(term, "matchExpressions").into_iter().enumerate() {
            let Some((message, fix)) = requirement(one) else { continue };
            let inner = ["matchExpressions".to_owned(), at.to_string()];
            let whole: Vec<&str> =
                AFFINITY.iter().copied().chain(path.iter().chain(&inner).map(String::as_str)).collect();
            found.push(Found::error(pod.line(&whole), message, fix));
        }
    }
    found
}

/// core/v1 NodeSelectorRequirement: In and NotIn need values, Exists and DoesNotExist take none, Gt and Lt
/// take one integer.
fn requirement(one: &Value) -> Option<(String, &'static str)> {
    let (key, operator) = (scalar(one, &["key"])?, scalar(one, &["operator"])?);
    let values: Vec<String> = list(one, "values").into_iter().filter_map(text).collect();
    let refused = "the API server refuses it";
    match operator.as_str() {
        "In" | "NotIn" if values.is_empty() => {
            Some((format!("{key}: operator {operator} has no values; {refused}"), "Add `values`"))
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => Some((
            format!("{key}: operator {operator} has values; {refused}"),
            "Remove `values`, or use `operator: In`",
        )),
        "Gt" | "Lt" => {
            let value = values.first().filter(|_| values.len() == 1);
            let wrong = value.is_none_or(|value| value.parse::<i64>().is_err() && !value.contains('$'));
            let shown = values.join(", ");
            let message = format!(
                "{key}: operator {operator} takes one integer, not `{shown}`; no node fits, and the pod \
                 stays \
                 Pending"
            );
            wrong.then_some((message, "Write a number without unit, as the label of the nodes has it"))
        }
        _ => None,
    }
}

/// Paths whose type is the same on every node.
const HOST_PATHS: &[(&str, &str)] = &[
    ("/dev/infiniband", "Directory"),
    ("/dev/shm", "Directory"),
    ("/dev/nvidia0", "CharDevice"),
    ("/dev/nvidiactl", "CharDevice"),
    ("/dev/fuse", "CharDevice"),
    ("/var/run/docker.sock", "Socket"),
    ("/run/containerd/containerd.sock", "Socket"),
    ("/sys", "Directory"),
    ("/proc", "Directory"),
    ("/dev", "Directory"),
];

/// The types of host paths (core/v1 HostPathType).
const HOST_PATH_TYPES: &[&str] =
    &["DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"];

fn host_path(pod: &Pod, at: usize, volume: &Value) -> Option<Found> {
    let path = scalar(volume, &["hostPath", "path"])?;
    let given = scalar(volume, &["hostPath", "type"]).filter(|given| !given.is_empty())?;
    if !HOST_PATH_TYPES.contains(&given.as_str()) && !given.contains(['$', '{']) {
        let line = pod.line(&["volumes", &at.to_string(), "hostPath", "type"]);
        let all = HOST_PATH_TYPES.join(", ");
        let message = format!("hostPath.type: unsupported value {given:?}; supported values: {all}");
        return Some(Found::error(line, message, "Write one of these, in this spelling"));
    }
    let (_, kind) = HOST_PATHS.iter().find(|(known, _)| *known == path.trim_end_matches('/'))?;
    let fits = given == *kind || given == format!("{kind}OrCreate");
    let message = format!(
        "hostPath {path} is a {kind}, not a {given}; the pod does not start (`hostPath type check failed`)"
    );
    let line = pod.line(&["volumes", &at.to_string(), "hostPath", "type"]);
    (!fits).then(|| Found::error(line, message, format!("Write `type: {kind}`")))
}

/// Capabilities with the prefix that Kubernetes leaves out.
fn capabilities(pod: &Pod) -> Vec<Found> {
    let of = |container: &crate::read::manifest::Container| {
        const PATH: &[&str] = &["securityContext", "capabilities"];
        let added = below(container.value, PATH).map_or_else(Vec::new, |all| list(all, "add"));
        let name = added.into_iter().filter_map(text).find(|name| name.starts_with("CAP_"))?;
        let message =
            format!("the capability {name} is written without CAP_ in Kubernetes; runtimes refuse it");
        let line = container.line(&["securityContext", "capabilities", "add"]);
        Some(Found::warning(line, message, format!("Write `{}`", name.trim_start_matches("CAP_"))))
    };
    pod.containers().iter().filter_map(of).collect()
}
