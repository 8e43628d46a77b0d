//! The packages that a program runs with, as lists next to it name them.

use catalog::Catalog;
use pep440_rs::{Operator, Version, VersionSpecifiers};

use crate::file::{File, Installs, Over};
use crate::read::of_file::requirements;
use crate::recognize::kind_of_name;

/// The lists of packages; each is read once for all programs that share it.
#[derive(Debug, Default)]
pub(crate) struct Packages {
    lists: Vec<Over>,
}

impl Packages {
    pub(super) fn of(catalog: &'static Catalog, lists: Vec<Over>) -> Packages {
        for list in &lists {
            list.installs.get_or_init(|| installs(catalog, list));
        }
        Packages { lists }
    }

    /// The versions of a package that the lists allow, each with its list and line.
    fn allowed<'p>(
        &'p self,
        name: &'p str,
    ) -> impl Iterator<Item = (&'p VersionSpecifiers, &'p Over, usize)> {
        let of_list = move |list: &'p Over| {
            let all = list.installs.get().and_then(|installs| installs.get(name));
            all.into_iter().flatten().map(move |(versions, line)| (versions, list, *line))
        };
        self.lists.iter().flat_map(of_list)
    }

    /// The place that allows only this release of a package or later ones: where each list that names it has
    /// a lower bound or a pin that is not below it.
    pub(crate) fn at_least(&self, name: &str, version: &Version) -> Option<String> {
        let is_above = |versions: &VersionSpecifiers| lowest(versions).is_some_and(|low| low >= *version);
        let all_above = self.allowed(name).all(|(versions, ..)| is_above(versions));
        self.allowed(name).next().filter(|_| all_above).map(|(_, list, line)| place(list, line))
    }

    /// The place that excludes this release of a package and all later ones.
    pub(crate) fn below(&self, name: &str, version: &Version) -> Option<String> {
        let is_below = |versions: &VersionSpecifiers| {
            versions.iter().any(|one| match one.operator() {
                Operator::Equal | Operator::LessThanEqual => one.version() < version,
                Operator::LessThan => one.version() <= version,
                _ => false,
            })
        };
        let mut allowed = self.allowed(name);
        allowed.find(|(versions, ..)| is_below(versions)).map(|(_, list, line)| place(list, line))
    }
}

fn place(list: &Over, line: usize) -> String {
    format!("line {line} of {}", list.name)
}

/// What a list of packages installs.
fn installs(catalog: &'static Catalog, list: &Over) -> Installs {
    let mut installs = Installs::new();
    let Some(kind) = kind_of_name(&list.name) else { return installs };
    let read = requirements(&File::new(catalog, &list.name, &*list.text, kind));
    for one in read.installs().flat_map(|(_, _, install)| &install.requirements) {
        let Some(versions) = one.versions.clone() else { continue };
        installs.entry(one.name.clone()).or_default().push((versions, one.line));
    }
    installs
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
            let lists = texts.iter().map(|text| Over::new("requirements.txt", *text));
            Packages::of(catalog::testing::catalog(), lists.collect())
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
        assert_eq!(
            of(&["a\ntorch==2.7\n"]).at_least("torch", &version),
            Some("line 2 of requirements.txt".into())
        );
    }
}
