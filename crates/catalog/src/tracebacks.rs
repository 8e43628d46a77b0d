//! Python tracebacks that tell of a failure elsewhere: `catalog/tracebacks.yaml`.

use serde::Deserialize;

use super::file::{self, Contents, SharedSources};
use crate::Sources;

/// A program that starts others, and raises an exception when one of them fails.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launcher {
    /// A part of the path of its files: `accelerate/commands/`.
    pub path: String,
    /// `accelerate`.
    pub program: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-25`.
    #[serde(default)]
    pub checked: String,
}

/// An exception that only says that something else ended.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consequence {
    /// Its name without the module: `ChildFailedError`.
    pub exception: String,
    /// Whose it is: `torch`.
    pub package: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-25`.
    #[serde(default)]
    pub checked: String,
}

/// A message that only passes on that another process failed, whose own lines tell why.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassedOn {
    /// A part of it.
    pub words: String,
    /// Whose it is: `vLLM`.
    pub program: String,
    pub source: Sources,
    /// Day of the last check against the source: `2026-11-25`.
    #[serde(default)]
    pub checked: String,
}

file::rows!(Launcher, Consequence, PassedOn);

/// `catalog/tracebacks.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tracebacks {
    checked: String,
    sources: SharedSources,
    launchers: Vec<Launcher>,
    consequences: Vec<Consequence>,
    passed_on: Vec<PassedOn>,
}

impl Contents for Tracebacks {
    const NAME: &str = "tracebacks.yaml";
    const TEXT: &str = file::text!("tracebacks.yaml");
}

file::sourced!(Tracebacks, [launchers, consequences, passed_on]);

impl Tracebacks {
    /// Whether a file of this path belongs to a launcher.
    pub fn is_launcher(&self, path: &str) -> bool {
        self.launchers.iter().any(|row| path.contains(&row.path))
    }

    /// Whether an exception only follows from another failure, by its name (with or without the module) or
    /// its message.
    pub fn is_consequence(&self, name: &str, message: &str) -> bool {
        let name = name.rsplit('.').next().unwrap_or(name);
        self.consequences.iter().any(|row| row.exception == name)
            || self.passed_on.iter().any(|row| message.contains(&row.words))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn secondary_errors_are_recognized_by_type_or_message() {
        let table = crate::testing::catalog().tracebacks();
        let module = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError";
        assert!(table.is_consequence(module, "") && table.is_consequence("EOFError", ""));
        assert!(
            table.is_consequence("RuntimeError", "Engine core initialization failed. See root cause above.")
        );
        assert!(!table.is_consequence("RuntimeError", "loss is not finite"));
        assert!(table.is_launcher("/opt/venv/lib/python3.12/site-packages/torch/distributed/run.py"));
        assert!(!table.is_launcher("/opt/train/train.py"));
    }
}
