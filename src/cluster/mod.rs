//! Several machines as one cluster: [`request`] is `cluster.yaml`, [`plan`] everything about it settled.

pub mod plan;
pub mod request;
pub mod settle;
