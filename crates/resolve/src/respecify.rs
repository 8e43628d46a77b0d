//! The smallest rewrite of version specifiers that allows a version.
//!
//! Only the specifiers that exclude the version change. Each keeps its operator and its precision: `<2.5`
//! becomes `<2.8`, `~=2.4.1` becomes `~=2.7.1`, `==2.4.*` becomes `==2.7.*`.

use std::str::FromStr;

use pep440_rs::{Operator, Version, VersionSpecifier, VersionSpecifiers};

use super::specifier::{VERSION_LIMIT_BYTES, allows};

/// Specifiers that allow a version; the same ones if they allow it already.
pub fn respecify(specifiers: &VersionSpecifiers, version: &Version) -> VersionSpecifiers {
    specifiers.iter().filter_map(|one| rewritten(one, version)).collect()
}

/// The same for specifiers as a person wrote them: order and spaces stay. `None`: the text is too long, or is
/// not a list of specifiers.
pub fn respecify_text(text: &str, version: &Version) -> Option<String> {
    if text.len() > VERSION_LIMIT_BYTES {
        return None;
    }
    if text.trim().is_empty() {
        return Some(text.to_owned());
    }
    let mut parts: Vec<String> = Vec::new();
    for part in text.split(',') {
        let specifier = VersionSpecifier::from_str(part.trim()).ok()?;
        parts.extend(rewritten(&specifier, version).map(|new| match new == specifier {
            true => part.to_owned(),
            false => in_place(part, &new),
        }));
    }
    let joined = parts.join(",");
    // A first part that was removed takes the spaces before the next one with it.
    let indent = text.len() - text.trim_start().len();
    Some(format!("{}{}", &text[..indent], joined.trim_start()))
}

/// A specifier with the spaces of another one, around it and behind its operator.
fn in_place(written: &str, new: &VersionSpecifier) -> String {
    let trimmed = written.trim();
    let start = written.len() - written.trim_start().len();
    let (before, after) = (&written[..start], &written[start + trimmed.len()..]);
    let operand = trimmed.trim_start_matches(is_operator);
    let spaces = &operand[..operand.len() - operand.trim_start().len()];
    let shown = new.to_string();
    let value = shown.trim_start_matches(is_operator);
    let operator = &shown[..shown.len() - value.len()];
    format!("{before}{operator}{spaces}{value}{after}")
}

fn is_operator(character: char) -> bool {
    "<>=!~".contains(character)
}

/// A specifier that allows a version; `None`: it exists only to exclude it.
fn rewritten(specifier: &VersionSpecifier, version: &Version) -> Option<VersionSpecifier> {
    if allows(specifier, version) {
        return Some(specifier.clone());
    }
    use Operator::{
        Equal, EqualStar, ExactEqual, GreaterThan, GreaterThanEqual, LessThan, LessThanEqual, NotEqual,
        NotEqualStar, TildeEqual,
    };
    let numbers = specifier.version().release().len();
    let operator = *specifier.operator();
    let candidates: Vec<(Operator, Version)> = match operator {
        NotEqual | NotEqualStar => return None,
        ExactEqual => vec![(operator, version.clone())],
        EqualStar => vec![(operator, first_numbers(version, numbers))],
        Equal => {
            let local = |one: Version| match specifier.version().is_local() {
                true => one.with_local(version.local().to_vec()),
                false => one,
            };
            spellings(version, numbers).map(|one| (operator, local(one))).into()
        }
        TildeEqual | GreaterThanEqual | LessThanEqual => {
            spellings(version, numbers).map(|one| (operator, one)).into()
        }
        GreaterThan => {
            let or_equal = spellings(version, numbers).map(|one| (GreaterThanEqual, one));
            [(GreaterThan, first_numbers(version, numbers))].into_iter().chain(or_equal).collect()
        }
        LessThan => vec![
            (LessThan, next(version, specifier.version())),
            (LessThanEqual, version.clone().without_local()),
        ],
    };
    let build = |(operator, version)| VersionSpecifier::from_version(operator, version).ok();
    candidates.into_iter().filter_map(build).find(|one| allows(one, version))
}

