//! `python` and `platform` of a dependency, as markers (PEP 508).

use pep440_rs::{Operator, VersionSpecifier};

use crate::poetry_constraint::specifiers;

/// `^3.8` as `python_version >= '3.8' and python_version < '4.0'`; `None`: it cannot be expressed. Any Python
/// is an empty marker.
pub(super) fn of_python(constraint: &str) -> Option<String> {
    let all: Vec<String> = specifiers(constraint)?.iter().map(of_specifier).collect();
    Some(all.join(" and "))
}

fn of_specifier(one: &VersionSpecifier) -> String {
    let version = one.version();
    let numbers = version.release().len();
    let (variable, operator) = match one.operator() {
        // Of a version without a third number, these are the same for all releases of a series.
        Operator::GreaterThanEqual => {
            (if numbers < 3 { "python_version" } else { "python_full_version" }, ">=")
        }
        Operator::LessThan => (if numbers < 3 { "python_version" } else { "python_full_version" }, "<"),
        Operator::Equal | Operator::EqualStar if numbers == 2 => ("python_version", "=="),
        Operator::NotEqual | Operator::NotEqualStar if numbers == 2 => ("python_version", "!="),
        _ => return format!("python_full_version {}", quoted(one)),
    };
    format!("{variable} {operator} '{version}'")
}

fn quoted(one: &VersionSpecifier) -> String {
    let text = one.to_string();
    let version = text.trim_start_matches(['=', '<', '>', '!', '~']);
    format!("{} '{version}'", &text[..text.len() - version.len()])
}

pub(super) fn of_platform(name: &str) -> Option<String> {
    let known = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    known.then(|| format!("sys_platform == '{name}'"))
}
