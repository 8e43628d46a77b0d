//! Lines that envdoc's own programs in a container print for envdoc: the Python programs of the smoke test
//! (`templates/smoke`) and the containers' entrypoint (`templates/cluster/entrypoint.sh`).
//!
//! A line is `ENVDOC` and one JSON object; a launcher may put text before it (`node2: ENVDOC {…}`). Decisions
//! use the object's fields; texts in it are only shown.

use serde::Deserialize;
use serde::de::DeserializeOwned;

const START: &str = "ENVDOC {";

/// The object of a line that a program printed for envdoc.
pub(crate) fn read<T: DeserializeOwned>(line: &str) -> Option<T> {
    let at = line.find(START)?;
    serde_json::from_str(&line[at + START.len() - 1..]).ok()
}

/// Whether a line is for envdoc, so that nobody else needs to read it.
pub(crate) fn is_for_envdoc(line: &str) -> bool {
    line.contains(START)
}

/// Where a program of the smoke test stopped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, thiserror::Error)]
#[error("{stage}: {error}")]
pub(crate) struct Stopped {
    /// Whether the stage waits for other ranks: one of those may be the cause then.
    pub(crate) waits: bool,
    /// What it was doing: `import deepspeed`.
    pub(crate) stage: String,
    /// Python's exception, its first line.
    pub(crate) error: String,
}

/// Why the entrypoint of a container ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(tag = "fault", rename_all = "kebab-case")]
pub(crate) enum EntrypointFault {
    /// The launcher needs an SSH server, and the image has none.
    NoSshd,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_program_lines_with_and_without_launcher_prefix() {
        let stopped = r#"{"stage": "step 3", "waits": true, "error": "RuntimeError: closed"}"#;
        for line in [format!("ENVDOC {stopped}"), format!("node2: ENVDOC {stopped}")] {
            let read: Stopped = read(&line).unwrap();
            assert!(read.waits && is_for_envdoc(&line));
            assert_eq!(read.to_string(), "step 3: RuntimeError: closed");
        }
        assert_eq!(read::<Stopped>("ENVDOC {\"stage\": 1}"), None);
        assert!(!is_for_envdoc("envdoc: pinned NCCL to eth0") && !is_for_envdoc("ENVDOC_JOB=1"));
    }

    /// The entrypoint is a shell script, so nothing but this test holds it to the type.
    #[test]
    fn entrypoint_script_faults_match_their_type() {
        let script = include_str!("../../../templates/cluster/entrypoint.sh");
        let faults: Vec<_> = script
            .lines()
            .filter(|line| is_for_envdoc(line))
            .map(|line| line.split('\'').nth(1).and_then(read::<EntrypointFault>))
            .collect();
        assert_eq!(faults, [Some(EntrypointFault::NoSshd)]);
    }
}
