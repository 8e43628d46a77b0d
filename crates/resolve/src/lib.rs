//! Which versions go together, and why: a request and the catalog become a stack, or the reason that there is
//! none.
//!
//! In: requirements and the catalog. Out: a stack with the reason for each choice, or a conflict with the
//! nearest alternatives.
//!
//! [`request`] holds the requirements, [`universe`] the candidates, [`constraints`] what makes parts
//! compatible, [`rank`] the order of preference, and [`search`] finds the best stack. Everything here is
//! pure.

mod assemble;
mod blame;
mod choice;
mod compiled;
mod conflict;
mod constraint;
mod constraints;
#[cfg(test)]
mod cpu_tests;
mod criteria;
mod deepspeed;
mod explain;
mod held_back;
mod host_driver;
pub mod install;
pub mod lock;
pub mod lookup;
pub mod machine;
pub mod marker;
mod markers;
pub mod matrix;
mod message;
mod near;
pub mod outcome;
pub mod parameter;
pub mod parse;
pub mod pip;
mod python;
mod rank;
mod releases;
pub mod repair;
pub mod report;
pub mod request;
mod requirement_keys;
pub mod respecify;
mod search;
mod specifier;
mod target;
#[doc(hidden)]
pub mod testing;
pub mod torch_layer;
pub mod universe;
mod verdict;
mod wheels;
mod without_cuda;

use criteria::Criteria;
use outcome::{Outcome, Resolution};
use request::Request;
use universe::Universe;

/// The best stack for a request, or why there is none.
pub fn resolve(universe: &Universe, request: &Request) -> Outcome {
    let mut trace = search::Trace::default();
    let Some((choice, tolerance)) = search::best(universe, request, Some(&mut trace)) else {
        return Outcome::Conflict(Box::new(conflict::explain(universe, request)));
    };
    let Some(compiling) = compiled::with_compiler(universe, request, &choice) else {
        return Outcome::Resolved(Box::new(resolution(universe, request, &choice, tolerance, &trace)));
    };
    let mut with_compiler = search::Trace::default();
    let found = search::best(universe, &compiling, Some(&mut with_compiler));
    Outcome::Resolved(Box::new(match &found {
        Some((choice, tolerance)) => {
            let mut resolution = resolution(universe, &compiling, choice, *tolerance, &with_compiler);
            resolution.warnings.extend(compiled::warning(choice));
            resolution
        }
        None => resolution(universe, request, &choice, tolerance, &trace),
    }))
}

/// A chosen stack with the reasons of each choice.
fn resolution<'u>(
    universe: &'u Universe,
    request: &Request,
    choice: &search::Choice<'u>,
    tolerance: verdict::Tolerance,
    trace: &search::Trace<'u>,
) -> Resolution {
    let stack = assemble::stack(&Criteria::from_request(universe.catalog, request), choice);
    let criteria = Criteria::from_request(universe.catalog, request);
    let explainer = explain::Explainer { request, criteria, choice, tolerance, trace };
    let (decisions, rejected, of_stack) = explainer.explain(universe);
    let warnings = held_back::warnings(universe, request, choice).into_iter().chain(of_stack).collect();
    Resolution { stack, decisions, rejected, warnings }
}

/// Whether any stack meets a request, without the reasons.
pub fn has_stack(universe: &Universe, request: &Request) -> bool {
    search::best(universe, request, None).is_some()
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod requirement_tests;
#[cfg(test)]
mod tests;
