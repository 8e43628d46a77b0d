//! Where a row was read: one document or several.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The sources of a row: keys of the file's `sources` or plain text, and in full once the file was read. A
/// list in the file, one text in reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(from = "Vec<String>", into = "String")]
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

impl From<Vec<String>> for Sources {
    fn from(sources: Vec<String>) -> Sources {
        Sources(sources)
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
        let keys: Sources = serde_yaml::from_str("[list, a page]").unwrap();
        let full = keys.in_full(|key| (key == "list").then_some("one list; read at its tag"));
        assert_eq!(full.iter().collect::<Vec<_>>(), ["one list; read at its tag", "a page"]);
        assert_eq!(serde_json::to_string(&full).unwrap(), "\"one list; read at its tag; a page\"");
        assert!(serde_yaml::from_str::<Sources>("[]").unwrap().is_empty());
        assert!(serde_yaml::from_str::<Sources>("list; a page").is_err());
    }
}
