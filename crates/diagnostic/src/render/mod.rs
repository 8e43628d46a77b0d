//! One renderer a format; each writes a [`crate::report::Report`], whatever command it comes from.

pub mod fix_keys;
pub mod github;
pub mod html;
mod ignored;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod message_keys;
pub mod sarif;
pub mod text;

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

/// What a reader without the rest of the report needs to know of an unknown result.
const COULD_NOT_CHECK: &str = "could not check";
