//! What tests of clusters share.

use super::plan::ClusterPlan;
use super::request::ClusterRequest;
use super::validate::validate;

/// The plan of two nodes with a GPU each; further keys of cluster.yaml in `text`.
pub(crate) fn two_nodes(text: &str) -> ClusterPlan {
    let nodes =
        "name: two-node\nimage: a\nnodes: [{address: 10.0.0.1, gpus: 1}, {address: 10.0.0.2, gpus: 1}]\n";
    validate(&ClusterRequest::parse("x", &format!("{nodes}{text}")).unwrap()).unwrap()
}
