//! Kinds of Kubernetes objects, and the versions that serve them: `catalog/kubernetes_kinds.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// A kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KubernetesKind {
    /// `Deployment`.
    pub kind: String,
    /// The apiVersion that serves it: `apps/v1`.
    pub api: String,
    /// Others that serve it too.
    #[serde(default)]
    pub also: Vec<String>,
    /// Those that served it until a release.
    #[serde(default)]
    pub former: Vec<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

file::table!(KubernetesKind, "kubernetes_kinds.yaml");

impl Table<KubernetesKind> {
    /// The kind with this name.
    pub fn kind(&self, name: &str) -> Option<&KubernetesKind> {
        self.all().iter().find(|row| row.kind == name)
    }
}

impl KubernetesKind {
    /// Whether a version serves it.
    pub fn is_served_by(&self, api: &str) -> bool {
        self.api == api || self.also.iter().any(|also| also == api)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_version_is_both_served_and_former() {
        let table = crate::testing::catalog().kubernetes_kinds();
        for row in table.all() {
            assert!(row.former.iter().all(|api| !row.is_served_by(api)), "{}", row.kind);
        }
        assert!(table.kind("MPIJob").unwrap().is_served_by("kubeflow.org/v1"));
        assert!(table.kind("deployment").is_none(), "kinds are case-sensitive");
    }
}
