//! Rules about files that configure a machine: Docker's daemon.json, the container toolkit's config.toml,
//! sshd_config. The first two are judged by the checks of machines, on facts in which nothing but the file is
//! known unless `--from` or `--here` says more.

pub(crate) mod daemon_json_refused;
pub(crate) mod sshd_lets_anybody_in;
pub(crate) mod toolkit_config_refused;

use catalog::Catalog;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::rule::{Found, Kind};
use checks::{self, CHECKS, Subject, Verdict};
use facts::docker::DaemonJson;
use facts::toolkit::Config;
use facts::{Expected, Facts, Role, gather};
use host::Reading;
use host::record::Replay;

/// A file that configures a machine.
#[derive(Debug)]
pub(crate) struct Machine {
    /// What the machine is compared with.
    pub catalog: &'static Catalog,
    pub kind: Kind,
    pub name: String,
    pub text: String,
    /// The facts of the target machine, if known.
    pub facts: Option<Rc<Facts>>,
}

impl Machine {
    /// What checks say of it.
    fn judged(&self, ids: &[&str]) -> Vec<Found> {
        let path = match self.kind {
            Kind::DaemonJson => "/etc/docker/daemon.json",
            Kind::ToolkitConfig => "/etc/nvidia-container-runtime/config.toml",
            _ => return Vec::new(),
        };
        let readings = BTreeMap::from([(format!("read {path}"), Reading::Text(self.text.clone()))]);
        let expected = Expected { role: Some(Role::GpuNode), ..Expected::default() };
        let alone =
            gather::recorded(&Replay::new(readings, "only this file is known"), expected, self.catalog);
        let facts = self.with_this_file(alone);
        let checks = CHECKS.iter().filter(|check| ids.contains(&check.id));
        checks.filter_map(|check| self.found(&checks::judge_one(check, &facts))).collect()
    }

    /// The machine that the file is for, as far as it is known, with this file under the name that the user
    /// gave.
    fn with_this_file(&self, mut alone: Facts) -> Facts {
        alone.docker.daemon_json =
            alone.docker.daemon_json.map(|file| DaemonJson { path: self.name.clone(), ..file });
        alone.toolkit.config =
            alone.toolkit.config.map(|config| Config { path: self.name.clone(), ..config });
        let Some(machine) = &self.facts else { return alone };
        let mut facts = Facts::clone(machine);
        match self.kind {
            Kind::DaemonJson => facts.docker.daemon_json = alone.docker.daemon_json,
            _ => {
                facts.toolkit.config = alone.toolkit.config;
                facts.toolkit.config_error = alone.toolkit.config_error;
            }
        }
        facts
    }

    fn found(&self, verdict: &Verdict) -> Option<Found> {
        let found = verdict.found()?;
        let fix = found.fixes.first().map_or("", |fix| fix.title.trim_end_matches(['.', ':']));
        let made = Found::warning(self.line(&found.subject), found.message.trim_end_matches('.'), fix);
        Some(Found { severity: found.severity, ..made })
    }

    /// The line that a finding is about: its own, else the first with the key that it names.
    fn line(&self, subject: &Subject) -> usize {
        let count = self.text.lines().count().max(1);
        let with_key = |key: &String| self.text.lines().position(|line| line.contains(key.as_str()));
        let of_key = || subject.name.as_ref().and_then(with_key).map(|index| index + 1);
        subject.line.or_else(of_key).unwrap_or(1).clamp(1, count)
    }
}
