//! Reading files that somebody else wrote: what stands in them, and what it comes to. Nothing here judges.

pub(crate) mod compose;
pub(crate) mod config;
pub(crate) mod dockerfile;
pub(crate) mod hostfile;
pub(crate) mod json;
pub(crate) mod python;
pub(crate) mod requirements;
pub(crate) mod script;
pub(crate) mod settings;
