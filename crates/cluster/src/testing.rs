//! What tests of clusters share.

use super::plan::ClusterPlan;
use super::problem::{Problem, Step};
use super::reach::NodeAccess;
use super::request::ClusterRequest;
use super::validate::validate;
use diagnostic::Fix;
use diagnostic::layout::Layout;
use docker::transport::ConnectCause;
use docker::transport::ssh::messages::Fault;

/// The plan of two nodes with a GPU each; further keys of cluster.yaml in `text`.
pub(crate) fn two_nodes(text: &str) -> ClusterPlan {
    let nodes =
        "name: two-node\nimage: a\nnodes: [{address: 10.0.0.1, gpus: 1}, {address: 10.0.0.2, gpus: 1}]\n";
    validate(&ClusterRequest::parse("x", &format!("{nodes}{text}")).unwrap()).unwrap()
}

/// Five nodes with two causes, and one that was reached.
pub(crate) fn six_nodes() -> Vec<NodeAccess> {
    let node = |number: usize| {
        let (cause, why) = match number {
            1 => return access(number, None),
            2 | 4 | 6 => (Fault::PortRefused, format!("connect to host 10.0.0.{number}: Connection refused")),
            _ => (Fault::NameNotResolved, format!("Could not resolve hostname node{number}")),
        };
        let message = format!("the engine at ssh://10.0.0.{number} cannot be used: ssh: {why}");
        let mut problem = Problem::of(Step::Connect, &format!("node{number}"), message);
        problem.unreached = Some(Some(ConnectCause::Ssh(cause)));
        access(number, Some(problem.fix(Fix::manual(format!("do something about node{number}")))))
    };
    (1..=6).map(node).collect()
}

fn access(number: usize, problem: Option<Problem>) -> NodeAccess {
    NodeAccess { node: format!("node{number}"), engine: format!("ssh://10.0.0.{number}"), problem }
}

/// What every report shows of them.
pub(crate) const SIX_NODES: &str = "\
node   engine          access
node1  ssh://10.0.0.1  connected
node2  ssh://10.0.0.2  UNREACHABLE
node3  ssh://10.0.0.3  UNREACHABLE
node4  ssh://10.0.0.4  UNREACHABLE
node5  ssh://10.0.0.5  UNREACHABLE
node6  ssh://10.0.0.6  UNREACHABLE
✗ node2, node4, node6 (3 nodes): ssh: Connection refused; for example node2: the engine at ssh://10.0.0.2 \
cannot be used: ssh: connect to host 10.0.0.2: Connection refused
    → do something about node2
✗ node3, node5 (2 nodes): ssh: the host name cannot be resolved; for example node3: the engine at \
ssh://10.0.0.3 cannot be used: ssh: Could not resolve hostname node3
    → do something about node3
";

/// A text without its colours.
pub(crate) fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// For texts that people read.
pub(crate) const LAYOUT: Layout = Layout { width: 80, unicode: true, verbose: false, root: false };
