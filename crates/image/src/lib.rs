//! Images: what somebody asks for ([`request`]), and every choice made ([`plan`]).
//!
//! A request and its resolution become a [`plan::Plan`]; [`crate::render`] writes it as files, and the engine
//! builds it. Everything here is pure.

pub mod host_mirrors;
pub mod inspect;
pub mod lock;
pub mod merge;
pub mod plan;
pub mod render;
pub mod report;
pub mod request;
pub mod verify;
