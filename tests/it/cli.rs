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
fn usage_errors_exit_with_2_and_suggest_a_fix() {
    let cases: &[(&[&str], &str)] = &[
        (&["check", "--only", "dirver"], "did you mean driver?"),
        (&["check", "--ignore", "nvidia-smi-hang"], "did you mean nvidia-smi-hangs?"),
        (&["check", "--expect", "gpu=8"], "did you mean gpus?"),
        (&["check", "--expect", "gpus"], "keys: gpus"),
        (&["check", "--from", "/no/such/file.json"], "cannot read /no/such/file.json"),
        (&["check", "--from", "Cargo.toml"], "is not a snapshot"),
        (&["check", "--from", "x.json", "--root", "/"], "cannot be used with"),
        // What stands behind the snapshots is no snapshot.
        (&["inspect", "--from", "x.json", "y.json", "nginx:1"], "cannot read x.json"),
        (&["render", "--from", "x.json", "dockerfile"], "cannot read x.json"),
        (&["build", "--from", "x.json", ".", "--dry-run"], "cannot read x.json"),
        (&["resolve", "--from", "x.json", "."], "unexpected argument '.'"),
        (&["resolve", "torch==2.6"], "write --torch 2.6"),
        (&["resolve", "numpy<2", "--python", "3.12"], "write --with 'numpy<2'"),
        (&["resolve", "--torch", "cu118"], "write --cuda 11.8"),
        (&["resolve", "--torch", "cpu"], "write --cuda cpu"),
        (&["check", "--from", "x.json", "--live"], "cannot be used with"),
        (&["check", "--image", "debian:12"], "--live"),
        (&["check", "--root", "/no/such/dir"], "cannot read /no/such/dir"),
        (&["check", "--root", "Cargo.toml"], "--root requires a directory"),
        (&["check", "--timeout", "0"], "greater than 0"),
        (&["check", "--timeout", "soon"], "not a number of seconds"),
        (&["check", "--format", "yaml"], "possible values: text, json, junit, sarif, github, markdown, html"),
        (&["explain", "driver-libary-mismatch"], "did you mean driver-library-mismatch?"),
        (&["explain"], "<ID>"),
        (&["snapshot", "-o", "Cargo.toml"], "already exists"),
        (&["snapshot", "-o", "/no/such/dir/file.json"], "cannot write"),
        (&["build", "--file", "/no/such/Dockerfile"], "cannot read /no/such/Dockerfile: no such file"),
        (&["build", "--file", "Cargo.toml", "/no/such/folder"], "build context `/no/such/folder`"),
        (&["build", "--file", "Cargo.toml", "Cargo.toml"], "build context `Cargo.toml` is not a directory"),
        (&["build", "--file", "Cargo.toml", "--cuda", "12.1"], "cannot be combined with stack options"),
        (&["build", "--file", "Cargo.toml", "--tag", "Team/x"], "lower case"),
        (&["build", "--file", "Cargo.toml", "--push"], "--push requires --tag"),
        (&["build", "--torch", "2.6", "--push", "--host", "unix:///no/such/socket"], "--push requires --tag"),
        (&["build", "--base-image", "team/base:1", "--push"], "--push requires --tag"),
        (&["build", "--base-image", "team/base:1", "--locked"], "--locked requires --lock or --request"),
        (&["build", "--file", "Cargo.toml", "--expect", "numpy"], "NAME==VERSION"),
        (&["build", "--file", "Cargo.toml", "--secret", "src=Cargo.toml"], "id=ID,src=FILE"),
        (&["build", "--file", "Cargo.toml", "--ca-cert", "Cargo.toml"], "no certificate found"),
        (&["build", "--file", "Cargo.toml", "--cache-to", "type=local"], "type=inline"),
        (&["build", "--file", "Cargo.toml", "--cache-to", "type=registry,ref=x,mode=max"], "mode=min"),
        (&["build", "--torch", "2.6", "--platform", "linux/amd64,linux/arm64", "--push"], "--arch"),
        (&["build", "--file", "Cargo.toml", "--cache-from", "type=gha"], "type=registry,ref=NAME"),
        (
            &["build", "--file", "Cargo.toml", "--build-arg", "NO_SUCH_VARIABLE_7"],
            "no such environment variable",
        ),
        (&["build", "--file", "Cargo.toml", "--platform", "linux/amd64,linux/arm64"], "one platform"),
        (
            &["build", "--file", "Cargo.toml", "--host", "carrier-pigeon://gpu"],
            "expected unix://, tcp:// or ssh://",
        ),
        (&["build", "--file", "Cargo.toml", "--host", "unix:///no/such/socket"], "cannot be used"),
        (&["build", "--torch", "2.9", "--copy", "src:/src", "/no/such/folder"], "/no/such/folder"),
        (&["chekc"], "check"),
        (&["resolve", "--cuda", ""], "'--cuda <VERSION>'"),
        (&["build", "--tag", ""], "but none was supplied"),
        (&["resolve", "--cuda", "121"], "did you mean 12.1?"),
        (&["resolve", "--python", "3..12"], "\n  --python 3..12\n            ^"),
        (&["resolve", "--torch", "2.6.0+"], "a build is missing after the +"),
        (&["resolve", "--with", "git+https://host.example/x.git"], "write NAME @ git+https"),
        (&["resolve", "--gpu", "h1000"], "did you mean h100?"),
        (&["resolve", "--gpu", "sm_85"], "did you mean sm_86?"),
        (&["resolve", "--driver", "12.4"], "CUDA's goes to --cuda"),
        (&["resolve", "--os", "ubuntu22"], "did you mean ubuntu22.04?"),
        (&["resolve", "--arch", "ppc64le"], "aarch64 (arm64)"),
        (&["resolve", "--base", "nvidia/cuda:12.1-base"], "nearest are nvidia/cuda:12.1.1-base-ubuntu22.04"),
        (&["resolve", "--base", "nvidia/cdua"], "did you mean nvidia/cuda?"),
        (&["matrix", "--python", "312"], "did you mean 3.12?"),
        (&["resolve", "--preset", "rll"], "did you mean rl?"),
    ];
    let mut wrong = Vec::new();
    for (arguments, expected) in cases {
        let (code, error) = refused(arguments);
        if code != 2 || !error.contains(expected) {
            wrong.push(format!("{arguments:?} ended with {code}, expected {expected:?}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
fn findings_exit_with_1_unless_disabled() {
    let broken = ["check", "--from", "tests/servers/broken-driver-library-mismatch.json"];
    assert_eq!(envdoc(&broken).status.code(), Some(1));
    assert_eq!(envdoc(&[&broken[..], &["--fail-on", "never"]].concat()).status.code(), Some(0));
    let ignored = [&broken[..], &["--ignore", "driver-library-mismatch,cdi-spec-stale"]].concat();
    assert_eq!(envdoc(&ignored).status.code(), Some(0));
}

#[test]
fn json_carries_the_stable_keys() {
    let dir = tempfile::tempdir().unwrap();
    let output = envdoc(&["check", "--from", &quiet(dir.path()), "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["schema"], 2);
    assert_eq!(report["envdoc"], env!("CARGO_PKG_VERSION"));
    for key in ["pass", "warning", "error", "unknown", "not_applicable"] {
        assert!(report["summary"][key].is_u64(), "{key}");
    }
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), checks::CHECKS.len());
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
    let nothing = envdoc(&["check", "--from", &file, "--only", "gpu", "--ignore", "gpu"]);
    assert_eq!((nothing.status.code(), text(&nothing.stdout).as_str()), (Some(2), ""));
    assert!(text(&nothing.stderr).contains("no checks left: gpu is ignored by --ignore"));
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
    let check = ["check", "--from", "tests/servers/broken-driver-library-mismatch.json"];
    for arguments in [&check[..], &["checks"], &["explain", "driver-library-mismatch"], &["build", "--help"]]
    {
        let shown = text(&envdoc(arguments).stdout);
        assert!(shown.lines().count() > 3 && !shown.contains('\u{1b}'), "{arguments:?}: {shown}");
    }
}

#[test]
fn without_arguments_a_short_guide_is_printed() {
    let output = envdoc(&[]);
    let guide = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    assert!(guide.contains("envdoc check ") && guide.contains("envdoc --help"), "{guide}");
    assert!(guide.lines().count() < 12, "{guide}");
}

#[test]
fn every_check_can_be_explained_and_is_listed() {
    let listed = text(&envdoc(&["checks"]).stdout);
    let data: serde_json::Value =
        serde_json::from_slice(&envdoc(&["checks", "--format", "json"]).stdout).unwrap();
    assert_eq!(data["checks"].as_array().unwrap().len(), checks::CHECKS.len());
    for check in checks::CHECKS {
        assert!(listed.contains(check.id), "{}", check.id);
        let output = envdoc(&["explain", check.id]);
        assert!(output.status.success() && text(&output.stdout).contains("## How to fix it"), "{}", check.id);
    }
}

#[test]
fn explain_describes_known_errors_and_reports_unknown_ones() {
    let cases: &[(&[&str], &str)] = &[
        (&["driver-nvml-version-mismatch"], "# driver-nvml-version-mismatch"),
        (
            &["Failed to initialize NVML: Driver/library version mismatch"],
            "envdoc check --only driver-library-mismatch",
        ),
        (&["NVRM: Xid (PCI:0000:38:00): 31, pid=7, name=python, MMU Fault"], "Xid 31, memory page fault"),
        (&["xid", "79"], "# Xid 79"),
        (&["sxid 12028"], "# SXid 12028"),
        (&["ncclSystemError"], "# nccl-unhandled-system-error"),
        (&["CUDA error 803"], "# cuda-compat-mismatch-803"),
        (&["cudaErrorECCUncorrectable"], "# CUDA error 214"),
        (&["803"], "# cuda-compat-mismatch-803"),
        (&["nvidia-smi: command not found"], "nvidia-smi is not found in this shell"),
        (&["jammy"], "# Ubuntu 22.04"),
        (&["debian 12"], "# Debian 12"),
        (&["mantic"], "moved to old-releases.ubuntu.com"),
        (&["Buster"], "# Debian 10"),
        (&["cuda 12.7"], "# cuda"),
    ];
    for (words, wanted) in cases {
        let output = envdoc(&[&["explain"], *words].concat());
        let shown = text(&output.stdout);
        assert!(
            output.status.success() && shown.to_lowercase().contains(&wanted.to_lowercase()),
            "{words:?}: {shown}"
        );
        assert!(!shown.contains('{'), "{shown}");
    }
    let (code, message) = refused(&["explain", "RuntimeError: the frobnicator is out of cheese"]);
    assert!(
        code == 2 && message.contains("its meaning is unknown") && !message.contains("did you mean"),
        "{message}"
    );
    let (_, message) = refused(&["explain", "torch failed to do something odd here"]);
    assert!(message.contains("its meaning is unknown"), "{message}");
    let (_, message) = refused(&["explain", "docker: weird"]);
    assert!(message.contains("its meaning is unknown") && !message.contains("did you mean"), "{message}");
    assert!(refused(&["explain", "xid 4711"]).1.contains("the catalog has no Xid 4711"));
    assert!(refused(&["explain", "46"]).1.contains("46 may be xid 46 or CUDA error 46"));
    let (_, message) = refused(&["explain", "mi300x"]);
    assert!(message.contains("is a GPU of AMD") && !message.contains("did you mean"), "{message}");
}

#[test]
fn explanations_are_json_on_request() {
    for (id, topic) in [("driver-library-mismatch", "check"), ("803", "failure"), ("jammy", "name")] {
        let output = envdoc(&["explain", id, "--format", "json"]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((report["schema"].as_u64(), report["topic"].as_str()), (Some(1), Some(topic)));
        let plain = text(&envdoc(&["explain", id]).stdout);
        assert_eq!(report["explanation"].as_str(), Some(plain.as_str()));
    }
}

/// Nothing on standard error says so, and a list of commas is no package.
#[test]
fn a_request_without_a_package_is_refused() {
    for arguments in [&["resolve", "--with", ",,,"][..], &["render", "dockerfile", "--with", " , "]] {
        let (code, message) = refused(arguments);
        assert!(code == 2 && message.contains("it names no package"), "{message}");
    }
    let (code, message) = refused(&["resolve", "--with", "vllm flash-attn"]);
    assert!(code == 2 && message.contains("hint: write --with 'vllm,flash-attn'"), "{message}");
}

#[test]
fn gpus_narrow_the_matrix_down() {
    let all = text(&envdoc(&["matrix"]).stdout);
    let some = text(&envdoc(&["matrix", "--gpu", "rtx-5090,h100"]).stdout);
    assert!(some.contains("for RTX 5090 and H100, Linux x86_64"), "{some}");
    assert!(all.contains("\n2.5.1 ") && !some.contains("\n2.5.1 "), "{some}");
    let (code, message) = refused(&["matrix", "--gpu", "gh200"]);
    assert!(code == 2 && message.contains("its processor is aarch64"), "{message}");
}

#[test]
fn a_snapshot_is_read_from_standard_input() {
    let dir = tempfile::tempdir().unwrap();
    let file = quiet(dir.path());
    let arguments = ["check", "--format", "json", "--only", "driver", "--from"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
    command.args(arguments).arg("-").env("ENVDOC_CATALOG_DIR", "").env_remove("ENVDOC_EXPECT");
    let output = command.stdin(fs::File::open(&file).unwrap()).output().unwrap();
    assert_eq!(text(&output.stdout), text(&envdoc(&[&arguments[..], &[&file]].concat()).stdout));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn force_color_counts_where_nothing_else_decides() {
    let coloured = |set: &[(&str, &str)], arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
        command.args(["matrix", "--gpu", "h100"]).args(arguments).env("ENVDOC_CATALOG_DIR", "");
        for name in ["NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR"] {
            command.env_remove(name);
        }
        text(&command.envs(set.iter().copied()).output().unwrap().stdout).contains('\x1b')
    };
    assert!(coloured(&[("FORCE_COLOR", "1")], &[]) && coloured(&[("FORCE_COLOR", "3")], &[]));
    assert!(!coloured(&[], &[]) && !coloured(&[("FORCE_COLOR", "")], &[]));
    assert!(!coloured(&[("FORCE_COLOR", "1"), ("NO_COLOR", "1")], &[]));
    assert!(!coloured(&[("FORCE_COLOR", "0"), ("CLICOLOR_FORCE", "1")], &[]));
    assert!(!coloured(&[("FORCE_COLOR", "1")], &["--color", "never"]));
}

#[test]
fn a_snapshot_of_this_machine_judges_as_the_machine_does() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("here.json").to_string_lossy().into_owned();
    let output = envdoc(&["snapshot", "--timeout", "20", "-o", &file]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("replaced by placeholders"));
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
fn root_option_reports_nothing_about_the_live_machine() {
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
    assert_eq!(report["schema"], 2);
    assert_eq!(
        (&report["stack"]["torch"], &report["stack"]["torch_build"]),
        (&"2.5.1".into(), &"cu121".into())
    );
    assert_eq!(report["requirements"], serde_json::json!(["--cuda 12.1", "--python 3.12"]));
    assert_eq!(report["wishes"], report["requirements"]);
    assert!(report["conflict"].is_null() && report["because"].is_array() && report["rejected"].is_array());
    let none = envdoc(&["resolve", "--torch", "2.6.1", "--format", "json"]);
    assert_eq!(none.status.code(), Some(1), "{}", text(&none.stderr));
    let report: serde_json::Value = serde_json::from_slice(&none.stdout).unwrap();
    assert!(report["stack"].is_null() && report["conflict"].is_object() && report["nearest"].is_array());
}

#[test]
fn resolve_derives_requirements_and_warnings_from_snapshots() {
    let dir = tempfile::tempdir().unwrap();
    let json = |arguments: &[&str]| -> serde_json::Value {
        let output = envdoc(&[&["resolve", "--format", "json"], arguments].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    };
    let report =
        json(&["--from", "tests/servers/healthy-l40s.json", "tests/servers/healthy-t4-cloud-vm.json"]);
    let requirements = report["wishes"].to_string();
    for expected in
        ["driver of healthy-l40s.json: ", "GPU of healthy-t4-cloud-vm.json: Tesla T4", "NVIDIA L40S"]
    {
        assert!(requirements.contains(expected), "{requirements}");
    }
    let report = json(&["--from", &quiet(dir.path())]);
    assert_eq!(report["wishes"], serde_json::json!([]));
    assert!(report["warnings"].to_string().contains("not in this snapshot"), "{report}");
    let report = json(&["--from", "tests/servers/healthy-cpu-build-host.json"]);
    assert!(report["notes"].to_string().contains("build host"), "{report}");
    let (code, error) = refused(&["resolve", "--prefer", "installed"]);
    assert!(code == 2 && error.contains("--here"), "{error}");
}

/// A line end in a file name begins no line of its own.
#[test]
fn a_path_is_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a\nFORGED line").to_string_lossy().into_owned();
    let written = [
        envdoc(&["resolve", "--cuda", "12.1", "--lock", &file]),
        envdoc(&["render", "dockerfile", "--cuda", "12.1", "-o", &(file.clone() + "2")]),
        envdoc(&["render", "dockerfile", "--cuda", "12.1", "-o", &(file.clone() + "2")]),
        envdoc(&["snapshot", "-o", &(file.clone() + "3")]),
    ];
    for output in written {
        let shown = text(&output.stderr);
        assert!(shown.contains(r"a\nFORGED line"), "{shown}");
        assert!(!shown.lines().any(|line| line.starts_with("FORGED")), "{shown}");
    }
}

#[test]
fn lock_file_is_written_once_and_then_enforced() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("stack.json").to_string_lossy().into_owned();
    let first = envdoc(&["resolve", "--cuda", "12.1", "--lock", &file]);
    assert!(
        first.status.success() && text(&first.stderr).contains("wrote the stack to"),
        "{}",
        text(&first.stderr)
    );
    let kept = fs::read_to_string(&file).unwrap();
    let again = envdoc(&["resolve", "--lock", &file, "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    let lock: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(report["stack"], lock["stack"]);
    assert!(report["notes"].to_string().contains("is still valid"), "{report}");
    let broken = envdoc(&["resolve", "--lock", &file, "--torch", "2.6"]);
    assert_eq!(broken.status.code(), Some(1));
    assert_eq!(fs::read_to_string(&file).unwrap(), kept, "a lock that does not hold stays");
    let replaced = envdoc(&["resolve", "--lock", &file, "--torch", "2.6", "--force"]);
    assert!(replaced.status.success());
    assert_ne!(fs::read_to_string(&file).unwrap(), kept);
    fs::write(&file, "somebody's notes").unwrap();
    let (code, error) = refused(&["resolve", "--lock", &file]);
    assert!(code == 2 && error.contains("not an envdoc lock file") && error.contains("--force"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "somebody's notes");
}

#[test]
fn requirements_format_prints_requirements_or_nothing() {
    let found = envdoc(&["resolve", "--cuda", "12.1", "--format", "requirements"]);
    let file = text(&found.stdout);
    assert!(file.contains("\n--find-links https://download.pytorch.org/whl/cu121/torch/\n"), "{file}");
    assert!(file.contains("\ntorch==2.5.1+cu121\n"), "{file}");
    let none = envdoc(&["resolve", "--torch", "2.6.1", "--format", "toml"]);
    assert_eq!((none.status.code(), text(&none.stdout).as_str()), (Some(1), ""));
    assert!(!text(&none.stderr).is_empty());
}

#[test]
fn why_reports_existence_and_compatibility() {
    let alone = envdoc(&["resolve", "--why", "torch=2.6.0"]);
    assert!(alone.status.success() && text(&alone.stdout).contains("torch 2.6.0"));
    let with = |cuda: &str| envdoc(&["resolve", "--cuda", cuda, "--why", "torch==2.6.0"]);
    assert_eq!(with("12.1").status.code(), Some(1));
    assert!(text(&with("12.4").stdout).contains("Together with --cuda 12.4: yes"));
    assert!(refused(&["resolve", "--why", "toaster"]).1.contains("is not in the catalog"));
}

#[test]
fn the_matrix_is_text_markdown_or_a_page() {
    let matrix = |format: &str| text(&envdoc(&["matrix", "--python", "3.12", "--format", format]).stdout);
    assert!(matrix("text").contains("\n2.5.1 "));
    assert!(matrix("markdown").contains("| 2.5.1 |"));
    assert!(matrix("html").starts_with("<!DOCTYPE html>") && matrix("html").contains(">2.5.1</th>"));
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn smoke_on_this_machine_runs_every_phase_and_finds_a_corrupted_byte() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (html, svg) = (file("smoke.html"), file("smoke.svg"));
    let common = ["smoke", "--local", "--ranks", "3", "--sizes", "8,4K,256K", "--format", "json"];
    let output = envdoc(&[&common[..], &["--html", &html, "--svg", &svg]].concat());
    let report = json(&output);
    let verdict = report["verdict"].as_str().unwrap();
    // A machine that is busy may be slow, or cannot be judged; wrong or failed it is not.
    let codes = [("ok", 0), ("slow", 1), ("unknown", 3)];
    let code = codes.into_iter().find(|(word, _)| *word == verdict).map(|(_, code)| code);
    assert!(code.is_some(), "{report}");
    assert_eq!(output.status.code(), code);
    let phases: Vec<_> = report["phases"].as_array().unwrap().iter().map(|phase| &phase["name"]).collect();
    let (always, repeated) = phases.split_at(6);
    assert_eq!(always, ["shm", "tcp", "rendezvous", "all-reduce", "path", "bandwidth"]);
    // What a busy machine makes look slow is measured again; where it is slow, pair by pair.
    let expected: &[&[&str]] = if verdict == "slow" { &[&["repeat", "pairs"]] } else { &[&[], &["repeat"]] };
    assert!(expected.iter().any(|expected| repeated == *expected), "{phases:?}");
    let bytes: Vec<_> = report["results"].as_array().unwrap().iter().map(|size| &size["bytes"]).collect();
    assert_eq!(bytes, [8, 4096, 262_144]);
    assert!(fs::read_to_string(&html).unwrap().contains("</html>"));
    assert!(fs::read_to_string(&svg).unwrap().contains("<polyline"));
    let (code, message) = refused(&[&common[..], &["--html", &html]].concat());
    assert!(code == 2 && message.contains("--force"), "{message}");

    let output = envdoc(&[&common[..], &["--corrupt", "1:700"]].concat());
    let report = json(&output);
    assert_eq!((output.status.code(), report["verdict"].as_str()), (Some(1), Some("wrong")), "{report}");
    assert!(report["message"].as_str().unwrap().contains("the first at index 700"), "{report}");
    let both_keys =
        |entry: &serde_json::Value| entry["message"].is_string() && entry["message"] == entry["says"];
    assert!(both_keys(&report) && report["phases"].as_array().unwrap().iter().all(both_keys), "{report}");
    for (format, word) in [
        ("junit", "<testcase name=\"all-reduce rank 0\""),
        ("markdown", "| all-reduce | rank 0 | error |"),
        ("text", "wrong: all-reduce: rank 0"),
        ("html", "<p>wrong: all-reduce: rank 0"),
        ("github", "::error title=rank 0%3A all-reduce::rank 0: "),
        ("sarif", "\"ruleId\": \"all-reduce\""),
    ] {
        let output = envdoc(&["smoke", "--local", "--sizes", "8", "--format", format, "--corrupt", "0:700"]);
        assert!(text(&output.stdout).contains(word), "{}", text(&output.stdout));
    }
}

#[test]
fn smoke_rejects_invalid_options() {
    let cases: &[(&[&str], &str)] = &[
        (&["smoke", "--file", "/no/such/cluster.yaml"], "cannot read /no/such/cluster.yaml: no such file"),
        (&["smoke", "--ranks", "4"], "--local"),
        (&["smoke", "--local", "--file", "x.yaml"], "cannot be used with"),
        (&["smoke", "--local", "--ranks", "1"], "must be 2 to 256"),
        (&["smoke", "--local", "--sizes", "7"], "a multiple of 4"),
        (&["smoke", "--local", "--corrupt", "5:1"], "no rank 5 of 2"),
    ];
    for (arguments, expected) in cases {
        let (code, error) = refused(arguments);
        assert!(code == 2 && error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn diagnose_names_the_root_cause_first_and_ends_with_1() {
    let output = envdoc(&["diagnose", "tests/logs/failures/torch-rank-raises-1.log", "--timeline"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("root cause script-exception") && said.contains("loss is not finite"), "{said}");
    assert!(said.contains("torch-rank-raises-1.log:") && said.contains("Timeline:"), "{said}");

    let output = envdoc(&["diagnose", "tests/logs/failures/torch-rank-raises-1.log", "--format", "json"]);
    let report = json(&output);
    assert_eq!(
        (report["schema"].as_u64(), report["causes"][0]["id"].as_str()),
        (Some(2), Some("script-exception"))
    );
    assert_eq!(report["causes"][0]["whose"], "rank 1");
    assert_eq!(report["silent_ranks"].as_array().map(Vec::len), Some(0), "nobody waited in vain");
    assert!(
        report["causes"][0]["evidence"][0]["line"].as_u64().is_some()
            && report["unmatched_errors"].is_array()
    );
}

/// Reports of CI show the lines of a log; its credentials were shown with them.
#[test]
fn diagnose_hides_credentials_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("job.log");
    let token = ["h", "f_OBExMtnYWftHKrmUeUKjuZSibyToBcCcRt"].concat();
    let text_of_log = format!(
        "RuntimeError: CUDA error: out of memory HF_TOKEN={token} password=hunter2\n\
         [rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB api_key=hunter2 \
         https://bob:p@ss9@h.example/x?token=abc123def\nweird error of mine: DB_PASSWORD=hunter2\n"
    );
    fs::write(&log, text_of_log).unwrap();
    for format in ["text", "json", "sarif", "junit", "github", "html", "markdown"] {
        let output = envdoc(&["diagnose", &log.to_string_lossy(), "--timeline", "--format", format]);
        let said = text(&output.stdout);
        assert!(said.contains("out of memory"), "{format}: {said}");
        for secret in [token.as_str(), "hunter2", "ss9@", "abc123def"] {
            assert!(!said.contains(secret), "{format}: {secret} is left: {said}");
        }
    }
}

#[test]
fn diagnose_passes_healthy_logs_and_rejects_missing_ones() {
    let output = envdoc(&["diagnose", "tests/logs/healthy"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert!(text(&output.stdout).starts_with("No known failure found in "), "{}", text(&output.stdout));
    // A note that is no failure: the loss.
    let output = envdoc(&["diagnose", "tests/logs/healthy/t-loss-nan.log"]);
    let said = text(&output.stdout);
    assert!(output.status.success() && said.contains("No failure, but worth knowing:"), "{said}");
    assert!(said.contains("the loss is nan. torch-nan-loss (tests/logs/healthy/t-loss-nan.log:"), "{said}");
    let (code, _) = refused(&["diagnose", "no/such.log"]);
    assert_eq!(code, 2);
    // A file without a line tells nothing of the job.
    let empty = tempfile::NamedTempFile::new().unwrap();
    let output = envdoc(&["diagnose", &empty.path().to_string_lossy()]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("the logs are empty"), "{}", text(&output.stderr));
}

#[test]
fn diagnose_prints_log_context_and_last_lines() {
    // It tells the value that is a text, in the line before the traceback alone.
    let log = "tests/logs/failures/h18-da12-config.log";
    let config = "'optim': {'lr': '3e-4'";
    for (format, heading) in [("text", "Log context:"), ("markdown", "## Log context")] {
        let said = text(&envdoc(&["diagnose", log, "--format", format]).stdout);
        assert!(said.split_once(heading).is_some_and(|(_, rest)| rest.contains(config)), "{said}");
    }
    let report = json(&envdoc(&["diagnose", log, "--format", "json"]));
    assert!(report["causes"][0]["around"].to_string().contains(config), "{report}");
    let folder = tempfile::tempdir().unwrap();
    let quiet = folder.path().join("quiet.log");
    std::fs::write(&quiet, "step 1\nall done\n").unwrap();
    let said = text(&envdoc(&["diagnose", &quiet.to_string_lossy()]).stdout);
    assert!(
        said.split_once("The log ends with:").is_some_and(|(_, rest)| rest.contains("all done")),
        "{said}"
    );
}

#[test]
fn diagnose_follow_reports_a_failure_as_it_is_written() {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::process::Stdio;

    let mut following = Command::new(env!("CARGO_BIN_EXE_envdoc"))
        .args(["diagnose", "--follow", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut writes = following.stdin.take().unwrap();
    let mut output = BufReader::new(following.stdout.take().unwrap());
    writes.write_all(b"step 1\nOSError: [Errno 28] No space left on device\n").unwrap();
    // It is reported while the other program still runs.
    let mut said = String::new();
    while !said.contains("root cause disk-full") {
        assert!(output.read_line(&mut said).unwrap() > 0, "{said}");
    }
    drop(writes);
    output.read_to_string(&mut said).unwrap();
    assert_eq!(following.wait().unwrap().code(), Some(1), "{said}");
    assert_eq!(said.matches("root cause disk-full").count(), 1, "{said}");

    // A program that wrote nothing is not known to be well.
    let empty = tempfile::NamedTempFile::new().unwrap();
    let mut nothing = Command::new(env!("CARGO_BIN_EXE_envdoc"));
    let nothing =
        nothing.args(["diagnose", "--follow", "-"]).stdin(empty.reopen().unwrap()).output().unwrap();
    assert_eq!(nothing.status.code(), Some(2), "{}", text(&nothing.stdout));
    assert!(text(&nothing.stderr).contains("the logs are empty"), "{}", text(&nothing.stderr));

    let (code, error) = refused(&["diagnose", "--follow", "a.log", "b.log"]);
    assert!(code == 2 && error.contains("--follow reads one file or one container"), "{error}");
    let (code, error) = refused(&["diagnose", "--follow", "--kernel"]);
    assert!(code == 2 && error.contains("cannot be used with"), "{error}");
}

#[test]
fn diagnose_uses_machine_evidence_and_redacts_markdown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.log");
    let line = "gpu-node-7: Failed to initialize NVML: Driver/library version mismatch\n";
    fs::write(&file, format!("{line}gpu-node-7: /home/alice/run.sh: exit status 18, asked 10.20.30.40\n"))
        .unwrap();
    let log = file.to_string_lossy();
    let from = "tests/servers/broken-driver-library-mismatch.json";
    let report = json(&envdoc(&["diagnose", &log, "--from", from, "--format", "json"]));
    let evidence = &report["causes"][0]["looked"];
    assert_eq!(report["causes"][0]["id"], "driver-nvml-version-mismatch", "{report}");
    assert!(evidence.as_array().unwrap().iter().any(|one| one["outcome"] == "confirmed"), "{evidence}");
    let said = text(&envdoc(&["diagnose", &log, "--from", from]).stdout);
    assert!(said.contains("confirmed: "), "{said}");
    let said = text(&envdoc(&["diagnose", &log, "--format", "markdown"]).stdout);
    assert!(said.contains("`driver-nvml-version-mismatch`"), "{said}");
    for name in ["gpu-node-7", "alice", "10.20.30.40"] {
        assert!(!said.contains(name), "{name}: {said}");
    }
}

#[test]
fn what_the_catalog_does_not_have_is_passed_to_pip_and_called_unchecked() {
    let output =
        envdoc(&["resolve", "--with", "transformers[sentencepiece],pandas>=2,numyp==1", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let stack = &answer["stack"];
    assert!(stack["packages"]["transformers"].is_string(), "{stack}");
    assert_eq!(
        stack["unchecked"],
        serde_json::json!(["transformers[sentencepiece]", "pandas>=2", "numyp==1"])
    );
    let install = stack["install"][0].as_str().unwrap();
    assert!(install.contains("'transformers[sentencepiece]' 'pandas>=2' numyp==1"), "{install}");
    let warnings = answer["warnings"].as_array().unwrap();
    let unchecked = warnings.iter().find(|one| one["id"] == "packages-not-in-catalog").unwrap();
    assert!(unchecked["message"].as_str().unwrap().contains("numyp==1"), "{unchecked}");
}

#[test]
fn a_pipeline_builds_for_the_processor_that_the_gpus_come_with() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("request.yaml");
    for (request, platform) in [
        ("gpus: [gb200]\n", "linux/arm64"),
        ("gpus: [t4g]\n", "linux/arm64"),
        ("gpus: [h100]\n", "linux/amd64"),
        ("gpus: [gb200]\narchitectures: [x86_64]\n", "linux/amd64"),
    ] {
        fs::write(&path, request).unwrap();
        let output = envdoc(&["render", "ci", "--github", path.to_str().unwrap()]);
        let text = text(&output.stdout);
        let row =
            text.lines().find(|line| line.contains("platforms:")).unwrap_or_else(|| panic!("{output:?}"));
        assert!(row.contains(platform), "{request}: {row}");
    }
}

/// Runs envdoc in a directory, with a home of its own.
fn in_directory(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
    command.args(arguments).current_dir(directory).env("ENVDOC_CATALOG_DIR", "");
    command.env("HOME", directory.join("home")).env_remove("XDG_CONFIG_HOME");
    for name in ["ENVDOC_IGNORE", "ENVDOC_LINT_IGNORE", "ENVDOC_EXPECT", "ENVDOC_CONFIG", "ENVDOC_NO_CONFIG"]
    {
        command.env_remove(name);
    }
    command.output().unwrap()
}

#[test]
fn settings_files_set_what_options_leave_open() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path();
    let below = directory.join("below");
    fs::create_dir_all(&below).unwrap();
    fs::create_dir_all(directory.join("home/.config/envdoc")).unwrap();
    fs::write(below.join("Dockerfile"), "FROM python:3.12\nRUN pip install torch==2.6.0\n").unwrap();
    let code = |arguments: &[&str]| in_directory(&below, arguments).status.code().unwrap();
    assert_eq!(code(&["lint", "."]), 0, "a note");
    fs::write(directory.join("envdoc.toml"), "fail-on = 'note'\n").unwrap();
    assert_eq!(code(&["lint", "."]), 1, "the project's file, one directory above");
    assert_eq!(code(&["lint", ".", "--fail-on", "error"]), 0, "an option beats it");
    assert_eq!(code(&["lint", ".", "--no-config"]), 0);
    let other = below.join("other.toml");
    fs::write(&other, "fail-on = 'never'\n").unwrap();
    assert_eq!(code(&["lint", ".", "--config", "other.toml"]), 0);
    fs::write(directory.join("home/.config/envdoc/envdoc.toml"), "fail-on = 'never'\n").unwrap();
    assert_eq!(code(&["lint", "."]), 1, "the user's file is weaker");
    let ignore = "ignore = [{id = 'cache-left-in-layer', files = ['below/**']}]\n";
    fs::write(directory.join("envdoc.toml"), format!("fail-on = 'note'\n{ignore}")).unwrap();
    assert_eq!(code(&["lint", "."]), 0, "ignored in this directory");
    fs::write(directory.join("Dockerfile"), "FROM python:3.12\nRUN pip install torch==2.6.0\n").unwrap();
    assert_eq!(code(&["lint", "../Dockerfile"]), 1, "and in no other");
    fs::write(directory.join("envdoc.toml"), "fail-on = 'note'\nignore = ['cache-left-in-layer']\n").unwrap();
    let output = in_directory(&below, &["lint", "."]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("envdoc.toml: cache-left-in-layer"), "says what it leaves out");
    let ended = "fail-on = 'note'\nignore = [{id = 'cache-left-in-layer', until = 2020-01-31}]\n";
    fs::write(directory.join("envdoc.toml"), ended).unwrap();
    let output = in_directory(&below, &["lint", "."]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("its time ended on 2020-01-31"));
}

#[test]
fn settings_of_expectations_and_files_are_used_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path();
    let quiet = quiet(directory);
    fs::write(directory.join("envdoc.toml"), "[expect]\ngpus = 8\n").unwrap();
    let of = |arguments: &[&str]| in_directory(directory, arguments);
    let report = text(&of(&["check", "--from", &quiet, "--only", "gpu-missing-from-bus", "-v"]).stdout);
    let without =
        text(&of(&["check", "--from", &quiet, "--only", "gpu-missing-from-bus", "-v", "--no-config"]).stdout);
    assert_ne!(report, without);
    fs::write(directory.join("envdoc.toml"), "cluster-file = 'ops/c.yaml'\nregistry = 'r.example/t'\n")
        .unwrap();
    assert!(text(&of(&["cluster", "status"]).stderr).contains("ops/c.yaml"));
    let shown = text(&of(&["config"]).stdout);
    assert!(shown.contains("registry") && shown.contains("(envdoc.toml, line 2)"), "{shown}");
    let json: serde_json::Value =
        serde_json::from_slice(&of(&["config", "--format", "json"]).stdout).unwrap();
    assert_eq!(json["settings"]["registry"][0]["value"], "r.example/t");
    fs::write(directory.join("envdoc.toml"), "[expect]\ngpus = 4\nrdma = true\n").unwrap();
    let with_variable = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
        command
            .args(arguments)
            .current_dir(directory)
            .env("ENVDOC_EXPECT", "gpus=2")
            .env("ENVDOC_CATALOG_DIR", "");
        text(&command.output().unwrap().stdout)
    };
    let shown = with_variable(&["config"]);
    assert!(shown.contains("ENVDOC_EXPECT=gpus=2  (overrides the same keys of expect"), "{shown}");
    assert_eq!(shown.matches("overridden by ENVDOC_EXPECT").count(), 1, "{shown}");
    let json: serde_json::Value =
        serde_json::from_str(&with_variable(&["config", "--format", "json"])).unwrap();
    let expect = json["settings"]["expect"].as_array().unwrap();
    let overridden: Vec<&serde_json::Value> =
        expect.iter().filter(|one| one["overridden_by"] == "ENVDOC_EXPECT").collect();
    assert_eq!(overridden.len(), 1, "{json}");
    assert!(overridden[0]["value"].as_str().unwrap().starts_with("gpus"), "{json}");
    assert_eq!(json["environment"][0]["name"], "ENVDOC_EXPECT");
    fs::write(directory.join("envdoc.toml"), "ignore = ['driver-misssing']\n").unwrap();
    let output = of(&["check", "--from", &quiet]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("envdoc.toml, line 1: ignore: unknown check"));
    fs::write(directory.join("envdoc.toml"), "fail_on = 'note'\n").unwrap();
    let refused = text(&of(&["lint", "."]).stderr);
    assert!(refused.contains("unknown key \"fail_on\"") && refused.contains("did you mean fail-on?"));
}

#[test]
fn output_gets_the_report_that_a_pipe_would_get() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let path = file.to_str().unwrap();
    let snapshot = "tests/servers/broken-driver-library-mismatch.json";
    let cases: &[&[&str]] = &[
        &["check", "--from", snapshot],
        &["check", "--from", snapshot, "--format", "html"],
        &["lint", "tests/lint/seeds/multi-node.Dockerfile", "--format", "sarif"],
        &["resolve", "--cuda", "12.4"],
        &["matrix", "--format", "html"],
        &["explain", "driver-library-mismatch"],
        &["diagnose", "tests/logs/failures/a9-kernel-oom-a.log"],
        &["checks"],
        &["catalog", "show", "torch", "--format", "json"],
        &["catalog", "verify"],
    ];
    for arguments in cases {
        let piped = envdoc(arguments);
        let written = envdoc(&[arguments, &["--output", path][..]].concat());
        assert_eq!(written.status.code(), piped.status.code(), "{arguments:?}");
        assert_eq!(text(&written.stdout), "", "{arguments:?}");
        // A page says when and with which arguments it was made.
        let content = |bytes: &[u8]| {
            let text = text(bytes);
            text.split_once("<main").map_or(text.clone(), |(_, main)| main.to_owned())
        };
        let (written_text, piped_text) = (content(&fs::read(&file).unwrap()), content(&piped.stdout));
        assert!(written_text == piped_text, "{arguments:?}: the file differs from the pipe");
        assert!(text(&written.stderr).contains(&format!("wrote {path}")), "{arguments:?}");
    }
    // Refused before the work: a missing machine file is not even looked for.
    for (to, why) in
        [("/no/such/dir/report", "there is no directory /no/such/dir"), ("/", "it is a directory")]
    {
        let (code, stderr) = refused(&["check", "--from", "/no/such.json", "-o", to]);
        assert!(code == 2 && stderr.contains(why), "{stderr}");
    }
    for arguments in [&["build", "--file", "/no/such"][..], &["cluster", "up"], &["cluster", "down"]] {
        let (code, stderr) = refused(&[arguments, &["-o", "/proc/report"]].concat());
        assert!(code == 2 && stderr.contains("cannot write /proc/report"), "{arguments:?}: {stderr}");
    }
    // A file in its place would remove it: /dev/null, in the worst case.
    let pipe = dir.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let pipe = pipe.to_str().unwrap();
    for arguments in [&["checks", "-o", pipe][..], &["snapshot", "--force", "-o", pipe]] {
        let (code, stderr) = refused(arguments);
        assert!(code == 2 && stderr.contains("it is a device or a pipe"), "{stderr}");
    }
    let (code, stderr) = refused(&["smoke", "--local", "--html", "a", "--svg", "a"]);
    assert!(code == 2 && stderr.contains("two output options name the same file: a"), "{stderr}");
    // So are files next to the report: no rank was started.
    fs::write(&file, "mine").unwrap();
    for (option, to, why) in [
        ("--html", "/no/such/dir/report", "there is no directory /no/such/dir"),
        ("--svg", "/", "it is a directory"),
        ("--save-baseline", path, "already exists"),
    ] {
        let (code, stderr) = refused(&["smoke", "--local", option, to]);
        assert!(code == 2 && stderr.contains(why), "{option}: {stderr}");
        assert!(!stderr.contains("rank"), "{option}: {stderr}");
    }
    let (code, stderr) = refused(&["snapshot", "-o", path]);
    assert!(code == 2 && stderr.contains("already exists"), "{stderr}");
    // A run that fails leaves the file as it was.
    fs::write(&file, "mine").unwrap();
    refused(&["check", "--from", "/no/such.json", "-o", path]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let (code, stderr) = refused(&["diagnose", "--follow", "-", "-o", path]);
    assert!(code == 2 && stderr.contains("--output"), "{stderr}");
}

#[test]
fn a_dash_is_standard_output_for_every_output_option() {
    let dir = tempfile::tempdir().unwrap();
    let snapshot = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/healthy-t4-cloud-vm.json");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
        command.args(arguments).current_dir(dir.path()).env("ENVDOC_CATALOG_DIR", "").output().unwrap()
    };
    let cases: &[&[&str]] = &[
        &["check", "--from", snapshot],
        &["checks"],
        &["explain", "driver-library-mismatch"],
        &["render", "dockerfile", "--cuda", "12.1"],
        &["render", "requirements", "--cuda", "12.1"],
    ];
    for arguments in cases {
        let piped = run(arguments);
        let dashed = run(&[arguments, &["-o", "-"][..]].concat());
        assert!(!piped.stdout.is_empty(), "{}", text(&piped.stderr));
        assert_eq!((dashed.status.code(), text(&dashed.stdout)), (piped.status.code(), text(&piped.stdout)));
        assert!(!dir.path().join("-").exists(), "{arguments:?}");
    }
    let (code, stderr) = refused(&["cluster", "render", "-o", "-"]);
    assert!(code == 2 && stderr.contains("--output requires a directory"), "{stderr}");
}

#[test]
fn color_and_quiet_hold_for_every_command() {
    let snapshot = "tests/servers/broken-driver-library-mismatch.json";
    let colored = envdoc(&["check", "--from", snapshot, "--color", "always"]);
    assert!(text(&colored.stdout).contains("\u{1b}["));
    let plain = envdoc(&["--color", "never", "check", "--from", snapshot]);
    assert!(!text(&plain.stdout).contains('\u{1b}'));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let quiet = envdoc(&["matrix", "--quiet", "--output", file.to_str().unwrap()]);
    assert!(quiet.status.success() && text(&quiet.stderr).is_empty(), "{}", text(&quiet.stderr));
    let (_, stderr) = refused(&["--quiet", "check", "--from", "/no/such.json"]);
    assert!(stderr.starts_with("error: "), "{stderr}");
}
