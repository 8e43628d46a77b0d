//! The JSON of `envdoc cluster check`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::Access;
use diagnostic::render::json::{FixEntry, IgnoredEntry, OldFixEntry};
use diagnostic::render::message_keys;
use diagnostic::report::Summary;
use judge::report::json::CheckEntry;

/// What `envdoc cluster check --format json` prints.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClusterCheckReport {
    /// Version of this format.
    pub schema: u32,
    /// Version of envdoc.
    pub envdoc: String,
    /// How many results have each status, on the machines and between them.
    pub summary: Summary,
    /// What must be the same or arrive.
    pub results: Vec<FleetEntry>,
    /// What each machine has, by what and by machine; null where nobody could look.
    pub table: BTreeMap<String, BTreeMap<String, Option<String>>>,
    /// The nodes of cluster.yaml in its order, or the recorded machines.
    pub nodes: Vec<NodeEntry>,
    /// What settings files leave out of the results.
    #[serde(default)]
    pub ignored: Vec<IgnoredEntry>,
    /// Remarks that are no findings: what was left out, and why.
    pub notes: Vec<String>,
}

/// The result of a check of all machines.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
pub struct FleetEntry {
    /// Id of the check: `envdoc explain ID`.
    pub check: String,
    /// `pass`, `warning`, `error`, `unknown` or `not-applicable`.
    pub status: String,
    /// What is wrong, what was expected and the consequence; the reason for `unknown` and `not-applicable`;
    /// empty for `pass`.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
    /// The readings that a finding rests on.
    pub evidence: Vec<String>,
    /// What to do about a finding, the best first.
    pub fixes: Vec<FixEntry>,
    /// The first of `fixes`, as schema 1 named it; null where there is none.
    pub fix: Option<OldFixEntry>,
}

/// One machine, with the results of its own checks.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodeEntry {
    /// The name of the node in cluster.yaml.
    pub name: String,
    /// Its engine's endpoint (`ssh://root@10.0.18.2`), or the file of a recorded machine.
    pub engine: String,
    /// `inspected`, `not-inspected` (connected, but the machine itself was not looked at), `unreachable`, or
    /// `unreadable` (a recorded machine).
    pub access: Access,
    /// Why the machine itself was not looked at; null where it was.
    pub closed: Option<String>,
    /// `fixes`, each as one line with its commands in backquotes.
    pub hints: Vec<String>,
    /// What to do about the reason in `closed`; empty where it is null.
    #[serde(default)]
    pub fixes: Vec<FixEntry>,
    /// Seconds that reaching and looking at it took.
    pub seconds: f64,
    /// What its clock showed, in UTC (`2026-11-27T19:34:46Z`); null where it is unknown.
    #[serde(default)]
    pub time: Option<String>,
    /// Seconds that its clock is ahead of this machine's; null where it was not asked.
    pub clock_ahead: Option<f64>,
    /// How many of its own results have each status.
    pub summary: Summary,
    /// Its own results, as `envdoc check` gives them.
    pub results: Vec<CheckEntry>,
}
