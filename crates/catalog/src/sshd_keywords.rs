//! The keywords of sshd_config: `catalog/sshd_keywords.yaml`.

use serde::Deserialize;

use super::file::{self, Table};
use crate::Sources;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SshdKeyword {
    /// As the manual writes it: `PermitRootLogin`; sshd reads it in any case.
    pub keyword: String,
    /// Whether it is allowed behind Match.
    #[serde(default)]
    pub in_match: bool,
    pub value: Value,
    /// The values of [`Value::Words`], of which sshd reads the case of none.
    #[serde(default)]
    pub words: Vec<String>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-26`.
    #[serde(default)]
    pub checked: String,
}

/// What the value of a keyword must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// Anything, or what is not judged.
    Any,
    /// One of the words of the row.
    Words,
    Number,
    Port,
    /// A time such as `2m`.
    Time,
    /// Nothing reads it any more.
    Retired,
}

file::table!(SshdKeyword, "sshd_keywords.yaml");

impl Table<SshdKeyword> {
    /// The keyword with this name, in any case.
    pub fn keyword(&self, name: &str) -> Option<&SshdKeyword> {
        self.all().iter().find(|row| row.keyword.eq_ignore_ascii_case(name))
    }

    /// The names of all keywords.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all().iter().map(|row| row.keyword.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_have_words_and_no_keyword_is_there_twice() {
        let table = crate::testing::catalog().sshd_keywords();
        for row in table.all() {
            assert_eq!(row.words.is_empty(), row.value != Value::Words, "{}", row.keyword);
            let same = table.names().filter(|name| name.eq_ignore_ascii_case(&row.keyword));
            assert_eq!(same.count(), 1, "{}", row.keyword);
        }
        assert!(table.keyword("permitrootlogin").unwrap().in_match);
        assert!(!table.keyword("GSSAPIKeyExchange").unwrap().in_match);
    }
}
