//! Keys of `daemon.json` and the flags of `dockerd` that set the same thing: `catalog/docker_daemon.yaml`.

use diagnostic::suggest;
use serde::Deserialize;

use super::file::{self, Contents, Rows};
use crate::Sources;

/// A key of `daemon.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// As it is written in `daemon.json`.
    pub key: String,
    /// The flag that must not be given together with it, without dashes.
    pub flag: Option<String>,
    /// The flag's short form, one letter.
    pub short: Option<String>,
    pub kind: Kind,
    /// First engine series that accepts it, of those that were read.
    pub since: String,
    /// Last engine series that accepts it, of those that were read.
    pub last: String,
    /// Whether an object below it is its value, and not more keys.
    #[serde(default)]
    pub flat: bool,
    /// Where this was read: the source of the whole file.
    #[serde(skip)]
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

file::rows!(Key);

/// What a value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// `true` or `false`.
    Boolean,
    Number,
    String,
    /// A list of strings.
    Strings,
    /// A size: a string such as `"64M"`.
    Size,
    /// A list of any values.
    List,
    /// An object of any values.
    Object,
    /// An object whose values are strings.
    Texts,
    /// An object whose values are `true` or `false`.
    Booleans,
}

/// `catalog/docker_daemon.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DockerDaemon {
    /// The day on which it was looked at last.
    pub checked: String,
    pub source: Sources,
    rows: Vec<Key>,
}

impl Contents for DockerDaemon {
    const NAME: &str = "docker_daemon.yaml";
    const TEXT: &str = file::text!("docker_daemon.yaml");
}

impl file::Sourced for DockerDaemon {
    fn rows(&mut self) -> Vec<&mut dyn file::Row> {
        self.rows.all_rows()
    }

    fn complete(&mut self) {
        self.rows.iter_mut().for_each(|row| row.source.clone_from(&self.source));
        let day = self.checked.clone();
        file::complete(self.rows(), &day, &file::SharedSources::new());
    }
}

impl DockerDaemon {
    /// Every row.
    pub fn all(&self) -> &[Key] {
        &self.rows
    }

    /// The row of a key, as it is written in `daemon.json`.
    pub fn key(&self, name: &str) -> Option<&Key> {
        self.all().iter().rev().find(|row| row.key == name)
    }

    /// The row whose flag bears this name: dockerd takes it for a key too, and then does nothing with it.
    pub fn flag(&self, name: &str) -> Option<&Key> {
        self.all().iter().rev().find(|row| row.flag.as_deref() == Some(name))
    }

    /// The known key that is nearest to `name`, where one is near.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        suggest::nearest(name, self.all().iter().map(|row| row.key.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> &'static DockerDaemon {
        crate::testing::catalog().docker_daemon()
    }

    #[test]
    fn daemon_keys_are_sorted_and_unique() {
        assert!(table().all().len() > 90);
        assert!(table().all().windows(2).all(|pair| pair[0].key < pair[1].key), "each key once, in order");
        assert_eq!(table().key("hosts").unwrap().flag.as_deref(), Some("host"));
        assert!(table().key("runtimes").unwrap().flat && table().key("proxies").is_none());
        assert_eq!(table().flag("insecure-registry").unwrap().key, "insecure-registries");
    }

    #[test]
    fn suggests_nearest_key_for_a_typo() {
        assert_eq!(table().nearest("default_runtime"), Some("default-runtime"));
        assert_eq!(table().nearest("runtime"), Some("runtimes"));
        assert_eq!(table().nearest("data-rot"), Some("data-root"));
        assert_eq!(table().nearest("something else"), None);
    }
}
