//! `envdoc cluster init`: what it writes is what the other cluster commands read, or it writes nothing.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests run the program")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A directory with a fake ssh that refuses after so many seconds, and none of nvidia-smi.
struct Machine {
    folder: tempfile::TempDir,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

impl Machine {
    fn new(seconds: &str) -> Machine {
        let folder = tempfile::tempdir().unwrap();
        for name in ["team", "home", "tools"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let ssh = folder.path().join("tools/ssh");
        let refused = "ssh: connect to host 203.0.113.1 port 22: Connection refused";
        fs::write(&ssh, format!("#!/bin/sh\nsleep {seconds}\necho '{refused}' >&2\nexit 255\n")).unwrap();
        fs::set_permissions(ssh, fs::Permissions::from_mode(0o755)).unwrap();
        Machine { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("team").join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
        command.args(arguments).current_dir(self.path("")).env("ENVDOC_CATALOG_DIR", "");
        command.env("HOME", self.folder.path().join("home"));
        command.env("PATH", format!("{}:/bin:/usr/bin", self.folder.path().join("tools").display()));
        for name in ["XDG_CONFIG_HOME", "ENVDOC_CONFIG", "ENVDOC_NO_CONFIG", "DOCKER_HOST"] {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Whether the other cluster commands take a file.
    fn accepts(&self, file: &str) -> bool {
        let output = self.run(&[
            "cluster",
            "render",
            "--file",
            file,
            "--output",
            "rendered",
            "--without-secrets",
            "--force",
        ]);
        assert!(output.status.success(), "{file}: {}", text(&output.stderr));
        output.status.success()
    }
}

const TWO: &[&str] = &["cluster", "init", "--nodes", "203.0.113.1,203.0.113.2"];

#[test]
fn without_the_gpus_of_a_machine_nothing_is_written() {
    let machine = Machine::new("0");
    let output = machine.run(&[TWO, &["--image", "team/train:1"]].concat());
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("cannot write the cluster file: the number of GPUs is unknown"), "{stderr}");
    assert!(
        stderr.contains("\n  203.0.113.1: not inspected") && stderr.contains("pass --gpus COUNT"),
        "{stderr}"
    );
    assert_eq!(fs::read_dir(machine.path("")).unwrap().count(), 0);

    let output = machine.run(&[TWO, &["--image", "team/train:1", "--gpus", "8"]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(machine.accepts("cluster.yaml"));
    let written = fs::read_to_string(machine.path("cluster.yaml")).unwrap();
    assert_eq!(written.matches("gpus: 8").count(), 2, "{written}");
    let again = machine.run(&[TWO, &["--image", "team/train:1", "--gpus", "8"]].concat());
    assert!(again.status.code() == Some(2) && text(&again.stderr).contains("already exists"));
}

#[test]
fn the_image_request_exists_or_is_written() {
    let machine = Machine::new("0");
    fs::create_dir(machine.path("ops")).unwrap();
    // -f as in the other cluster commands, -o as in the other commands that write.
    for (option, directory) in [("-f", "ops/"), ("-o", "")] {
        let file = format!("{directory}cluster.yaml");
        let output = machine.run(&[TWO, &["--gpus", "8", option, &file]].concat());
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        assert!(machine.accepts(&file));
        let request = format!("{directory}request.yaml");
        assert!(text(&output.stderr).contains(&format!("wrote {request}")), "{}", text(&output.stderr));
        let rendered = machine.run(&["render", "dockerfile", "--request", &request]);
        assert_eq!(rendered.status.code(), Some(0), "{}", text(&rendered.stderr));
    }
    fs::write(machine.path("request.yaml"), "torch: 2.6.0\n").unwrap();
    let output = machine.run(&[TWO, &["--gpus", "8", "--file", "second.yaml"]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(machine.path("request.yaml")).unwrap(), "torch: 2.6.0\n");
    let named = machine.run(&[TWO, &["--gpus", "8", "--request", "no.yaml", "-o", "third.yaml"]].concat());
    assert!(named.status.code() == Some(2) && text(&named.stderr).contains("cannot read no.yaml"));
    let named =
        machine.run(&[TWO, &["--gpus", "8", "--request", "request.yaml", "-o", "ops/third.yaml"]].concat());
    assert_eq!(named.status.code(), Some(3), "{}", text(&named.stderr));
    let build = fs::read_to_string(machine.path("ops/third.yaml")).unwrap();
    let line = build.lines().find_map(|line| line.strip_prefix("build: ")).unwrap().trim_matches('"');
    assert!(machine.path("ops").join(line).is_file(), "relative to the cluster file, or absolute: {line}");
    fs::remove_file(machine.path("request.yaml")).unwrap();
    let printed = machine.run(&[TWO, &["--gpus", "8", "-o", "-"]].concat());
    assert!(printed.status.code() == Some(2) && text(&printed.stderr).contains("no request.yaml here"));
}

#[test]
fn a_name_that_up_would_refuse_is_refused() {
    let machine = Machine::new("0");
    fs::create_dir(machine.path("My Team")).unwrap();
    let (ssh, asked) = (machine.folder.path().join("tools/ssh"), machine.folder.path().join("asked"));
    fs::write(ssh, format!("#!/bin/sh\ntouch '{}'\nexit 255\n", asked.display())).unwrap();
    let output =
        machine.run(&[TWO, &["--gpus", "8", "--image", "a:1", "-o", "My Team/cluster.yaml"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("name"), "{}", text(&output.stderr));
    assert!(!machine.path("My Team/cluster.yaml").exists());
    let nameless = machine.run(&[TWO, &["--gpus", "8", "--image", "a:1", "-o", "/cluster.yaml"]].concat());
    assert!(nameless.status.code() == Some(2) && text(&nameless.stderr).contains("pass --name"));
    assert!(!asked.exists(), "before machines are asked");
}

#[test]
fn slow_machines_are_waited_for_visibly() {
    let machine = Machine::new("1.6");
    let init = [TWO, &["--image", "a:1", "--gpus", "8", "-o", "-"]].concat();
    let output = machine.run(&init);
    let stderr = text(&output.stderr);
    assert_eq!(stderr.matches("connecting to 2 machines ...\n").count(), 1, "{stderr}");
    fs::write(machine.path("cluster.yaml"), &output.stdout).unwrap();
    let checked = machine.run(&["cluster", "check"]);
    assert_eq!(
        text(&checked.stderr).matches("connecting to 2 machines ...\n").count(),
        1,
        "{}",
        text(&checked.stderr)
    );
    let mut command = machine.command(&["cluster", "check"]);
    command.env("TERM", "xterm-256color");
    let shown = crate::hostile::on_terminal(command, None);
    let shown = String::from_utf8_lossy(&shown).into_owned();
    assert!(shown.contains("connecting to 2 machines: waiting for node1, node2"), "{shown:?}");
    let fast = Machine::new("0");
    let stderr = text(&fast.run(&init).stderr);
    assert!(!stderr.contains("connecting"), "{stderr}");
}

/// Two nodes behind an ssh that takes its time, and a script to launch.
fn cluster(machine: &Machine) {
    let init = [TWO, &["--image", "a:1", "--gpus", "8"]].concat();
    assert_eq!(machine.run(&init).status.code(), Some(3));
}

#[test]
fn every_command_shows_that_it_connects() {
    let machine = Machine::new("1.6");
    cluster(&machine);
    let connecting = "connecting to 2 machines ...\n";
    let cases: &[(&[&str], &str)] = &[
        (&["cluster", "status"], connecting),
        (&["cluster", "up", "--dry-run"], connecting),
        (&["cluster", "down"], connecting),
        (&["cluster", "logs"], connecting),
        (&["cluster", "exec", "--", "true"], connecting),
        (&["cluster", "launch", "--", "train.py"], connecting),
        (&["smoke", "-f", "cluster.yaml"], connecting),
        (&["diagnose", "--cluster", "cluster.yaml"], "reading the output of 2 containers ...\n"),
    ];
    std::thread::scope(|scope| {
        for (arguments, line) in cases {
            let machine = &machine;
            scope.spawn(move || {
                let output = machine.run(arguments);
                let stderr = text(&output.stderr);
                assert_eq!(stderr.matches(line).count(), 1, "{arguments:?}: {stderr}");
                assert!(!text(&output.stdout).contains(" ..."), "{arguments:?}");
                let mut command = machine.command(arguments);
                command.env("TERM", "xterm-256color");
                let shown = crate::hostile::on_terminal(command, None);
                let shown = String::from_utf8_lossy(&shown).into_owned();
                let spinner = shown.contains(line.trim_end_matches(" ...\n")) && !shown.contains(line.trim());
                assert!(spinner, "{arguments:?}: {shown:?}");
            });
        }
    });
    // Standard error has events alone.
    let output = machine.run(&["cluster", "up", "--dry-run", "--format", "json"]);
    let stderr = text(&output.stderr);
    let is_event = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
    assert!(stderr.lines().all(|line| is_event(line) || line.starts_with("warning: ")), "{stderr}");
}

#[test]
fn up_and_down_write_their_document_to_a_file() {
    let machine = Machine::new("0");
    cluster(&machine);
    for arguments in [&["cluster", "up", "--dry-run"][..], &["cluster", "down"]] {
        let json = [arguments, &["--format", "json", "--output", "report.json"]].concat();
        let output = machine.run(&json);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "");
        let report = fs::read(machine.path("report.json")).unwrap();
        let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
        assert_eq!((&report["event"], &report["status"]), (&"report".into(), &"failed".into()));
    }
}

#[test]
fn logs_of_unreachable_nodes_are_not_called_empty() {
    let machine = Machine::new("0");
    cluster(&machine);
    for format in ["text", "html"] {
        let output = machine.run(&["diagnose", "--cluster", "cluster.yaml", "--format", format]);
        let stdout = text(&output.stdout);
        assert_eq!(output.status.code(), Some(2), "{stdout}");
        assert!(stdout.contains("Nothing was searched: 2 logs could not be read."), "{stdout}");
        assert!(!stdout.contains("No lines were read"), "{stdout}");
    }
}

#[test]
fn what_one_machine_does_not_show_is_no_difference() {
    let machine = Machine::new("0");
    let empty = r#"{"schema":1,"envdoc":"0.1.0","redacted":true,"readings":{}}"#;
    fs::write(machine.path("empty.json"), empty).unwrap();
    let known = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/broken-driver-library-mismatch.json");
    let output = machine.run(&["cluster", "check", "--from", known, "empty.json"]);
    let stdout = text(&output.stdout);
    assert!(!stdout.contains("differs  "), "{stdout}");
    assert!(stdout.contains("the same (unknown on empty): "), "{stdout}");
    let output = machine.run(&["cluster", "check", "--format", "json", "--from", known, "empty.json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let times: Vec<_> = report["nodes"].as_array().unwrap().iter().map(|node| &node["time"]).collect();
    assert_eq!(times, [&"2026-10-01T08:00:00Z".into(), &serde_json::Value::Null]);
    let check = machine.run(&["check", "--format", "json", "--from", known]);
    let check: serde_json::Value = serde_json::from_slice(&check.stdout).unwrap();
    assert_eq!(check["machine"]["time"], "2026-10-01T08:00:00Z");
}
