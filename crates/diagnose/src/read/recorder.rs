//! Dumps of PyTorch's flight recorder, as pickles and as JSON: what each group of a rank waits in, a line
//! each. Keys as in `torch/csrc/distributed/c10d/FlightRecorder.hpp` and the loader of
//! `torch.distributed.flight_recorder`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

use super::error::DumpError;
use super::pickle::{Item, Pickle};

/// A dump, what is used of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Dump {
    entries: Vec<Entry>,
    pg_status: BTreeMap<String, Status>,
    pg_config: BTreeMap<String, Group>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    process_group: Vec<String>,
    collective_seq_id: Number,
    profiling_name: String,
    state: String,
    /// Whether the recorder has put it away. Backends without events of their own (Gloo) never get beyond
    /// `scheduled`: it is put away when it ended, well or not.
    retired: bool,
    is_p2p: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    last_enqueued_collective: Number,
    last_completed_collective: Number,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Group {
    desc: String,
    ranks: String,
}

/// How far a rank is in a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedState {
    /// Enqueued by the program.
    Scheduled,
    /// The GPU has begun with it.
    Started,
    /// It ended well.
    Completed,
    /// It ended, well or not.
    Retired,
    /// The dump does not say.
    Unknown,
}

impl RecordedState {
    const ALL: [RecordedState; 5] = [
        RecordedState::Scheduled,
        RecordedState::Started,
        RecordedState::Completed,
        RecordedState::Retired,
        RecordedState::Unknown,
    ];

    /// As [`Dump::lines`] writes it: `started`. The first three are PyTorch's own names.
    pub fn id(self) -> &'static str {
        match self {
            RecordedState::Scheduled => "scheduled",
            RecordedState::Started => "started",
            RecordedState::Completed => "completed",
            RecordedState::Retired => "retired",
            RecordedState::Unknown => "unknown",
        }
    }

    /// The state with this id; any other text says nothing.
    pub fn of_id(id: &str) -> RecordedState {
        RecordedState::ALL.into_iter().find(|state| state.id() == id).unwrap_or(RecordedState::Unknown)
    }
}

impl Entry {
    fn state(&self) -> RecordedState {
        match RecordedState::of_id(&self.state) {
            RecordedState::Scheduled | RecordedState::Started if self.retired => RecordedState::Retired,
            state => state,
        }
    }
}

/// A number; JSON has some of them as strings.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "serde_json::Value")]
struct Number(i64);

#[derive(Debug, thiserror::Error)]
#[error("not a number")]
struct NotANumber;

impl TryFrom<serde_json::Value> for Number {
    type Error = NotANumber;

    fn try_from(value: serde_json::Value) -> Result<Number, NotANumber> {
        let number = value.as_i64().or_else(|| value.as_str()?.parse().ok());
        number.map(Number).ok_or(NotANumber)
    }
}

impl Dump {
    /// A dump in JSON.
    pub(crate) fn from_json(bytes: &[u8]) -> Result<Dump, DumpError> {
        Ok(serde_json::from_slice(bytes)?)
    }

    /// A dump in a pickle.
    pub(crate) fn from_pickle(bytes: &[u8]) -> Result<Dump, DumpError> {
        let pickle = Pickle::read(bytes)?;
        let root = pickle.root();
        let number = |item: Item, key: &str| Number(item.get(key).and_then(Item::int).unwrap_or(-1));
        let text = |item: Item, key: &str| item.get(key).and_then(Item::text).unwrap_or("").to_owned();
        let entry = |item: Item| Entry {
            process_group: item
                .get("process_group")
                .map_or(Vec::new(), |group| group.list().filter_map(Item::text).map(str::to_owned).collect()),
            collective_seq_id: number(item, "collective_seq_id"),
            profiling_name: text(item, "profiling_name"),
            state: text(item, "state"),
            retired: item.get("retired").and_then(Item::int) == Some(1),
            is_p2p: text(item, "profiling_name").contains("send")
                || text(item, "profiling_name").contains("recv"),
        };
        let status = |item: Item| Status {
            last_enqueued_collective: number(item, "last_enqueued_collective"),
            last_completed_collective: number(item, "last_completed_collective"),
        };
        let named = |key: &str| -> Vec<(String, Item)> {
            let pairs = root.get(key).map_or(Vec::new(), |all| all.pairs().collect());
            pairs.into_iter().filter_map(|(name, item)| Some((name.text()?.to_owned(), item))).collect()
        };
        let group = |item: Item| Group { desc: text(item, "desc"), ranks: text(item, "ranks") };
        Ok(Dump {
            entries: root.get("entries").map_or(Vec::new(), |all| all.list().map(entry).collect()),
            pg_status: named("pg_status").into_iter().map(|(name, item)| (name, status(item))).collect(),
            pg_config: named("pg_config").into_iter().map(|(name, item)| (name, group(item))).collect(),
        })
    }

    /// A line for each group: where the rank is in it. The signature that reports `flight-recorder` matches
    /// these lines.
    pub fn lines(&self) -> String {
        let mut groups: BTreeMap<&str, (&str, Vec<&Entry>)> = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| !entry.is_p2p) {
            let name = entry.process_group.first().map_or("0", String::as_str);
            let desc = entry.process_group.get(1).map_or("", String::as_str);
            groups.entry(name).or_insert((desc, Vec::new())).1.push(entry);
        }
        let mut lines = String::new();
        for (name, (desc, entries)) in groups {
            let Some(last) = entries.iter().max_by_key(|entry| entry.collective_seq_id) else { continue };
            let open = entries
                .iter()
                .filter(|entry| entry.state() != RecordedState::Completed && !entry.retired)
                .min_by_key(|entry| entry.collective_seq_id);
            let shown = open.unwrap_or(last);
            // Gloo's dumps name their only group by an empty text.
            let config = self.pg_config.get(name).or_else(|| self.pg_config.get(""));
            let desc =
                config.map(|group| group.desc.as_str()).filter(|text| !text.is_empty()).unwrap_or(desc);
            let ranks = config.map_or(0, |group| {
                group.ranks.split(',').filter(|part| part.contains(|c: char| c.is_ascii_digit())).count()
            });
            let status = self.pg_status.get(name);
            let enqueued = status.map_or(last.collective_seq_id, |status| {
                status.last_enqueued_collective.max(last.collective_seq_id)
            });
            let completed = status.map_or(-1, |status| status.last_completed_collective.0);
            let _ = writeln!(
                lines,
                "flight recorder: group {name} ({desc}) of {ranks} ranks: number {} {} is {}; \
                 last enqueued {}, last completed {completed}",
                shown.collective_seq_id.0,
                if shown.profiling_name.is_empty() { "unnamed" } else { &shown.profiling_name },
                shown.state().id(),
                enqueued.0,
            );
        }
        lines
    }
}
