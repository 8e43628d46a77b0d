//! The volume that marks an engine that envdoc asked to join a swarm: an engine in which a join failed looks
//! like a manager that cannot start, and only the former may be made to leave.

use std::collections::BTreeMap;

use super::plan::{ClusterPlan, LABEL};
use docker::engine::Engine;
use docker::volume;

/// Its value is the cluster's name.
const MARKER_LABEL: &str = "envdoc.joining";

/// The name of the volume.
pub(crate) fn name(plan: &ClusterPlan) -> String {
    format!("{}-joining", plan.name)
}

/// Marks an engine that is going to be asked.
pub(crate) async fn set(plan: &ClusterPlan, engine: &Engine) -> Result<(), docker::Error> {
    let label = |name: &str| (name.to_owned(), plan.name.clone());
    let labels = [label(LABEL), label(MARKER_LABEL)].into();
    volume::create(engine, &name(plan), &labels, &BTreeMap::new()).await
}

/// Removes the mark.
pub(crate) async fn remove(plan: &ClusterPlan, engine: &Engine) {
    let _ = volume::remove(engine, &name(plan)).await;
}

/// Whether envdoc asked this engine to join, and the join did not succeed.
pub(crate) async fn is_set(plan: &ClusterPlan, engine: &Engine) -> Result<bool, docker::Error> {
    let marker = volume::labels(engine, &name(plan)).await?;
    Ok(marker.is_some_and(|labels| labels.get(MARKER_LABEL) == Some(&plan.name)))
}
