//! A container of a pod whose command leaves something in the background, and ends.

use crate::dockerfile::container_ends_at_once::left_in_background;
use crate::read::compose::text;
use crate::read::manifest::{Container, Manifest, Pod, list};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "pod-ends-at-once",
    severity: Severity::Error,
    summary: "containers of pods run their programs in the foreground",
    explain: include_str!("pod_ends_at_once.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "ray.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: {matchLabels: \
             {a: b}}\n  \
             template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n        - name: \
             a\n          image: \
             b\n          command: [ray, start]\n          args: [--head, --port=6379]\n",
        ),
        named(
            "set.yaml",
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec:\n  serviceName: a\n  \
             selector: \
             {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      \
             containers:\n        - \
             name: a\n          image: b\n          command: [bash, -c, \"ssh-keygen -A && service ssh \
             start\"]\n",
        ),
    ],
    silent: &[
        named(
            "ray.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: {matchLabels: \
             {a: b}}\n  \
             template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n        - name: \
             a\n          image: \
             b\n          command: [ray, start, --head, --block]\n        - name: c\n          image: \
             b\n          command: [sh, \
             -c, \"ray start --address=x:6379; sleep infinity\"]\n",
        ),
        job!("", "      containers: [{name: a, image: b, command: [ray, start, --head]}]\n"),
    ],
};

/// Kinds that start a container again when it ends.
const KINDS: &[&str] = &["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "LeaderWorkerSet"];

fn judge(file: &Manifest) -> Vec<Found> {
    let of_pod = |pod: &Pod| -> Vec<Found> {
        let containers = pod.containers();
        containers.iter().filter(|one| !one.init).filter_map(ends).collect()
    };
    file.pods().iter().filter(|pod| KINDS.contains(&pod.document.kind.as_str())).flat_map(of_pod).collect()
}

fn ends(container: &Container) -> Option<Found> {
    let of = |key| list(container.value, key).into_iter().filter_map(text).collect::<Vec<String>>();
    let (own, arguments) = (of("command"), of("args"));
    // Without a command it is for the entrypoint of the image.
    own.first()?;
    let (what, fix) = left_in_background(&[own, arguments].concat())?;
    let message = format!(
        "{what} returns at once: container {} ends, and Kubernetes starts it again and again \
         (CrashLoopBackOff)",
        container.name
    );
    Some(Found::error(container.line(&["command"]), message, fix))
}
