//! The packages that a program runs with, as lists next to it name them.

use std::collections::BTreeMap;

use catalog::Catalog;
use pep440_rs::{Operator, Version, VersionSpecifiers};

use crate::file::{File, Over};
use crate::read::of_file::requirements;
use crate::recognize::kind_of_name;

/// What the lists of packages say, by normalised name.
#[derive(Debug, Default)]
pub(crate) struct Packages {
    /// The versions that each list allows, with its place: `requirements.txt:3`.
    allowed: BTreeMap<String, Vec<(VersionSpecifiers, String)>>,
}

impl Packages {
    pub(super) fn of(catalog: &'static Catalog, lists: &[&Over]) -> Packages {
        let mut packages = Packages::default();
        for list in lists {
            let Some(kind) = kind_of_name(&list.name) else { continue };
            let read = requirements(&File::new(catalog, &list.name, &list.text, kind));
            for one in read.installs().flat_map(|(_, _, install)| &install.requirements) {
                let Some(versions) = one.versions.clone() else { continue };
                let place = format!("line {} of {}", one.line, list.name);
                packages.allowed.entry(one.name.clone()).or_default().push((versions, place));
            }
        }
        packages
    }

    /// The place that allows only this release of a package or later ones: where each list that names it has
    /// a lower bound or a pin that is not below it.
    pub(crate) fn at_least(&self, name: &str, version: &Version) -> Option<&str> {
        let all = self.allowed.get(name)?;
        let all_above = all.iter().all(|(versions, _)| lowest(versions).is_some_and(|low| low >= *version));
        all_above.then(|| all.first().map(|(_, place)| place.as_str()))?
    }

    /// The place that excludes this release of a package and all later ones.
    pub(crate) fn below(&self, name: &str, version: &Version) -> Option<&str> {
        let all = self.allowed.get(name)?;
        let is_below = |versions: &VersionSpecifiers| {
            versions.iter().any(|one| match one.operator() {
                Operator::Equal | Operator::LessThanEqual => one.version() < version,
                Operator::LessThan => one.version() <= version,
                _ => false,
            })
        };
        all.iter().find(|(versions, _)| is_below(versions)).map(|(_, place)| place.as_str())
    }
}

/// The lowest version that specifiers allow, where they name it.
fn lowest(versions: &VersionSpecifiers) -> Option<Version> {
    let bound = versions.iter().filter_map(|one| match one.operator() {
        Operator::Equal
        | Operator::ExactEqual
        | Operator::EqualStar
        | Operator::GreaterThanEqual
        | Operator::GreaterThan
        | Operator::TildeEqual => Some(one.version().clone()),
        _ => None,
    });
    bound.max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::str::FromStr;

    #[test]
    fn bounds_of_lists() {
        let of = |texts: &[&str]| {
            let lists: Vec<Over> = texts
                .iter()
                .map(|text| Over { name: "requirements.txt".to_owned(), text: (*text).to_owned() })
                .collect();
            Packages::of(catalog::testing::catalog(), &lists.iter().collect::<Vec<_>>())
        };
        let version = Version::from_str("2.6.0").unwrap();
        let known = |texts: &[&str]| {
            let packages = of(texts);
            (packages.at_least("torch", &version).is_some(), packages.below("torch", &version).is_some())
        };
        assert_eq!(known(&["torch==2.6.0\n"]), (true, false));
        assert_eq!(known(&["torch>=2.7,<3\n"]), (true, false));
        assert_eq!(known(&["torch~=2.6\n"]), (true, false));
        assert_eq!(known(&["torch==2.5.1\n"]), (false, true));
        assert_eq!(known(&["torch<2.6\n"]), (false, true));
        assert_eq!(known(&["torch\n"]), (false, false));
        assert_eq!(known(&["torch==2.6.0\n", "torch==2.1.0\n"]), (false, true));
        assert_eq!(of(&["a\ntorch==2.7\n"]).at_least("torch", &version), Some("line 2 of requirements.txt"));
    }
}
