//! The keys of Compose files and Kubernetes manifests, with the types of their values:
//! `catalog/object_keys.yaml`.

use diagnostic::suggest::typo_of;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

/// Who reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reader {
    /// `docker compose`.
    Compose,
    /// The API server of Kubernetes.
    Kubernetes,
}

/// One object: a service, a pod.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectKeys {
    /// Who reads it.
    pub file: Reader,
    /// `service`, `PodSpec`.
    pub name: String,
    /// Its keys, with their types in the notation that the head of the file describes.
    pub keys: BTreeMap<String, String>,
    /// Keys that must be there.
    #[serde(default)]
    pub required: Vec<String>,
    /// Whether other keys are allowed too.
    #[serde(default)]
    pub open: bool,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-25`.
    #[serde(default)]
    pub checked: String,
}

file::table!(ObjectKeys, "object_keys.yaml");

impl Table<ObjectKeys> {
    pub fn object(&self, file: Reader, name: &str) -> Option<&ObjectKeys> {
        self.all().iter().find(|row| row.file == file && row.name == name)
    }
}

impl ObjectKeys {
    /// The key that was most likely meant.
    pub fn nearest(&self, key: &str) -> Option<&str> {
        typo_of(key, self.keys.keys().map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_is_defined() {
        let table = crate::testing::catalog().object_keys();
        for row in table.all() {
            for (key, kind) in &row.keys {
                let references =
                    kind.split(['|', '[', ']', '{', '}']).filter_map(|one| one.strip_prefix('@'));
                for name in references {
                    assert!(table.object(row.file, name).is_some(), "{}.{key}: {name}", row.name);
                }
            }
            assert!(row.required.iter().all(|key| row.keys.contains_key(key)), "{}", row.name);
        }
    }

    #[test]
    fn slips() {
        let object = |file, name| crate::testing::catalog().object_keys().object(file, name).unwrap();
        let pod = object(Reader::Kubernetes, "PodSpec");
        assert_eq!(pod.nearest("restart_policy"), Some("restartPolicy"));
        assert_eq!(pod.nearest("volume"), Some("volumes"));
        assert_eq!(object(Reader::Compose, "service").nearest("shm-size"), Some("shm_size"));
        assert_eq!(pod.nearest("replicas"), None);
    }
}
