//! What of a node's container and settings differs from cluster.yaml: what `up` would change.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::container::Container;
use super::field_labels::{FIELDS_LABEL, fields, part};
use super::keys::Keys;
use super::observed_state::ObservedState;
use super::plan::{ClusterPlan, Node, PLAN_LABEL};
use super::render::{self, SettingsFile};
use super::secrets::Value;
use crate::worker::digest::hex;
use diagnostic::error::Error;

/// Label of the settings' volume: what is in it, as a SHA-256.
pub const SETTINGS_LABEL: &str = "envdoc.settings";
/// Label of the settings' volume: the digest of each file but the secrets, as JSON.
pub const FILES_LABEL: &str = "envdoc.settings.files";

/// The files of a node's settings with their digests.
pub struct Settings {
    /// The files below /etc/envdoc in the container.
    pub files: Vec<SettingsFile>,
    /// SHA-256, in hexadecimal, over everything that makes the settings.
    pub digest: String,
    /// Of each, without the secrets.
    pub parts: BTreeMap<String, String>,
}

/// Renders a node's settings. The digests do not depend on where cluster.yaml was read, nor on envdoc's
/// version, so that neither has containers recreated.
pub fn settings(
    plan: &ClusterPlan,
    node: &Node,
    keys: Option<&Keys>,
    secrets: &[Value],
) -> Result<Settings, Error> {
    let plan = ClusterPlan { origin: None, ..plan.clone() };
    let header = render::header(&plan);
    let files = render::settings(&plan, node, keys, secrets)?;
    let (mut all, mut parts) = (Sha256::new(), BTreeMap::new());
    for file in &files {
        let mut text = format!("{}\n{:o}\n", file.path, file.mode).into_bytes();
        let content = match std::str::from_utf8(&file.bytes) {
            Ok(content) => content.replacen(&header, "", 1).into_bytes(),
            Err(_) => file.bytes.clone(),
        };
        text.extend(format!("{}\n", content.len()).bytes());
        text.extend(content);
        all.update(&text);
        if !file.path.starts_with("secrets/") {
            parts.insert(file.path.clone(), part(&text));
        }
    }
    Ok(Settings { files, digest: hex(&all.finalize()), parts })
}

/// What of a node's container differs from the plan; empty where it is as planned, or there is none. The
/// names of the parts where they are known.
pub fn container_differs(observed: &ObservedState, wanted: &Container) -> Vec<String> {
    let Some(found) = &observed.container else { return Vec::new() };
    if found.labels.get(PLAN_LABEL) == wanted.labels.get(PLAN_LABEL) {
        return Vec::new();
    }
    let differing = names(found.labels.get(FIELDS_LABEL), &fields(wanted));
    if differing.is_empty() { vec!["its description".to_owned()] } else { differing }
}

/// What of a node's settings differs from the plan; empty where they are as planned, or there are none.
/// `secrets`: whether their values are known, else they are not compared.
pub fn settings_differ(observed: &ObservedState, wanted: &Settings, secrets: bool) -> Vec<String> {
    let Some(labels) = &observed.volume else { return Vec::new() };
    if labels.get(SETTINGS_LABEL) == Some(&wanted.digest) {
        return Vec::new();
    }
    let mut topics: Vec<String> =
        names(labels.get(FILES_LABEL), &wanted.parts).iter().map(|path| topic(path).to_owned()).collect();
    topics.sort();
    topics.dedup();
    if !topics.is_empty() {
        return topics;
    }
    match (labels.contains_key(FILES_LABEL), secrets) {
        (true, true) => vec!["secrets".to_owned()],
        (true, false) => Vec::new(),
        (false, _) => vec!["the settings".to_owned()],
    }
}

/// What a file of the settings is about, in the words of cluster.yaml's users.
fn topic(path: &str) -> &str {
    match path {
        "ssh/known_hosts" | "ssh/authorized_keys" => "SSH keys",
        "ssh/sshd_config" | "ssh/config" => "ssh",
        "hostfile" => "nodes or slots",
        "node" => "node address, interface or ssh port",
        _ if path.starts_with("ssh/") => "SSH keys",
        other => other,
    }
}

