//! What a release requires on other Pythons and processors than those for which its row was made.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How the requirements of a row differ on some Pythons, on a processor, or on these Pythons of this
/// processor. No environment is in two of them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Elsewhere {
    /// The Pythons (`3.9`); `None`: every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pythons: Option<Vec<String>>,
    /// The processor (`aarch64`); `None`: every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// What is required there: next to what the row says, or instead.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requires: BTreeMap<String, String>,
    /// What is not required there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

impl Elsewhere {
    /// Whether it is about an environment; `None`: that depends on the part which is not known.
    pub fn covers(&self, python: Option<&str>, architecture: Option<&str>) -> Option<bool> {
        let of_python = self
            .pythons
            .as_ref()
            .map_or(Some(true), |pythons| python.map(|python| pythons.iter().any(|one| one == python)));
        let of_architecture = self
            .architecture
            .as_ref()
            .map_or(Some(true), |own| architecture.map(|architecture| own == architecture));
        match (of_python, of_architecture) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }

    /// Whether it says something of a package.
    pub fn mentions(&self, package: &str) -> bool {
        self.requires.contains_key(package) || self.without.iter().any(|name| name == package)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::packages::{Row, names};
    use crate::testing::catalog;

    fn row() -> Row {
        let text = r#"{releases: {"1.0": 2026-11-01}, requires: {numba: "==0.61.2", xformers: "==0.0.32"},
            elsewhere: [{pythons: ["3.9"], requires: {numba: "==0.60.0"}},
            {architecture: aarch64, without: [xformers]}], source: [an index]}"#;
        serde_yaml::from_str(text).unwrap()
    }

    #[test]
    fn requirements_of_an_environment() {
        let row = row();
        let on = |package, python, architecture| row.requirement(package, python, architecture);
        assert_eq!(on("numba", Some("3.12"), None), Some("==0.61.2"));
        assert_eq!(on("numba", Some("3.9"), Some("aarch64")), Some("==0.60.0"));
        assert_eq!(on("numba", None, Some("x86_64")), None, "it depends on the Python");
        assert_eq!(on("xformers", None, Some("x86_64")), Some("==0.0.32"));
        assert_eq!(on("xformers", Some("3.9"), Some("aarch64")), None);
        assert_eq!(on("xformers", Some("3.9"), None), None, "it depends on the processor");
        assert_eq!(on("torch", Some("3.9"), None), None);
        assert_eq!(row.requirements_anywhere("numba").collect::<Vec<_>>(), ["==0.61.2", "==0.60.0"]);
    }

    #[test]
    fn differences_are_differences_and_in_one_place() {
        let pythons: Vec<String> = (7..=20).map(|minor| format!("3.{minor}")).collect();
        for package in names().filter_map(|name| catalog().package(name)) {
            for row in package.rows.iter().filter(|row| !row.elsewhere.is_empty()) {
                let label = format!("{} {:?}", package.name, row.releases.keys().collect::<BTreeSet<_>>());
                for one in &row.elsewhere {
                    assert!(one.pythons.is_some() || one.architecture.is_some(), "{label}");
                    assert!(!one.requires.is_empty() || !one.without.is_empty(), "{label}");
                    let architecture = one.architecture.as_deref();
                    assert!(matches!(architecture, None | Some("x86_64" | "aarch64")), "{label}");
                    for (name, text) in &one.requires {
                        assert_ne!(row.requires.get(name), Some(text), "{label}: {name} is no difference");
                    }
                    for name in &one.without {
                        assert!(row.requires.contains_key(name), "{label}: {name} is not required at all");
                    }
                }
                for python in &pythons {
                    for architecture in ["x86_64", "aarch64"] {
                        let covers = |one: &&super::Elsewhere| {
                            one.covers(Some(python), Some(architecture)) == Some(true)
                        };
                        assert!(row.elsewhere.iter().filter(covers).count() < 2, "{label} on {python}");
                    }
                }
            }
        }
    }
}
