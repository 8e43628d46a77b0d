//! Dumps of PyTorch's flight recorder, as pickles and as JSON: where a rank is in each of its groups.
//! Keys as in `torch/csrc/distributed/c10d/FlightRecorder.hpp` and the loader of
//! `torch.distributed.flight_recorder`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use super::error::DumpError;
use super::lines::shown;
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

    /// As reports show it: `started`. The first three are PyTorch's own names.
    pub fn id(self) -> &'static str {
        match self {
            RecordedState::Scheduled => "scheduled",
            RecordedState::Started => "started",
            RecordedState::Completed => "completed",
            RecordedState::Retired => "retired",
            RecordedState::Unknown => "unknown",
        }
    }

    /// The state that a dump names; any other text says nothing.
    fn of_id(id: &str) -> RecordedState {
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

    /// Where the rank is in each group, by the groups' names.
    pub fn groups(&self) -> Vec<Recorded> {
        let mut groups: BTreeMap<&str, (&str, Vec<&Entry>)> = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| !entry.is_p2p) {
            let name = entry.process_group.first().map_or("0", String::as_str);
            let description = entry.process_group.get(1).map_or("", String::as_str);
            groups.entry(name).or_insert((description, Vec::new())).1.push(entry);
        }
        let group = |(name, (description, entries)): (&str, (&str, Vec<&Entry>))| {
            self.group(name, description, &entries)
        };
        groups.into_iter().filter_map(group).collect()
    }

    /// Where the rank is in a group, by its entries; `None` without any.
    fn group(&self, name: &str, description: &str, entries: &[&Entry]) -> Option<Recorded> {
        let last = entries.iter().max_by_key(|entry| entry.collective_seq_id)?;
        let open = entries
            .iter()
            .filter(|entry| entry.state() != RecordedState::Completed && !entry.retired)
            .min_by_key(|entry| entry.collective_seq_id);
        let entry = open.unwrap_or(last);
        // Gloo's dumps name their only group by an empty text.
        let config = self.pg_config.get(name).or_else(|| self.pg_config.get(""));
        let configured = config.map(|group| group.desc.as_str()).filter(|text| !text.is_empty());
        let ranks = config.map_or(0, |group| {
            group.ranks.split(',').filter(|part| part.contains(|c: char| c.is_ascii_digit())).count()
        });
        let status = self.pg_status.get(name);
        let enqueued = status.map_or(last.collective_seq_id, |status| {
            status.last_enqueued_collective.max(last.collective_seq_id)
        });
        Some(Recorded {
            group: shown(name.as_bytes()),
            description: shown(configured.unwrap_or(description).as_bytes()),
            size: u32::try_from(ranks).unwrap_or(u32::MAX),
            sequence: entry.collective_seq_id.0,
            operation: Some(shown(entry.profiling_name.as_bytes())).filter(|name| !name.is_empty()),
            state: entry.state(),
            enqueued: enqueued.0,
            completed: status.map_or(-1, |status| status.last_completed_collective.0),
        })
    }
}

/// Where a rank is in one of its process groups. Numbers of collectives count within the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The group's name: `0`.
    pub group: String,
    /// What the group is: `default_pg`, or the name that the program gave it.
    pub description: String,
    /// How many ranks it has; 0 where the dump does not tell.
    pub size: u32,
    /// The number of the first collective that has not ended, else of the last one.
    pub sequence: i64,
    /// The collective: `nccl:all_reduce`; `None` where the dump does not name it.
    pub operation: Option<String>,
    /// How far the rank is in it.
    pub state: RecordedState,
    /// The number of the last collective that the program called.
    pub enqueued: i64,
    /// The number of the last collective that ended well; -1 where the dump does not tell.
    pub completed: i64,
}

impl Recorded {
    /// Whether the group is PyTorch's default one, which has all ranks of the job.
    pub fn is_default_group(&self) -> bool {
        self.description == "default_pg"
    }

    /// Whether the rank has called the collective and it has not ended well.
    pub fn waits(&self) -> bool {
        !matches!(self.state, RecordedState::Completed | RecordedState::Unknown)
    }

    /// Whether the rank has not called, or not completed, the collective with this number.
    pub fn is_behind(&self, sequence: i64) -> bool {
        self.enqueued < sequence || (self.sequence < sequence && self.waits())
    }
}

/// As reports show it in place of a line.
impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Recorded { group, description, size, sequence, enqueued, completed, .. } = self;
        let operation = self.operation.as_deref().unwrap_or("unnamed");
        write!(
            f,
            "flight recorder: group {group} ({description}) of {size} ranks: number {sequence} {operation} \
             is {}; last enqueued {enqueued}, last completed {completed}",
            self.state.id()
        )
    }
}
