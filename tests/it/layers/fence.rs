//! Files, programs, connections and variables are reached from few places. clippy.toml names most of the
//! functions; this test also sees those of tokio, and that the places do not become more.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

use super::imports::{code, files_outside_tests};
use super::source_of;

/// What reaches the machine.
const REACHES: &str = concat!(
    r"\bstd::fs\b|\bfs::(?:read|write|create_dir|remove_|rename|copy|canonicalize|metadata|symlink_|set_perm|File|Open|Dir)",
    r"|\btokio::(?:fs|process)\b|\bCommand::new\(|\bFile::(?:open|create)\(|\bOpenOptions::new|\bDirBuilder::new",
    r"|\b(?:Tcp|Unix)(?:Stream|Listener)::(?:connect|bind)\(|\bUdpSocket::bind\(",
    r"|\benv::(?:vars?|vars?_os|set_var|current_exe|current_dir|temp_dir|args_os|args)\("
);

/// Crates whose purpose it is.
const DOORS: &[&str] = &["docker", "host"];

/// Files of other crates that still do it. The list only shrinks: what reads or writes a file goes through
/// `host::file`.
const ALLOWED: &[(&str, &[&str])] = &[
    ("catalog", &["cache.rs"]),
    (
        "cluster",
        &[
            "smoke/nccl/library.rs",
            "smoke/rank.rs",
            "worker/digest.rs",
            "worker/interfaces.rs",
            "worker/tcp.rs",
            "worker/udp.rs",
        ],
    ),
    ("diagnostic", &["terminal.rs"]),
];

#[test]
fn file_and_process_access_is_limited_to_listed_files() {
    let reaches = Regex::new(REACHES).unwrap();
    let (mut allowed, mut found) = (BTreeSet::new(), BTreeSet::new());
    for (name, files) in ALLOWED {
        allowed.extend(files.iter().map(|file| format!("{name}: {file}")));
    }
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
