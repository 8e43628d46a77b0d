//! Images: what somebody asks for ([`request`]), and every choice made ([`plan`]).
//!
//! In: a request and a resolved stack. Out: a plan, the files that it renders to, and what to verify in the
//! built image.
//!
//! A request and its resolution become a [`plan::Plan`]; [`crate::render`] writes it as files, and the engine
//! builds it. Everything here is pure.

pub mod build_log;
pub mod host_mirrors;
pub mod inspect;
pub mod lock;
pub mod merge;
pub mod plan;
pub mod render;
pub mod report;
pub mod request;
pub mod valid;
pub mod verify;

use diagnostic::rule::Rule;

/// The rules about images, in the order of the documentation: those of `envdoc inspect`, and the
/// results of a build.
pub fn rules() -> impl Iterator<Item = &'static dyn Rule> {
    let inspect = inspect::judge::RULES.iter().map(|rule| rule as &dyn Rule);
    let inspect = inspect.chain([&inspect::existence::ExistenceRule as &dyn Rule]);
    inspect.chain(report::RULES.into_iter().map(|rule| rule as &dyn Rule))
}
