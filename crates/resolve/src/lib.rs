//! Which versions go together, and why: a request and the catalog become a stack, or the reason that there is
//! none.
//!
//! [`request`] holds what is wished, [`world`] what there is, [`constraints`] what makes parts go together,
//! [`rank`] what is better, and [`search`] finds the best. Everything here is pure.

pub mod answer;
mod assemble;
mod conflict;
mod constraint;
mod constraints;
pub mod exists;
mod explain;
pub mod install;
pub mod lock;
pub mod machine;
pub mod marker;
pub mod matrix;
mod message;
pub mod parameter;
pub mod parse;
mod python;
mod rank;
mod releases;
pub mod report;
pub mod request;
mod search;
#[doc(hidden)]
pub mod testing;
mod verdict;
mod wanted;
pub mod world;

use answer::{Answer, Resolution};
use request::Request;
use wanted::Wanted;
use world::World;

/// The best stack for a request, or why there is none.
pub fn resolve(world: &World, request: &Request) -> Answer {
    let mut trace = search::Trace::default();
    match search::best(world, request, Some(&mut trace)) {
        Some((choice, tolerance)) => {
            let stack = assemble::stack(&Wanted::of(world.catalog, request), &choice);
            let wanted = Wanted::of(world.catalog, request);
            let answered = explain::Answered { request, wanted, choice: &choice, tolerance, trace: &trace };
            let (because, rejected, warnings) = answered.explain(world);
            Answer::Found(Box::new(Resolution { stack, because, rejected, warnings }))
        }
        None => Answer::None(Box::new(conflict::explain(world, request))),
    }
}

/// Whether any stack meets a request, without the reasons.
pub fn has_stack(world: &World, request: &Request) -> bool {
    search::best(world, request, None).is_some()
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
