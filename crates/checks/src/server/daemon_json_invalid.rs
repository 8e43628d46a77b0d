//! daemon.json is not what dockerd can read.

use crate::{Applies, Check, Fix, Group, Judged, Severity, Subject, Verdict};
use catalog::docker_daemon::Kind;
use facts::docker::{DaemonJson, DaemonJsonError, State};
use facts::{Fact, Facts};
use serde_json::Value;

pub(super) const CHECK: Check = Check {
    id: "daemon-json-invalid",
    group: Group::Docker,
    severity: Severity::Error,
    applies: Applies::Host,
    summary: "daemon.json is valid, with values of the right types",
    explain: include_str!("daemon_json_invalid.md"),
    judge,
};

fn judge(facts: &Facts) -> Judged {
    let file = facts.docker.daemon_json.require("no daemon.json")?;
    let running = matches!(facts.docker.state(), State::Running);
    let later = if running {
        "the running engine has not read it yet and will fail to restart"
    } else {
        "dockerd does not start"
    };
    let what = match &file.value {
        Err(error) => error.fix.unwrap_or("Fix the file"),
        Ok(_) => "Fix the file",
    };
    let fix = crate::daemon_json::validate(what, facts, &file.path);
    let value = match &file.value {
        Ok(value) => value,
        Err(error) => return Ok(invalid_syntax(file, error, later, fix)),
    };
    // Before 23.0 dockerd knew neither a byte order mark nor an empty file: "EOF", "invalid character 'ï'".
    let what = match file.text.trim_start_matches('\u{feff}').trim() {
        "" => Some("the file is empty, which dockerd before 23.0 rejects (write {} into it, or delete it)"),
        _ if file.text.starts_with('\u{feff}') => {
            Some("the file starts with a byte order mark, which dockerd before 23.0 rejects")
        }
        _ => None,
    };
    if let Some(what) = what {
        match facts.docker.at_least("23.0") {
            Fact::Known(true) => {}
            Fact::Known(false) => {
                let message = format!("{}: {what}; {later}", file.path);
                return Ok(Verdict::error(message, fix).about(Subject::line(&file.path, 1)));
            }
            _ => {
                let why = format!("{}: {what}; the version of this engine is unknown", file.path);
                return Err(Verdict::unknown(why));
            }
        }
    }
    let wrong = wrong_types(facts, value);
    let Some((first, _)) = wrong.first() else { return Ok(Verdict::Pass) };
    let message = format!(
        "{}: {}; {later}",
        file.path,
        wrong.iter().map(|(_, what)| what.as_str()).collect::<Vec<_>>().join("; ")
    );
    let subject = Subject { name: Some((*first).to_owned()), ..Subject::file(&file.path) };
    Ok(Verdict::error(message, fix).about(subject))
}

fn invalid_syntax(file: &DaemonJson, error: &DaemonJsonError, later: &str, fix: Fix) -> Verdict {
    let message =
        format!("{}, line {}, column {}: {}; {later}", file.path, error.line, error.column, error.message);
    let line = file.text.lines().nth(error.line - 1).unwrap_or_default().trim_end();
    let subject = Subject { column: Some(error.column), ..Subject::line(&file.path, error.line) };
    let verdict = Verdict::error(message, fix).about(subject);
    if line.is_empty() { verdict } else { verdict.evidence(format!("line {}: {line}", error.line)) }
}

