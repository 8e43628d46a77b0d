//! Why something could not be read.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The reason why a reading says nothing about the machine: neither presence nor absence may be concluded
/// from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    /// What stopped envdoc; decides what a report recommends.
    pub kind: MissingKind,
    /// For people, in the words of the system where it has some: `permission denied`. Never dispatched on.
    pub detail: String,
}

/// What stopped envdoc from reading something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MissingKind {
    /// This user has no right to it; root has.
    Denied,
    /// The socket exists and nobody listens on it.
    Refused,
    /// No answer in time.
    TimedOut {
        /// How long envdoc waited, in milliseconds; `None` where the overall deadline ended the wait.
        milliseconds: Option<u64>,
    },
    /// The answer is larger than envdoc reads.
    TooLarge,
    /// The snapshot has no answer to this question.
    NotRecorded,
    /// The system's error number (`errno`).
    Os(i32),
    /// The status of an HTTP answer that is not a success.
    Http(u16),
    /// Anything else.
    Other,
}

/// The `detail` of [`Missing::denied`].
const DENIED: &str = "permission denied";
/// The `detail` of [`Missing::not_recorded`].
const NOT_RECORDED: &str = "not in this snapshot";

impl Missing {
    /// A reason of this kind.
    pub fn new(kind: MissingKind, detail: impl Into<String>) -> Missing {
        Missing { kind, detail: detail.into() }
    }

    /// This user has no right to it.
    pub fn denied() -> Missing {
        Missing::new(MissingKind::Denied, DENIED)
    }

    /// The snapshot has no answer to this question.
    pub fn not_recorded() -> Missing {
        Missing::new(MissingKind::NotRecorded, NOT_RECORDED)
    }

    /// The same reason with its subject in front: `PCI devices: permission denied`.
    pub fn about(mut self, subject: impl fmt::Display) -> Missing {
        self.detail = format!("{subject}: {}", self.detail);
        self
    }

    /// Whether more rights would help.
    pub fn is_denied(&self) -> bool {
        self.kind == MissingKind::Denied
    }

    /// Whether no answer came in time.
    pub fn timed_out(&self) -> bool {
        matches!(self.kind, MissingKind::TimedOut { .. })
    }

    /// The reason that a snapshot of schema 1 keeps as text alone.
    ///
    /// Such snapshots are supported input (`tests/servers` has many, and so have bug reports), and
    /// their texts are those of the releases that wrote them: what is looked for here never
    /// changes, whatever messages say today. Only the reader of snapshots calls this.
    pub fn from_schema_1(detail: String) -> Missing {
        let number = |before: &str| {
            let rest = detail.split_once(before)?.1;
            rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
        };
        let kind = if detail.contains(DENIED) {
            MissingKind::Denied
        } else if detail.contains("connection refused: the socket is there") {
            MissingKind::Refused
        } else if let Some((_, wait)) = detail.split_once("did not answer") {
            let seconds =
                wait.strip_prefix(" within ").and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
            MissingKind::TimedOut { milliseconds: seconds.map(|seconds| (seconds * 1000.0) as u64) }
        } else if detail == NOT_RECORDED {
            MissingKind::NotRecorded
        } else if let Some(status) = number("HTTP status ") {
            MissingKind::Http(status as u16)
        } else if let Some(number) = number("os error ") {
            MissingKind::Os(number)
        } else {
            MissingKind::Other
        };
        Missing { kind, detail }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl From<String> for Missing {
    fn from(detail: String) -> Missing {
        Missing::new(MissingKind::Other, detail)
    }
}

impl From<&str> for Missing {
    fn from(detail: &str) -> Missing {
        Missing::from(detail.to_owned())
    }
}

/// Why a judgement cannot have a value: it is absent, or unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unavailable {
    /// It is not there, so that the question does not arise; the reason for people.
    Absent(String),
    Unknown(Missing),
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unavailable::Absent(why) => f.write_str(why),
            Unavailable::Unknown(why) => why.fmt(f),
        }
    }
}

impl From<Missing> for Unavailable {
    fn from(why: Missing) -> Self {
        Unavailable::Unknown(why)
    }
}
