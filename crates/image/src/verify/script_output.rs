//! What the script in the image prints.

use std::collections::BTreeMap;

use serde::Deserialize;

use docker::run::Ran;

/// Prefix of the line with the answer.
const MARK: &str = "envdoc-verification ";

/// Why an image gave no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScriptError {
    #[error("cannot run a container of the image: {0}")]
    Container(docker::Error),
    #[error("the Docker engine failed: {0}")]
    Engine(docker::Error),
    #[error("cannot read the answer of the script: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("the script exited with status {status}: {last_line}")]
    Failed { status: i64, last_line: String },
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct ScriptOutput {
    pub(super) python: String,
    pub(super) distributions: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) imports: BTreeMap<String, Import>,
    pub(super) torch: Option<Torch>,
    #[serde(default)]
    pub(super) libraries: BTreeMap<String, Option<Vec<String>>>,
    pub(super) nvcc: Option<Nvcc>,
    pub(super) ds_report: Option<DsReport>,
    #[serde(default)]
    pub(super) environment: BTreeMap<String, Option<String>>,
}

/// One attempt to import a module.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Import {
    pub(super) status: Option<i64>,
    pub(super) stderr: String,
}

/// What torch reports about itself; `error` if it cannot be imported.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Torch {
    pub(super) version: Option<String>,
    pub(super) cuda: Option<String>,
    pub(super) nccl: Option<String>,
    pub(super) nccl_error: Option<String>,
    pub(super) error: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Nvcc {
    pub(super) path: String,
    pub(super) release: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct DsReport {
    pub(super) status: Option<i64>,
    pub(super) text: String,
}

/// Finds the answer in the output of the container; `None`: the image has no Python.
pub(super) fn read(ran: &Ran) -> Result<Option<ScriptOutput>, ScriptError> {
    if let Some(text) = ran.stdout.lines().rev().find_map(|line| line.strip_prefix(MARK)) {
        return Ok(Some(serde_json::from_str(text)?));
    }
    if ran.stderr.contains("envdoc-no-python") {
        return Ok(None);
    }
    let said = [ran.stderr.trim(), ran.stdout.trim()].into_iter().find(|text| !text.is_empty());
    let last = said.and_then(|text| text.lines().last()).unwrap_or("no output");
    Err(ScriptError::Failed { status: ran.status, last_line: last.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(stdout: &str, stderr: &str, status: i64) -> Result<Option<ScriptOutput>, ScriptError> {
        read(&Ran { status, stdout: stdout.into(), stderr: stderr.into() })
    }

    #[test]
    fn finds_the_result_among_entrypoint_output() {
        let output =
            of("hello\nenvdoc-verification {\"python\":\"3.11.2\",\"distributions\":{}}\nbye", "", 0);
        assert_eq!(output.unwrap().unwrap().python, "3.11.2");
        assert!(of("", "envdoc-no-python\n", 127).unwrap().is_none());
        assert!(matches!(of("envdoc-verification {", "", 0), Err(ScriptError::Malformed(_))));
        let error = of("", "Traceback\nSyntaxError: no\n", 1).unwrap_err().to_string();
        assert!(error.contains("status 1") && error.contains("SyntaxError: no"), "{error}");
    }
}