/// Keys whose values are of another type than dockerd reads into, and what is wrong with each.
fn wrong_types<'v>(facts: &Facts, value: &'v Value) -> Vec<(&'v str, String)> {
    let mut wrong = Vec::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        let Some(row) = facts.catalog.docker_daemon().key(name) else { continue };
        let (right, wanted) = match row.kind {
            _ if value.is_null() => (true, ""),
            Kind::Boolean => (value.is_boolean(), "true or false"),
            Kind::Number => (value.is_number(), "a number"),
            Kind::String => (value.is_string(), "a string"),
            Kind::Strings => {
                (value.as_array().is_some_and(|l| l.iter().all(Value::is_string)), "a list of strings")
            }
            Kind::Size => (value.is_string(), "a string such as \"64M\""),
            Kind::List => (value.is_array(), "a list"),
            Kind::Object => (value.is_object(), "an object"),
            Kind::Texts => (
                value.as_object().is_some_and(|o| o.values().all(Value::is_string)),
                "an object whose values are all strings",
            ),
            Kind::Booleans => (
                value.as_object().is_some_and(|o| o.values().all(Value::is_boolean)),
                "an object whose values are all true or false",
            ),
        };
        if !right {
            let shown: String = value.to_string().chars().take(60).collect();
            wrong.push((name.as_str(), format!("{name} must be {wanted}, but is {shown}")));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::verdict_line;
    use facts::testing::{
        Sparse,
        sparse::{engine, host},
    };

    const FILE: &str = "read /etc/docker/daemon.json";

    #[test]
    fn line_and_column_are_named() {
        let text = "{\n  \"runtimes\": {},\n}";
        let verdict_of = |text: &str| verdict_line(&CHECK, &host(&Sparse::new(&[(FILE, text)])));
        assert!(
            verdict_of(text)
                .starts_with("error: /etc/docker/daemon.json, line 3, column 1: trailing comma before"),
            "{}",
            verdict_of(text)
        );
        let text = r#"{"log-opts": {"max-size": "10m", "max-file": 3}}"#;
        assert!(verdict_of(text).contains("log-opts must be an object whose values are all strings"));
        assert!(verdict_of(r#"{"insecure-registries": "a:5000"}"#).contains("must be a list of strings"));
        for fine in [
            "{}",
            r#"{"debug": true, "log-opts": {"max-size": "10m"}, "proxies": {"http-proxy": "http://p"}}"#,
        ] {
            assert_eq!(verdict_of(fine), "pass", "{fine}");
        }
    }

    #[test]
    fn empty_file_is_invalid_only_before_docker_23() {
        assert!(verdict_line(&CHECK, &host(&Sparse::new(&[(FILE, "\n")]))).starts_with("unknown: "));
        let running = |version: &str| {
            verdict_line(
                &CHECK,
                &host(&engine(&format!(r#"{{"ServerVersion":"{version}"}}"#), &[(FILE, "")])),
            )
        };
        assert!(running("20.10.24+dfsg1").starts_with("error: /etc/docker/daemon.json: the file is empty"));
        assert_eq!(running("23.0.15"), "pass");
    }

    #[test]
    fn a_directory_is_unknown() {
        let facts = host(&Sparse::new(&[]).failing(&[(FILE, "is a directory, not a file")]));
        assert_eq!(
            verdict_line(&CHECK, &facts),
            "unknown: /etc/docker/daemon.json: is a directory, not a file"
        );
        assert_eq!(verdict_line(&CHECK, &host(&Sparse::new(&[]))), "not-applicable: no daemon.json");
    }

    /// What dockerd 20.10.24 really said of these files when it was started with each.
    #[test]
    fn the_verdict_is_that_of_a_real_dockerd() {
        const REFUSED: &[&str] = &[
            "",
            " \n",
            "\u{feff}{}",
            r#"{"log-opts":{"max-file":3}}"#,
            r#"{"debug":true,}"#,
            r#"{"bip6":"fd00::1/64"}"#,
            "[]",
            r#"{"default-shm-size": 64}"#,
            r#"{"dns":"8.8.8.8"}"#,
            r#"{"mtu":"1500"}"#,
            r#"{"DEBUG":true}"#,
            r#"{"proxies":{"http-proxy":"http://p"}}"#,
        ];
        const ACCEPTED: &[&str] = &[
            r#"{"foo":{"debug":true}}"#,
            r#"{"features":{"cdi":true}}"#,
            r#"{"runtimes":{"nvidia":{"path":"x","runtimeArgs":[]}},"debug":null}"#,
            r#"{"default-shm-size": "64M"}"#,
            r#"{"graph":"/x"}"#,
        ];
        let finds = |text: &str| {
            let facts = host(&facts::testing::sparse::engine(
                r#"{"ServerVersion":"20.10.24+dfsg1"}"#,
                &[(FILE, text)],
            ));
            let verdicts = [
                verdict_line(&CHECK, &facts),
                verdict_line(&super::super::daemon_json_unknown_key::CHECK, &facts),
            ];
            verdicts.iter().any(|verdict| verdict.starts_with("error: "))
        };
        for text in REFUSED {
            assert!(finds(text), "{text:?}");
        }
        for text in ACCEPTED {
            assert!(!finds(text), "{text:?}");
        }
    }
}