/// The parts whose digests differ from those of a label, and those that only one side has.
pub(crate) fn names(label: Option<&String>, wanted: &BTreeMap<String, String>) -> Vec<String> {
    let Some(found) = label.and_then(|text| serde_json::from_str::<BTreeMap<String, String>>(text).ok())
    else {
        return Vec::new();
    };
    let mut all: Vec<&String> = found.keys().chain(wanted.keys()).collect();
    all.sort();
    all.dedup();
    all.into_iter().filter(|name| found.get(*name) != wanted.get(*name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field_labels::{label, labelled};
    use crate::keys;
    use crate::testing::two_nodes;
    use docker::container::Found;

    fn observed(plan: &ClusterPlan, keys: &Keys) -> ObservedState {
        let node = &plan.nodes[0];
        let settings = settings(plan, node, Some(keys), &[]).unwrap();
        ObservedState {
            container: Some(Found { labels: labelled(plan, node).labels, ..Found::default() }),
            volume: Some(
                [
                    (SETTINGS_LABEL.to_owned(), settings.digest),
                    (FILES_LABEL.to_owned(), label(&settings.parts)),
                ]
                .into(),
            ),
            ..ObservedState::default()
        }
    }

    #[test]
    fn names_the_settings_that_differ() {
        let plan = two_nodes("");
        let keys = keys::make(&plan).unwrap();
        let before = observed(&plan, &keys);
        let differs = |plan: &ClusterPlan, keys: &Keys| {
            let node = &plan.nodes[0];
            let mut all = container_differs(&before, &crate::container::of(plan, node));
            all.extend(settings_differ(&before, &settings(plan, node, Some(keys), &[]).unwrap(), true));
            all
        };
        assert_eq!(differs(&plan, &keys), [""; 0]);
        assert_eq!(differs(&two_nodes("environment: {A: b}"), &keys), ["environment"]);
        assert_eq!(differs(&two_nodes("limits: {shm: 2g}"), &keys), ["shm"]);
        assert_eq!(differs(&plan, &keys::make(&plan).unwrap()), ["SSH keys"]);
        let mut fewer = plan.clone();
        fewer.nodes.pop();
        assert!(differs(&fewer, &keys).contains(&"nodes or slots".to_owned()));
        let value = |text: &str| [Value { name: "token".into(), bytes: text.into() }];
        let with = |secrets: &[Value]| settings(&plan, &plan.nodes[0], Some(&keys), secrets).unwrap();
        assert_eq!(settings_differ(&before, &with(&value("a")), true), ["secrets"]);
        assert_eq!(settings_differ(&before, &with(&[]), true), [""; 0]);
        assert!(!with(&value("a")).parts.keys().any(|path| path.contains("token")));
    }

    #[test]
    fn names_the_settings_that_differ_from_a_compose_container() {
        let plan = two_nodes("");
        let text = render::compose(&plan, &plan.nodes[0]).unwrap();
        let file: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        let service = file["services"].as_mapping().unwrap().values().next().unwrap();
        let labels = serde_yaml::from_value(service["labels"].clone()).unwrap();
        let made = ObservedState {
            container: Some(Found { labels, ..Found::default() }),
            ..observed(&plan, &keys::make(&plan).unwrap())
        };
        let differs =
            |plan: &ClusterPlan| container_differs(&made, &crate::container::of(plan, &plan.nodes[0]));
        assert_eq!(differs(&plan), [""; 0]);
        assert_eq!(differs(&two_nodes("environment: {A: b}")), ["environment"]);
    }

    #[test]
    fn digest_does_not_depend_on_the_path_of_cluster_yaml() {
        let plan = two_nodes("");
        let keys = keys::make(&plan).unwrap();
        let elsewhere = ClusterPlan { origin: Some("../a/cluster.yaml".into()), ..plan.clone() };
        let digest = |plan: &ClusterPlan| settings(plan, &plan.nodes[0], Some(&keys), &[]).unwrap().digest;
        assert_eq!(digest(&plan), digest(&elsewhere));
    }
}
