//! The program from outside: what it prints, where, and how it ends.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests run the program")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn envdoc(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
    // No catalog of the user who runs the tests.
    command.env("ENVDOC_CATALOG_DIR", "");
    for name in ["ENVDOC_IGNORE", "ENVDOC_EXPECT", "DOCKER_HOST"] {
        command.env_remove(name);
    }
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Exit code and what stands on standard error, when nothing stands on standard output.
fn refused(arguments: &[&str]) -> (i32, String) {
    let output = envdoc(arguments);
    assert_eq!(text(&output.stdout), "", "a refusal prints no result");
    (output.status.code().unwrap(), text(&output.stderr))
}

/// A snapshot of a machine of which little is known and nothing is wrong.
fn quiet(dir: &Path) -> String {
    let path = dir.join("quiet.json");
    fs::write(&path, r#"{"schema":1,"envdoc":"0.1.0","redacted":true,"readings":{}}"#).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn wrong_usage_ends_with_2_and_says_what_would_be_right() {
    let cases: &[(&[&str], &str)] = &[
        (&["check", "--only", "dirver"], "did you mean driver?"),
        (&["check", "--ignore", "nvidia-smi-hang"], "did you mean nvidia-smi-hangs?"),
        (&["check", "--expect", "gpu=8"], "did you mean gpus?"),
        (&["check", "--expect", "gpus"], "the keys are gpus"),
        (&["check", "--from", "/no/such/file.json"], "cannot read the snapshot /no/such/file.json"),
        (&["check", "--from", "Cargo.toml"], "is not a snapshot"),
        (&["check", "--from", "x.json", "--root", "/"], "cannot be used with"),
        (&["check", "--from", "x.json", "--live"], "cannot be used with"),
        (&["check", "--image", "debian:12"], "--live"),
        (&["check", "--root", "/no/such/dir"], "cannot look below /no/such/dir"),
        (&["check", "--root", "Cargo.toml"], "--root wants a directory"),
        (&["check", "--timeout", "0"], "greater than 0"),
        (&["check", "--timeout", "soon"], "not a number of seconds"),
        (&["check", "--format", "yaml"], "possible values: text, json, junit, github, markdown"),
        (&["explain", "driver-libary-mismatch"], "did you mean driver-library-mismatch?"),
        (&["explain"], "<ID>"),
        (&["snapshot", "-o", "Cargo.toml"], "exists already"),
        (&["snapshot", "-o", "/no/such/dir/file.json"], "cannot write"),
        (&["chekc"], "check"),
        (&["resolve", "--cuda", "121"], "did you mean 12.1?"),
        (&["resolve", "--python", "3..12"], "\n  --python 3..12\n            ^"),
        (&["resolve", "--torch", "2.6.0+"], "a build is missing after the +"),
        (&["resolve", "--with", "numyp<2"], "did you mean numpy?"),
        (&["resolve", "--with", "numpy[all]"], "extras are not in the catalog"),
        (&["resolve", "--gpu", "h1000"], "did you mean h100?"),
        (&["resolve", "--gpu", "sm_85"], "did you mean sm_86?"),
        (&["resolve", "--driver", "12.4"], "CUDA's goes to --cuda"),
        (&["resolve", "--os", "ubuntu22"], "did you mean ubuntu22.04?"),
        (&["resolve", "--arch", "ppc64le"], "aarch64 (arm64)"),
        (&["resolve", "--base", "nvidia/cuda:12.1-base"], "nearest are nvidia/cuda:12.1.1-base-ubuntu22.04"),
        (&["resolve", "--base", "nvidia/cdua"], "did you mean nvidia/cuda?"),
        (&["resolve", "--preset", "rll"], "did you mean rl?"),
    ];
    for (arguments, says) in cases {
        let (code, error) = refused(arguments);
        assert_eq!(code, 2, "{arguments:?}: {error}");
        assert!(error.contains(says), "{arguments:?}: {error}");
    }
}

#[test]
fn unknown_is_no_error_but_strict_refuses_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = quiet(dir.path());
    let output = envdoc(&["check", "--from", &file]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("not in this snapshot"), "{}", text(&output.stdout));
    assert_eq!(text(&output.stderr), "");
    assert_eq!(envdoc(&["check", "--from", &file, "--strict"]).status.code(), Some(3));
    assert_eq!(
        envdoc(&["check", "--from", &file, "--strict", "--only", "role-not-as-expected"]).status.code(),
        Some(0)
    );
}

#[test]
fn findings_end_with_1_unless_told_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    let file = quiet(dir.path());
    let expect =
        ["check", "--from", &file, "--expect", "role=gpu-node,gpus=8", "--only", "role-not-as-expected"];
    let output = envdoc(&expect);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stdout));
    let never = envdoc(&[&expect[..], &["--fail-on", "never"]].concat());
    assert_eq!(never.status.code(), Some(0));
}

