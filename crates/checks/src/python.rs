//! Judging what is installed in Python environments.

use facts::Fact;
use facts::python::{Python, PythonEnvironment, Torch};

use crate::{Judged, Verdict};

/// Judges the torch of every environment that the shell points to; where none of them has one, of those in
/// usual places, whose findings are warnings because nothing shows that they are in use.
pub(crate) fn each_torch(python: &Python, judge: impl Fn(&PythonEnvironment, &Torch) -> Judged) -> Judged {
    const NONE: &str = "no PyTorch in the Python environments found here";
    let environments = python.environments.require(NONE)?;
    let one = |environment: &PythonEnvironment| match &environment.torch {
        Fact::Known(torch) => Some(judge(environment, torch)),
        Fact::Unknown(why) => Some(Err(Verdict::Unknown(why.clone()))),
        Fact::Absent => None,
    };
    let active: Vec<Judged> = environments.iter().filter(|e| e.active()).filter_map(one).collect();
    if !active.is_empty() {
        return Verdict::together(active, NONE);
    }
    let others = environments.iter().filter(|environment| !environment.active()).filter_map(one);
    Verdict::together(others.map(|judged| judged.map(Verdict::softened)), NONE)
}
