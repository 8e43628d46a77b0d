//! What went wrong on the way to a cluster: where, what, and what to do.

use diagnostic::Fix;
use diagnostic::render::json::FixEntry;
use diagnostic::render::{fix_keys, message_keys};
use docker::transport::ConnectCause;
use schemars::JsonSchema;
use serde::Serialize;

/// A step of `cluster up` and `cluster down`, in the order in which they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    Lock,
    Connect,
    Image,
    Swarm,
    Network,
    Settings,
    Container,
    Healthy,
    Verify,
    /// Containers of nodes that cluster.yaml no longer lists.
    Removed,
    /// Volumes and keys that `cluster down` keeps without `--purge`.
    Purge,
}

impl Step {
    /// As reports show it: `connect`.
    pub fn id(self) -> &'static str {
        match self {
            Step::Lock => "lock",
            Step::Connect => "connect",
            Step::Image => "image",
            Step::Swarm => "swarm",
            Step::Network => "network",
            Step::Settings => "settings",
            Step::Container => "container",
            Step::Healthy => "healthy",
            Step::Verify => "verify",
            Step::Removed => "removed",
            Step::Purge => "purge",
        }
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.id())
    }
}

/// A fault by its cause, as it stopped a step of `cluster up` or `cluster down`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe, transform = fix_keys::describe)]
pub struct Problem {
    /// The step that stopped.
    pub step: Step,
    /// The node; `None` where it is of the cluster as a whole.
    pub node: Option<String>,
    /// What is, and what should be.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
    /// What to do, the best first.
    #[serde(flatten, with = "fix_keys")]
    #[schemars(!flatten, with = "Vec<FixEntry>")]
    pub fixes: Vec<Fix>,
    /// Whether an open connection to the node's engine was closed, as by an engine that restarts.
    #[serde(skip)]
    pub(crate) connection_closed: bool,
    /// That the node's engine cannot be reached, and why, where that is a known cause.
    #[serde(skip)]
    pub(crate) unreached: Option<Option<ConnectCause>>,
}

impl Problem {
    /// A problem of one node.
    pub fn of(step: Step, node: &str, message: impl Into<String>) -> Problem {
        Problem {
            step,
            node: Some(node.to_owned()),
            message: message.into(),
            fixes: Vec::new(),
            connection_closed: false,
            unreached: None,
        }
    }

    /// One of the cluster.
    pub fn new(step: Step, message: impl Into<String>) -> Problem {
        Problem {
            step,
            node: None,
            message: message.into(),
            fixes: Vec::new(),
            connection_closed: false,
            unreached: None,
        }
    }

    /// Notes whether the connection to the engine was closed.
    pub(crate) fn closed(mut self, closed: bool) -> Problem {
        self.connection_closed |= closed;
        self
    }

    /// Adds what to do.
    pub fn fix(mut self, fix: Fix) -> Problem {
        self.fixes.push(fix);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_problem_has_its_fixes_as_lines_and_with_their_commands() {
        let problem = Problem::of(Step::Verify, "node2", "its engine lost an entry")
            .fix(Fix::restarts_service("Restart the engine, on node2:", &["systemctl restart docker"]))
            .fix(Fix::safe("Show the rules, on node2:", &["iptables -L -n -v", "nft list ruleset"]))
            .fix(Fix::manual("Choose a different name in cluster.yaml: `network: { name: … }`"));
        assert_eq!(
            serde_json::to_value(problem).unwrap(),
            json!({
                "step": "verify",
                "node": "node2",
                "message": "its engine lost an entry",
                "says": "its engine lost an entry",
                "fix": [
                    "Restart the engine, on node2: `systemctl restart docker`",
                    "Show the rules, on node2: `iptables -L -n -v; nft list ruleset`",
                    "Choose a different name in cluster.yaml: `network: { name: … }`",
                ],
                "fixes": [
                    {
                        "title": "Restart the engine, on node2:",
                        "commands": ["systemctl restart docker"],
                        "class": "restarts-service",
                    },
                    {
                        "title": "Show the rules, on node2:",
                        "commands": ["iptables -L -n -v", "nft list ruleset"],
                        "class": "safe",
                    },
                    {
                        "title": "Choose a different name in cluster.yaml: `network: { name: … }`",
                        "commands": [],
                        "class": "manual",
                    },
                ],
            })
        );
    }
}