#[test]
fn json_carries_the_stable_keys() {
    let dir = tempfile::tempdir().unwrap();
    let output = envdoc(&["check", "--from", &quiet(dir.path()), "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["schema"], 1);
    assert_eq!(report["envdoc"], env!("CARGO_PKG_VERSION"));
    for key in ["pass", "warning", "error", "unknown", "not_applicable"] {
        assert!(report["summary"][key].is_u64(), "{key}");
    }
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), envdoc::checks::CHECKS.len());
    for result in results {
        for key in ["check", "group", "status", "says", "evidence", "fix"] {
            assert!(result.get(key).is_some(), "{key} in {result}");
        }
    }
}

#[test]
fn only_and_ignore_choose_checks_and_groups() {
    let dir = tempfile::tempdir().unwrap();
    let file = quiet(dir.path());
    let count = |arguments: &[&str]| {
        let output = envdoc(&[&["check", "--from", &file, "--format", "json"], arguments].concat());
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        report["results"].as_array().unwrap().len()
    };
    let gpu = count(&["--only", "gpu"]);
    assert!(gpu > 5);
    assert_eq!(count(&["--only", "gpu,driver-library-mismatch"]), gpu + 1);
    assert_eq!(count(&["--only", "gpu", "--ignore", "xid-errors"]), gpu - 1);
    assert_eq!(count(&["--only", "gpu", "--ignore", "gpu"]), 0);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let script = format!("set -o pipefail; '{}' checks | head -1 >/dev/null", env!("CARGO_BIN_EXE_envdoc"));
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn pipes_get_no_colours() {
    for arguments in [&["check"][..], &["checks"], &["explain", "driver-library-mismatch"]] {
        assert!(!text(&envdoc(arguments).stdout).contains('\u{1b}'), "{arguments:?}");
    }
}

#[test]
fn every_check_can_be_explained_and_is_listed() {
    let listed = text(&envdoc(&["checks"]).stdout);
    let data: serde_json::Value =
        serde_json::from_slice(&envdoc(&["checks", "--format", "json"]).stdout).unwrap();
    assert_eq!(data["checks"].as_array().unwrap().len(), envdoc::checks::CHECKS.len());
    for check in envdoc::checks::CHECKS {
        assert!(listed.contains(check.id), "{}", check.id);
        let output = envdoc(&["explain", check.id]);
        assert!(output.status.success() && text(&output.stdout).contains("## How to fix it"), "{}", check.id);
    }
}

#[test]
fn a_snapshot_of_this_machine_judges_as_the_machine_does() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("here.json").to_string_lossy().into_owned();
    let output = envdoc(&["snapshot", "--timeout", "20", "-o", &file]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("replaced by stand-ins"));
    let statuses = |arguments: &[&str]| -> Vec<(String, String)> {
        let output = envdoc(&[&["check", "--format", "json", "--fail-on", "never"], arguments].concat());
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let results = report["results"].as_array().unwrap();
        results.iter().map(|r| (r["check"].to_string(), r["status"].to_string())).collect()
    };
    let (replayed, live) = (statuses(&["--from", &file]), statuses(&["--timeout", "20"]));
    let differ: Vec<_> = replayed.iter().zip(&live).filter(|(replayed, live)| replayed != live).collect();
    assert!(differ.is_empty(), "redacted replay, live: {differ:?}");
}

#[test]
fn below_a_root_nothing_of_this_machine_is_said() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("etc")).unwrap();
    fs::write(
        dir.path().join("etc/os-release"),
        "ID=rocky\nVERSION_ID=\"9.4\"\nPRETTY_NAME=\"Rocky Linux 9.4\"\n",
    )
    .unwrap();
    let root = dir.path().to_string_lossy().into_owned();
    let output = envdoc(&["check", "--root", &root]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let stdout = text(&output.stdout);
    assert!(stdout.starts_with("Rocky Linux 9.4"), "{stdout}");
    assert!(!stdout.contains("healthy"), "{stdout}");
}

#[test]
fn a_stack_ends_with_0_and_a_conflict_with_1() {
    let found = envdoc(&["resolve", "--cuda", "12.1", "--python", "3.12", "--format", "json"]);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
    let report: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(report["schema"], 1);
    assert_eq!(
        (&report["stack"]["torch"], &report["stack"]["torch_build"]),
        (&"2.5.1".into(), &"cu121".into())
    );
    assert_eq!(report["wishes"], serde_json::json!(["--cuda 12.1", "--python 3.12"]));
    assert!(report["conflict"].is_null() && report["because"].is_array() && report["rejected"].is_array());
    let none = envdoc(&["resolve", "--torch", "2.6.1", "--format", "json"]);
    assert_eq!(none.status.code(), Some(1), "{}", text(&none.stderr));
    let report: serde_json::Value = serde_json::from_slice(&none.stdout).unwrap();
    assert!(report["stack"].is_null() && report["conflict"].is_object() && report["nearest"].is_array());
}
