//! `--with`: packages with versions, separated by commas, which specifiers contain too.

use diagnostic::suggest::typo_of;
use diagnostic::visible::is_hidden;
use pep440_rs::Version;

use super::{ParameterError, versions};
use crate::marker::{self, RequirementError};
use crate::outcome::Warning;
use crate::parameter::{Parameter, Source};
use crate::request::{Requirement, RequirementKind, Versions};
use crate::universe::Universe;

const WITH: Parameter = Parameter::With;

/// The requirements in one value: `trl>=0.9,<1.0,numpy<2`.
pub(super) fn requirements(universe: &Universe, text: &str) -> Result<Vec<Requirement>, ParameterError> {
    let items = items(text);
    if items.is_empty() {
        let problem = format!("{text:?} names no package");
        return Err(ParameterError::new(WITH, problem).hint("write for example --with numpy"));
    }
    let each = items.into_iter().map(|(at, item)| requirement(universe, text, at, item));
    Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
}

/// NCCL is part of the torch build, by any of these names.
const NCCL: &[&str] = &["nccl", "nvidia-nccl-cu11", "nvidia-nccl-cu12", "nvidia-nccl-cu13"];

/// What `--with` accepts besides the packages of the catalog.
const OTHERS: [&str; 4] = ["deepspeed", "torch", "torchvision", "torchaudio"];

/// Whether the resolver chooses the release of a package.
pub fn is_package(name: &str) -> bool {
    OTHERS.contains(&name) || catalog::packages::names().any(|one| one == name)
}

/// The names that `--with` accepts.
pub fn package_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = catalog::packages::names().chain(OTHERS).collect();
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

