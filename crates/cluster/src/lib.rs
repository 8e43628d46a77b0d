//! Several machines as one cluster: [`request`] is `cluster.yaml`, [`settle`] makes it a [`plan`] with everything about it chosen;
//! [`container`], [`keys`] and [`render`] say what the nodes get.
//!
//! [`up`] makes it so, step by step: [`seen`] is what is there, [`swarm`], [`image`] and [`network`] decide what is to be done, [`probe`] and
//! [`inside`] look from inside, [`causes`] says why some do not reach others ([`lost`]: by the overlay's own fault), and a [`problem`] is a fault by its cause.

pub mod bring;
pub mod causes;
pub mod check;
pub mod container;
pub mod crowd;
pub mod down;
pub mod image;
pub mod init;
pub mod inside;
pub mod keys;
pub mod launch;
pub mod lost;
pub mod network;
pub mod nodes;
pub mod plan;
pub mod probe;
pub mod problem;
pub mod reach;
pub mod render;
pub mod report;
pub mod request;
pub mod secrets;
pub mod seen;
pub mod settle;
pub mod smoke;
pub mod status;
pub mod swarm;
#[cfg(test)]
pub(crate) mod testing;
pub mod up;
pub mod worker;
