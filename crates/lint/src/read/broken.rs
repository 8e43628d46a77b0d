//! Why a file in YAML was not read.

use serde_yaml::Value;

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Broken {
    /// In the words of the parser.
    #[error("not valid YAML: {0}")]
    Yaml(String),
    /// So many values would have to be checked.
    #[error("its aliases stand for more than {0} values; the file was not checked")]
    Expanded(usize),
}

impl Broken {
    /// The first line of what the parser says.
    pub(crate) fn yaml(why: &str) -> Broken {
        Broken::Yaml(why.lines().next().unwrap_or_default().trim_end_matches('.').to_owned())
    }
}

/// The line of a text at which its parser stopped, from 1. The parser may name the line behind the last one.
pub(crate) fn line_of(error: &serde_yaml::Error, text: &str) -> usize {
    let line = error.location().map_or(1, |location| location.line());
    line.clamp(1, text.lines().count().max(1))
}

/// Resolves merges (`<<`) from the inside out: a mapping that is merged may itself have merges.
pub(crate) fn apply_merges(value: &mut Value) -> Result<(), serde_yaml::Error> {
    let merges = match value {
        Value::Mapping(mapping) => {
            for inner in mapping.values_mut() {
                apply_merges(inner)?;
            }
            mapping.contains_key("<<")
        }
        Value::Sequence(items) => {
            for inner in items {
                apply_merges(inner)?;
            }
            false
        }
        Value::Tagged(tagged) => {
            apply_merges(&mut tagged.value)?;
            false
        }
        _ => false,
    };
    if merges { value.apply_merge() } else { Ok(()) }
}

/// The most values of a small file with aliases, more than a file that people write has.
const VALUES_LIMIT: usize = 20_000;

/// Refuses a value whose aliases make it much larger than its text: a few kilobytes may stand for millions of
/// variables.
pub(crate) fn limited(value: Value, text: &str) -> Result<Value, Broken> {
    let limit = VALUES_LIMIT + text.len() / 4;
    if !text.contains('*') {
        return Ok(value);
    }
    let (mut count, mut open) = (0, vec![&value]);
    while let Some(one) = open.pop() {
        count += 1;
        if count > limit {
            return Err(Broken::Expanded(limit));
        }
        match one {
            Value::Sequence(items) => open.extend(items),
            Value::Mapping(entries) => open.extend(entries.iter().map(|(_, value)| value)),
            Value::Tagged(tagged) => open.push(&tagged.value),
            _ => {}
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_of_merged_mappings_are_resolved() {
        let text = "a: &a {x: 1, y: 1}\nb: &b {<<: *a, y: 2}\nc: {d: [{<<: *b, z: 3}]}\n";
        let mut value: Value = serde_yaml::from_str(text).unwrap();
        apply_merges(&mut value).unwrap();
        let expected: Value = serde_yaml::from_str("{z: 3, y: 2, x: 1}").unwrap();
        assert_eq!(value["c"]["d"][0], expected);
    }

    #[test]
    fn aliases_are_limited_by_what_they_stand_for() {
        let variables: String = (0..1000).map(|number| format!("A{number}: x, ")).collect();
        let of = |services: usize| {
            let services: String = (0..services).map(|number| format!("  s{number}: {{e: *e}}\n")).collect();
            let text = format!("x-e: &e {{{variables}}}\nservices:\n{services}");
            limited(serde_yaml::from_str(&text).unwrap(), &text)
        };
        assert!(of(10).is_ok());
        assert!(matches!(of(30), Err(Broken::Expanded(limit)) if limit > VALUES_LIMIT));
        let many = format!("[{}]", "1,".repeat(30_000));
        assert!(limited(serde_yaml::from_str(&many).unwrap(), &many).is_ok());
    }
}
