//! Keys of `daemon.json` and the flags of `dockerd` that set the same thing: `catalog/docker_daemon.yaml`.

use std::sync::OnceLock;

use serde::Deserialize;

use super::file;

/// One key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// As it is written in `daemon.json`.
    pub key: String,
    /// The flag that must not be given together with it, without dashes.
    pub flag: Option<String>,
    /// The flag's short form, one letter.
    pub short: Option<String>,
    /// What its value must be.
    pub kind: Kind,
    /// First engine series that accepts it, of those that were read.
    pub since: String,
    /// Last one.
    pub last: String,
    /// Whether an object below it is its value, and not more keys.
    #[serde(default)]
    pub flat: bool,
}

/// What a value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A string.
    String,
    /// A list of strings.
    Strings,
    /// A size: a string such as `"64M"`.
    Size,
    /// A list.
    List,
    /// An object.
    Object,
    /// An object whose values are strings.
    Texts,
    /// An object whose values are `true` or `false`.
    Booleans,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    checked: String,
    source: String,
    rows: Vec<Key>,
}

/// Every row.
///
/// # Panics
/// When the embedded file is not what its type says; a test reads it.
pub fn all() -> &'static [Key] {
    static FILE: OnceLock<File> = OnceLock::new();
    let file: &File = FILE.get_or_init(|| {
        file::parse("docker_daemon.yaml", include_str!("../../../catalog/docker_daemon.yaml"))
    });
    debug_assert!(!file.source.is_empty() && !file.checked.is_empty());
    &file.rows
}

/// The row of a key, as it is written in `daemon.json`.
pub fn key(name: &str) -> Option<&'static Key> {
    all().iter().rev().find(|row| row.key == name)
}

/// The row whose flag bears this name: dockerd takes it for a key too, and then does nothing with it.
pub fn flag(name: &str) -> Option<&'static Key> {
    all().iter().rev().find(|row| row.flag.as_deref() == Some(name))
}

/// The known key that is nearest to `name`, where one is near.
pub fn nearest(name: &str) -> Option<&'static str> {
    let name = name.replace('_', "-").to_lowercase();
    all()
        .iter()
        .map(|row| (row.key.as_str(), strsim::jaro_winkler(&name, &row.key)))
        .filter(|(_, score)| *score > 0.88)
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
        .map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_whole() {
        assert!(all().len() > 90);
        assert!(all().windows(2).all(|pair| pair[0].key < pair[1].key), "each key once, in order");
        assert_eq!(key("hosts").unwrap().flag.as_deref(), Some("host"));
        assert!(key("runtimes").unwrap().flat && key("proxies").is_none());
        assert_eq!(flag("insecure-registry").unwrap().key, "insecure-registries");
    }

    #[test]
    fn a_misspelt_key_has_a_neighbour() {
        assert_eq!(nearest("default_runtime"), Some("default-runtime"));
        assert_eq!(nearest("runtime"), Some("runtimes"));
        assert_eq!(nearest("data-rot"), Some("data-root"));
        assert_eq!(nearest("something else"), None);
    }
}
