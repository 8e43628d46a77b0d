//! The file of a recorded machine: every reading that gathering asked for, and how to replay it.

mod redacted;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use diagnostic::error::Error;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::closed::Closed;
use super::record::Replay;
use super::{Host, Missing, Reading};

/// Version of the file format. Readers refuse a newer one.
pub const SCHEMA: u32 = 2;

/// A recorded machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Version of this format.
    pub schema: u32,
    /// Version of the envdoc that wrote it.
    pub envdoc: String,
    /// Whether names, addresses, serial numbers and the like were replaced by stand-ins.
    pub redacted: bool,
    /// What this machine is and where the readings come from, for fixtures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Whether a person composed it from readings of several machines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub synthetic: bool,
    /// Whether what is not in it is not there, instead of unknown: for a machine that was composed, see
    /// [`super::closed`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// Where the readings come from, one a line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Another snapshot, in the same folder or below it, whose readings stand where this one has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub based_on: Option<String>,
    /// Readings of `based_on` that this machine does not have: keys, or beginnings of keys that end in `*`.
    /// What they answered becomes absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// What the machine answered, by question: `read /etc/os-release`, `run nvidia-smi -q -x`.
    pub readings: BTreeMap<String, Kept>,
}

/// A reading in the file: as it is, or text and output kept in separate files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Kept {
    /// See [`Reading::Text`].
    Text(String),
    /// See [`Reading::Ran`].
    Ran {
        /// Exit status; null when a signal ended the program.
        status: Option<i32>,
        /// Standard output.
        #[serde(default)]
        stdout: String,
        /// Standard error.
        #[serde(default)]
        stderr: String,
    },
    /// See [`Reading::Absent`].
    Absent,
    /// See [`Reading::Failed`]; in schema 1 its `detail` alone.
    Failed(#[serde(deserialize_with = "failed")] Missing),
    /// A text reading kept in a file in the snapshot's folder or below it.
    TextFile(String),
    /// Standard output, with status 0, kept in such a file.
    StdoutFile(String),
}

/// Why a snapshot cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file cannot be read.
    #[error("{}", crate::file::unreadable(.path, .source))]
    Read {
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not a snapshot.
    #[error("{path} is not a snapshot: {source}")]
    Parse {
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The file was written by a newer envdoc.
    #[error("{path} has snapshot schema {found}; this envdoc supports up to {SCHEMA}")]
    Newer {
        path: PathBuf,
        /// Its schema.
        found: u32,
    },
    /// A file named in the snapshot lies outside its folder.
    #[error("{path} references {name}, which is outside its folder")]
    Outside {
        /// The snapshot.
        path: PathBuf,
        /// What it names.
        name: String,
    },
    /// Snapshots are based on each other in a ring.
    #[error("{path} is based on itself")]
    Ring {
        /// The snapshot.
        path: PathBuf,
    },
}

impl Snapshot {
    /// A snapshot of what was recorded, not redacted.
    pub fn of(readings: BTreeMap<String, Reading>) -> Self {
        Snapshot {
            schema: SCHEMA,
            envdoc: env!("CARGO_PKG_VERSION").into(),
            redacted: false,
            about: None,
            synthetic: false,
            closed: false,
            sources: Vec::new(),
            based_on: None,
            without: Vec::new(),
            readings: readings.into_iter().map(|(ask, reading)| (ask, reading.into())).collect(),
        }
    }

    /// Reads a snapshot and what it is based on; the result stands on its own.
    pub fn open(path: &Path) -> Result<Snapshot, SnapshotError> {
        open_below(path, 0)
    }

    /// [`Snapshot::open`] of a file that the user named, where `-` is standard input.
    pub fn named(path: &Path) -> Result<Snapshot, Error> {
        if path.as_os_str() != "-" {
            return Ok(Snapshot::open(path)?);
        }
        let bytes = crate::file::standard_input_bytes(crate::file::READ_MAX)?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(parsed(&text, Path::new("standard input"), 0)?)
    }

    /// A host that answers from it.
    pub fn host(self) -> Box<dyn Host> {
        let readings = self.readings.into_iter().map(|(ask, kept)| (ask, kept.into())).collect();
        if self.closed {
            return Box::new(Closed::new(readings));
        }
        Box::new(Replay::new(readings, Missing::not_recorded()).redacted(self.redacted))
    }
}

fn open_below(path: &Path, depth: u32) -> Result<Snapshot, SnapshotError> {
    if depth > 8 {
        return Err(SnapshotError::Ring { path: path.into() });
    }
    parsed(&read(path)?, path, depth)
}

fn parsed(text: &str, path: &Path, depth: u32) -> Result<Snapshot, SnapshotError> {
    let mut snapshot: Snapshot =
        serde_json::from_str(text).map_err(|source| SnapshotError::Parse { path: path.into(), source })?;
    if snapshot.schema > SCHEMA {
        return Err(SnapshotError::Newer { path: path.into(), found: snapshot.schema });
    }
    for kept in snapshot.readings.values_mut() {
        match kept {
            Kept::TextFile(name) => *kept = Kept::Text(read(&sibling(path, name)?)?),
            Kept::StdoutFile(name) => {
                let stdout = read(&sibling(path, name)?)?;
                *kept = Kept::Ran { status: Some(0), stdout, stderr: String::new() };
            }
            _ => {}
        }
    }
    if let Some(name) = snapshot.based_on.take() {
        let base = open_below(&sibling(path, &name)?, depth + 1)?;
        snapshot.closed |= base.closed;
        for (ask, mut kept) in base.readings {
            if snapshot.without.iter().any(|without| matches(without, &ask)) {
                kept = Kept::Absent;
            }
            snapshot.readings.entry(ask).or_insert(kept);
        }
        snapshot.without.clear();
    }
    Ok(snapshot)
}

fn matches(pattern: &str, ask: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == ask, |start| ask.starts_with(start))
}

