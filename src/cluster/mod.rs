//! Several machines as one cluster: [`request`] is `cluster.yaml`, [`plan`] everything about it settled.

pub mod container;
pub mod init;
pub mod keys;
pub mod plan;
pub mod render;
pub mod request;
pub mod secrets;
pub mod settle;
