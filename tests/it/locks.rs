//! `envdoc render lock`, and what holds a request file to its lock. A program of the test replaces uv.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests run the program")]

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Pins what it is given, with a hash, after `SECONDS`.
const UV: &str = r#"#!/bin/sh
sleep SECONDS
while read -r line; do
    case "$line" in
        '' | '#'* | -*) ;;
        *) echo "${line%% *} --hash=sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" ;;
    esac
done
"#;

struct Project {
    folder: tempfile::TempDir,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

impl Project {
    /// With a request file, and a uv that takes so many seconds.
    fn new(uv: Option<&str>) -> Project {
        let folder = tempfile::tempdir().unwrap();
        for name in ["project", "home", "tools"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let project = Project { folder };
        project.write("request.yaml", "torch: 2.6.0\ncuda: 12.4\npackages: [numpy]\n");
        if let Some(seconds) = uv {
            let path = project.folder.path().join("tools/uv");
            fs::write(&path, UV.replace("SECONDS", seconds)).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        project
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("project").join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_envdoc"));
        command.args(arguments).current_dir(self.path("")).env("ENVDOC_CATALOG_DIR", "");
        command.env("HOME", self.folder.path().join("home"));
        // The tools of the test and a shell, and no uv of the machine.
        command.env("PATH", format!("{}:/bin:/usr/bin", self.folder.path().join("tools").display()));
        for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "ENVDOC_CONFIG", "ENVDOC_NO_CONFIG"] {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

/// Whether a uv is installed where the tests look for a shell.
fn uv_of_the_machine() -> bool {
    ["/bin/uv", "/usr/bin/uv"].iter().any(|path| Path::new(path).exists())
}

const LOCK: &[&str] = &["render", "lock", "--request", "request.yaml"];

#[test]
fn a_lock_is_printed_like_the_other_files_of_render() {
    let project = Project::new(Some("0"));
    let output = project.run(LOCK);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lock: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(lock["packages"].as_array().unwrap().len() > 1, "{lock}");
    assert!(!project.path("envdoc.lock").exists(), "only --output writes a file");
    assert!(!text(&output.stderr).contains("resolving"), "it took no second");
    for to in ["envdoc.lock", "."] {
        let written = project.run(&[LOCK, &["--output", to]].concat());
        assert_eq!(written.status.code(), Some(0), "{to}: {}", text(&written.stderr));
        assert!(written.stdout.is_empty() && fs::read(project.path("envdoc.lock")).unwrap() == output.stdout);
    }
    let refused = project.run(&[LOCK, &["--output", "no/such/file"]].concat());
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("there is no directory no/such"));
}

#[test]
fn without_uv_there_is_no_lock() {
    if uv_of_the_machine() {
        return;
    }
    let project = Project::new(None);
    for arguments in [LOCK.to_vec(), [LOCK, &["--output", "envdoc.lock"]].concat()] {
        let output = project.run(&arguments);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(
            stderr.contains("requires uv, which is not installed") && stderr.contains("pipx install uv"),
            "{stderr}"
        );
        assert!(output.stdout.is_empty() && !project.path("envdoc.lock").exists());
    }
}

#[test]
fn a_slow_uv_is_waited_for_visibly() {
    let project = Project::new(Some("1.5"));
    let output = project.run(LOCK);
    let line = "resolving packages with uv ...\n";
    assert_eq!(text(&output.stderr).matches(line).count(), 1, "{}", text(&output.stderr));
    assert!(!text(&output.stdout).contains("resolving"));
    let quiet = project.run(&[LOCK, &["--quiet"]].concat());
    assert!(!text(&quiet.stderr).contains("resolving"));
    let mut command = project.command(LOCK);
    command.env("TERM", "xterm-256color");
    let shown = crate::hostile::on_terminal(command, None);
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let spinner = shown.contains("resolving packages") && !shown.contains("with uv ...");
    assert!(spinner, "a spinner: {shown:?}");
}

#[test]
fn an_interruption_ends_uv_too() {
    let project = Project::new(Some("50"));
    let mut command = project.command(&[LOCK, &["--output", "envdoc.lock"]].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let uv = crate::processes::started(&child, "uv", 1)[0];
    let process = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{stderr}");
    assert!(stderr.contains("error: interrupted; no lock was written\n"), "{stderr}");
    assert!(crate::processes::ends(uv.process), "{uv:?} still runs");
    assert!(!project.path("envdoc.lock").exists());
}

#[test]
fn resolve_reads_request_files_and_compares_locks() {
    let project = Project::new(Some("0"));
    let resolve = |more: &[&str]| {
        let output =
            project.run(&[&["resolve", "--request", "request.yaml", "--format", "json"], more].concat());
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (output.status.code().unwrap(), report, text(&output.stderr))
    };
    let (code, report, stderr) = resolve(&[]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!((&report["stack"]["torch"], &report["stack"]["cuda"]), (&"2.6.0".into(), &"12.4".into()));
    assert!(report["stack"]["packages"].to_string().contains("numpy"), "{report}");
    let (_, other, _) = resolve(&["--torch", "2.7"]);
    assert_ne!(other["stack"]["torch"], "2.6.0", "options override the file");
    let (code, _, stderr) = resolve(&["--locked"]);
    assert!(code == 2 && stderr.contains("cannot read envdoc.lock: no such file"), "{code}: {stderr}");
    assert!(stderr.contains("`envdoc render lock --output envdoc.lock`"), "{stderr}");

    project.run(&[LOCK, &["--output", "envdoc.lock"]].concat());
    let (code, report, stderr) = resolve(&["--locked"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(report.to_string().contains("the stack in envdoc.lock is still valid"), "{report}");
    // A package that the lock lacks, and a torch that it does not have.
    project.write("request.yaml", "torch: 2.6.0\ncuda: 12.4\npackages: [numpy, einops]\n");
    let (code, _, stderr) = resolve(&["--locked"]);
    assert!(code == 2 && stderr.contains("einops"), "{code}: {stderr}");
    assert_eq!(resolve(&[]).0, 0);
    project.write("request.yaml", "torch: 2.7.1\ncuda: 12.6\n");
    assert_eq!(resolve(&["--locked"]).0, 1, "no stack is both");
    assert_eq!(project.run(&["resolve", "--locked"]).status.code(), Some(2));
    assert_eq!(project.run(&["resolve", "--request", "no.yaml"]).status.code(), Some(2));
    // --force is for --lock.
    project.write("envdoc.lock", "{}");
    let (code, _, stderr) = resolve(&[]);
    assert!(code == 2 && stderr.contains("regenerate it: `envdoc render lock"), "{stderr}");
    assert!(!stderr.contains("--force"), "{stderr}");
}

#[test]
fn locked_means_every_architecture_and_every_package() {
    let project = Project::new(Some("0"));
    let request = "torch: 2.6.0\ncuda: 12.4\npackages: [xformers]\n";
    project.write("request.yaml", request);
    assert!(project.run(&[LOCK, &["--output", "envdoc.lock"]].concat()).status.success());
    let locked = || project.run(&["resolve", "--request", "request.yaml", "--locked"]);
    assert_eq!(locked().status.code(), Some(0), "{}", text(&locked().stderr));
    // No xformers for aarch64.
    let both = format!("{request}architectures: [x86_64, aarch64]\n");
    project.write("request.yaml", &both);
    assert_eq!(locked().status.code(), Some(1), "{}", text(&locked().stderr));
    assert!(text(&locked().stdout).contains("aarch64"), "{}", text(&locked().stdout));
    project.write("request.yaml", &both.replace("[xformers]", "[xformers, einops]"));
    assert_eq!(locked().status.code(), Some(2), "{}", text(&locked().stdout));
    assert!(text(&locked().stderr).contains("einops"), "{}", text(&locked().stderr));
}

/// NVIDIA's torch is on no index: such a lock has versions alone, and they are all that can be compared.
#[test]
fn a_lock_of_an_image_with_torch_can_be_required_exactly() {
    let project = Project::new(Some("0"));
    project.write("request.yaml", "base: ngc\ncuda: 13.0\ndeepspeed: any\n");
    let made = project.run(&[LOCK, &["--output", "envdoc.lock"]].concat());
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let locked = || project.run(&["resolve", "--request", "request.yaml", "--locked"]);
    assert_eq!(locked().status.code(), Some(0), "{}", text(&locked().stderr));
    project.write("request.yaml", "base: ngc\ncuda: 13.0\ndeepspeed: any\npackages: [peft]\n");
    assert_ne!(locked().status.code(), Some(0), "{}", text(&locked().stdout));
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let project = Project::new(Some("0"));
    for arguments in [
        &["resolve", "--request", "request.yaml", "--locked", "--why", "numpy"][..],
        &["render", "lock", "--request", "request.yaml", "--locked"],
    ] {
        let output = project.run(arguments);
        assert!(
            output.status.code() == Some(2) && text(&output.stderr).contains("--locked"),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_file_that_is_no_lock_is_refused_before_uv_runs() {
    let project = Project::new(Some("5"));
    project.write("envdoc.lock", "mine\n");
    let started = std::time::Instant::now();
    let output = project.run(&[LOCK, &["--output", "envdoc.lock"]].concat());
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("already exists"));
    assert!(started.elapsed().as_secs() < 5, "uv ran");
    assert_eq!(fs::read_to_string(project.path("envdoc.lock")).unwrap(), "mine\n");
}

/// It has versions and no packages, which only a request file asks for.
#[test]
fn a_lock_that_resolve_wrote_can_be_required_exactly() {
    let project = Project::new(None);
    let resolve = |arguments: &[&str]| {
        let output = project.run(&[&["resolve", "--lock", "x.lock"], arguments].concat());
        (output.status.code().unwrap(), text(&output.stderr))
    };
    assert_eq!(resolve(&["--torch", "2.6.0"]).0, 0);
    assert_eq!(resolve(&["--locked"]), (0, String::new()));
    assert_eq!(resolve(&["--torch", "2.7.1", "--locked"]).0, 1, "no stack is both");
    let (code, stderr) = resolve(&["--deepspeed", "--locked"]);
    assert!(code == 2 && stderr.contains("none in the lock, "), "{code}: {stderr}");
    assert!(stderr.contains("`envdoc resolve --lock x.lock --force`"), "{stderr}");
    let (code, stderr) = resolve(&["--request", "request.yaml", "--locked"]);
    assert!(code == 2 && stderr.contains("it pins top-level versions alone"), "{code}: {stderr}");
}
