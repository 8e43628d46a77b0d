//! Why requirements cannot hold together: what the constraints say of the candidates that the requirements
//! leave, in few sentences.

use super::super::constraints::nvcc;
use super::super::criteria::Criteria;
use super::super::outcome::Reason;
use super::super::request::Request;
use super::super::search;
use super::super::universe::Universe;
use super::super::verdict::Tolerance;
use super::stage::{base_stage, python_stage, torch_stage};
use super::{builds, environment, packages};

/// The reasons why `core`, requirements of the whole request, cannot hold together.
pub(super) fn reasons(universe: &Universe, core: &Request, whole: &Request) -> Vec<Reason> {
    let criteria = Criteria::from_request(universe.catalog, core);
    let torch = torch_stage(universe, &criteria);
    if torch.left.is_empty() {
        return vec![builds::none_left(universe, &criteria)];
    }
    let mut all = builds::reasons(universe, &criteria, &torch);
    if torch.passing.is_empty() {
        return all;
    }
    let python = python_stage(universe, &criteria, &torch.passing);
    if python.left.is_empty() {
        return vec![environment::no_python(&criteria)];
    }
    let of_python = environment::python_reasons(universe, &criteria, &python);
    // Where any torch will do, it does not matter which of them have no wheel.
    let of_python =
        match python.passing.is_empty() || torch.passing.len() < universe.candidates(&criteria).len() {
            true => of_python,
            false => Vec::new(),
        };
    if python.passing.is_empty() {
        all.extend(of_python);
        return all;
    }
    let base = base_stage(universe, &criteria, &python.passing);
    if base.left.is_empty() {
        all.push(environment::no_base(universe, &criteria, &python.passing));
        return all;
    }
    let mut of_base = environment::base_reasons(
        universe,
        &base,
        base.passing.is_empty() || torch.passing.len() < universe.candidates(&criteria).len(),
    );
    let no_nvcc = environment::no_nvcc(universe, &criteria, &python.passing);
    if base.passing.is_empty() && !no_nvcc.is_empty() {
        of_base.retain(|reason| reason.constraint == nvcc::CONSTRAINT.id);
        of_base.splice(0..0, no_nvcc);
    }
    if !criteria.python.is_empty() {
        all.extend(of_python.iter().cloned());
    }
    if base.passing.is_empty() || !criteria.bases.is_empty() || !criteria.systems.is_empty() {
        all.extend(of_base);
    }
    if base.passing.is_empty() {
        return all;
    }
    let mut trace = search::Trace::default();
    search::any_within(universe, core, Tolerance::LOOSEST, Some(&mut trace));
    let of_packages = packages::reasons(universe, whole, &criteria, &trace);
    // A package refuses a Python that torch leaves no choice about.
    if criteria.python.is_empty() && of_packages.of_python {
        all.extend(of_python);
    }
    all.extend(of_packages.all);
    all
}
