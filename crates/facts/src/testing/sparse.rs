//! A machine made of a few texts.

use std::collections::BTreeMap;

use crate::{Expected, Fact, Facts, gather};
use host::{Ask, Host, Missing, Reading};

/// A machine that has the given readings and nothing else: everything that is not among them is absent, not
/// unknown.
#[derive(Debug, Clone, Default)]
pub struct Sparse(pub BTreeMap<String, Reading>);

impl Sparse {
    /// Texts by the key of the question: `("read /etc/group", "docker:x:999:")`.
    pub fn new(readings: &[(&str, &str)]) -> Sparse {
        let text = |text: &str| Reading::Text(text.to_owned());
        Sparse(readings.iter().map(|(key, value)| ((*key).to_owned(), text(value))).collect())
    }

    /// Readings of any kind by key.
    pub fn of<K: Into<String>>(readings: impl IntoIterator<Item = (K, Reading)>) -> Sparse {
        Sparse(readings.into_iter().map(|(key, reading)| (key.into(), reading)).collect())
    }

    /// The same, with some questions that could not be answered.
    pub fn failing<M: Into<Missing> + Clone>(mut self, failures: &[(&str, M)]) -> Sparse {
        let failed = |why: &M| Reading::Failed(why.clone().into());
        self.0.extend(failures.iter().map(|(key, why)| ((*key).to_owned(), failed(why))));
        self
    }
}

impl Host for Sparse {
    fn ask(&self, ask: Ask<'_>) -> Reading {
        self.0.get(&ask.to_string()).cloned().unwrap_or(Reading::Absent)
    }
}

/// The facts of such a machine with the environment of a root shell, as a host and not a container.
pub fn host(sparse: &Sparse) -> Facts {
    let mut sparse = sparse.clone();
    sparse.0.entry("environment".into()).or_insert_with(|| Reading::Text("HOME=/root\nUSER=me".into()));
    let mut facts = gather::recorded(&sparse, Expected::default(), catalog::testing::catalog());
    facts.system.container = Fact::Absent;
    facts.pci.devices = Fact::Known(Vec::new());
    facts
}

/// The same with a GPU.
pub fn gpu_host(sparse: &Sparse) -> Facts {
    let mut facts = host(sparse);
    facts.expected.gpus = Some(1);
    facts
}

/// The socket of a running engine.
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
