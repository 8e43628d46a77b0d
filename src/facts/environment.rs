//! Environment variables, proxies, and pip's and uv's configuration.

use std::collections::BTreeMap;

use super::Fact;
use crate::host::Host;

/// The environment of the shell that started envdoc.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The variables of [`crate::host::live::VARIABLES`] that are set.
    pub variables: Fact<BTreeMap<String, String>>,
    /// Lines of `/etc/environment` that set one of them.
    pub etc_environment: Fact<BTreeMap<String, String>>,
    /// Index addresses of pip's configuration files (`/etc/pip.conf`, `~/.pip/pip.conf`, `~/.config/pip/pip.conf`): key and value.
    pub pip: Fact<Vec<(String, String)>>,
    /// The same of uv's (`/etc/uv/uv.toml`, `~/.config/uv/uv.toml`).
    pub uv: Fact<Vec<(String, String)>>,
}

impl Environment {
    /// One variable; absent when unset or empty.
    pub fn variable(&self, name: &str) -> Fact<&str> {
        self.variables.as_ref().and_then(|all| match all.get(name) {
            Some(value) if !value.is_empty() => Fact::Known(value.as_str()),
            _ => Fact::Absent,
        })
    }
}

/// Variables from the text of [`crate::host::Ask::Environment`].
pub fn parse(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

/// Gathers the group.
pub fn gather(host: &dyn Host) -> Environment {
    let unknown = || "not yet".to_owned();
    Environment {
        variables: host.environment().text().map(|text| parse(&text)),
        etc_environment: Fact::Unknown(unknown()),
        pip: Fact::Unknown(unknown()),
        uv: Fact::Unknown(unknown()),
    }
}
