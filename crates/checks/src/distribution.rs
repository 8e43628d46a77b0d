//! The distribution of the machine, by its package manager.

use facts::{Fact, Facts};

/// The family of a distribution, as far as its package manager goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Ubuntu,
    Debian,
    Rhel,
    Fedora,
    Other,
}

pub(crate) fn family(facts: &Facts) -> Family {
    let Fact::Known(os) = &facts.system.os else { return Family::Other };
    let is = |name: &str| os.id == name || os.id_like.iter().any(|like| like == name);
    match () {
        () if is("ubuntu") => Family::Ubuntu,
        () if is("debian") => Family::Debian,
        () if os.id == "fedora" => Family::Fedora,
        () if is("rhel") || is("centos") || os.id == "amzn" => Family::Rhel,
        () => Family::Other,
    }
}
