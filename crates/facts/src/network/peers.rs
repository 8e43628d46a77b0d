//! Whether this machine works together with others.

use std::collections::BTreeMap;

use crate::{Fact, Facts, Unavailable};

impl Facts {
    /// What shows that this machine works together with others. Absent where every source was read and none
    /// shows it, unknown where none shows it and one could not be read. For checks that mean something only
    /// then.
    pub fn peers(&self) -> Fact<String> {
        let sign = |shown: bool, sign: &str| if shown { Fact::Known(sign.to_owned()) } else { Fact::Absent };
        let environment = self.environment.variables.as_ref().about("environment");
        sign(self.expected.rdma == Some(true), "RDMA is expected")
            .or_look(|| environment.and_then(|all| in_variables(all).map_or(Fact::Absent, Fact::Known)))
            .or_look(|| self.active_swarm_node().and_then(|is| sign(is, "this is a node of a Docker swarm")))
            .or_look(|| self.rdma.fabric().and_then(|fabric| sign(fabric, "RDMA ports are active")))
    }

    /// An engine that does not run takes part in nothing.
    fn active_swarm_node(&self) -> Fact<bool> {
        match self.docker.answering() {
            Ok(_) => self.docker.info_text(&["Swarm", "LocalNodeState"]).map(|state| state == "active"),
            Err(Unavailable::Absent(_)) => Fact::Absent,
            Err(Unavailable::Unknown(why)) => Fact::Unknown(why),
        }
    }
}

/// The variable that shows that jobs here use several machines.
fn in_variables(all: &BTreeMap<String, String>) -> Option<String> {
    let variable = |name: &str| all.get(name).map(String::as_str).filter(|value| !value.is_empty());
    let number = |name: &str| variable(name).and_then(|value| value.parse::<u32>().ok());
    if let Some(address) = variable("MASTER_ADDR")
        && !matches!(address, "localhost" | "::1")
        && !address.starts_with("127.")
    {
        return Some("MASTER_ADDR is set".into());
    }
    for name in ["NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_COMM_ID"] {
        if variable(name).is_some_and(|value| !matches!(value.trim_start_matches('='), "lo" | "lo0")) {
            return Some(format!("{name} is set"));
        }
    }
    let nodes = number("SLURM_JOB_NUM_NODES").or_else(|| number("SLURM_NNODES"));
    nodes.is_some_and(|nodes| nodes > 1).then(|| "a Slurm job of several nodes".into())
}
