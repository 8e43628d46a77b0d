//! The drawing of the crate graph in docs/architecture.md is what Cargo says it is.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests run cargo and read the source tree"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const BEGIN: &str = "<!-- crate graph: made by tests/it/architecture.rs from `cargo metadata` -->\n";
const END: &str = "<!-- /crate graph -->\n";

/// The workspace's crates, each with those that it uses, by package name.
fn graph() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let own = |package: &serde_json::Value| -> BTreeSet<String> {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        dependencies
            .filter(|one| one["path"].is_string() && one["kind"].is_null())
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.map(|package| (package["name"].as_str().unwrap().to_owned(), own(package))).collect()
}

/// Every crate that one uses, directly or through others.
fn reachable(graph: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&String> = graph[from].iter().collect();
    while let Some(next) = open.pop() {
        if found.insert(next.clone()) {
            open.extend(&graph[next]);
        }
    }
    found
}

/// The graph without the arrows that follow from others, as Mermaid draws it.
fn drawing(graph: &BTreeMap<String, BTreeSet<String>>) -> String {
    let short = |name: &str| name.strip_prefix("envdoc-").unwrap_or(name).to_owned();
    let mut text = String::from("```mermaid\nflowchart TD\n");
    for (name, own) in graph {
        let indirect = |target: &String| {
            own.iter().any(|other| other != target && reachable(graph, other).contains(target))
        };
        for target in own.iter().filter(|target| !indirect(target)) {
            let _ = writeln!(text, "    {} --> {}", short(name), short(target));
        }
    }
    text + "```\n"
}

#[test]
fn the_drawing_is_the_graph() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let now = format!("{before}{BEGIN}{}{END}{after}", drawing(&graph()));
    if std::env::var_os("ENVDOC_REGENERATE").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    assert!(
        page == now || std::env::var_os("ENVDOC_REGENERATE").is_some(),
        "run: ENVDOC_REGENERATE=1 cargo test --test it architecture"
    );
}

#[test]
fn the_paths_on_the_page_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for page in ["docs/architecture.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        for path in text.split('`').skip(1).step_by(2) {
            let roots =
                ["crates/", "src/", "tests/", "docs/", "catalog/", "templates/", "images/", "benches/"];
            let named = roots.iter().any(|root| path.starts_with(root));
            // A placeholder of a recipe is written in angle brackets or capitals.
            let name = path.strip_suffix("README.md").unwrap_or(path);
            let placeholder = name.contains(['<', '*', ' ']) || name.chars().any(char::is_uppercase);
            if named && !placeholder {
                assert!(root.join(path).exists(), "{page}: {path} does not exist");
            }
        }
    }
}
