//! A file that configures a machine, and the facts that checks judge it by.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::file::Over;
use crate::kind::Kind;
use catalog::Catalog;
use facts::docker::DaemonJson;
use facts::toolkit::Config;
use facts::{Expected, Facts, Role, gather};
use host::Reading;
use host::record::Replay;
use judge::Checks;

/// A file that configures a machine.
#[derive(Debug)]
pub(crate) struct Machine {
    /// What the machine is compared with.
    pub catalog: &'static Catalog,
    /// Those of a machine; some judge such a file.
    pub checks: Checks,
    pub kind: Kind,
    pub name: String,
    pub text: String,
    /// Other files of the machine, by name and text.
    pub others: Vec<Over>,
    /// The facts of the target machine, if known.
    pub facts: Option<Rc<Facts>>,
}

impl Machine {
    /// The facts of the machine with this file in place of its own; `None` for a kind that no check judges.
    pub(crate) fn with_this_file(&self) -> Option<Facts> {
        let path = match self.kind {
            Kind::DaemonJson => "/etc/docker/daemon.json",
            Kind::ToolkitConfig => "/etc/nvidia-container-runtime/config.toml",
            _ => return None,
        };
        let readings = BTreeMap::from([(format!("read {path}"), Reading::Text(self.text.clone()))]);
        let expected = Expected { role: Some(Role::GpuNode), ..Expected::default() };
        let mut alone =
            gather::recorded(&Replay::new(readings, "only this file is known"), expected, self.catalog);
        // Messages name the file as the user did.
        alone.docker.daemon_json =
            alone.docker.daemon_json.map(|file| DaemonJson { path: self.name.clone(), ..file });
        alone.toolkit.config =
            alone.toolkit.config.map(|config| Config { path: self.name.clone(), ..config });
        let Some(machine) = &self.facts else { return Some(alone) };
        let mut facts = Facts::clone(machine);
        match self.kind {
            Kind::DaemonJson => facts.docker.daemon_json = alone.docker.daemon_json,
            _ => {
                facts.toolkit.config = alone.toolkit.config;
                facts.toolkit.config_error = alone.toolkit.config_error;
            }
        }
        Some(facts)
    }
}
