//! Which versions go together, and why: a request and the catalog become a stack, or the reason that there is
//! none.
//!
//! [`request`] holds the requirements, [`universe`] the candidates, [`constraints`] what makes parts
//! compatible, [`rank`] the order of preference, and [`search`] finds the best stack. Everything here is
//! pure.

mod assemble;
mod conflict;
mod constraint;
mod constraints;
mod criteria;
mod explain;
mod host_driver;
pub mod install;
pub mod lock;
pub mod lookup;
pub mod machine;
pub mod marker;
pub mod matrix;
mod message;
pub mod outcome;
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
pub mod universe;
mod verdict;
mod wheels;

use criteria::Criteria;
use outcome::{Outcome, Resolution};
use request::Request;
use universe::Universe;

/// The best stack for a request, or why there is none.
pub fn resolve(universe: &Universe, request: &Request) -> Outcome {
    let mut trace = search::Trace::default();
    match search::best(universe, request, Some(&mut trace)) {
        Some((choice, tolerance)) => {
            let stack = assemble::stack(&Criteria::from_request(universe.catalog, request), &choice);
            let criteria = Criteria::from_request(universe.catalog, request);
            let explainer =
                explain::Explainer { request, criteria, choice: &choice, tolerance, trace: &trace };
            let (decisions, rejected, warnings) = explainer.explain(universe);
            Outcome::Resolved(Box::new(Resolution { stack, decisions, rejected, warnings }))
        }
        None => Outcome::Conflict(Box::new(conflict::explain(universe, request))),
    }
}

/// Whether any stack meets a request, without the reasons.
pub fn has_stack(universe: &Universe, request: &Request) -> bool {
    search::best(universe, request, None).is_some()
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