/// Cuts at the commas that are followed by a name and not within brackets: each item with its byte offset.
fn items(text: &str) -> Vec<(usize, &str)> {
    let mut items = Vec::new();
    let mut from = 0;
    for (comma, _) in text.match_indices(',') {
        let within_brackets = text[from..comma].matches('[').count() > text[from..comma].matches(']').count();
        let before_name = text[comma + 1..].trim_start().starts_with(|next: char| next.is_ascii_alphabetic());
        if before_name && !within_brackets {
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

/// The requirements of an item: several where the catalog knows a package but not its extra.
fn requirement(
    universe: &Universe,
    text: &str,
    at: usize,
    item: &str,
) -> Result<Vec<Requirement>, ParameterError> {
    let end = item.find(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c)).unwrap_or(item.len());
    let (typed, rest) = item.split_at(end);
    let name = normalised(typed);
    if name.is_empty() {
        return Err(ParameterError::at(WITH, text, at, "a package's name is expected here"));
    }
    if ["python", "cuda", "gpu", "driver"].contains(&name.as_str()) {
        let message = format!("{name} has an option of its own");
        return Err(ParameterError::at(WITH, text, at, message).hint(format!("write --{name}")));
    }
    let source = Source::option(WITH, item);
    // Whether a marker holds depends on the Python of the stack.
    if !is_known(&name) || rest.contains(';') {
        if !is_known(&name) {
            other_name(universe, &name, rest).map_or(Ok(()), |(problem, hint)| {
                Err(ParameterError::at(WITH, text, at, problem).hint(hint))
            })?;
        }
        return Ok(vec![Requirement { source, kind: unchecked(text, at, item)? }]);
    }
    let (extras, rest) = match rest.find(']').filter(|_| rest.starts_with('[')) {
        Some(close) => rest.split_at(close + 1),
        None => ("", rest),
    };
    let specifier = specifier(text, at + end + extras.len(), rest, &name, universe)?;
    let kind = match name.as_str() {
        "torch" => RequirementKind::Torch(specifier),
        _ => RequirementKind::Package(name, specifier),
    };
    let mut all = vec![Requirement { source: source.clone(), kind }];
    if !extras.is_empty() {
        all.push(Requirement { source, kind: unchecked(text, at, &item[..end + extras.len()])? });
    }
    Ok(all)
}

/// Why a name that the catalog does not have is not what is meant, and what to write instead: pip finds
/// something else under it, or it differs from a package of the catalog by a slip. A pinned version or an
/// address says that it is meant.
fn other_name(universe: &Universe, name: &str, rest: &str) -> Option<(String, String)> {
    if let Some(row) = universe.catalog.misleading_packages().named(name) {
        return (!rest.contains('@')).then(|| (row.problem.clone(), row.hint.clone()));
    }
    let near = typo_of(name, package_names()).filter(|_| !rest.contains("==") && !rest.contains('@'))?;
    let problem = format!("the catalog has no package {name}");
    Some((problem, format!("did you mean {near}? If not, pin its version: {name}==VERSION")))
}

fn is_known(name: &str) -> bool {
    is_package(name) || NCCL.contains(&name)
}

/// A warning about what pip installs and envdoc did not check.
pub fn unchecked_warning(texts: &[impl AsRef<str>]) -> Warning {
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    let names = package_names();
    let questions = texts.iter().filter_map(|text| {
        let name = package_name(text);
        Some(format!("; is {name} {}?", typo_of(&name, names.iter().copied()).filter(|_| !is_known(&name))?))
    });
    Warning {
        id: Warning::NOT_IN_CATALOG.into(),
        message: format!(
            "Not checked by envdoc: {}. pip chooses their versions{}. Pin them with `envdoc render lock`.",
            texts.join(", "),
            questions.collect::<String>()
        ),
    }
}

/// Where a text stops being one requirement that pip reads (PEP 508), in bytes. A backslash would join the
/// next line of a requirements file to it.
fn wrong_at(item: &str) -> Option<usize> {
    let strange = item.find(|c: char| c == '\\' || is_hidden(c));
    strange.or_else(|| behind_address(item)).or(match marker::requirement(item.trim()) {
        Ok(_) => None,
        Err(RequirementError::Syntax(error)) => Some(error.start.min(item.len())),
        Err(RequirementError::Separator(name)) => Some(item.find(&name).unwrap_or(0) + name.len() - 1),
        Err(RequirementError::NotAscii(other)) => item.find(other),
        Err(RequirementError::TooDeep) => Some(0),
    })
}

/// Where something other than a marker follows the address in `NAME @ URL`: pip takes `--hash` and other
/// options there.
fn behind_address(item: &str) -> Option<usize> {
    let (before, address) = item.split_once('@').filter(|(_, address)| address.contains("://"))?;
    let start = before.len() + 1 + address.len() - address.trim_start().len();
    let blank = start + item[start..].find(char::is_whitespace)?;
    let rest = item[blank..].trim_start();
    (!rest.is_empty() && !rest.starts_with(';')).then(|| item.len() - rest.len())
}

/// Whether an address holds a login: it would be written into locks, requirements files and images.
fn has_login(item: &str) -> bool {
    let addresses = item.split("://").skip(1);
    let logins = addresses.filter_map(|rest| rest.split(['/', '?', '#']).next()?.rsplit_once('@'));
    // `git@` is the user of everybody.
    logins.map(|(login, _)| login).any(|login| login != "git")
}

/// Whether a text is one requirement (PEP 508): no option, no second line.
pub fn is_requirement(text: &str) -> bool {
    wrong_at(text).is_none()
}

/// What pip reads and the resolver does not.
fn unchecked(text: &str, at: usize, item: &str) -> Result<RequirementKind, ParameterError> {
    match wrong_at(item) {
        None if has_login(item) => {
            let message = "the address has a login, which every file made of it would show";
            let hint = "let pip read it from ~/.netrc or a keyring, and leave it out here";
            Err(ParameterError::at(WITH, text, at, message).hint(hint))
        }
        None => Ok(RequirementKind::Unchecked(item.to_owned())),
        Some(wrong) => {
            let message = "pip reads no requirement here (PEP 508)";
            let near = (item.contains("://") && !item.contains('@'))
                || item.starts_with("git+")
                || item.starts_with("http");
            let error = ParameterError::at(WITH, text, at + wrong, message);
            Err(if near { error.hint(format!("write NAME @ {item}")) } else { error })
        }
    }
}

/// The error about a second package behind a blank (`vllm flash-attn`), with the comma that is missing.
fn without_comma(text: &str, at: usize, rest: &str) -> Option<ParameterError> {
    let blank = text[..at].ends_with(char::is_whitespace);
    if !blank || !rest.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return None;
    }
    let (before, after) = text.split_at(at);
    let error = ParameterError::at(WITH, text, at, "a comma is missing before this package");
    Some(error.hint(format!("write --with '{},{after}'", before.trim_end())))
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
        if let Some(error) = without_comma(text, at, trimmed) {
            return Err(error);
        }
        let message = "a specifier is expected here: == >= <= > < != ~=";
        let version = trimmed.trim_start_matches(['@', '=', ':', ' ']);
        let near = version.starts_with(|c: char| c.is_ascii_digit()).then(|| format!("{name}=={version}"));
        return Err(ParameterError::at(WITH, text, at, message).near(near.as_deref()));
    }
    let parameter = if name == "torch" { Parameter::Torch } else { WITH };
    versions::versions(parameter, trimmed, &|| releases(universe, name)).map_err(|error| {
        let position = trimmed.parse::<Versions>().map_or_else(|error| error.at, |_| 0);
        let message = format!("{trimmed:?} is not a version specifier; example: >=2.4");
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
    fn an_address_is_followed_by_nothing_but_a_marker() {
        for text in [
            "pwn @ https://e.example/x --hash=sha256:00 --index-url=http://evil",
            "pwn @ https://e.example/x.whl --config-settings=a=b",
            "pwn @ https://bob:secret@e.example/x.whl",
            "pwn @ git+https://token@git.example/x.git",
        ] {
            assert!(requirements(universe(), text).is_err(), "{text}");
        }
        for text in [
            "own @ https://e.example/x.whl",
            "own@https://e.example/x.whl ; python_version < '3.13'",
            "own[extra] @ git+ssh://git@git.example/x.git@v1#subdirectory=a",
        ] {
            assert!(requirements(universe(), text).is_ok(), "{text}");
        }
    }

    #[test]
    fn comma_separates_packages_only_before_a_name() {
        assert_eq!(
            items("trl>=0.9,<1.0, numpy<2,flash_attn"),
            [(0, "trl>=0.9,<1.0"), (15, "numpy<2"), (23, "flash_attn")]
        );
        assert_eq!(items("numpy, ,"), [(0, "numpy")]);
        for text in [",,,", " ", ""] {
            let error = requirements(universe(), text).unwrap_err();
            assert!(error.problem.ends_with("names no package"), "{error:?}");
        }
        assert_eq!(
            sources("numpy>=1.26,<2,deepspeed==0.15.4"),
            ["--with numpy>=1.26,<2", "--with deepspeed==0.15.4"]
        );
    }

    #[test]
    fn torch_and_packages_become_separate_requirements() {
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
    fn errors_mark_the_position_and_suggest_a_fix() {
        for (text, position, hint) in [
            ("numpy,python==3.12", 6, "write --python"),
            ("numpy=1.26.4", 5, "did you mean numpy==1.26.4?"),
            ("numpy@1.26.4", 5, "did you mean numpy==1.26.4?"),
            ("<2", 0, ""),
            ("vllm flash-attn", 5, "write --with 'vllm,flash-attn'"),
            ("numpy<2,trl peft", 12, "write --with 'numpy<2,trl,peft'"),
            ("numpy,flash-atn", 6, "did you mean flash-attn?"),
            ("numpyy>=2", 0, "did you mean numpy?"),
            ("apex", 0, "github.com/NVIDIA/apex"),
            ("flash_attn_3", 0, "github.com/Dao-AILab/flash-attention"),
            ("flashinfer", 0, "write flashinfer-python"),
            ("transformer-engine-torch==2.20.2", 0, "request transformer-engine"),
            ("transformers[torch", 12, ""),
            ("pandas==", 6, ""),
            ("evil --index-url=http://evil.example", 5, ""),
            ("evil\\", 4, ""),
            ("git+https://host.example/x.git", 0, "write NAME @ git+https"),
        ] {
            let error = requirements(universe(), text).unwrap_err();
            let message = error.message(Naming::Options);
            let caret = message.lines().last().unwrap().len();
            assert_eq!(caret, "  --with ".len() + position + 1, "{text}: {message}");
            assert!(error.hints.join(" ").contains(hint), "{text}: {error:?}");
        }
    }

    #[test]
    fn a_requirement_is_one_line_without_options() {
        for text in ["evil --index-url=http://evil.example", "evil\\", "evil\u{2028}x", "a\nb", "-r x", ""] {
            assert!(!is_requirement(text), "{text:?}");
            assert!(text.is_empty() || requirements(universe(), text).is_err(), "{text:?}");
        }
        let (url, hidden) = ("x @ https://host.example/a\\", "x @ https://host.example/a\u{2028}b");
        assert!(!is_requirement(url) && !is_requirement(hidden));
        for text in ["evil", " evil<2 ", "x @ https://host.example/x.whl", "a[b]>=1; python_version<'3.12'"] {
            assert!(is_requirement(text), "{text:?}");
        }
    }

    #[test]
    fn what_the_catalog_does_not_have_goes_to_pip() {
        let unchecked = |text: &str| -> Vec<String> {
            let of = |one: Requirement| match one.kind {
                RequirementKind::Unchecked(text) => Some(text),
                _ => None,
            };
            requirements(universe(), text).unwrap().into_iter().filter_map(of).collect()
        };
        assert_eq!(unchecked("numpy<2,pandas>=2,<3,numyp==1.0"), ["pandas>=2,<3", "numyp==1.0"]);
        let marker = "numpy<2; python_version<'3.12'";
        assert_eq!(unchecked(marker), [marker]);
        assert_eq!(unchecked("pandas[excel,parquet]>=2"), ["pandas[excel,parquet]>=2"]);
        assert_eq!(unchecked("x @ git+https://host.example/x.git"), ["x @ git+https://host.example/x.git"]);
        assert_eq!(unchecked("pandas<3 ; python_version<'3.12'"), ["pandas<3 ; python_version<'3.12'"]);
        let of_known = requirements(universe(), "transformers[torch,sentencepiece]>=4.40").unwrap();
        let RequirementKind::Package(name, versions) = &of_known[0].kind else { panic!("{of_known:?}") };
        assert_eq!((name.as_str(), versions.text.as_str()), ("transformers", ">=4.40"));
        assert_eq!(of_known[1].kind, RequirementKind::Unchecked("transformers[torch,sentencepiece]".into()));
        assert_eq!(typo_of("numyp", package_names()), Some("numpy"));
        assert_eq!(typo_of("pandas", package_names()), None);
    }
}
