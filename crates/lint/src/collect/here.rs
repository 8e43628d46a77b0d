//! The running environment, and the files of this machine that set it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use diagnostic::error::Error;
use facts::{Fact, Facts};
use host::file;
use host::live::Live;
use host::{Ask, Host, Reading};

use crate::file::HERE;
use crate::recognize::kind_of_name;
use crate::{File, Hostfile, Kind};

/// Timeout for resolving all names of hostfiles.
const NAMES_TIMEOUT: Duration = Duration::from_secs(4);
/// Concurrent lookups.
const PARALLEL_LOOKUPS: usize = 32;

/// Resolves the names of hostfiles, like ssh does.
pub fn names(files: &mut [File]) {
    let host = Live::new(Instant::now() + NAMES_TIMEOUT);
    for file in files.iter_mut().filter(|file| file.kind == Kind::Hostfile) {
        let read = Hostfile::read(&file.text);
        let wanted: BTreeSet<&str> =
            read.hosts().map(|(_, name)| name).filter(|name| is_name(name)).collect();
        let wanted: Vec<&str> = wanted.into_iter().collect();
        for some in wanted.chunks(PARALLEL_LOOKUPS) {
            thread::scope(|scope| {
                let asked: Vec<_> =
                    some.iter().map(|name| (*name, scope.spawn(|| known(&host, name)))).collect();
                for (name, answer) in asked {
                    if let Ok(Some(known)) = answer.join() {
                        file.names.insert(name.to_owned(), known);
                    }
                }
            });
        }
    }
}

/// Whether the word is safe as an argument of ssh and getent.
fn is_name(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-:".contains(letter))
}

/// Whether the name resolves on this machine; `None` if unknown.
fn known(host: &Live, name: &str) -> Option<bool> {
    let name = match host.ask(Ask::Run(&["ssh", "-G", name], NAMES_TIMEOUT)) {
        Reading::Ran { status: Some(0), stdout, .. } => reached(&stdout)?,
        Reading::Absent => name.to_owned(),
        _ => return None,
    };
    // getent(1): 2 is "one or more supplied key could not be found".
    match host.ask(Ask::Run(&["getent", "ahosts", &name], NAMES_TIMEOUT)) {
        Reading::Ran { status: Some(0), .. } => Some(true),
        Reading::Ran { status: Some(2), .. } => Some(false),
        _ => None,
    }
}

/// The host name that ssh resolves on this machine; `None` with a proxy.
///
/// ```text
/// host gpu1
/// hostname 10.0.0.1
/// proxyjump login
/// ```
fn reached(options: &str) -> Option<String> {
    let mut options = options.lines().filter_map(|line| line.split_once(' '));
    if options.clone().any(|(key, value)| matches!(key, "proxyjump" | "proxycommand") && value != "none") {
        return None;
    }
    options.find(|(key, _)| *key == "hostname").map(|(_, name)| name.to_owned())
}

/// What shells, NCCL and DeepSpeed read, below `/`.
const FILES: &[&str] = &["/etc/environment", "/etc/profile", "/etc/bash.bashrc", "/etc/nccl.conf"];
/// The same, below the home directory.
const HOME: &[&str] = &[".profile", ".bash_profile", ".bashrc", ".nccl.conf", ".deepspeed_env"];

/// Adds the environment variables and the existing files.
pub fn add(facts: &Facts, files: &mut Vec<File>) -> Result<(), Error> {
    let variables = facts.environment.variables.known();
    // Only the variables that the facts record.
    if let Some(set) = variables {
        let text: String = set.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        files.push(File::new(facts.catalog, HERE, text, Kind::Environment));
    }
    let home = match &facts.environment.variables {
        Fact::Known(set) => set.get("HOME").cloned(),
        _ => None,
    };
    let mut paths: Vec<PathBuf> = FILES.iter().map(PathBuf::from).collect();
    if let Ok(Some(below)) = file::below(Path::new("/etc/profile.d")) {
        paths.extend(below.files.into_iter().filter(|name| name.extension().is_some_and(|end| end == "sh")));
    }
    paths.extend(home.iter().flat_map(|home| HOME.iter().map(move |name| Path::new(home).join(name))));
    paths.push(PathBuf::from(".deepspeed_env"));
    for path in paths.into_iter().filter(|path| file::is_file(path)) {
        let name = path.display().to_string();
        let known = files.iter().any(|one| one.name == name);
        let Some(kind) = kind_of_name(&name).filter(|_| !known) else { continue };
        // Unreadable files are skipped.
        if let Ok(Some(text)) = file::read(&path) {
            files.push(File::new(facts.catalog, name, text, kind));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_behind_another_machine_are_looked_up_there() {
        // `ssh -G` of OpenSSH 9.2.
        let plain = "host gpu1\nuser root\nhostname 10.0.0.1\nport 22\nproxycommand none\n";
        assert_eq!(reached(plain).as_deref(), Some("10.0.0.1"));
        assert_eq!(reached("host gpu1\nhostname gpu1\nproxyjump login\n"), None);
    }

    #[test]
    fn this_machine_knows_itself_and_no_name_that_is_reserved() {
        // RFC 6761: `invalid.` names nothing. A resolver that does not answer leaves it unknown.
        let mut files = [File::new(
            catalog::testing::catalog(),
            "hostfile",
            "localhost slots=1\nnode.invalid slots=1\n-x slots=1\n",
            Kind::Hostfile,
        )];
        names(&mut files);
        assert_eq!(files[0].names.get("localhost"), Some(&true));
        assert_ne!(files[0].names.get("node.invalid"), Some(&true));
        assert_eq!(files[0].names.get("-x"), None);
    }
}
