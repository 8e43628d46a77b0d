//! What a dead end of a search depends on.

use super::universe::{Release, Universe};

/// As bits: the build, the Python, the base image, and packages by their index in [`Universe::order`].
pub(crate) type Blame = u64;
pub(crate) const BUILD: Blame = 1 << 62;
pub(crate) const PYTHON: Blame = 1 << 61;
pub(crate) const BASE: Blame = 1 << 60;

fn of_package(universe: &Universe, package: &str) -> Blame {
    universe.order.iter().position(|name| *name == package).map_or(0, |index| 1 << index)
}

/// That a release needs a package, which may be so on some Pythons only.
pub(crate) fn of_need(universe: &Universe, release: &Release, package: &str, architecture: &str) -> Blame {
    let companion = release.companions.iter().any(|(name, _)| *name == package);
    of_package(universe, release.package)
        | if companion || by_python(release, package, architecture) { PYTHON } else { 0 }
}

/// That a release does not go together with one that was chosen: what one of them requires of the other may
/// depend on the Python.
pub(crate) fn of_pair(universe: &Universe, release: &Release, chosen: &Release, architecture: &str) -> Blame {
    let python =
        by_python(release, chosen.package, architecture) || by_python(chosen, release.package, architecture);
    of_package(universe, chosen.package) | if python { PYTHON } else { 0 }
}

fn by_python(release: &Release, package: &str, architecture: &str) -> bool {
    let mut indirect = release.indirect.iter().filter(|row| row.package == package);
    release.depends_on_python(package, architecture) || indirect.any(|row| row.pythons.is_some())
}
