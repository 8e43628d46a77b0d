//! A container that must not run as root, and sets user 0.

use crate::read::compose::below;
use crate::read::manifest::{Container, Manifest, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

macro_rules! secured {
    ($pod:literal, $container:literal) => {
        named(
            "pod.yaml",
            concat!(
                "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n",
                $pod,
                "  containers:\n    - name: a\n      image: b\n",
                $container
            ),
        )
    };
}

pub(crate) const RULE: Rule = Rule {
    id: "non-root-as-root",
    severity: Severity::Error,
    summary: "no container with runAsNonRoot has the user 0",
    explain: include_str!("non_root_as_root.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        secured!("  securityContext: {runAsNonRoot: true}\n", "      securityContext: {runAsUser: 0}\n"),
        secured!("", "      securityContext:\n        runAsNonRoot: true\n        runAsUser: 0\n"),
    ],
    silent: &[
        secured!(
            "  securityContext: {runAsNonRoot: true, runAsUser: 0}\n",
            "      securityContext: {runAsUser: 1000}\n"
        ),
        secured!(
            "  securityContext: {runAsNonRoot: true}\n",
            "      securityContext: {runAsNonRoot: false, runAsUser: 0}\n"
        ),
        secured!("  securityContext: {runAsNonRoot: true}\n", ""),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(fault)
}

fn fault(container: &Container) -> Option<Found> {
    // The container's own value counts before the pod's.
    let of = |key: &str| {
        let path = ["securityContext", key];
        scalar(container.value, &path).or_else(|| scalar(container.pod.spec, &path))
    };
    if of("runAsNonRoot").as_deref() != Some("true") || of("runAsUser").as_deref() != Some("0") {
        return None;
    }
    let message = format!(
        "container {} has runAsNonRoot: true and runAsUser: 0; it does not start (`container's runAsUser \
         breaks \
         non-root policy`)",
        container.name
    );
    let own = below(container.value, &["securityContext", "runAsUser"]).is_some();
    let line = match own {
        true => container.line(&["securityContext", "runAsUser"]),
        false => container.pod.line(&["securityContext", "runAsUser"]),
    };
    Some(Found::error(line, message, "Set another runAsUser, or remove runAsNonRoot"))
}
