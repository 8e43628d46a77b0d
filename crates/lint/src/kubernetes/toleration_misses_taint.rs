//! A toleration for a taint of the cluster that does not tolerate it.

use serde_yaml::Value;

use crate::read::compose::{below, text};
use crate::read::manifest::{Document, Manifest, Pod, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named_with};

const NODES: &str = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: a, region: b}\n\
    managedNodeGroups:\n  - name: gpu\n    instanceType: g5.2xlarge\n    taints:\n      - {key: \
    nvidia.com/gpu, \
    value: present, effect: NoSchedule}\n";
const POOL: &str = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: \
 a}\nspec:\n  template:\n    \
    spec:\n      taints: [{key: gpu, value: \"true\", effect: NoExecute}]\n";

pub(crate) const RULE: Rule = Rule {
    id: "toleration-misses-taint",
    severity: Severity::Warning,
    summary: "tolerations have the value and the effect of the taint that they are for",
    explain: include_str!("toleration_misses_taint.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named_with(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  tolerations:\n    - {key: \
             nvidia.com/gpu, \
             operator: Equal, value: \"true\", effect: NoSchedule}\n  containers: [{name: a, image: b}]\n",
            &[("eksctl.yaml", NODES)],
        ),
        named_with(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  tolerations:\n    - {key: gpu, \
             operator: \
             Exists, effect: NoSchedule}\n  containers: [{name: a, image: b}]\n",
            &[("pool.yaml", POOL)],
        ),
    ],
    silent: &[
        named_with(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  tolerations:\n    - {key: \
             nvidia.com/gpu, \
             operator: Exists}\n    - {key: gpu, value: \"true\"}\n  containers: [{name: a, image: b}]\n",
            &[("eksctl.yaml", NODES), ("pool.yaml", POOL)],
        ),
        named_with(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  tolerations:\n    - {key: other, \
             value: x}\n\
             \x20   - {key: gpu, value: x}\n    - {operator: Exists}\n  containers: [{name: a, image: \
             b}]\n",
            &[("pool.yaml", POOL)],
        ),
    ],
};

/// A taint of nodes, and the file and group that show it.
struct Taint {
    key: String,
    value: String,
    effect: String,
    of: String,
}

impl Taint {
    fn keeps_pods_away(&self) -> bool {
        matches!(self.effect.as_str(), "NoSchedule" | "NoExecute")
    }
}

fn judge(file: &Manifest) -> Vec<Found> {
    let documents = file.documents.iter().chain(&file.others);
    let taints: Vec<Taint> = documents.flat_map(taints).collect();
    file.pods().iter().flat_map(|pod| faults(pod, &taints)).collect()
}

/// The taints that a document gives to nodes.
fn taints(document: &Document) -> Vec<Taint> {
    let groups: Vec<(&Value, String)> = match document.kind.as_str() {
        "ClusterConfig" => ["managedNodeGroups", "nodeGroups"]
            .iter()
            .flat_map(|key| list(&document.value, key))
            .map(|group| (group, format!("node group {}", scalar(group, &["name"]).unwrap_or_default())))
            .collect(),
        "NodePool" | "Provisioner" => [&["spec", "template", "spec"][..], &["spec"]]
            .iter()
            .filter_map(|path| Some((document.at(path)?, document.title())))
            .collect(),
        "Node" => document.at(&["spec"]).map(|spec| (spec, document.title())).into_iter().collect(),
        _ => Vec::new(),
    };
    groups.iter().flat_map(|(group, of)| of_group(group, of)).collect()
}

fn of_group(group: &Value, of: &str) -> Vec<Taint> {
    // eksctl also takes a mapping: `key: value:effect`.
    if let Some(map) = below(group, &["taints"]).and_then(Value::as_mapping) {
        let one = |(key, value): (&Value, &Value)| {
            let value = text(value)?;
            let (value, effect) = value.split_once(':')?;
            let (value, effect) = (value.to_owned(), effect.to_owned());
            Some(Taint { key: text(key)?, value, effect, of: of.to_owned() })
        };
        return map.iter().filter_map(one).filter(Taint::keeps_pods_away).collect();
    }
    let one = |taint: &Value| {
        let part = |key| scalar(taint, &[key]);
        let value = part("value").unwrap_or_default();
        Some(Taint { key: part("key")?, value, effect: part("effect")?, of: of.to_owned() })
    };
    list(group, "taints").into_iter().filter_map(one).filter(Taint::keeps_pods_away).collect()
}

fn faults(pod: &Pod, taints: &[Taint]) -> Vec<Found> {
    let tolerations = list(pod.spec, "tolerations");
    let tolerates = |taint: &Taint| tolerations.iter().any(|one| matches(one, taint));
    let missed = tolerations.iter().enumerate().filter_map(|(at, one)| {
        let key = scalar(one, &["key"])?;
        let same: Vec<&Taint> = taints.iter().filter(|taint| taint.key == key).collect();
        // One that fits another group of nodes is for that one.
        if same.is_empty() || same.iter().any(|taint| tolerates(taint)) {
            return None;
        }
        let taint = same.first()?;
        let of =
            |value: &str| if value.is_empty() { "no value".to_owned() } else { format!("value {value}") };
        let value = scalar(one, &["value"]).unwrap_or_default();
        let exists = scalar(one, &["operator"]).as_deref() == Some("Exists");
        let effect = scalar(one, &["effect"]).unwrap_or_default();
        let what = match exists || value == taint.value {
            true => format!("effect {effect}, but the taint of {} has effect {}", taint.of, taint.effect),
            false => format!("{}, but the taint of {} has {}", of(&value), taint.of, of(&taint.value)),
        };
        let message = format!(
            "the toleration of {key} has {what}; it does not tolerate the taint, and the pod stays Pending"
        );
        let fix = format!("Write `{{key: {key}, operator: Exists, effect: {}}}`", taint.effect);
        Some(Found::warning(pod.line(&["tolerations", &at.to_string()]), message, fix))
    });
    missed.collect()
}

/// Whether a toleration tolerates a taint, as the scheduler compares them.
fn matches(toleration: &Value, taint: &Taint) -> bool {
    let part = |key| scalar(toleration, &[key]).unwrap_or_default();
    // Lt and Gt compare numbers; what they make of a text is not judged here.
    let exists = matches!(part("operator").as_str(), "Exists" | "Lt" | "Gt");
    let effect = part("effect");
    let key = part("key");
    (key == taint.key || key.is_empty() && exists)
        && (effect.is_empty() || effect == taint.effect)
        && (exists || part("value") == taint.value)
}
