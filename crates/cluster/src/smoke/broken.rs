//! Why a rank could not do its part.

use std::io::ErrorKind;

use serde::{Deserialize, Serialize};

/// What happened to a connection between ranks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Nothing moved for as long as a connection may stall.
    #[error("the connection stalled")]
    Stalled,
    /// The other end is gone.
    #[error("the peer closed the connection")]
    Closed,
    /// Anything else, in the system's words.
    #[error("{0}")]
    System(String),
}

impl From<&std::io::Error> for Fault {
    /// The system calls a stall "Resource temporarily unavailable", and a closed connection "failed to fill
    /// whole buffer".
    fn from(error: &std::io::Error) -> Fault {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Fault::Stalled,
            ErrorKind::UnexpectedEof => Fault::Closed,
            _ => Fault::System(error.to_string()),
        }
    }
}

/// Why a rank could not do its part. Ranks are numbers here; [`Broken::message`] names them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "broken", rename_all = "kebab-case")]
pub enum Broken {
    /// A neighbor did not do its part.
    Peer {
        /// The neighbor.
        rank: usize,
        /// What it did not do, without its name: `did not connect within 9.0 s`.
        fault: String,
    },
    /// Nothing could be sent to a neighbor.
    Sending {
        /// The rank on the right.
        rank: usize,
        why: Fault,
    },
    /// Nothing came from a neighbor.
    Receiving {
        /// The rank on the left.
        rank: usize,
        why: Fault,
    },
    /// A fault of this rank itself.
    Own { why: String },
}

impl Broken {
    /// The rank that did not do its part, where that is known.
    pub fn culprit(&self) -> Option<usize> {
        match self {
            Broken::Peer { rank, .. } | Broken::Sending { rank, .. } | Broken::Receiving { rank, .. } => {
                Some(*rank)
            }
            Broken::Own { .. } => None,
        }
    }

    /// Whether a time limit ended it: a network that carries nothing, or a processor that does not run.
    pub fn is_late(&self) -> bool {
        matches!(
            self,
            Broken::Sending { why: Fault::Stalled, .. } | Broken::Receiving { why: Fault::Stalled, .. }
        )
    }

    /// The fault as text, with ranks named by `name`.
    pub fn message(&self, name: &dyn Fn(usize) -> String) -> String {
        match self {
            Broken::Peer { rank, fault } => format!("{} {fault}", name(*rank)),
            Broken::Sending { rank, why } => format!("sending to {}: {why}", name(*rank)),
            Broken::Receiving { rank, why } => format!("receiving from {}: {why}", name(*rank)),
            Broken::Own { why } => why.clone(),
        }
    }
}