/// A version without its build: with that many numbers alone, with its suffix (`rc1`), and with all of its
/// numbers.
fn spellings(version: &Version, numbers: usize) -> [Version; 3] {
    let plain = version.clone().without_local();
    let all = numbers.max(version.release().len());
    [
        first_numbers(version, numbers),
        plain.clone().with_release(resized(version, numbers)),
        plain.with_release(resized(version, all)),
    ]
}

/// So many numbers of a version; those that it does not have are zero.
fn first_numbers(version: &Version, numbers: usize) -> Version {
    Version::new(resized(version, numbers)).with_epoch(version.epoch())
}

fn resized(version: &Version, numbers: usize) -> Vec<u64> {
    let mut release = version.release().to_vec();
    release.resize(numbers, 0);
    release
}

/// The upper bound above a version in the style of another bound: the next minor where that ends with a minor
/// (`<2.5`, `<2.5.0`), the next patch release after `<2.5.1`.
fn next(version: &Version, bound: &Version) -> Version {
    let numbers = bound.release().len();
    let last = bound.release().iter().rposition(|number| *number != 0).unwrap_or(0);
    let counted = last.max(numbers.min(2) - 1);
    let mut release = resized(version, numbers);
    release[counted] = release[counted].saturating_add(1);
    release[counted + 1..].fill(0);
    Version::new(release).with_epoch(version.epoch())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn rewrite(text: &str, version: &str) -> String {
        let rewritten = respecify_text(text, &version.parse().unwrap()).unwrap();
        let parsed: VersionSpecifiers = text.parse().unwrap();
        let same: VersionSpecifiers = rewritten.parse().unwrap();
        assert_eq!(respecify(&parsed, &version.parse().unwrap()), same, "{text} {version}");
        rewritten
    }

    #[test]
    fn only_what_excludes_the_version_changes() {
        for (text, version, expected) in [
            ("==2.4.1", "2.7.1", "==2.7.1"),
            ("==2.4", "2.7.0", "==2.7"),
            ("==2.4", "2.7.1", "==2.7.1"),
            ("==2.4.1", "2.7", "==2.7.0"),
            ("===2.4.1", "2.7.1", "===2.7.1"),
            ("===2.4.1", "2.7.1+cu128", "===2.7.1+cu128"),
            ("==2.4.*", "2.7.1", "==2.7.*"),
            ("==2.*", "3.1.2", "==3.*"),
            ("==2.4.1.*", "2.7", "==2.7.0.*"),
            ("~=2.4.1", "2.7.1", "~=2.7.1"),
            ("~=2.4", "2.7.1", "~=2.4"),
            ("~=2.4", "3.1.2", "~=3.1"),
            ("~=2.4.1", "2.4.0", "~=2.4.0"),
            (">=2.1,<2.5", "2.7.1", ">=2.1,<2.8"),
            (">=2.1,<2.5", "2.0.1", ">=2.0,<2.5"),
            ("<2.5.0", "2.7.1", "<2.8.0"),
            ("<2.5.1", "2.7.1", "<2.7.2"),
            ("<2", "2.7.1", "<3"),
            ("<2.0", "2.7.1", "<2.8"),
            ("<=2.5", "2.7.0", "<=2.7"),
            ("<=2.5.1", "2.7.1", "<=2.7.1"),
            (">2.5", "2.4.1", ">2.4"),
            (">2.5", "2.4.0", ">=2.4"),
            (">=2.5.1", "2.5.0", ">=2.5.0"),
            ("!=2.7.1", "2.7.1", ""),
            (">=2.4,!=2.7.*", "2.7.1", ">=2.4"),
            ("!=2.7.1,>=2.4", "2.7.1", ">=2.4"),
            ("==2.4.1,<2.5", "2.7.1", "==2.7.1,<2.8"),
            ("==2.4.1+cu121", "2.7.1+cu128", "==2.7.1+cu128"),
            ("==2.4.1+cu121", "2.4.1+cu124", "==2.4.1+cu124"),
            ("==2.4.1+cu121", "2.7.1", "==2.7.1"),
            ("==2.4.1", "2.7.1+cu128", "==2.7.1"),
            ("==2.4.1", "2.4.1+cu124", "==2.4.1"),
            ("~=2.4.1", "2.8.0rc1", "~=2.8.0rc1"),
            ("==2.4", "2.8.0rc1", "==2.8rc1"),
            ("==2.8.1.post1", "2.8.3", "==2.8.3"),
            ("<2.8.1", "2.8.3.post1", "<2.8.4"),
            ("", "1.0", ""),
        ] {
            assert_eq!(rewrite(text, version), expected, "{text} {version}");
        }
    }

    #[test]
    fn written_order_and_spaces_stay() {
        assert_eq!(rewrite(" < 2.5 , >=2.1", "2.7.1"), " < 2.8 , >=2.1");
        assert_eq!(rewrite("!=2.7.1, >= 2.4", "2.7.1"), ">= 2.4");
        assert_eq!(rewrite("==  2.4.1", "2.7.1"), "==  2.7.1");
        assert_eq!(respecify_text("==2.4.1;", &"2.7".parse().unwrap()), None);
        assert_eq!(respecify_text(&"=".repeat(1 << 20), &"2.7".parse().unwrap()), None);
    }

    fn versions() -> impl Strategy<Value = String> {
        let release = prop::collection::vec(0_u64..4, 1..5);
        let suffix = select(vec!["", "", "", "rc1", "a0", ".post1", ".dev2"]);
        let epoch = select(vec!["", "", "", "", "1!"]);
        (epoch, release, suffix).prop_map(|(epoch, release, suffix)| {
            let numbers: Vec<String> = release.iter().map(ToString::to_string).collect();
            format!("{epoch}{}{suffix}", numbers.join("."))
        })
    }

    fn specifiers() -> impl Strategy<Value = VersionSpecifiers> {
        let operator = select(vec!["==", "===", "~=", ">=", "<=", ">", "<", "!=", "==*", "!=*"]);
        let local = select(vec!["", "", "+cu121"]);
        let one =
            (operator, versions(), local).prop_filter_map("not allowed", |(operator, version, local)| {
                match operator.strip_suffix('*') {
                    Some(plain) => format!("{plain}{version}.*").parse::<VersionSpecifier>().ok(),
                    None => format!("{operator}{version}{local}").parse().ok(),
                }
            });
        prop::collection::vec(one, 0..4).prop_map(|all| all.into_iter().collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 2000, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn the_version_is_allowed_and_the_rest_stays(
            before in specifiers(), version in versions(), local in select(vec!["", "+cu128"]),
        ) {
            let version: Version = format!("{version}{local}").parse().unwrap();
            let after = respecify(&before, &version);
            prop_assert!(after.iter().all(|one| allows(one, &version)), "{before} {version}: {after}");
            prop_assert_eq!(&respecify(&after, &version), &after);
            if before.iter().all(|one| allows(one, &version)) {
                prop_assert_eq!(&before, &after);
            }
            for one in before.iter().filter(|one| allows(one, &version)) {
                prop_assert!(after.iter().any(|other| other == one), "{before} {version}: {after}");
            }
            let excluding = [Operator::NotEqual, Operator::NotEqualStar];
            let kept = before.iter().filter(|one| {
                allows(one, &version) || !excluding.contains(one.operator())
            });
            prop_assert_eq!(kept.count(), after.iter().count());
            let text = before.to_string();
            if text.len() <= VERSION_LIMIT_BYTES {
                let rewritten = respecify_text(&text, &version).unwrap();
                prop_assert_eq!(rewritten.parse::<VersionSpecifiers>().unwrap(), after);
            }
        }
    }
}
