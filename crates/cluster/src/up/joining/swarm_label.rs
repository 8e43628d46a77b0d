//! Whether envdoc created a swarm: its label is on it then. `down --leave-swarm` leaves only such a swarm,
//! and only from such a one stale members are removed.

use std::collections::BTreeMap;

use crate::plan::LABEL;
use docker::engine::Engine;
use docker::swarm;

/// Who created a swarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Creator {
    Envdoc,
    Other,
    /// Its labels could not be read; the reason.
    Unread(String),
}

impl Creator {
    pub(super) async fn of(manager: &Engine) -> Creator {
        Creator::from_labels(swarm::labels(manager).await)
    }

    fn from_labels(labels: Result<BTreeMap<String, String>, docker::Error>) -> Creator {
        match labels {
            Ok(labels) if labels.contains_key(LABEL) => Creator::Envdoc,
            Ok(_) => Creator::Other,
            Err(why) => Creator::Unread(why.to_string()),
        }
    }

    /// The note on a swarm that envdoc has just started on this node.
    pub(super) fn of_started(&self, leader: &str) -> Option<String> {
        match self {
            Creator::Envdoc => None,
            Creator::Other => Some(format!(
                "the engine of {leader} did not keep the label {LABEL} on its swarm; `envdoc cluster down \
                --leave-swarm` will leave that swarm alone"
            )),
            Creator::Unread(why) => Some(format!(
                "started a swarm on {leader}, but could not read its labels ({why}); if the label {LABEL} is \
                missing, `envdoc cluster down --leave-swarm` will leave that swarm alone"
            )),
        }
    }

    /// The note on a swarm that was there before.
    pub(super) fn of_used(&self, leader: &str) -> Option<String> {
        match self {
            Creator::Envdoc => None,
            Creator::Other => Some(format!(
                "using the swarm of {leader}, which envdoc did not create; `envdoc cluster down \
                --leave-swarm` leaves it alone"
            )),
            Creator::Unread(why) => Some(format!(
                "using the swarm of {leader}; could not check whether envdoc created it, because its labels \
                could not be read: {why}"
            )),
        }
    }

    /// Why stale members stay on the manager's list.
    pub(super) fn keeps_stale(&self) -> Option<String> {
        let why = match self {
            Creator::Envdoc => return None,
            Creator::Other => "envdoc did not create this swarm and leaves them".to_owned(),
            Creator::Unread(why) => {
                format!("envdoc leaves them, because it could not read the labels: {why}")
            }
        };
        Some(format!(
            "the swarm lists members that are down and have the host names of nodes; {why}: `docker node ls`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_labels_are_not_missing_labels() {
        let labelled = Creator::from_labels(Ok([(LABEL.to_owned(), "lab".to_owned())].into()));
        assert_eq!(labelled, Creator::Envdoc);
        let notes = |creator: &Creator| {
            [creator.of_started("node1"), creator.of_used("node1"), creator.keeps_stale()]
        };
        assert_eq!(notes(&labelled), [None, None, None]);
        let [started, used, stale] = notes(&Creator::from_labels(Ok(BTreeMap::new()))).map(Option::unwrap);
        assert!(started.contains("did not keep the label"), "{started}");
        assert!(used.contains("did not create") && stale.contains("did not create"), "{used} {stale}");
        let refused = docker::Error::ConnectionRefused("connection refused".into());
        for note in notes(&Creator::from_labels(Err(refused))).map(Option::unwrap) {
            assert!(note.contains("could not read") || note.contains("could not be read"), "{note}");
            assert!(note.contains("connection refused"), "{note}");
            assert!(!note.contains("did not create") && !note.contains("did not keep"), "{note}");
        }
    }
}
