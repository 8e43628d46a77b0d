//! Version constraints of Poetry, in PEP 440: `^2.4` is `>=2.4,<3.0`.
//!
//! Rules: <https://python-poetry.org/docs/dependency-specification/#version-constraints>, and
//! `poetry.core.constraints.version.parser`.

use pep440_rs::{Operator, Version, VersionSpecifier, VersionSpecifiers};

/// Longer ones are refused.
const LENGTH_LIMIT_BYTES: usize = 1000;

/// The same versions as specifiers; `None`: PEP 440 cannot express it (`||`), or it is no constraint.
pub fn specifiers(text: &str) -> Option<VersionSpecifiers> {
    if text.len() > LENGTH_LIMIT_BYTES || text.contains('|') {
        return None;
    }
    let mut all = Vec::new();
    for part in parts(text)? {
        all.extend(one(&part)?);
    }
    Some(all.into_iter().collect())
}

/// The parts that must all hold: `>=2.1 <2.5`, `>= 2.1, < 2.5`. `None`: there is none.
fn parts(text: &str) -> Option<Vec<String>> {
    let mut parts: Vec<String> = Vec::new();
    for chunk in text.trim().trim_end_matches(',').split(',') {
        let mut operator = String::new();
        let before = parts.len();
        for word in chunk.split_whitespace() {
            match word.chars().all(is_operator) {
                true => operator.push_str(word),
                false => parts.push(std::mem::take(&mut operator) + word),
            }
        }
        if !operator.is_empty() || parts.len() == before {
            return None;
        }
    }
    Some(parts)
}

fn is_operator(character: char) -> bool {
    "^~<>=!".contains(character)
}

fn one(part: &str) -> Option<Vec<VersionSpecifier>> {
    let version = part.trim_start_matches(is_operator);
    let specifier = |operator, version| VersionSpecifier::from_version(operator, version).ok();
    let operator = match &part[..part.len() - version.len()] {
        "^" | "~" if has_wildcard(version) => return None,
        "^" => {
            return range(version, |numbers| {
                numbers.iter().position(|number| *number > 0).unwrap_or(numbers.len() - 1).min(2)
            });
        }
        "~" => return range(version, |numbers| usize::from(numbers.len() > 1)),
        "" | "=" | "==" if version == "*" => return Some(Vec::new()),
        "" | "=" | "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        "~=" if !version.contains('.') => return range(version, |_| 0),
        "~=" => Operator::TildeEqual,
        ">=" => Operator::GreaterThanEqual,
        ">" => Operator::GreaterThan,
        "<=" => Operator::LessThanEqual,
        "<" => Operator::LessThan,
        _ => return None,
    };
    // `>=2.*` is `>=2`.
    let bound = !matches!(operator, Operator::Equal | Operator::NotEqual);
    let version = if bound { series(version) } else { version };
    if !has_wildcard(version) {
        return Some(vec![specifier(operator, version.parse().ok()?)?]);
    }
    Some(vec![format!("{operator}{}.*", series(version)).parse().ok()?])
}

/// `2.4.*`
fn has_wildcard(version: &str) -> bool {
    version.ends_with('*')
}

fn series(version: &str) -> &str {
    version.trim_end_matches(['*', '.'])
}

/// From a version to the next one that differs in the number at `counted`.
fn range(version: &str, counted: impl Fn(&[u64]) -> usize) -> Option<Vec<VersionSpecifier>> {
    let low: Version = version.parse().ok()?;
    let mut numbers = low.release().to_vec();
    let at = counted(&numbers);
    let number = numbers.get_mut(at)?;
    *number = number.checked_add(1)?;
    numbers[at + 1..].fill(0);
    let high = Version::new(numbers).with_epoch(low.epoch());
    let low = VersionSpecifier::from_version(Operator::GreaterThanEqual, low).ok()?;
    Some(vec![low, VersionSpecifier::from_version(Operator::LessThan, high).ok()?])
}

