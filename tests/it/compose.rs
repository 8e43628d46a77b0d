//! The worked examples in compose/ are what envdoc renders, without keys and secrets. `ENVDOC_REGENERATE=1 cargo test --test compose` writes them.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read and write the source tree")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use cluster::keys;
use cluster::plan::ClusterPlan;
use cluster::render::{self, File};
use envdoc::cli::cluster::read;

fn examples() -> Vec<(PathBuf, ClusterPlan)> {
    let mut found: Vec<PathBuf> =
        fs::read_dir("compose").unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    let plan = |dir: PathBuf| {
        let plan =
            read(&dir.join("cluster.yaml")).unwrap_or_else(|error| panic!("{error} {:?}", error.hints)).1;
        (dir, plan)
    };
    found.into_iter().map(plan).collect()
}

#[test]
fn the_examples() {
    assert!(examples().len() >= 6);
    for (dir, plan) in examples() {
        let files = render::files(&plan, None, &[]).unwrap();
        for file in &files {
            assert!(!file.secret(), "{}: nothing private is in an example", file.path);
            same(&dir.join(&file.path), file);
        }
        no_others(&dir, &dir, &files);
    }
}

fn same(path: &Path, file: &File) {
    if std::env::var_os("ENVDOC_REGENERATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &file.bytes).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(file.mode)).unwrap();
        return;
    }
    let committed = fs::read(path).unwrap_or_default();
    assert!(
        committed == file.bytes,
        "{} is not what envdoc renders; run: ENVDOC_REGENERATE=1 cargo test --test compose, and review the change",
        path.display()
    );
}

/// A file that is rendered no longer must not stay behind.
fn no_others(dir: &Path, below: &Path, files: &[File]) {
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(dir).unwrap().to_str().unwrap().to_owned();
        // Keys that `envdoc cluster render` made when somebody tried the example; git ignores them.
        if name == ".envdoc" {
            continue;
        }
        if path.is_dir() {
            no_others(dir, &path, files);
        } else {
            assert!(
                name == "cluster.yaml" || files.iter().any(|file| file.path == name),
                "{}",
                path.display()
            );
        }
    }
}

#[test]
fn what_is_rendered_passes_envdoc_lint() {
    for (dir, plan) in examples() {
        for file in render::files(&plan, None, &[]).unwrap() {
            if file.path.ends_with("compose.yaml") || file.path == "stack.yaml" {
                let name = dir.join(&file.path).display().to_string();
                let text = String::from_utf8(file.bytes).unwrap();
                let findings = lint::lint(lint::RULES, &lint::File::new(&name, &text, lint::Kind::Compose));
                let says: Vec<&str> = findings.iter().map(|one| one.found.says.as_str()).collect();
                // What swarm cannot do is told at the head of the file.
                assert!(says.is_empty() || text.contains("# Not in here:"), "{name}: {says:?}\n{text}");
            }
        }
    }
}

/// Needs the programs; without one the test says so and proves nothing about it.
#[test]
fn the_programs_that_read_the_files_accept_them() {
    let dir = tempfile::tempdir().unwrap();
    for (_, plan) in examples() {
        let made = keys::make(&plan).unwrap();
        for file in render::files(&plan, Some(&made).filter(|_| plan.ssh.is_some()), &[]).unwrap() {
            let path = dir.path().join(&plan.name).join(&file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &file.bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(file.mode)).unwrap();
            let path = path.to_str().unwrap();
            if file.path.ends_with(".sh")
                || file.path.ends_with("/entrypoint")
                || file.path.ends_with("/health")
            {
                accepts("bash", &["-n", path]);
                accepts("shellcheck", &[path]);
            } else if file.path.ends_with("ssh/config") {
                accepts("ssh", &["-G", "-F", path, &plan.nodes[0].name]);
            } else if file.path.ends_with("ssh/id_ed25519") {
                accepts("ssh-keygen", &["-y", "-f", path]);
            } else if file.path.ends_with("ssh/known_hosts") {
                accepts("ssh-keygen", &["-l", "-f", path]);
            } else if file.path.ends_with("ssh/sshd_config") {
                sshd(path);
            } else if file.path.ends_with("/compose.yaml") {
                // On PATH, or named by ENVDOC_COMPOSE: `docker-compose`.
                let program = std::env::var("ENVDOC_COMPOSE").unwrap_or_else(|_| "docker-compose".into());
                accepts(&program, &["-f", path, "config", "-q"]);
            }
        }
    }
}

/// What sshd says where it was installed and never started.
const NO_FOLDER: &str = "Missing privilege separation directory";

/// sshd wants its host key where the configuration says, which is in the container: here beside the configuration.
fn sshd(path: &str) {
    let text = fs::read_to_string(path).unwrap();
    let own = Path::new(path).parent().unwrap().display().to_string();
    let here = format!("{path}.here");
    fs::write(&here, text.replace("/etc/envdoc/ssh", &own)).unwrap();
    let made = Path::new(path).with_file_name("host_ed25519");
    if !made.exists() {
        accepts("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", made.to_str().unwrap()]);
        match Command::new("/usr/sbin/sshd").args(["-t", "-f", &here]).output() {
            // The service's start makes that folder. sshd looks for it last, when it has read the configuration and the keys.
            Ok(output) if String::from_utf8_lossy(&output.stderr).starts_with(NO_FOLDER) => {}
            _ => accepts("/usr/sbin/sshd", &["-t", "-f", &here]),
        }
        fs::remove_file(&made).unwrap();
        fs::remove_file(made.with_extension("pub")).unwrap();
    }
}

/// Runs a program and wants it to end well; one that is not there is named on the terminal.
fn accepts(program: &str, arguments: &[&str]) {
    match Command::new(program).args(arguments).output() {
        Ok(output) => {
            let says = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{program} {arguments:?}: {says}{}",
                String::from_utf8_lossy(&output.stdout)
            );
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            // Past the capture of the test harness, as in tests/against_pypi.rs.
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "skipped: there is no {program}");
        }
        Err(error) => panic!("{program}: {error}"),
    }
}
