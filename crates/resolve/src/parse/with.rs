//! `--with`: packages with versions, separated by commas, which specifiers contain too.

use diagnostic::suggest::nearest;
use pep440_rs::Version;

use super::{ParameterError, versions};
use crate::parameter::{Parameter, Source};
use crate::request::{Requirement, RequirementKind, Versions};
use crate::universe::Universe;

const WITH: Parameter = Parameter::With;

/// The requirements in one value: `trl>=0.9,<1.0,numpy<2`.
pub(super) fn requirements(universe: &Universe, text: &str) -> Result<Vec<Requirement>, ParameterError> {
    items(text).into_iter().map(|(at, item)| requirement(universe, text, at, item)).collect()
}

/// NCCL is part of the torch build, by any of these names.
const NCCL: &[&str] = &["nccl", "nvidia-nccl-cu11", "nvidia-nccl-cu12", "nvidia-nccl-cu13"];

/// The names that `--with` accepts.
pub fn package_names() -> Vec<&'static str> {
    let others = ["deepspeed", "torch", "torchvision", "torchaudio"];
    let mut names: Vec<&str> = catalog::packages::names().chain(others).collect();
    names.sort_unstable();
    names
}

/// The requirements in one value of `--with`: `trl>=0.9,<1.0,numpy<2`.
pub fn split_requirements(text: &str) -> Vec<&str> {
    items(text).into_iter().map(|(_, item)| item).collect()
}

/// The name in a requirement (`Flash_Attn>=2`), as PyPI compares it: `flash-attn`.
pub fn package_name(requirement: &str) -> String {
    let requirement = requirement.trim();
    let end = requirement
        .find(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c))
        .unwrap_or(requirement.len());
    normalised(&requirement[..end])
}

/// Versions of a package that exist.
pub(super) fn releases(universe: &Universe, name: &str) -> Vec<Version> {
    let releases = universe.package(name).map_or(&[][..], |package| &package.releases);
    releases.iter().map(|release| release.version.clone()).collect()
}

/// Cuts at the commas that are followed by a name: each item with its offset in bytes.
fn items(text: &str) -> Vec<(usize, &str)> {
    let mut items = Vec::new();
    let mut from = 0;
    for (comma, _) in text.match_indices(',') {
        if text[comma + 1..].trim_start().starts_with(|next: char| next.is_ascii_alphabetic()) {
            items.push((from, &text[from..comma]));
            from = comma + 1;
        }
    }
    items.push((from, &text[from..]));
    items
        .into_iter()
        .map(|(at, item)| {
            (at + item.len() - item.trim_start().len(), item.trim().trim_end_matches([',', ' ']))
        })
        .filter(|(_, item)| !item.is_empty())
        .collect()
}

fn requirement(
    universe: &Universe,
    text: &str,
    at: usize,
    item: &str,
) -> Result<Requirement, ParameterError> {
    let end = item.find(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c)).unwrap_or(item.len());
    let (typed, rest) = item.split_at(end);
    let name = normalised(typed);
    if name.is_empty() {
        return Err(ParameterError::at(WITH, text, at, "a package's name is expected here"));
    }
    known(text, at, &name)?;
    if rest.starts_with('[') {
        let message = "extras are not in the catalog";
        return Err(ParameterError::at(WITH, text, at + end, message)
            .hint(format!("write {typed} alone, and name to pip what the extra brings")));
    }
    let specifier = specifier(text, at + end, rest, &name, universe)?;
    let kind = match name.as_str() {
        "torch" => RequirementKind::Torch(specifier),
        _ => RequirementKind::Package(name, specifier),
    };
    Ok(Requirement { source: Source::option(WITH, item), kind })
}

/// Refuses names that the catalog does not have.
fn known(text: &str, at: usize, name: &str) -> Result<(), ParameterError> {
    let names = package_names();
    if names.contains(&name) || NCCL.contains(&name) {
        return Ok(());
    }
    if ["python", "cuda", "gpu", "driver"].contains(&name) {
        let message = format!("{name} has an option of its own");
        return Err(ParameterError::at(WITH, text, at, message).hint(format!("write --{name}")));
    }
    let message = format!("{name} is not in the catalog");
    Err(ParameterError::at(WITH, text, at, message)
        .near(nearest(name, names.iter().copied()))
        .hint(format!("the catalog knows {}; pip takes any other package", names.join(", "))))
}

