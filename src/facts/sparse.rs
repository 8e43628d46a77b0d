//! Facts gathered from a few texts, for the tests of checks: see [`super::testing`] for machines built field by field.

use std::collections::BTreeMap;

use super::{Expected, Facts, gather};
use crate::checks::{Check, Verdict, judge_one};
use crate::host::{Ask, Host, Reading};

/// A machine that has the given texts and nothing else: everything that is not among them is absent, not unknown.
pub struct Sparse(BTreeMap<String, Reading>);

impl Sparse {
    /// Texts by the key of the question: `("read /etc/group", "docker:x:999:")`.
    pub fn new(readings: &[(&str, &str)]) -> Sparse {
        let texts = readings.iter().map(|(key, text)| ((*key).to_owned(), Reading::Text((*text).to_owned())));
        let mut readings: BTreeMap<String, Reading> = texts.collect();
        readings.entry("environment".into()).or_insert_with(|| Reading::Text("HOME=/root\nUSER=me".into()));
        Sparse(readings)
    }

    /// The same, with some questions that could not be answered.
    pub fn failing(mut self, failures: &[(&str, &str)]) -> Sparse {
        self.0.extend(
            failures.iter().map(|(key, why)| ((*key).to_owned(), Reading::Failed((*why).to_owned()))),
        );
        self
    }
}

impl Host for Sparse {
    fn ask(&self, ask: Ask<'_>) -> Reading {
        self.0.get(&ask.to_string()).cloned().unwrap_or(Reading::Absent)
    }
}

/// The facts of such a machine, as a host and not a container.
pub fn host(sparse: &Sparse) -> Facts {
    let mut facts = gather::recorded(sparse, Expected::default());
    facts.system.container = super::Fact::Absent;
    facts.pci.devices = super::Fact::Known(Vec::new());
    facts
}

/// The same with a GPU.
pub fn gpu_host(sparse: &Sparse) -> Facts {
    let mut facts = host(sparse);
    facts.expected.gpus = Some(1);
    facts
}

/// A verdict in one line: `pass`, `not-applicable: …`, `unknown: …`, `warning: …`, `error: …`.
pub fn says(check: &Check, facts: &Facts) -> String {
    match judge_one(check, facts) {
        Verdict::Pass => "pass".into(),
        Verdict::NotApplicable(why) => format!("not-applicable: {why}"),
        Verdict::Unknown(why) => format!("unknown: {why}"),
        Verdict::Finding { severity, says, .. } => {
            format!("{severity:?}: {says}").replace("Warning", "warning").replace("Error", "error")
        }
    }
}

/// A socket as it lies there beside a running engine.
pub const SOCKET: &str =
    r#"{"kind":"socket","mode":"0660","uid":0,"gid":999,"size":0,"mtime":1,"path":"/run/docker.sock"}"#;

/// A machine whose engine gives this `/info`, and that has these texts besides.
pub fn engine(info: &str, more: &[(&str, &str)]) -> Sparse {
    let mut readings = vec![
        ("program docker", "/usr/bin/docker"),
        ("stat /var/run/docker.sock", SOCKET),
        ("engine unix:///var/run/docker.sock /info", info),
        (
            "engine unix:///var/run/docker.sock /version",
            r#"{"Platform":{"Name":"Docker Engine - Community"}}"#,
        ),
    ];
    readings.extend_from_slice(more);
    Sparse::new(&readings)
}
