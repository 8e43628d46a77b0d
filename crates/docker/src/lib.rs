//! The container engine: questions over its HTTP API ([`http`]) and, for `check --live`, one container
//! ([`live`]). Package indexes and image registries: [`index`], [`page`], [`registry`], [`remote_image`].

pub mod auth;
pub mod build;
pub mod client;
pub mod container;
pub mod context;
pub mod engine;
mod error;
pub mod exec;
mod http;
pub mod ignore;
pub mod image;
pub mod live;
pub mod network;
mod parallel;
pub mod pull;
pub mod push;
pub mod reference;
pub mod registry;
pub mod run;
pub mod spec;
pub mod swarm;
pub mod transfer;
pub mod transport;
pub mod volume;

pub use error::{Cause, Error, LoginFault, Waited};
pub use http::{REFUSED, ask, get};
pub use parallel::{block_on, fan_out, runtime};