fn specifier(
    text: &str,
    at: usize,
    rest: &str,
    name: &str,
    universe: &Universe,
) -> Result<Versions, ParameterError> {
    let trimmed = rest.trim();
    let at = at + rest.len() - rest.trim_start().len();
    let starts_right = trimmed.is_empty() || trimmed.starts_with(['=', '<', '>', '!', '~']);
    let single = trimmed.starts_with('=') && !trimmed.starts_with("==");
    if !starts_right || single {
        let message = "a specifier is expected here: == >= <= > < != ~=";
        let version = trimmed.trim_start_matches(['@', '=', ':', ' ']);
        let near = version.starts_with(|c: char| c.is_ascii_digit()).then(|| format!("{name}=={version}"));
        return Err(ParameterError::at(WITH, text, at, message).near(near.as_deref()));
    }
    let parameter = if name == "torch" { Parameter::Torch } else { WITH };
    versions::versions(parameter, trimmed, &|| releases(universe, name)).map_err(|error| {
        let position = trimmed.parse::<Versions>().map_or_else(|error| error.at, |_| 0);
        let message = format!("{trimmed:?} is no specifier such as >=2.4,<2.7");
        ParameterError { hints: error.hints, ..ParameterError::at(WITH, text, at + position, message) }
    })
}

/// The name as PyPI compares it (PEP 503): lower-case, runs of `-_.` one dash.
fn normalised(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Naming;
    use crate::testing::universe;

    fn sources(text: &str) -> Vec<String> {
        requirements(universe(), text)
            .unwrap()
            .into_iter()
            .map(|requirement| requirement.source.to_string())
            .collect()
    }

    #[test]
    fn commas_part_packages_only_before_a_name() {
        assert_eq!(
            items("trl>=0.9,<1.0, numpy<2,flash_attn"),
            [(0, "trl>=0.9,<1.0"), (15, "numpy<2"), (23, "flash_attn")]
        );
        assert_eq!(items("numpy, ,"), [(0, "numpy")]);
        assert_eq!(
            sources("numpy>=1.26,<2,deepspeed==0.15.4"),
            ["--with numpy>=1.26,<2", "--with deepspeed==0.15.4"]
        );
    }

    #[test]
    fn every_package_goes_to_its_place() {
        let requirements = requirements(universe(), "torch==2.6.0+cu124,TorchVision,NumPy<2").unwrap();
        assert!(
            matches!(&requirements[0].kind, RequirementKind::Torch(v) if v.build.as_deref() == Some("cu124"))
        );
        assert!(matches!(&requirements[1].kind, RequirementKind::Package(name, _) if name == "torchvision"));
        let RequirementKind::Package(name, versions) = &requirements[2].kind else {
            panic!("{requirements:?}")
        };
        assert_eq!((name.as_str(), versions.text.as_str()), ("numpy", "<2"));
        assert_eq!(normalised("Flash__Attn.x"), "flash-attn-x");
    }

    #[test]
    fn mistakes_name_the_place_and_the_way_out() {
        for (text, position, hint) in [
            ("numyp", 0, "did you mean numpy?"),
            ("numpy,python==3.12", 6, "write --python"),
            ("numpy[all]<2", 5, "write numpy alone"),
            ("numpy=1.26.4", 5, "did you mean numpy==1.26.4?"),
            ("numpy@1.26.4", 5, "did you mean numpy==1.26.4?"),
            ("<2", 0, ""),
            ("numpy>=2;<3", 8, ""),
        ] {
            let error = requirements(universe(), text).unwrap_err();
            let message = error.message(Naming::Options);
            let caret = message.lines().last().unwrap().len();
            assert_eq!(caret, "  --with ".len() + position + 1, "{text}: {message}");
            assert!(error.hints.join(" ").contains(hint), "{text}: {error:?}");
        }
    }
}
