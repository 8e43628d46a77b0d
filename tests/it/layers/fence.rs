//! Files, programs, connections and variables are reached from few places. clippy.toml names most
//! of the functions; this test also sees those of tokio and of the crates that wrap system calls,
//! and that the places do not become more.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use super::imports::{code, files_outside_tests};
use super::source_of;

/// What reaches the machine. Of `rustix::io` only the types of errors do not.
const REACHES: &str = concat!(
    concat!(
        r"\bstd::fs\b|\bfs::(?:read|write|create_dir|remove_|rename|copy|canonicalize|metadata",
        r"|symlink_|set_perm)",
    ),
    r"|\bfs::(?:exists|hard_link|soft_link|File|Open|Dir)|\bstd::os::unix::(?:fs|net)\b|\btempfile::",
    r"|\bFile::(?:open|create|create_new|options)\(|\bOpenOptions::|\bDirBuilder::|\bmemmap",
    r"|\btokio::(?:fs|process)\b|\bCommand::new\(|\blibloading\b|\bcudarc::",
    concat!(
        r"|\b(?:Tcp|Unix)(?:Stream|Listener|Socket)::(?:connect|bind|pair|new_)|\blookup_host\b",
        r"|\bto_socket_addrs\b",
    ),
    r"|\b(?:UdpSocket|UnixDatagram)::(?:bind|unbound|pair)\(|\b(?:reqwest|hyper|bollard)::",
    r"|\brustix::(?:\{|(?:event|fs|mm|mount|net|pipe|process|pty|shm|stdio|system|termios|thread)\b)",
    r"|\brustix::io::[a-z{]|\bnix::|\blibc::|\bwhich::",
    r"|\benv::(?:vars?|vars?_os|set_var|remove_var|current_exe|current_dir|set_current_dir)\(",
    r"|\benv::(?:temp_dir|home_dir|args_os|args)\("
);

/// Crates whose purpose it is.
const DOORS: &[&str] = &["docker", "host"];

/// Why a file of another crate does it.
const CACHE: &str = "the catalog's cache is envdoc's own directory, and catalog is below host";
const RANKS: &str = "the ranks of the smoke test are connected with each other, not with the machine";
const WORKER: &str = "a worker answers for the machine that it runs on, and no snapshot replays it";
const NCCL: &str = "the smoke test runs NCCL itself, in a process of its own";
const TERMINAL: &str = "the writer of standard output asks the terminal for its width and colours";

/// Files of other crates that still do it. The list only shrinks: what reads or writes a file goes through
/// `host::file`.
const ALLOWED: &[(&str, &str, &str)] = &[
    ("catalog", "cache.rs", CACHE),
    ("cluster", "flow/gossip.rs", WORKER),
    ("cluster", "flow/watch.rs", WORKER),
    ("cluster", "smoke/nccl/gpu.rs", NCCL),
    ("cluster", "smoke/nccl/library.rs", NCCL),
    ("cluster", "smoke/nccl/rank.rs", NCCL),
    ("cluster", "smoke/rank.rs", RANKS),
    ("cluster", "worker/digest.rs", WORKER),
    ("cluster", "worker/interfaces.rs", WORKER),
    ("cluster", "worker/machine.rs", WORKER),
    ("cluster", "worker/tcp.rs", WORKER),
    ("cluster", "worker/udp.rs", WORKER),
    ("diagnostic", "terminal.rs", TERMINAL),
];

#[test]
fn file_and_process_access_is_limited_to_listed_files() {
    let reaches = Regex::new(REACHES).unwrap();
    let allowed: BTreeSet<String> = ALLOWED.iter().map(|(name, file, _)| format!("{name}: {file}")).collect();
    let mut found = BTreeSet::new();
    for name in super::crate_graph().keys().filter(|name| !DOORS.contains(&name.as_str())) {
        found.extend(reaching(&source_of(name), &reaches).into_iter().map(|file| format!("{name}: {file}")));
    }
    let added: Vec<_> = found.difference(&allowed).collect();
    assert!(added.is_empty(), "use host::file or a Host instead: {added:#?}");
    let gone: Vec<_> = allowed.difference(&found).collect();
    assert!(gone.is_empty(), "these no longer do it, remove them from ALLOWED: {gone:#?}");
}

/// The files of a crate that do it outside tests.
fn reaching(source: &Path, reaches: &Regex) -> Vec<String> {
    let reaching = files_outside_tests(source)
        .into_iter()
        .filter(|file| reaches.is_match(&code(&std::fs::read_to_string(file).unwrap())));
    reaching.map(|file| file.strip_prefix(source).unwrap().display().to_string()).collect()
}

/// The functions that clippy.toml forbids, but for methods of paths: their names say nothing without the
/// type.
#[test]
fn what_clippy_forbids_is_found() {
    let reaches = Regex::new(REACHES).unwrap();
    let text = include_str!("../../../clippy.toml");
    let paths = Regex::new(r#"path = "([^"]+)""#).unwrap();
    let mut count = 0;
    for path in paths.captures_iter(text).map(|found| found[1].to_owned()) {
        let parts: Vec<&str> = path.split("::").collect();
        let [.., parent, function] = parts[..] else { panic!("{path}") };
        if parent != "Path" {
            count += 1;
            assert!(reaches.is_match(&format!("let it = {path}(of)?;")), "{path}");
            let imported = parent.starts_with(char::is_uppercase) || parent == "env";
            assert!(!imported || reaches.is_match(&format!("let it = {parent}::{function}(of)?;")), "{path}");
        }
    }
    assert!(count > 40, "clippy.toml has another form: {count}");
}

#[test]
fn ways_past_the_standard_library_are_found() {
    let reaches = Regex::new(REACHES).unwrap();
    for line in [
        "use rustix::fs::{Mode, OFlags};",
        "use rustix::{fs, io};",
        "let size = rustix::io::pread(file, &mut bytes, 0)?;",
        "use std::os::unix::net::UnixDatagram;",
        "let (one, other) = UnixStream::pair()?;",
        "let dir = tempfile::tempdir()?;",
        "let all = nix::ifaddrs::getifaddrs()?;",
        "let found = tokio::net::lookup_host((name, 0)).await?;",
        "let file = File::create_new(path)?;",
    ] {
        assert!(reaches.is_match(line), "{line}");
    }
    for line in ["use rustix::io::Errno;", "use std::net::{IpAddr, TcpStream};", "use std::process::Stdio;"] {
        assert!(!reaches.is_match(line), "{line}");
    }
}
