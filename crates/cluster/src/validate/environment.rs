//! The environment variables of the containers.

use std::collections::BTreeMap;

use super::value::{self, At};
use crate::plan::Node;
use crate::request::{ClusterRequest, Launcher};
use diagnostic::error::Error;

/// The environment of every node: the cluster's (checked by [`variables`]), the node's own, and what follows
/// from the plan unless the request sets it.
pub(super) fn of_nodes(
    request: &ClusterRequest,
    network: &crate::plan::Network,
    launcher: Launcher,
    nodes: &mut [Node],
    warnings: &mut Vec<String>,
    at: &At,
) -> Result<(), Error> {
    for (node, asked) in nodes.iter_mut().zip(&request.nodes) {
        variables(&asked.environment, &at.key(&node.name).key("environment"), warnings)?;
        let mut own = BTreeMap::new();
        if launcher == Launcher::Deepspeed {
            own.insert("PDSH_RCMD_TYPE".to_owned(), "ssh".to_owned());
        }
        if let Some(interface) = &network.interface {
            own.insert("NCCL_SOCKET_IFNAME".into(), format!("={interface}"));
            own.insert("GLOO_SOCKET_IFNAME".into(), interface.clone());
        }
        if node.gpus == crate::plan::Gpus::None {
            // Where nvidia is the engine's default runtime, an image's own NVIDIA_VISIBLE_DEVICES=all would
            // bring every GPU.
            own.insert("NVIDIA_VISIBLE_DEVICES".into(), "void".into());
        }
        own.extend(request.environment.clone());
        own.extend(asked.environment.clone());
        node.environment = own;
    }
    Ok(())
}

pub(super) fn variables(
    asked: &BTreeMap<String, String>,
    at: &At,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    for (name, text) in asked {
        at.fits(&value::VARIABLE, name)?;
        at.key(name).fits(&value::VALUE, text)?;
        if name.starts_with("ENVDOC_") {
            return Err(at
                .key(name)
                .wrong("variables named ENVDOC_… are reserved", "choose a different name"));
        }
        let secret =
            ["TOKEN", "SECRET", "PASSWORD", "API_KEY", "PRIVATE_KEY"].iter().any(|word| name.ends_with(word));
        if secret && !text.is_empty() {
            warnings.push(format!(
                "{name} is visible in the container's environment to every user of the \
                Docker engine; put secrets in `secrets`"
            ));
        }
    }
    Ok(())
}
