//! Versions that a search stays near to where it would otherwise take the newest.

use std::collections::BTreeMap;

use pep440_rs::Version;

use super::python::series;
use super::request::Versions;

/// Major and minor number; of `0.0.x` the third too, which is the one that counts there.
type Series = [u64; 3];

fn numbers(version: &Version) -> Series {
    match series(version) {
        (0, 0) => [0, 0, version.release().get(2).copied().unwrap_or(0)],
        (major, minor) => [major, minor, 0],
    }
}

/// How far away a version is: series in between, and whether it is older. Of two as far away the newer wins.
pub(crate) type Distance = (usize, bool);

/// The distance of each series of a part from the versions that were required.
#[derive(Debug, Default)]
struct Distances(BTreeMap<Series, Distance>);

impl Distances {
    fn from<'v>(required: &Versions, all: impl Iterator<Item = &'v Version>) -> Distances {
        let mut all: Vec<Series> = all.map(numbers).collect();
        all.sort_unstable();
        all.dedup();
        let touched: Vec<Series> =
            all.iter().copied().filter(|one| touches(required, one, &Version::new(*one), numbers)).collect();
        let named = required.specifiers.iter().map(|one| numbers(one.version()));
        let lowest = touched.first().copied().or_else(|| named.clone().min()).unwrap_or_default();
        let highest = touched.last().copied().or_else(|| named.max()).unwrap_or_default();
        let distance = |one: &Series| match one {
            one if *one > highest => {
                (all.iter().filter(|other| **other > highest && *other <= one).count(), false)
            }
            one if *one < lowest => {
                (all.iter().filter(|other| **other < lowest && *other >= one).count(), true)
            }
            _ => (0, false),
        };
        Distances(all.iter().map(|one| (*one, distance(one))).collect())
    }

    fn of(&self, version: &Version) -> Distance {
        self.0.get(&numbers(version)).copied().unwrap_or_default()
    }
}

/// Whether some versions have releases of a series, or name one, which the catalog may lack; 12.4 of `<12.4`
/// is outside. `of`: the series of a version.
pub(crate) fn touches<S: Ord>(
    required: &Versions,
    one: &S,
    first: &Version,
    of: impl Fn(&Version) -> S,
) -> bool {
    use pep440_rs::Operator::{GreaterThan, LessThan, NotEqual, NotEqualStar};
    let named = || required.specifiers.iter().map(|part| (part.operator(), of(part.version())));
    let excluding = [GreaterThan, LessThan, NotEqual, NotEqualStar];
    let included = named().any(|(operator, series)| !excluding.contains(operator) && series == *one);
    let between = named().any(|(_, series)| series < *one) && named().any(|(_, series)| series > *one);
    included || between || required.contain(first)
}

/// What a search stays near to: the versions required before a change, of the parts that change.
#[derive(Debug, Default)]
pub(crate) struct Near {
    torch: Distances,
    /// The build that torch had: `cu121`.
    build: Option<String>,
    cuda: Distances,
    python: Distances,
    packages: BTreeMap<String, Distances>,
}

impl Near {
    /// `all`: the releases of the catalog, as below.
    pub(crate) fn add_torch<'v>(&mut self, required: &Versions, all: impl Iterator<Item = &'v Version>) {
        // An index names a build alone.
        if !required.specifiers.is_empty() {
            self.torch = Distances::from(required, all);
        }
        self.build = self.build.take().or_else(|| required.build.clone());
    }

    pub(crate) fn add_cuda<'v>(&mut self, required: &Versions, all: impl Iterator<Item = &'v Version>) {
        self.cuda = Distances::from(required, all);
    }

    pub(crate) fn add_python<'v>(&mut self, required: &Versions, all: impl Iterator<Item = &'v Version>) {
        self.python = Distances::from(required, all);
    }

    pub(crate) fn add_package<'v>(
        &mut self,
        name: &str,
        required: &Versions,
        all: impl Iterator<Item = &'v Version>,
    ) {
        self.packages.insert(name.to_owned(), Distances::from(required, all));
    }

    /// Of a torch release, and of the CUDA of its build.
    pub(crate) fn of_torch(&self, version: &Version, cuda: Option<&Version>) -> (Distance, Distance) {
        (self.torch.of(version), cuda.map(|cuda| self.cuda.of(cuda)).unwrap_or_default())
    }

    /// Whether a build is another one than before.
    pub(crate) fn is_other_build(&self, name: &str) -> bool {
        self.build.as_deref().is_some_and(|build| build != name)
    }

    pub(crate) fn of_python(&self, version: &Version) -> Distance {
        self.python.of(version)
    }

    pub(crate) fn of_package(&self, name: &str, version: &Version) -> Distance {
        self.packages.get(name).map(|distances| distances.of(version)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_series_on_either_side() {
        let all: Vec<Version> =
            ["2.3.1", "2.4.0", "2.4.1", "2.5.1", "2.7.0", "3.0.0"].map(|text| text.parse().unwrap()).into();
        let of = |text: &str, version: &str| {
            let required: Versions = text.parse().unwrap();
            Distances::from(&required, all.iter()).of(&version.parse().unwrap())
        };
        assert_eq!(of("==2.4.1", "2.4.0"), (0, false));
        assert_eq!(of("==2.4.1", "2.5.1"), (1, false));
        assert_eq!(of("==2.4.1", "2.3.1"), (1, true));
        assert_eq!(of("==2.4.1", "3.0.0"), (3, false));
        assert_eq!(of("==2.6.0", "2.7.0"), (1, false), "a series that the catalog does not have");
        assert_eq!(of("<2.5", "2.5.1"), (1, false));
        assert_eq!(of(">=2.4,<2.7", "2.5.1"), (0, false));
        assert_eq!(of(">=2.4,<2.7", "2.7.0"), (1, false));
        assert_eq!(of("", "2.7.0"), (0, false));
    }

    #[test]
    fn releases_of_0_0_count_one_by_one() {
        let all: Vec<Version> = ["0.0.26", "0.0.27.post2", "0.0.29"].map(|text| text.parse().unwrap()).into();
        let distances = Distances::from(&"==0.0.26".parse().unwrap(), all.iter());
        assert_eq!(distances.of(&all[1]), (1, false));
        assert_eq!(distances.of(&all[2]), (2, false));
    }
}
