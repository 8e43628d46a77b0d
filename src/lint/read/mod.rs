//! Reading files that somebody else wrote: what stands in them, and what it comes to. Nothing here judges.

pub mod compose;
pub mod dockerfile;
pub mod requirements;
