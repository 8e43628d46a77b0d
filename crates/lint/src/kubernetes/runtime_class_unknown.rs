//! The handler of a RuntimeClass where its name belongs.

use crate::read::manifest::{Document, Manifest, Pod, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

const CLASS: &str =
    "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: nvidia-runtime}\nhandler: nvidia\n";

pub(crate) const RULE: Rule = Rule {
    id: "runtime-class-unknown",
    severity: Severity::Warning,
    summary: "runtimeClassName is the name of a RuntimeClass, not its handler",
    explain: include_str!("runtime_class_unknown.md"),
    judge: Judge::Manifest(judge),
    fires: &[named_with(
        "pod.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  runtimeClassName: \
         nvidia\n  containers:\n    - \
         {name: a, image: b}\n",
        &[("class.yaml", CLASS)],
    )],
    silent: &[
        named_with(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  runtimeClassName: nvidia-runtime\n  \
             containers:\n    - {name: a, image: b}\n",
            &[("class.yaml", CLASS)],
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  runtimeClassName: \
             nvidia\n  containers:\n    \
             - {name: a, image: b}\n---\napiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: \
             nvidia}\nhandler: nvidia\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let documents = file.documents.iter().chain(&file.others);
    let classes: Vec<&Document> = documents.filter(|one| one.kind == "RuntimeClass").collect();
    file.pods().iter().filter_map(|pod| fault(pod, &classes)).collect()
}

fn fault(pod: &Pod, classes: &[&Document]) -> Option<Found> {
    let name = scalar(pod.spec, &["runtimeClassName"])?;
    if classes.iter().any(|class| class.name == name) {
        return None;
    }
    let handler = |class: &&&Document| scalar(&class.value, &["handler"]).as_deref() == Some(name.as_str());
    let class = classes.iter().find(handler)?;
    let message = format!(
        "runtimeClassName {name} is the handler of RuntimeClass {}, not its name; if the cluster has no \
         RuntimeClass {name}, the pod is rejected",
        class.name
    );
    Some(Found::warning(pod.line(&["runtimeClassName"]), message, format!("Write `{}`", class.name)))
}
