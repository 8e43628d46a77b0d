//! Environment markers (PEP 508) on Linux with CPython.

use std::str::FromStr;

use pep508_rs::{ExtraName, MarkerEnvironment, MarkerEnvironmentBuilder, Pep508Error, VerbatimUrl};

pub use pep508_rs::VersionOrUrl;

/// A requirement as pip reads it.
pub type Requirement = pep508_rs::Requirement<VerbatimUrl>;

/// How deep parentheses may be nested: pep508_rs reads each level with a call of itself.
pub const NESTED_MAX: usize = 100;

/// Why a text is no requirement.
#[derive(Debug, thiserror::Error)]
pub enum RequirementError {
    /// Not what PEP 508 allows.
    #[error("{}", .0.message)]
    Syntax(Box<Pep508Error<VerbatimUrl>>),
    /// Parentheses in parentheses.
    #[error("parentheses are nested more than {NESTED_MAX} levels deep")]
    TooDeep,
    /// A name or an extra such as `torch-`.
    #[error("{0:?} ends with a separator; names and extras end with a letter or a digit")]
    Separator(String),
    /// pep508_rs panics at some other characters in markers.
    #[error("{0:?} is not ASCII; requirements consist of ASCII characters (PEP 508)")]
    NotAscii(char),
}

/// Reads a requirement (PEP 508).
///
/// # Errors
///
/// It is none, or nests too deep to be read.
pub fn requirement(text: &str) -> Result<Requirement, RequirementError> {
    if deepest(text) > NESTED_MAX {
        return Err(RequirementError::TooDeep);
    }
    if let Some(other) = text.chars().find(|c| !c.is_ascii()) {
        return Err(RequirementError::NotAscii(other));
    }
    if let Some(name) = with_separator(text) {
        return Err(RequirementError::Separator(name.to_owned()));
    }
    Requirement::from_str(text).map_err(|error| RequirementError::Syntax(Box::new(error)))
}

/// A name or an extra that ends with a separator: pep508_rs panics at it where something follows.
fn with_separator(text: &str) -> Option<&str> {
    let word = |text: &str| {
        let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        text.find(|c| !letter(c)).unwrap_or(text.len())
    };
    let text = text.trim_start();
    let (name, rest) = text.split_at(word(text));
    let extras = rest.trim_start().strip_prefix('[').and_then(|rest| rest.split(']').next());
    let extras = extras.into_iter().flat_map(|extras| extras.split(',')).map(str::trim_start);
    let mut names = std::iter::once(name).chain(extras.map(|extra| &extra[..word(extra)]));
    names.find(|name| name.ends_with(['.', '-', '_']))
}

fn deepest(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Whether a marker holds on Linux with each of these CPythons and these extras; `None`: with some Pythons
/// only, or it is no marker.
pub fn holds_with_all(
    marker: &str,
    pythons: impl IntoIterator<Item = u32>,
    architecture: &str,
    extras: &[&str],
) -> Option<bool> {
    let extras: Vec<ExtraName> = extras.iter().filter_map(|name| ExtraName::from_str(name).ok()).collect();
    let requirement = requirement(&format!("x ; {marker}")).ok()?;
    let answers: Option<Vec<bool>> = pythons
        .into_iter()
        .map(|python| {
            let environment = environment(python, architecture).ok()?;
            Some(requirement.marker.evaluate(&environment, &extras))
        })
        .collect();
    let answers = answers?;
    let first = *answers.first()?;
    answers.iter().all(|one| *one == first).then_some(first)
}

/// A marker, read once.
#[derive(Debug, Clone)]
pub struct Marker(pep508_rs::MarkerTree);

/// Where markers are evaluated: Linux with one CPython.
#[derive(Debug, Clone)]
pub struct Environment(MarkerEnvironment);

impl Environment {
    /// CPython 3.`python` on a processor (`aarch64`).
    pub fn new(python: u32, architecture: &str) -> Result<Environment, EnvironmentError> {
        environment(python, architecture).map(Environment)
    }
}

impl Marker {
    /// # Errors
    ///
    /// It is none, or nests too deep to be read.
    pub fn parse(text: &str) -> Result<Marker, RequirementError> {
        Ok(Marker(requirement(&format!("x ; {text}"))?.marker))
    }

    /// Whether it holds with these extras; a name that cannot be one is none.
    pub fn holds(&self, environment: &Environment, extras: &[String]) -> bool {
        let extras: Vec<ExtraName> =
            extras.iter().filter_map(|extra| ExtraName::from_str(extra).ok()).collect();
        self.0.evaluate(&environment.0, &extras)
    }
}

/// A Python version without an environment.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a marker environment for Python 3.{python}: {reason}")]
pub struct EnvironmentError {
    /// The minor version.
    pub python: u32,
    pub reason: String,
}

/// What markers are evaluated in, for CPython 3.`python` on a processor (`aarch64`).
pub fn environment(python: u32, architecture: &str) -> Result<MarkerEnvironment, EnvironmentError> {
    let version = format!("3.{python}");
    let full = format!("{version}.9");
    MarkerEnvironment::try_from(MarkerEnvironmentBuilder {
        implementation_name: "cpython",
        implementation_version: &full,
        os_name: "posix",
        platform_machine: architecture,
        platform_python_implementation: "CPython",
        platform_release: "6.8.0",
        platform_system: "Linux",
        platform_version: "1",
        python_full_version: &full,
        python_version: &version,
        sys_platform: "linux",
    })
    .map_err(|error| EnvironmentError { python, reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_characters_than_ascii_are_refused() {
        for text in ["x ; python_version >= \".49\"\0\0ï", "x ; python_version >= '3' 'ï'", "größe"] {
            assert!(matches!(requirement(text), Err(RequirementError::NotAscii(_))), "{text}");
        }
        assert!(holds_with_all("python_version >= \".49\"\0\0ï", [12], "x86_64", &[]).is_none());
        assert!(holds_with_all("extra == 'a'", [12], "x86_64", &["b", "a"]).unwrap());
    }

    #[test]
    fn names_that_end_with_a_separator_are_refused() {
        for text in ["toRequires-n-", "torch- >=2", "a. ; x", "x[ab- ]>=2", "x[a, b_c_ ]", " y_ @ z"] {
            assert!(matches!(requirement(text), Err(RequirementError::Separator(_))), "{text}");
        }
        for text in ["torch>=2", "x[a-b,c_d]==1", "zope.interface", "a-b ; python_version < '3.9'"] {
            assert!(requirement(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn nested_parentheses_do_not_exhaust_the_stack() {
        let nested = |levels: usize| {
            let marker = format!("{}os_name == 'posix'{}", "(".repeat(levels), ")".repeat(levels));
            holds_with_all(&marker, [12], "x86_64", &[])
        };
        assert_eq!((nested(NESTED_MAX), nested(NESTED_MAX + 1), nested(500_000)), (Some(true), None, None));
        let error = requirement(&format!("x ; {}", "(".repeat(500_000))).unwrap_err();
        assert!(matches!(error, RequirementError::TooDeep), "{error}");
    }
}
