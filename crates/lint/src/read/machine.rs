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
    /// Files of the same run that say more of it: units of systemd, compose files, scripts.
    pub others: Vec<Over>,
    /// The facts of the target machine, if known.
    pub facts: Option<Rc<Facts>>,
}

impl Machine {
    /// The keyword of each line of sshd_config: `PermitRootLogin`. The other files have keys, which rules
    /// name.
    pub(crate) fn keywords(&self) -> BTreeMap<usize, String> {
        let lines = self.text.lines().filter(|_| self.kind == Kind::Sshd).enumerate();
        let words = lines.filter_map(|(index, line)| {
            Some((index + 1, line.split([' ', '\t', '=']).find(|word| !word.is_empty())?))
        });
        words.filter(|(_, word)| !word.starts_with('#')).map(|(line, word)| (line, word.to_owned())).collect()
    }

    /// The facts of the machine with this file in place of its own; `None` for a kind that no check judges.
    pub(crate) fn with_this_file(&self) -> Option<Facts> {
        let path = match self.kind {
            Kind::DaemonJson => "/etc/docker/daemon.json",
            Kind::ToolkitConfig => "/etc/nvidia-container-runtime/config.toml",
            _ => return None,
        };
        let mut readings = BTreeMap::from([(format!("read {path}"), Reading::Text(self.text.clone()))]);
        readings.extend(self.unit());
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
            Kind::DaemonJson => {
                facts.docker.daemon_json = alone.docker.daemon_json;
                if !self.others.is_empty() {
                    facts.docker.unit = alone.docker.unit;
                }
            }
            _ => {
                facts.toolkit.config = alone.toolkit.config;
                facts.toolkit.config_error = alone.toolkit.config_error;
            }
        }
        Some(facts)
    }

    /// The readings of docker's unit and its drop-ins, where they are given with the file.
    fn unit(&self) -> BTreeMap<String, Reading> {
        let (etc, lib) = ("/etc/systemd/system/docker.service", "/lib/systemd/system/docker.service.d");
        let base = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
        let (units, drop_ins): (Vec<&Over>, Vec<&Over>) =
            self.others.iter().partition(|other| base(&other.name) == "docker.service");
        // A drop-in alone counts where it replaces the command.
        let Some(unit) = units.first().or(drop_ins.first()) else { return BTreeMap::new() };
        let mut readings = BTreeMap::from([
            (format!("stat {etc}"), Reading::Text("{}".to_owned())),
            (format!("read {etc}"), Reading::Text(unit.text.to_string())),
            (format!("list {lib}"), Reading::Absent),
            // Which daemon runs now says nothing of the one that the unit starts.
            ("read /var/run/docker.pid".to_owned(), Reading::Absent),
            ("read /run/docker.pid".to_owned(), Reading::Absent),
        ]);
        let names: Vec<String> = drop_ins.iter().map(|other| base(&other.name)).collect();
        readings.insert(format!("list {etc}.d"), Reading::Text(names.join("\n")));
        readings.extend(drop_ins.iter().map(|other| {
            (format!("read {etc}.d/{}", base(&other.name)), Reading::Text(other.text.to_string()))
        }));
        readings
    }
}
