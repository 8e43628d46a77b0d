//! The process has one asynchronous runtime: connections, timers and spawned tasks of all parts share it.

use regex::Regex;

use super::imports::{code, files_outside_tests};
use super::source_of;

const BUILT: &str =
    r"\bBuilder::new_(?:current_thread|multi_thread)\(|\bRuntime::new\(|\breqwest::blocking\b|#\[tokio::main";

/// Where it is built, and why there.
const SITE: &str = "docker: parallel.rs";

#[test]
fn one_runtime_is_built() {
    let built = Regex::new(BUILT).unwrap();
    let mut sites = Vec::new();
    for name in super::crate_graph().into_keys() {
        let source = source_of(&name);
        for file in files_outside_tests(&source) {
            let text = code(&std::fs::read_to_string(&file).unwrap());
            let site = format!("{name}: {}", file.strip_prefix(&source).unwrap().display());
            sites.extend(built.find_iter(&text).map(|_| site.clone()));
        }
    }
    assert_eq!(sites, [SITE], "use docker::runtime() or docker::block_on()");
}
