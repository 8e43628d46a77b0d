//! What a stack after a change no longer does.

use facts::Fact;
use facts::support::{capabilities, code_for};

use crate::criteria::Criteria;
use crate::host_driver::{HostDriver, parse};
use crate::request::{Request, Versions};
use crate::universe::{Build, Universe};

/// What the torch build before a change had and the one after it has not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lost {
    /// Compute capabilities that the old build has machine code for (`7.0`) and on which the new one does not
    /// run. `None`: the old build, or the code of one of the two, is unknown.
    pub architectures: Option<Vec<String>>,
    /// The oldest driver of the old build and that of the new one, where the new one needs a newer one: a
    /// version or a branch (`570`).
    pub driver: Option<(String, String)>,
}

impl Lost {
    /// Compares the build that a request pins with a build that takes its place.
    pub(super) fn between(universe: &Universe, request: &Request, new: &Build) -> Lost {
        let criteria = Criteria::from_request(universe.catalog, request);
        let Some(old) = pinned(universe, &criteria) else { return Lost::default() };
        let min = |build: &Build| HostDriver::of(&criteria, build).min;
        let newer = |(old, new): &(String, String)| parse(old) < parse(new);
        Lost {
            architectures: architectures(&criteria, old, new),
            driver: min(old).zip(min(new)).filter(newer),
        }
    }
}

/// The build that a request pins. Without the name of a build it is the one on PyPI.
fn pinned<'u>(universe: &'u Universe, criteria: &Criteria) -> Option<&'u Build> {
    let version = criteria.torch.iter().find_map(|versions| versions.named())?;
    let named: Option<&Versions> = criteria.torch.iter().copied().find(|versions| versions.build.is_some());
    universe.candidates(criteria).iter().find(|build| {
        build.version == version
            && match named.and_then(|versions| versions.build.as_deref()) {
                Some(name) => build.build.build == name,
                None => build.on_pypi(criteria.architecture()),
            }
    })
}

fn architectures(criteria: &Criteria, old: &Build, new: &Build) -> Option<Vec<String>> {
    let of = |build: &Build| build.build.architectures_for(criteria.architecture()).cloned();
    let (had, has) = (of(old)?, capabilities(&of(new)?));
    let gone = |capability: (u32, u32)| {
        matches!(code_for(criteria.catalog, &has, new.ptx.as_deref(), capability), Fact::Known(false))
    };
    Some(
        had.into_iter().filter(|one| capabilities(std::slice::from_ref(one)).into_iter().any(gone)).collect(),
    )
}
