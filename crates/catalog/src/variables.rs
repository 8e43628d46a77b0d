//! Environment variables of the stack.

use std::fmt;

use diagnostic::suggest::typo_of;
use serde::Deserialize;

use super::file::{self, Table};
use super::strtoll::strtoll;
use crate::Sources;
pub use crate::variable_owner::{Owner, VariableType};

/// Whether a variable is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// By the newest release known.
    Current,
    /// It is, and another one is to be used.
    Deprecated,
    /// Only by older releases.
    Removed,
    /// By no release ever: the name is in tutorials only.
    NotRead,
    /// Only where something is built against its owner.
    Build,
    /// By no program: images set it to tell what they contain.
    Label,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// `NCCL_SOCKET_IFNAME`.
    pub name: String,
    /// Who reads it.
    pub owner: Owner,
    #[serde(default = "current")]
    pub status: Status,
    /// Whether its owner documents it.
    #[serde(default)]
    pub documented: bool,
    /// Whether torchrun and DeepSpeed's launcher set it for each rank.
    #[serde(default)]
    pub set_by_launcher: bool,
    /// The first release of the owner that reads it.
    pub since: Option<String>,
    /// The last release in which it was seen.
    pub last_seen: Option<String>,
    /// What to use in its place.
    pub deprecated_by: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<VariableType>,
    /// Whether the type is a guess from a name that was only found in the library.
    #[serde(default)]
    pub type_guessed: bool,
    pub allowed: Option<Values>,
    /// What the bounds of `allowed` leave out: `32 before 2.25`.
    pub allowed_note: Option<String>,
    /// What it takes besides them.
    pub also: Option<Also>,
    /// Of a list of `option:value`: the options, and the values of each.
    #[serde(default)]
    pub options: Vec<ValueOption>,
    /// What holds when it is not set.
    pub default: Option<String>,
    /// What it does.
    pub meaning: Option<String>,
    /// What goes wrong when it is set.
    pub risk: Option<String>,
    /// Values that are seldom right.
    #[serde(default)]
    pub discouraged: Vec<Discouraged>,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-21`.
    #[serde(default)]
    pub checked: String,
}

/// An option in the value of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueOption {
    /// `expandable_segments`.
    pub name: String,
    pub takes: OptionValue,
}

/// The values of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptionValue {
    /// `True` or `False`, in these letters.
    Bool,
    /// A whole number from 1.
    Positive,
    /// A whole number from 20: megabytes, no less than the allocator's large block.
    LargeBlock,
    /// A power of two up to 128.
    Threads,
    /// A power of two, or a list in brackets of such for sizes.
    Divisions,
    /// A number above 0 and below 1.
    Fraction,
    /// A number from 0 to 1.
    Share,
    /// `native`, `cudaMallocAsync` or, on AMD GPUs, `hipMallocAsync`.
    Backend,
    /// Text that is not checked.
    Text,
}

/// A value that is seldom right.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discouraged {
    /// `1`; whether letters are small or capital does not matter.
    pub value: String,
    /// Why it is listed.
    pub kind: DiscouragedKind,
    /// What the variable does with it: `nodes communicate over TCP, even with InfiniBand or RoCE`.
    pub effect: String,
}

/// Why a value is seldom right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscouragedKind {
    /// It switches off a fast way between GPUs.
    TransportOff,
    /// The default is better on nearly every machine.
    WorseThanDefault,
}

/// The values that a variable takes. In the catalog: `0|1|2`, `0..7`, or a text for readers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Values {
    /// One of these words, in small or capital letters.
    OneOf(Vec<String>),
    /// A whole number between these two, which belong to it.
    Range(i64, i64),
    /// What it is, for readers: values are not compared with it.
    Text(String),
}

impl From<String> for Values {
    fn from(text: String) -> Values {
        let range =
            text.split_once("..").and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
        let is_word = |word: &str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        };
        match range {
            Some((low, high)) => Values::Range(low, high),
            None if text.contains('|') && text.split('|').all(is_word) => {
                Values::OneOf(text.split('|').map(str::to_owned).collect())
            }
            None => Values::Text(text),
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::OneOf(words) => f.write_str(&words.join("|")),
            Values::Range(low, high) => write!(f, "{low}..{high}"),
            Values::Text(text) => f.write_str(text),
        }
    }
}

/// Values in addition to those that a variable's row lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Also {
    /// Any integer, the form of older releases.
    Integers,
    /// Any number above the range.
    Larger,
    /// `-1` as well.
    MinusOne,
}

fn current() -> Status {
    Status::Current
}

impl Variable {
    /// Whether it is set on purpose although no running job reads it.
    pub fn is_harmless(&self) -> bool {
        matches!(self.status, Status::Build | Status::Label)
    }

    /// Whether NCCL is known to read it with strtoll: a word is 0 there, and not an error.
    pub fn is_number_of_nccl(&self) -> bool {
        let words = match &self.allowed {
            Some(Values::OneOf(words)) => words.iter().any(|word| word.eq_ignore_ascii_case("true")),
            _ => false,
        };
        let read = matches!(self.status, Status::Current | Status::Deprecated);
        let number = self.kind.is_some_and(|kind| kind == VariableType::Bool || kind.is_integer());
        read && self.owner == Owner::Nccl && number && !self.type_guessed && !words
    }

    /// The values it takes, for a message: `1..64 (32 before 2.25)`.
    pub fn allowed_text(&self) -> Option<String> {
        let allowed = self.allowed.as_ref()?;
        Some(match &self.allowed_note {
            Some(note) => format!("{allowed} ({note})"),
            None => allowed.to_string(),
        })
    }

    /// What the variable does with a value that is discouraged for this reason.
    pub fn discouraged(&self, kind: DiscouragedKind, value: &str) -> Option<&str> {
        let row =
            self.discouraged.iter().find(|one| one.kind == kind && one.value.eq_ignore_ascii_case(value))?;
        Some(&row.effect)
    }

    /// Whether a value is among those that it takes: one of `0|1`, within `0..7`, at least `>=1`. Nothing
    /// where the bounds are written otherwise, or where whoever reads it takes further words.
    pub fn takes(&self, value: &str) -> Option<bool> {
        let allowed =
            self.allowed.as_ref().filter(|_| matches!(self.status, Status::Current | Status::Deprecated))?;
        // Open MPI and UCX take lists of these words with marks of their own.
        if matches!(self.owner, Owner::Openmpi | Owner::Ucx | Owner::Pmix | Owner::Libfabric) {
            return None;
        }
        // NCCL takes an empty value for none.
        if self.owner == Owner::Nccl && value.is_empty() {
            return Some(true);
        }
        // NCCL reads numbers with strtoll; others take further words for yes and no.
        let other_words = self.kind == Some(VariableType::Bool) && self.owner != Owner::Nccl;
        if other_words || self.kind == Some(VariableType::List) {
            return None;
        }
        let takes = within(allowed, self.also, value)?;
        // A value that is the default is right, whatever the bounds.
        Some(takes || self.default.as_deref() == Some(value))
    }
}

/// Whether `value` is one of the words, or lies in the range; nothing where a text is for readers.
fn within(allowed: &Values, also: Option<Also>, value: &str) -> Option<bool> {
    let number = integer(value.trim());
    match allowed {
        Values::Range(low, high) => Some(number.is_some_and(|number| match also {
            _ if (low..=high).contains(&&number) => true,
            Some(Also::Larger) => number > *high,
            Some(Also::MinusOne) => number == -1,
            Some(Also::Integers) => true,
            None => false,
        })),
        // Other spellings of the two are taken as well.
        Values::OneOf(words) if words == &["true", "false"] => None,
        Values::OneOf(_) if also == Some(Also::Integers) && number.is_some() => Some(true),
        Values::OneOf(words) => {
            let written = words.iter().any(|word| word.eq_ignore_ascii_case(value.trim()));
            Some(written || number.is_some_and(|number| words.iter().any(|word| word.parse() == Ok(number))))
        }
        Values::Text(_) => None,
    }
}

/// A whole number and nothing else, as [`strtoll()`] reads it.
fn integer(text: &str) -> Option<i64> {
    let (number, rest) = strtoll(text);
    i64::try_from(number).ok().filter(|_| rest.is_empty() && !text.is_empty())
}

file::table!(Variable, "variables.yaml");

/// The names in the embedded file, sorted.
pub(super) static NAMES: &[&str] = include!(concat!(env!("OUT_DIR"), "/variable_names.rs"));

impl Table<Variable> {
    /// The variable that somebody most likely meant by a name that none has: one that is read, rather a
    /// documented one. Short names are too often somebody's own.
    pub fn nearest(&self, name: &str) -> Option<&Variable> {
        if name.len() < 6 {
            return None;
        }
        let read = |row: &&Variable| matches!(row.status, Status::Current | Status::Deprecated);
        let others = || self.all().iter().filter(read).filter(|row| row.name != name);
        let documented = others().filter(|row| row.documented).chain(others().filter(|row| !row.documented));
        let meant = typo_of(name, documented.map(|row| row.name.as_str()))?;
        self.all().iter().find(|row| row.name == meant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> &'static Table<Variable> {
        crate::testing::catalog().variables()
    }

    fn variable(name: &str) -> Option<&'static Variable> {
        crate::testing::catalog().variable(name)
    }

    #[test]
    fn every_row_is_found_by_its_name() {
        for row in table().all() {
            assert_eq!(variable(&row.name).map(|found| &found.name), Some(&row.name));
        }
        assert!(variable("NCCL_").is_none() && variable("").is_none());
    }

    #[test]
    fn reports_status_and_owner_of_variables() {
        assert_eq!(variable("NCCL_SOCKET_IFNAME").unwrap().status, Status::Current);
        assert_eq!(variable("NCCL_TIMEOUT").unwrap().status, Status::NotRead);
        assert_eq!(variable("TORCH_NCCL_ASYNC_ERROR_HANDLING").unwrap().owner, Owner::Pytorch);
        assert_eq!(
            variable("NCCL_ASYNC_ERROR_HANDLING").unwrap().deprecated_by.as_deref(),
            Some("TORCH_NCCL_ASYNC_ERROR_HANDLING")
        );
        assert!(variable("NCCL_SOCKET_IFNAMES").is_none());
        assert!(variable("").is_none());
    }

    #[test]
    fn every_numeric_default_is_an_allowed_value() {
        for row in table().all() {
            // A default in words ("auto", "unset") is no value.
            let default = row.default.as_deref().filter(|text| text.parse::<i64>().is_ok_and(|n| n >= 0));
            let Some((allowed, default)) = row.allowed.as_ref().zip(default) else { continue };
            assert_ne!(
                within(allowed, row.also, default),
                Some(false),
                "{}: {default}, takes {allowed}",
                row.name
            );
        }
    }

    #[test]
    fn values_are_words_a_range_or_a_text_for_readers() {
        let read = |text: &str| Values::from(text.to_owned());
        assert_eq!(read("0|1"), Values::OneOf(vec!["0".into(), "1".into()]));
        assert_eq!(read("-1..7"), Values::Range(-1, 7));
        for text in [">=1", "AUTO|MAX:N|ALL", "1..16; product with X <= 64", "all|indices|CDI names", "path"]
        {
            assert_eq!(read(text), Values::Text(text.to_owned()));
        }
        for row in table().all() {
            let Some(Values::Text(text)) = &row.allowed else { continue };
            assert!(row.allowed_note.is_none(), "{}: the remark belongs to {text}", row.name);
        }
    }

    /// `MAX:N` stands for any number.
    #[test]
    fn policy_of_network_devices_takes_a_number() {
        assert_eq!(variable("NCCL_NETDEVS_POLICY").unwrap().takes("MAX:4"), None);
    }

    #[test]
    fn accepts_hexadecimal_and_octal_numbers() {
        let takes = |name: &str, value: &str| variable(name).unwrap().takes(value);
        assert_eq!(takes("NCCL_IB_TC", "0x6a"), Some(true));
        assert_eq!(takes("NCCL_IB_RETRY_CNT", "07"), Some(true));
        assert_eq!(takes("NCCL_IB_RETRY_CNT", "0x8"), Some(false));
        assert_eq!(takes("NCCL_IB_DISABLE", ""), Some(true));
        assert_eq!(takes("NCCL_IB_DISABLE", "0x1"), Some(true));
        assert_eq!(takes("NCCL_WARN_ENABLE_DEBUG_INFO", "true"), Some(true));
    }

    #[test]
    fn types_that_are_read_from_a_source_are_not_guessed() {
        for row in table().all().iter().filter(|row| row.owner == Owner::Nccl && row.kind.is_some()) {
            let read = row.source.to_string().contains("NVIDIA/nccl:");
            assert!(row.type_guessed != read, "{}: type_guessed is wrong for {}", row.name, row.source);
        }
        assert!(variable("NCCL_IB_RETRY_CNT").unwrap().is_number_of_nccl());
        assert!(!variable("NCCL_CFT_ENABLE").unwrap().is_number_of_nccl());
        assert!(!variable("NCCL_DEBUG").unwrap().is_number_of_nccl());
    }

    #[test]
    fn suggests_nearest_variable_for_a_typo() {
        let meant = |name| table().nearest(name).map(|row| row.name.as_str());
        assert_eq!(meant("NCCL_SOCKET_IFNAMES"), Some("NCCL_SOCKET_IFNAME"));
        assert_eq!(meant("NCCL_SOKCET_IFNAME"), Some("NCCL_SOCKET_IFNAME"));
        assert_eq!(meant("NCCL_IB_DISABEL"), Some("NCCL_IB_DISABLE"));
        assert_eq!(meant("NCCL_DEBG"), Some("NCCL_DEBUG"));
        assert_eq!(meant("SOMETHING_ELSE_ENTIRELY"), None);
        assert_eq!(meant("NCCL"), None);
    }
}
