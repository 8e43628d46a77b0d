//! Which machines a cluster was started on: recorded on every node, so that one that is removed from
//! cluster.yaml is not forgotten while its container runs on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::UnreadableRecord;
use super::plan::{ClusterPlan, Gpus, LABEL, Node};
use docker::engine::Engine;
use docker::swarm::Machine;
use docker::transport::Endpoint;
use docker::volume::{self, Listed};

/// Label of the record's volume, which is never mounted: the machines as JSON.
const NODES_LABEL: &str = "envdoc.nodes";
/// Label of the record's volume: its number, one more than that of the record before it.
const NUMBER_LABEL: &str = "envdoc.nodes.number";

/// A machine on which a node of the cluster was started.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Recorded {
    /// The node's name, also of its container.
    pub name: String,
    /// Its engine's endpoint.
    pub engine: Endpoint,
    /// Directory with the certificates for an engine over TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<String>,
    /// The engine's own id; machines that were cloned share it.
    pub id: String,
    pub hostname: String,
}

impl Recorded {
    /// A node on the machine that its engine reports.
    pub fn of(node: &Node, machine: &Machine) -> Recorded {
        Recorded {
            name: node.name.clone(),
            engine: node.engine.clone(),
            tls: node.tls.clone(),
            id: machine.id.clone(),
            hostname: machine.hostname.clone(),
        }
    }

    /// Whether it is this machine.
    pub fn is_on(&self, machine: &Machine) -> bool {
        (&self.id, &self.hostname) == (&machine.id, &machine.hostname)
    }

    /// To connect to it; `index` is its place behind the nodes of the plan.
    pub fn node(&self, index: usize) -> Node {
        Node {
            index,
            name: self.name.clone(),
            address: String::new(),
            engine: self.engine.clone(),
            tls: self.tls.clone(),
            gpus: Gpus::None,
            slots: 0,
            labels: BTreeMap::new(),
            environment: BTreeMap::new(),
        }
    }
}

/// The volumes that hold a record: the last number is the newest. Earlier versions of envdoc gave none.
fn volume_name(plan: &ClusterPlan, number: u64) -> String {
    match number {
        0 => format!("{}-nodes", plan.name),
        number => format!("{}-nodes-{number}", plan.name),
    }
}

/// The records among the cluster's volumes, each with its number, the newest last.
fn records(volumes: Vec<Listed>) -> Vec<(u64, Listed)> {
    let number = |one: &Listed| one.labels.get(NUMBER_LABEL).and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut records: Vec<(u64, Listed)> = volumes
        .into_iter()
        .filter(|one| one.labels.contains_key(NODES_LABEL))
        .map(|one| (number(&one), one))
        .collect();
    records.sort_by_key(|(number, _)| *number);
    records
}

/// What an engine has recorded of a cluster; nothing where it has no record.
pub async fn read(plan: &ClusterPlan, engine: &Engine) -> Result<Vec<Recorded>, crate::Error> {
    Ok(newest(volume::list(engine, LABEL, &plan.name).await?)?)
}

/// The newest record among the cluster's volumes.
fn newest(volumes: Vec<Listed>) -> Result<Vec<Recorded>, UnreadableRecord> {
    let Some((_, last)) = records(volumes).pop() else { return Ok(Vec::new()) };
    let text = last.labels.get(NODES_LABEL).map_or("", String::as_str);
    let unreadable = |why: serde_json::Error| UnreadableRecord {
        label: NODES_LABEL,
        volume: last.name.clone(),
        reason: why.to_string(),
    };
    serde_json::from_str(text).map_err(unreadable)
}

/// Records these machines in place of what was recorded. The new record is there before the former one goes:
/// an interruption leaves one of them, or both.
pub async fn write(plan: &ClusterPlan, engine: &Engine, all: &[Recorded]) -> Result<(), crate::Error> {
    let former = records(volume::list(engine, LABEL, &plan.name).await?);
    let number = former.last().map_or(0, |(number, _)| number + 1);
    let name = volume_name(plan, number);
    let text = serde_json::to_string(all).unwrap_or_default();
    let labels: BTreeMap<String, String> = [
        (LABEL.to_owned(), plan.name.clone()),
        (NODES_LABEL.to_owned(), text),
        (NUMBER_LABEL.to_owned(), number.to_string()),
    ]
    .into();
    volume::create(engine, &name, &labels, &BTreeMap::new()).await?;
    // An engine answers the same where there is already a volume of this name, with labels of its own.
    if volume::labels(engine, &name).await?.as_ref() != Some(&labels) {
        return Err(crate::Error::Other(format!("the volume {name} exists and has other labels")));
    }
    for (_, volume) in former {
        // The newest counts; the next run removes what is left.
        let _ = volume::remove(engine, &volume.name).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(name: &str, labels: &[(&str, &str)]) -> Listed {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Listed { name: name.to_owned(), labels: labels.collect(), created: None }
    }

    #[test]
    fn unreadable_record_is_an_error_and_not_an_empty_record() {
        assert_eq!(newest(vec![listed("lab-settings", &[(LABEL, "lab")])]), Ok(vec![]));
        let readable = listed("lab-nodes-1", &[(NODES_LABEL, "[]"), (NUMBER_LABEL, "1")]);
        assert_eq!(newest(vec![readable.clone()]), Ok(vec![]));
        let damaged = listed("lab-nodes-2", &[(NODES_LABEL, "[{"), (NUMBER_LABEL, "2")]);
        let why = newest(vec![readable, damaged]).unwrap_err();
        assert!(why.to_string().contains("label envdoc.nodes of the volume lab-nodes-2"), "{why}");
        let fix = why.fix("node1");
        assert!(
            fix.title.ends_with("on node1:") && fix.commands == ["docker volume rm lab-nodes-2"],
            "{fix}"
        );
    }

    #[test]
    fn records_are_sorted_numerically() {
        let all = vec![
            listed("lab-nodes-10", &[(NODES_LABEL, "[10]"), (NUMBER_LABEL, "10")]),
            listed("lab-nodes-9", &[(NODES_LABEL, "[9]"), (NUMBER_LABEL, "9")]),
            listed("lab-settings", &[(LABEL, "lab")]),
            // As envdoc 0.1.0 made it.
            listed("lab-nodes", &[(NODES_LABEL, "[0]")]),
        ];
        let order: Vec<_> = records(all).into_iter().map(|(number, one)| (number, one.name)).collect();
        let expected = [(0, "lab-nodes"), (9, "lab-nodes-9"), (10, "lab-nodes-10")];
        assert_eq!(order, expected.map(|(number, name)| (number, name.to_owned())));
    }
}
