//! DeepSpeed's releases as the search needs them, from its own table.

use pep440_rs::VersionSpecifiers;

use super::releases::{Incompatible, Package, Release, RulesByRelease, rules_for, specifiers, version};
use super::without_cuda::WithoutCuda;
use catalog::Catalog;
use catalog::deepspeed::{self, Breaks};

/// DeepSpeed's own table as a package: it is on PyPI as source only, and declares no `Requires-Python`.
pub(super) fn package(catalog: &'static Catalog) -> Package {
    let (rules, companions) = rules(catalog);
    let release = |row: &'static deepspeed::Release| {
        let requires =
            [("torch", row.torch.as_deref()), ("pydantic", row.pydantic.as_deref()), ("numpy", Some(""))];
        let version = version(&row.version)?;
        let of_release = companions.iter().filter(|(releases, _)| releases.contains(&version));
        Some(Release {
            released: row.released.clone().unwrap_or_default(),
            source_only: true,
            requires: requires
                .into_iter()
                .filter_map(|(name, text)| Some((name, specifiers(text?.trim_start_matches(name))?)))
                .collect(),
            deepspeed: Some(row),
            incompatible: rules_for(&rules, &version),
            // Which of its operators and launchers run on which processor without a GPU is in no row.
            without_cuda: WithoutCuda::Unknown,
            companions: of_release.map(|(_, companions)| companions.clone()).collect(),
            ..Release::new("deepspeed", &row.version, version, &row.source)
        })
    };
    Package {
        name: "deepspeed",
        releases: catalog.deepspeed().all().iter().rev().filter_map(release).collect(),
        // Its table does not record it.
        older_releases: false,
    }
}

/// A package, and the Pythons on which it has to be there.
type Companion = (&'static str, VersionSpecifiers);

/// What breaks the import of some releases of DeepSpeed; and what has to be there so that it does not.
fn rules(catalog: &'static Catalog) -> (RulesByRelease<Incompatible>, RulesByRelease<Companion>) {
    let (mut rules, mut companions) = (Vec::new(), Vec::new());
    for row in catalog.deepspeed().incompatibilities().iter().filter(|row| row.breaks == Breaks::Import) {
        let (Some(releases), Some(with)) = (specifiers(&row.deepspeed), row.with_package.as_deref()) else {
            continue;
        };
        let versions = row.with_versions.as_deref().and_then(specifiers).unwrap_or_default();
        match row.unless_package.as_deref() {
            Some(needed) if with == "python" => companions.push((releases, (needed, versions))),
            _ => {
                let python = row.python.as_deref().and_then(specifiers);
                rules.push((releases, Incompatible { with, versions, python, effect: &row.effect }));
            }
        }
    }
    (rules, companions)
}
