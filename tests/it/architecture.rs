//! The drawing of the crate graph in docs/architecture.md is what Cargo says it is.
#![expect(clippy::disallowed_methods, reason = "tests read the source tree")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use crate::layers::{Graph, crate_graph};

const BEGIN: &str = "<!-- crate graph: made by tests/it/architecture.rs from `cargo metadata` -->\n";
const END: &str = "<!-- /crate graph -->\n";

/// Every crate that one uses, directly or through others.
fn reachable(graph: &Graph, from: &str) -> BTreeSet<String> {
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
fn drawing(graph: &Graph) -> String {
    let mut text = String::from("```mermaid\nflowchart TD\n");
    for (name, own) in graph {
        let indirect = |target: &String| {
            own.iter().any(|other| other != target && reachable(graph, other).contains(target))
        };
        for target in own.iter().filter(|target| !indirect(target)) {
            let _ = writeln!(text, "    {name} --> {target}");
        }
    }
    text + "```\n"
}

#[test]
fn architecture_diagram_matches_the_crate_graph() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let now = format!("{before}{BEGIN}{}{END}{after}", drawing(&crate_graph()));
    if std::env::var_os("ENVDOC_REGENERATE").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    assert!(
        page == now || std::env::var_os("ENVDOC_REGENERATE").is_some(),
        "run: ENVDOC_REGENERATE=1 cargo test -p envdoc --test it architecture"
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
