//! Where a row was read: one document or several.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The sources of a row: keys of the file's `sources` or plain text, and in full once the file was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
pub struct Sources(Vec<String>);

impl Sources {
    /// True where there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every source, in the order of the row.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// These sources, and those of another row.
    pub(crate) fn and(&self, other: &Sources) -> Sources {
        Sources(self.0.iter().chain(&other.0).cloned().collect())
    }

    /// The same sources with their keys written out.
    pub(crate) fn in_full<'f>(&self, of_key: impl Fn(&str) -> Option<&'f str>) -> Sources {
        let full = |source: &String| of_key(source).map_or_else(|| source.clone(), str::to_owned);
        Sources(self.0.iter().map(full).collect())
    }
}

/// The sources as a file of the catalog writes them, before their keys are written out: what a key stands for
/// can contain the separator, so a text of several sources is never taken apart again.
impl From<&str> for Sources {
    fn from(text: &str) -> Sources {
        Sources(text.split("; ").filter(|source| !source.is_empty()).map(str::to_owned).collect())
    }
}

impl From<String> for Sources {
    fn from(text: String) -> Sources {
        Sources::from(text.as_str())
    }
}

impl From<Sources> for String {
    fn from(sources: Sources) -> String {
        sources.to_string()
    }
}

/// All of them in one line, for people.
impl fmt::Display for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_out_source_stays_whole() {
        let keys = Sources::from("list; a page");
        let full = keys.in_full(|key| (key == "list").then_some("one list; read at its tag"));
        assert_eq!(full.iter().collect::<Vec<_>>(), ["one list; read at its tag", "a page"]);
        assert_eq!(full.to_string(), "one list; read at its tag; a page");
        assert!(Sources::from("").is_empty());
    }
}
