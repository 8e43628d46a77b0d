//! Labels of a container that hold a digest of each field of its description: by them a later run, and
//! `status`, name what differs. Containers of `up` and of the compose files have them alike.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::container::{self, Container};
use super::plan::{ClusterPlan, Node, PLAN_LABEL};
use crate::worker::digest::hex;

/// Label of a container: the digest of each field of its description, as JSON.
pub(crate) const FIELDS_LABEL: &str = "envdoc.plan.fields";
/// Bytes of the digests of parts.
const PART_BYTES: usize = 8;

/// The digest of each field of a container's description.
pub(crate) fn fields(container: &Container) -> BTreeMap<String, String> {
    let mut bare = container.clone();
    bare.labels.remove(PLAN_LABEL);
    let fields = match serde_json::to_value(&bare) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => return BTreeMap::new(),
    };
    fields.into_iter().map(|(name, value)| (name, part(value.to_string().as_bytes()))).collect()
}

/// The digest of a part of a description, in hexadecimal.
pub(crate) fn part(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes)[..PART_BYTES])
}

/// A label's value.
pub(crate) fn label(parts: &BTreeMap<String, String>) -> String {
    serde_json::to_string(parts).unwrap_or_default()
}

/// The container of a node with the labels by which a later run names what differs.
pub(crate) fn labelled(plan: &ClusterPlan, node: &Node) -> Container {
    let mut container = container::of(plan, node);
    let fields = fields(&container);
    container.labels.insert(FIELDS_LABEL.into(), label(&fields));
    container
}
