//! Values that a project declares, and where a person wrote them.

use std::fmt;
use std::ops::Range;

use pep440_rs::{Operator, VersionSpecifier, VersionSpecifiers};

/// A value and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared<T> {
    pub value: T,
    pub origin: Origin,
}

/// A place in a file of the project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// As it is shown: relative to the working directory.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// Bytes of the version specifier in the file; `None`: there is none, or it cannot be replaced there.
    pub span: Option<Range<usize>>,
    /// What is written there, without comments, hashes and logins: `torch==2.4.1`.
    pub text: String,
    /// What the bytes of the specifier follow.
    pub notation: Notation,
}

/// How versions are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Notation {
    /// PEP 440: `>=2.4,<3.0`.
    #[default]
    Specifiers,
    /// A constraint of Poetry: `^2.4`.
    Poetry,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{} {}", self.file, self.line, self.text)
    }
}

/// A requirement on a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// As indexes compare it (PEP 503): `flash-attn`.
    pub name: String,
    pub extras: Vec<String>,
    /// Empty: any. Without a local version; that is in `local`.
    pub versions: VersionSpecifiers,
    /// `cu121` of `==2.4.1+cu121`.
    pub local: Option<String>,
    /// As written: `sys_platform == 'linux'`.
    pub marker: Option<String>,
    /// `sha256:…`
    pub hashes: Vec<String>,
    pub kind: DeclaredBy,
}

/// In which role a requirement is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclaredBy {
    /// It is installed.
    Main,
    /// `-c`: it limits versions of what is installed for another reason.
    Constraint,
    /// Of uv: it is installed, in place of what else requires the package.
    Override,
}

impl Dependency {
    /// The specifiers as a person writes them: `==2.4.1+cu121`, `>=2.1,<2.5`; empty: any.
    pub fn specifier(&self) -> String {
        let local = self.local.as_ref().map_or(String::new(), |local| format!("+{local}"));
        let part = |one: &VersionSpecifier| {
            // No other operator takes a local version.
            let local = if is_exact(one) { local.as_str() } else { "" };
            one.to_string().replace(' ', "") + local
        };
        self.versions.iter().map(part).collect::<Vec<_>>().join(",")
    }

    /// Whether exactly one version is allowed.
    pub fn is_pinned(&self) -> bool {
        self.versions.iter().any(is_exact)
    }
}

fn is_exact(one: &VersionSpecifier) -> bool {
    matches!(one.operator(), Operator::Equal | Operator::ExactEqual)
}

/// The Python of the project: `>=3.10,<3.13` of `requires-python`, `==3.11.*` of `.python-version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonRange {
    pub specifiers: VersionSpecifiers,
}

/// A place that pip takes packages from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Without its login.
    pub url: String,
    pub role: IndexRole,
    /// Whether the address has a login, which is neither stored nor shown.
    pub has_login: bool,
    /// By which a [`PackageSource`] names it: `pytorch-cu124`.
    pub name: Option<String>,
    /// Bytes of the name in the file.
    pub name_span: Option<Range<usize>>,
}

/// How an index is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexRole {
    /// `--index-url`: instead of PyPI.
    Default,
    /// `--extra-index-url`: next to the others.
    Extra,
    /// `--find-links`: a page or directory of files.
    FindLinks,
    /// Of uv: a package comes from the first index that has it, before the default one.
    First,
    /// Only packages whose source names it come from it.
    Explicit,
    /// Of Poetry: only what no other index has.
    Supplemental,
}

/// Where a package of the same file comes from, instead of any index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageSource {
    /// As indexes compare it (PEP 503).
    pub package: String,
    /// As written: on other systems it comes from elsewhere.
    pub marker: Option<String>,
    /// The name of an index; `None`: a repository, an address or a directory.
    pub index: Option<String>,
}