fn sibling(path: &Path, name: &str) -> Result<PathBuf, SnapshotError> {
    let is_below = Path::new(name).components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let folder = path.parent().filter(|_| is_below);
    folder
        .map(|folder| folder.join(name))
        .ok_or_else(|| SnapshotError::Outside { path: path.into(), name: name.into() })
}

fn read(path: &Path) -> Result<String, SnapshotError> {
    let read = crate::file::bounded(path);
    let bytes = read.map_err(|source| SnapshotError::Read { path: path.into(), source })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A reason as a mapping (schema 2) or as text (schema 1).
fn failed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Missing, D::Error> {
    struct Either;
    impl<'de> Visitor<'de> for Either {
        type Value = Missing;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a mapping with kind and detail, or text")
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Missing, E> {
            Ok(Missing::from_schema_1(text.to_owned()))
        }
        fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Missing, A::Error> {
            Missing::deserialize(de::value::MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_any(Either)
}

impl From<Reading> for Kept {
    fn from(reading: Reading) -> Self {
        match reading {
            Reading::Text(text) => Kept::Text(text),
            Reading::Ran { status, stdout, stderr } => Kept::Ran { status, stdout, stderr },
            Reading::Absent => Kept::Absent,
            Reading::Failed(why) => Kept::Failed(why),
        }
    }
}

impl From<Kept> for Reading {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::Text(text) => Reading::Text(text),
            Kept::Ran { status, stdout, stderr } => Reading::Ran { status, stdout, stderr },
            Kept::Absent => Reading::Absent,
            Kept::Failed(why) => Reading::Failed(why),
            Kept::TextFile(name) | Kept::StdoutFile(name) => {
                Reading::failed(format!("{name} was not opened"))
            }
        }
    }
}

impl From<SnapshotError> for diagnostic::error::Error {
    fn from(error: SnapshotError) -> Self {
        let kind = diagnostic::error::Kind::File;
        diagnostic::error::Error::new(kind, error.to_string())
            .hint("create one with `envdoc snapshot -o FILE`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
        let path = dir.join(name);
        #[expect(clippy::disallowed_methods, reason = "a test prepares its files")]
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn layered_snapshot_adds_and_removes_readings() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "version.txt", "from a file\n");
        let base = r#"{"schema":1,"envdoc":"0.1.0","redacted":true,"readings":{
            "read /a":{"text":"base"},"read /b":{"text":"base"},"run x":{"ran":{"status":0,"stdout":"x"}}}}"#;
        write(dir.path(), "base.json", base);
        let top = r#"{"schema":1,"envdoc":"0.1.0","redacted":true,"based_on":"base.json",
            "without":["run *"],
            "readings":{"read /a":{"text":"top"},"read /c":{"text_file":"version.txt"}}}"#;
        let host = Snapshot::open(&write(dir.path(), "top.json", top)).unwrap().host();
        assert_eq!(host.read("/a"), Reading::Text("top".into()));
        assert_eq!(host.read("/b"), Reading::Text("base".into()));
        assert_eq!(host.read("/c"), Reading::Text("from a file\n".into()));
        assert_eq!(host.run(&["x"], std::time::Duration::ZERO), Reading::Absent);
        assert_eq!(host.read("/d"), Reading::Failed(Missing::not_recorded()));
    }

    #[test]
    fn rejects_invalid_snapshots_with_a_reason() {
        let dir = tempfile::tempdir().unwrap();
        let open = |name, text: &str| Snapshot::open(&write(dir.path(), name, text)).unwrap_err().to_string();
        let head = r#""envdoc":"9.0.0","redacted":true,"readings":{"#;
        assert!(open("a", "{").contains("is not a snapshot"));
        assert!(open("b", &format!(r#"{{"schema":3,{head}}}}}"#)).contains("has snapshot schema 3"));
        let escape = format!(r#"{{"schema":1,{head}"read /x":{{"text_file":"../secret"}}}}}}"#);
        assert!(open("c", &escape).contains("outside its folder"));
        let ring = format!(r#"{{"schema":1,"based_on":"d",{head}}}}}"#);
        assert!(open("d", &ring).contains("based on itself"));
    }

    #[test]
    fn snapshot_round_trips_through_json() {
        let readings = [
            ("read /a".to_owned(), Reading::Text("x\u{0}y".into())),
            ("run b".to_owned(), Reading::Ran { status: None, stdout: "o".into(), stderr: "e".into() }),
            ("read /c".to_owned(), Reading::Absent),
            ("read /d".to_owned(), Reading::failed("why")),
        ];
        let snapshot = Snapshot::of(readings.into());
        let text = serde_json::to_string(&snapshot).unwrap();
        assert_eq!(serde_json::from_str::<Snapshot>(&text).unwrap(), snapshot);
    }
}
