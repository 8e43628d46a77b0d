//! The container engine: questions over its HTTP API ([`http`]) and, for `check --live`, one container ([`live`]). Package indexes and
//! image registries: [`index`], [`page`], [`registry`].

mod http;
pub mod index;
pub mod live;
pub mod page;
pub mod registry;

pub use http::{REFUSED, get};
