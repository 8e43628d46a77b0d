//! The container engine: questions over its HTTP API ([`http`]) and, for `check --live`, one container ([`live`]).

mod http;
pub mod live;

pub use http::{REFUSED, get};
