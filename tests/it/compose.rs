//! The worked examples in compose/ are what envdoc renders, without keys and secrets. `ENVDOC_REGENERATE=1
//! cargo test -p envdoc --test it compose` writes them.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read and write the source tree")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use cluster::keys;
use cluster::plan::ClusterPlan;
use cluster::render::{self, File};
use envdoc::cli::cluster::read;

use crate::judge;

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
fn rendered_examples_are_current() {
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
        "{} is not what envdoc renders; run: ENVDOC_REGENERATE=1 cargo test -p envdoc --test it compose, and \
            review the change",
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
fn rendered_compose_files_pass_lint() {
    for (dir, plan) in examples() {
        for file in render::files(&plan, None, &[]).unwrap() {
            if file.path.ends_with("compose.yaml") || file.path == "stack.yaml" {
                let name = dir.join(&file.path).display().to_string();
                let text = String::from_utf8(file.bytes).unwrap();
                let findings = lint::lint(
                    lint::RULES,
                    checks::CHECKS,
                    &lint::File::new(catalog::testing::catalog(), &name, &text, lint::Kind::Compose),
                );
                let messages: Vec<&str> = findings.iter().map(|one| one.found.message.as_str()).collect();
                // What swarm cannot do is at the head of the file.
                assert!(
                    messages.is_empty() || text.contains("# Not in here:"),
                    "{name}: {messages:?}\n{text}"
                );
            }
        }
    }
}

/// Everything that is rendered for the examples, written below a folder: plan and path.
fn written() -> (tempfile::TempDir, Vec<(ClusterPlan, String)>) {
    let dir = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    for (_, plan) in examples() {
        let made = keys::make(&plan).unwrap();
        for file in render::files(&plan, Some(&made).filter(|_| plan.ssh.is_some()), &[]).unwrap() {
            let path = dir.path().join(&plan.name).join(&file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &file.bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(file.mode)).unwrap();
            all.push((plan.clone(), path.to_str().unwrap().to_owned()));
        }
    }
    (dir, all)
}

#[test]
fn bash_and_shellcheck_accept_the_scripts() {
    let Some(bash) = judge::find("bash", "ENVDOC_BASH", "install bash") else { return };
    let Some(shellcheck) = judge::find("shellcheck", "ENVDOC_SHELLCHECK", "install shellcheck") else {
        return;
    };
    let (_dir, files) = written();
    let endings = [".sh", "/entrypoint", "/health"];
    let scripts = files.iter().filter(|(_, path)| endings.iter().any(|ending| path.ends_with(ending)));
    let mut judged = 0;
    for (_, path) in scripts {
        accepts(&bash, &["-n", path]);
        accepts(&shellcheck, &[path]);
        judged += 1;
    }
    assert!(judged > 0);
}

#[test]
fn docker_compose_accepts_the_compose_files() {
    let install = "install docker-compose, or name it in ENVDOC_COMPOSE";
    let Some(compose) = judge::find("docker-compose", "ENVDOC_COMPOSE", install) else { return };
    let version = Command::new(&compose).arg("version").output().unwrap().stdout;
    if !version.starts_with(b"Docker Compose version") {
        // docker-compose 1, the old program in Python, rejects files of today.
        return judge::missing("Docker Compose 2", install);
    }
    let (_dir, files) = written();
    let mut judged = 0;
    for (_, path) in files.iter().filter(|(_, path)| path.ends_with("/compose.yaml")) {
        accepts(&compose, &["-f", path, "config", "-q"]);
        judged += 1;
    }
    assert!(judged > 0);
}

#[test]
fn openssh_accepts_keys_and_configuration() {
    let install = "install openssh-client and openssh-server";
    let Some(ssh) = judge::find("ssh", "ENVDOC_SSH", install) else { return };
    let Some(keygen) = judge::find("ssh-keygen", "ENVDOC_SSH_KEYGEN", install) else { return };
    let Some(sshd) = judge::find("sshd", "ENVDOC_SSHD", install) else { return };
    let (_dir, files) = written();
    let mut judged = 0;
    for (plan, path) in &files {
        if path.ends_with("ssh/config") {
            accepts(&ssh, &["-G", "-F", path, &plan.nodes[0].name]);
        } else if path.ends_with("ssh/id_ed25519") {
            accepts(&keygen, &["-y", "-f", path]);
        } else if path.ends_with("ssh/known_hosts") {
            accepts(&keygen, &["-l", "-f", path]);
        } else if path.ends_with("ssh/sshd_config") {
            accepts_configuration(&sshd, &keygen, path);
        } else {
            continue;
        }
        judged += 1;
    }
    assert!(judged > 0);
}

/// What sshd prints where it was installed and never started.
const NO_FOLDER: &str = "Missing privilege separation directory";

/// sshd wants its host key where the configuration names it, which is in the container: here next to the
/// configuration.
fn accepts_configuration(sshd: &Path, keygen: &Path, path: &str) {
    let text = fs::read_to_string(path).unwrap();
    let own = Path::new(path).parent().unwrap().display().to_string();
    let here = format!("{path}.here");
    fs::write(&here, text.replace("/etc/envdoc/ssh", &own)).unwrap();
    let made = Path::new(path).with_file_name("host_ed25519");
    if !made.exists() {
        accepts(keygen, &["-q", "-t", "ed25519", "-N", "", "-f", made.to_str().unwrap()]);
        match Command::new(sshd).args(["-t", "-f", &here]).output() {
            // The service's start makes that folder. sshd looks for it last, after the configuration and the
            // keys.
            Ok(output) if String::from_utf8_lossy(&output.stderr).starts_with(NO_FOLDER) => {}
            _ => accepts(sshd, &["-t", "-f", &here]),
        }
        fs::remove_file(&made).unwrap();
        fs::remove_file(made.with_extension("pub")).unwrap();
    }
}

/// Runs a judge on what was written; it must accept it.
fn accepts(judge: &Path, arguments: &[&str]) {
    let output = Command::new(judge).args(arguments).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    let rest = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{} {arguments:?}: {message}{rest}", judge.display());
}
