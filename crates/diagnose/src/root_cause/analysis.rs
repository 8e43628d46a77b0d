//! What several steps of the ranking ask of a timeline, computed once.

use super::ranks::{self, Exit, Waited};
use super::timeline::Timeline;
use catalog::signatures::Report;

/// A timeline and what follows from it for the ranks.
#[derive(Debug)]
pub(super) struct Analysis<'t> {
    pub timeline: &'t Timeline,
    /// How ranks ended.
    pub exits: Vec<Exit>,
    /// The collective that each rank waited in, by rank.
    pub waited: Vec<Waited>,
    /// Ranks without a failure of their own.
    pub silent: Vec<u32>,
    /// Whether any rank waited until its time limit.
    pub any_waited: bool,
    /// Whether any rank lost a peer.
    pub any_lost_peer: bool,
}

impl<'t> Analysis<'t> {
    pub(super) fn of(timeline: &'t Timeline) -> Analysis<'t> {
        let waited = ranks::waited(timeline);
        Analysis {
            timeline,
            exits: ranks::exits(timeline),
            silent: ranks::silent(timeline, &waited),
            waited,
            any_waited: timeline.reports(Report::Wait).next().is_some(),
            any_lost_peer: timeline.reports(Report::PeerLost).next().is_some(),
        }
    }
}
