//! Rules about files that configure a machine: Docker's daemon.json, the container toolkit's config.toml,
//! sshd_config. The first two are judged by the checks of machines, on facts in which nothing but the file is
//! known unless `--from` or `--here` says more.

pub(crate) mod daemon_json_refused;
pub(crate) mod sshd_lets_anybody_in;
pub(crate) mod toolkit_config_refused;

use std::collections::BTreeMap;
use std::rc::Rc;

use super::rule::{Found, Kind};
use checks::{self, CHECKS, Verdict};
use facts::{Expected, Facts, Role, gather};
use host::Reading;
use host::record::Replay;

/// A file that configures a machine.
#[derive(Debug)]
pub(crate) struct Machine {
    pub kind: Kind,
    pub name: String,
    pub text: String,
    /// What is known of the machine that it is for.
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
        let alone = gather::recorded(&Replay::new(readings, "only this file is known"), expected);
        let facts = match &self.facts {
            None => alone,
            Some(machine) => {
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
        };
        let checks = CHECKS.iter().filter(|check| ids.contains(&check.id));
        checks.filter_map(|check| self.found(checks::judge_one(check, &facts), path)).collect()
    }

    fn found(&self, verdict: Verdict, path: &str) -> Option<Found> {
        let found = verdict.found()?;
        let fix = found.fixes.first().map_or("", |fix| fix.title.trim_end_matches('.'));
        let says = found.message.replace(path, &self.name);
        let made = Found::warning(self.line(&found.message), says.trim_end_matches('.'), fix);
        Some(Found { severity: found.severity, ..made })
    }

    /// The line that a sentence is about: the one that it names, else that of the first quoted word that
    /// stands in the file.
    fn line(&self, says: &str) -> usize {
        let count = self.text.lines().count().max(1);
        let named = says.split("line ").nth(1).and_then(|rest| {
            rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse::<usize>().ok()
        });
        let quoted = says.split('"').skip(1).step_by(2).filter(|word| !word.is_empty());
        let found = quoted.filter_map(|word| self.text.lines().position(|line| line.contains(word))).next();
        named.or(found.map(|place| place + 1)).unwrap_or(1).clamp(1, count)
    }
}
