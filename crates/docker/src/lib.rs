//! Container engines and image registries.
//!
//! In: endpoints, container and image specifications of its own types. Out: what engines and registries
//! answer, typed, with errors by cause. It knows nothing of clusters or requests.
//!
//! [`transport`] turns an endpoint (unix, tcp, TLS, ssh) into a local one; [`engine`] is the connection to an
//! engine on it. [`container`], [`exec`], [`image`], [`network`], [`swarm`], [`volume`], [`transfer`] are the
//! Engine API; [`build`] is BuildKit and the classic builder; [`run`] and [`live`] run one container to its
//! end, [`process`] a program of this machine. [`client`] and [`auth`] read the configuration of the docker
//! program. [`registry`] is HTTP to registries and package indexes.
//!
//! Every failure is an [`Error`]; [`Cause`] is what an engine's message names as the reason. Every wait has a
//! deadline.

pub mod auth;
mod bollard_request;
mod bounded;
pub mod build;
pub mod client;
pub mod container;
pub mod context;
pub mod digest;
pub mod engine;
mod error;
pub mod exec;
pub mod fuzzing;
mod http;
pub mod ignore;
pub mod image;
pub mod live;
pub mod network;
mod parallel;
mod printed;
pub mod process;
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

pub use error::{AnswerTooLarge, Cause, EngineMessage, Error, LoginFault, UnsafeRealm, Waited};
pub use http::{REFUSED, ask, get};
pub use parallel::{block_on, fan_out, interrupted, runtime};