/// A constraint that allows a version, with the same operator and as many numbers: `~2.3.0` becomes `~2.7.1`,
/// `2.4.*` becomes `2.7.*`. `None`: it is not a single constraint of that kind.
pub(crate) fn with_version(text: &str, version: &Version) -> Option<String> {
    let written = text.trim_start_matches(|c: char| is_operator(c) || c.is_whitespace());
    let operator = &text[..text.len() - written.len()];
    if !["", "^", "~", "=", "=="].contains(&operator.trim()) || text.contains([',', '|']) {
        return None;
    }
    let written = written.trim_end();
    let (number, wildcard) = written.split_at(series(written).len());
    let numbers = number.parse::<Version>().ok()?.release().len();
    let spelled = |count: usize| {
        let release = version.release();
        let numbers = (0..count).map(|at| release.get(at).copied().unwrap_or(0).to_string());
        format!("{operator}{}{wildcard}", numbers.collect::<Vec<_>>().join("."))
    };
    let all = format!("{operator}{version}{wildcard}");
    [spelled(numbers), all].into_iter().find(|new| specifiers(new).is_some_and(|new| new.contains(version)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_of_the_documentation() {
        for (text, expected) in [
            ("^1.2.3", ">=1.2.3, <2.0.0"),
            ("^1.2", ">=1.2, <2.0"),
            ("^1", ">=1, <2"),
            ("^0.2.3", ">=0.2.3, <0.3.0"),
            ("^0.0.3", ">=0.0.3, <0.0.4"),
            ("^0.0", ">=0.0, <0.1"),
            ("^0", ">=0, <1"),
            ("^0.0.0", ">=0.0.0, <0.0.1"),
            ("^ 2.4", ">=2.4, <3.0"),
            ("^2.0.0rc1", ">=2.0.0rc1, <3.0.0"),
            ("~1.2.3", ">=1.2.3, <1.3.0"),
            ("~1.2", ">=1.2, <1.3"),
            ("~1", ">=1, <2"),
            ("~0.0.3", ">=0.0.3, <0.1.0"),
            ("*", ""),
            ("1.*", "==1.*"),
            ("2.*.*", "==2.*"),
            (">=2.4.*", ">=2.4"),
            ("^v2.4", ">=2.4, <3.0"),
            ("^1!2.0", ">=1!2.0, <1!3.0"),
            ("==2.4.*", "==2.4.*"),
            ("!=2.4.*", "!=2.4.*"),
            (">= 1.2.0", ">=1.2.0"),
            ("> 1, < 2", ">1, <2"),
            (">=2.1 <2.5", ">=2.1, <2.5"),
            (">=2.1,<2.5,", ">=2.1, <2.5"),
            ("1.2.3", "==1.2.3"),
            ("2.4", "==2.4"),
            ("=2.4.1", "==2.4.1"),
            ("2.4.1+cu121", "==2.4.1+cu121"),
            ("~=2.4.1", "~=2.4.1"),
            ("~=2", ">=2, <3"),
        ] {
            assert_eq!(specifiers(text).map(|one| one.to_string()).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "^2.4 || ^3.0",
            "2.4|2.5",
            "",
            ",",
            "^",
            "^*",
            "^2.*",
            "~2.*",
            "2.4.x",
            "<>2.4",
            "===2.4",
            "a",
            "^2+cu1",
        ] {
            assert_eq!(specifiers(text), None, "{text}");
        }
    }

    #[test]
    fn another_version_keeps_the_operator() {
        for (text, version, expected) in [
            ("^2.4", "3.1.2", "^3.1"),
            ("~2.3.0", "2.7.1", "~2.7.1"),
            ("~2.3", "2.7.1", "~2.7"),
            ("2.4.*", "2.7.1", "2.7.*"),
            ("==2.4.*", "2.7.1", "==2.7.*"),
            ("2.4.1", "2.7.1", "2.7.1"),
            ("2.4", "2.7.1", "2.7.1"),
            ("== 2.4.1", "2.7.1", "== 2.7.1"),
            ("^0.2.3", "0.3.1", "^0.3.1"),
        ] {
            assert_eq!(with_version(text, &version.parse().unwrap()).as_deref(), Some(expected), "{text}");
        }
        for text in [">=2.1,<2.5", "^2.4 || ^3", "*"] {
            assert_eq!(with_version(text, &"2.7.1".parse().unwrap()), None, "{text}");
        }
    }
}
