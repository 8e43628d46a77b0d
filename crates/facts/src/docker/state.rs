//! What the readings say of the engine as a whole.

use serde_json::Value;

use super::{Docker, Fact};
use crate::Unavailable;
use crate::toolkit::Toolkit;
use catalog::release::{self, Version};
use host::{Missing, MissingKind};

/// The first engine whose `--gpus` tries CDI before the hook: moby/moby:daemon/devices_nvidia_linux.go at
/// docker-v29.2.0.
pub const ENGINE_WITH_GPUS_BY_CDI: &str = "29.2.0";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It answered.
    Running,
    /// It is installed and does not run; what shows it.
    Stopped(String),
    /// Its socket may not be opened by this user.
    Denied,
    /// There is none on this machine.
    Missing,
    /// Not known; why.
    Unknown(Missing),
}

impl Docker {
    /// Derived from the answer of the engine, its socket, its program and its unit.
    pub fn state(&self) -> State {
        let why = match &self.info {
            Fact::Known(_) => return State::Running,
            Fact::Absent => return self.without_socket(),
            Fact::Unknown(why) => why,
        };
        if self.idle == Fact::Known(true) {
            State::Stopped("systemd holds its socket (docker.socket)".into())
        } else if why.kind == MissingKind::Refused {
            State::Stopped("its socket exists but nothing listens on it".into())
        } else if why.is_denied() {
            State::Denied
        } else {
            State::Unknown(why.clone())
        }
    }

    fn without_socket(&self) -> State {
        match (&self.daemon_program, &self.unit_file) {
            (Fact::Known(_), _) | (_, Fact::Known(_)) => {
                State::Stopped("it is installed but its socket does not exist".into())
            }
            (Fact::Absent, Fact::Absent) => State::Missing,
            (Fact::Unknown(why), _) | (_, Fact::Unknown(why)) => State::Unknown(why.clone()),
        }
    }

    /// The engine's `/info`, or the verdict of a check that needs it.
    pub fn answering(&self) -> Result<&Value, Unavailable> {
        match (&self.info, self.state()) {
            (Fact::Known(_), _) if self.is_podman() => {
                Err(Unavailable::Absent("Podman serves Docker's socket".into()))
            }
            (Fact::Known(info), _) => Ok(info),
            (_, State::Stopped(_)) => Err(Unavailable::Absent("the engine is not running".into())),
            (_, State::Missing) => Err(Unavailable::Absent("no Docker engine on this machine".into())),
            (Fact::Unknown(why), _) => Err(Unavailable::Unknown(why.clone())),
            (Fact::Absent, _) => {
                Err(Unavailable::Unknown("could not determine whether an engine exists".into()))
            }
        }
    }

    /// The engine's version; a packager's suffix left out (`20.10.24+dfsg1`, `17.06.1-ce`).
    pub fn engine_version(&self) -> Fact<Version> {
        self.info_text(&["ServerVersion"]).must_exist("ServerVersion").and_then(|text| {
            match release::parse(&text) {
                Some(version) => Fact::Known(version),
                None => Fact::unknown(format!("unexpected engine version {text:?}")),
            }
        })
    }

    /// Whether the engine is at least of this version.
    pub fn at_least(&self, version: &str) -> Fact<bool> {
        match release::parse(version) {
            Some(wanted) => self.engine_version().map(|version| version >= wanted),
            None => Fact::unknown(format!("{version:?} is not a version")),
        }
    }

    /// Whether the engine was built by Docker itself: a distribution patches its own builds without a new
    /// number.
    pub fn built_by_docker(&self) -> Fact<bool> {
        self.version.as_ref().map(|version| {
            version
                .pointer("/Platform/Name")
                .and_then(Value::as_str)
                .is_some_and(|name| name.starts_with("Docker"))
        })
    }

    /// The version of one of the engine's components in `/version`: `runc`, `containerd`.
    pub fn component(&self, name: &str) -> Fact<String> {
        self.version.as_ref().and_then(|version| {
            let all = version.get("Components").and_then(Value::as_array);
            let component =
                all.into_iter().flatten().find(|c| c.get("Name").and_then(Value::as_str) == Some(name));
            match component.and_then(|c| c.get("Version")).and_then(Value::as_str) {
                Some(text) if !text.is_empty() => Fact::Known(text.to_owned()),
                _ => Fact::Absent,
            }
        })
    }

    /// Whether `--gpus` works by CDI here: Docker 29.2 or newer with `nvidia-cdi-hook` in its PATH, CDI on,
    /// and a specification of NVIDIA's GPUs. Otherwise it works through the toolkit's hook, or not at all.
    pub fn gives_gpus_by_cdi(&self, toolkit: &Toolkit) -> Result<bool, Unavailable> {
        let asked = "unknown without a running engine";
        Ok(*self.at_least(ENGINE_WITH_GPUS_BY_CDI).require(asked)?
            && toolkit.program("nvidia-cdi-hook").decided()?.is_some()
            && !self.cdi_directories().require(asked)?.is_empty()
            && !toolkit.gpu_specs().require(asked)?.is_empty())
    }

    /// Whether the machine is a member of a swarm.
    pub fn in_swarm(&self) -> Fact<bool> {
        self.info
            .as_ref()
            .map(|info| info.pointer("/Swarm/LocalNodeState").and_then(Value::as_str) == Some("active"))
    }
}
