//! Small UDP packets by direction.

use schemars::JsonSchema;
use serde::Serialize;

use crate::flow::rate::Way;

/// Small UDP packets from one node to another.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PacketsEntry {
    /// The node that sent them.
    pub from: String,
    /// The node that counted them.
    pub to: String,
    /// Datagrams that the kernel of the sending node took.
    pub sent: u32,
    /// Different datagrams that arrived; the rest was lost.
    pub arrived: u32,
    /// How many arrived a second time.
    pub duplicates: u32,
    /// How many arrived behind a later one.
    pub late: u32,
}

/// The packets of one direction; `names` are those of the ranks.
pub(super) fn entry(way: &Way, names: &[String]) -> PacketsEntry {
    PacketsEntry {
        from: names[way.from].clone(),
        to: names[way.to].clone(),
        sent: way.sent,
        arrived: way.arrived,
        duplicates: way.duplicates,
        late: way.late,
    }
}
