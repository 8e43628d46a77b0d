//! Reading files that somebody else wrote: what stands in them, and what it comes to. Nothing here judges.

pub mod compose;
pub mod config;
pub mod dockerfile;
pub mod hostfile;
pub mod json;
pub mod python;
pub mod requirements;
pub mod script;
pub mod settings;
