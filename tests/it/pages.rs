//! The pages of every command that has one: whole in themselves, small, and understood by parsers.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests run the program and read files")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;
use roxmltree::Document;

use crate::judge;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// The largest page of 64 nodes, in bytes.
const FLEET_LIMIT: usize = 300_000;

fn page(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_envdoc"))
        .args(arguments)
        .current_dir(ROOT)
        .env("ENVDOC_CATALOG_DIR", "")
        .env_remove("ENVDOC_IGNORE")
        .output()
        .unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(
        page.starts_with("<!DOCTYPE html>\n"),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    page
}

/// Recorded servers, by the beginning of their names.
fn servers(kind: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(format!("{ROOT}/tests/servers")).unwrap().map(|entry| entry.unwrap().path());
    let is_json = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let mut files: Vec<PathBuf> =
        files.filter(|path| is_json(path) && name(path).starts_with(kind)).collect();
    files.sort();
    files
}

/// `cluster check` of these machines.
fn fleet(machines: &[PathBuf]) -> String {
    let machines = machines.iter().map(|path| path.to_str().unwrap());
    page(&["cluster", "check", "--format=html", "--from"].into_iter().chain(machines).collect::<Vec<_>>())
}

/// A page of each command.
fn pages() -> Vec<(&'static str, String)> {
    let broken = "tests/servers/broken-driver-library-mismatch.json";
    let commands: &[(&str, &[&str])] = &[
        ("check", &["check", "--from", broken, "--format", "html"]),
        ("lint", &["lint", "tests/lint/seeds", "--format", "html"]),
        (
            "diagnose",
            &["diagnose", "tests/logs/failures/torch-rank-raises-1.log", "--timeline", "--format", "html"],
        ),
        ("matrix", &["matrix", "--format", "html"]),
        ("smoke", &["smoke", "--local", "--sizes", "8,4K,256K", "--format", "html"]),
    ];
    let mut pages: Vec<_> = commands.iter().map(|(name, words)| (*name, page(words))).collect();
    let healthy = servers("healthy-").into_iter().take(8);
    pages.push(("cluster check", fleet(&healthy.chain(servers("broken-driver")).collect::<Vec<_>>())));
    pages
}

/// Nothing is loaded, links lead somewhere, ids are there once, headers of tables say what they head, and the
/// page says when, where and how it was made.
fn sound(name: &str, page: &str) {
    let document = Document::parse(page.strip_prefix("<!DOCTYPE html>\n").unwrap()).unwrap();
    let ids: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    let known: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), known.len(), "{name}: an id is there twice");
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let tag = node.tag_name().name();
        assert!(!matches!(tag, "script" | "link" | "img" | "iframe" | "object" | "base"), "{name}: {tag}");
        assert!(node.attribute("src").is_none() && node.attribute("style").is_none(), "{name}: {tag}");
        if tag == "th" {
            assert!(node.attribute("scope").is_some(), "{name}");
        }
        if let Some(target) = node.attribute("href") {
            let leads = target.strip_prefix('#').is_some_and(|id| known.contains(id));
            assert!(leads || target.starts_with("https://"), "{name}: {target}");
        }
        if tag == "svg" {
            assert!(node.attribute("aria-label").is_some_and(|label| !label.is_empty()), "{name}");
        }
    }
    assert!(!page.contains("url(") && !page.contains("@import"), "{name}");
    let made = [
        r"<dt>Time</dt><dd>20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC</dd>",
        r"<dt>Host</dt><dd>[^<]+</dd>",
        r"<dt>Command</dt><dd>(<details><summary>)?<code>envdoc ",
    ];
    let made = Regex::new(&made.join("\n")).unwrap();
    assert!(made.is_match(page), "{name}: {}", &page[page.find("<body>").unwrap()..][..900]);
}

#[test]
fn every_page_is_whole_in_itself() {
    for (name, page) in pages() {
        sound(name, &page);
        assert!(page.len() <= FLEET_LIMIT, "{name}: {} bytes", page.len());
    }
}

/// A parser of HTML itself, which reports every error of the standard that a browser would repair.
#[test]
fn an_html_parser_finds_no_error() {
    const PARSE: &str =
        "import sys, html5lib; html5lib.HTMLParser(strict=True).parse(sys.stdin.buffer.read())";
    let Some(python) =
        judge::find("html5lib", "ENVDOC_HTML5LIB", "pip install html5lib, and name its Python")
    else {
        return;
    };
    for (name, page) in pages() {
        let mut child = Command::new(&python)
            .args(["-c", PARSE])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The worst case: 64 machines, each with another fault.
#[test]
fn a_fleet_of_64_different_machines_fits_the_limit() {
    let machines: Vec<PathBuf> = servers("broken-").into_iter().take(64).collect();
    assert_eq!(machines.len(), 64);
    let page = fleet(&machines);
    sound("64 machines", &page);
    assert!(page.len() <= FLEET_LIMIT, "{} bytes", page.len());
    // One row a finding with its nodes, and every node with every group that has findings.
    assert_eq!(page.matches("<th scope=\"row\">broken-").count(), 64);
    assert!(page.contains(" of 64</td>"), "how many nodes have a finding");
    assert!(page.contains("Differences between the nodes"));
}

/// Host names in data centers are this long.
#[test]
fn long_names_fit_the_limit_and_a_narrow_screen() {
    let folder = tempfile::tempdir().unwrap();
    // Recorded servers name others, and parts, next to them.
    for entry in fs::read_dir(format!("{ROOT}/tests/servers")).unwrap() {
        let path = entry.unwrap().path();
        std::os::unix::fs::symlink(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let copy = |(index, path): (usize, &PathBuf)| {
        let name = format!("gpu-node-{index:02}.rack1.dc3.example.internal");
        assert_eq!(name.len(), 38);
        let to = folder.path().join(name + ".json");
        fs::copy(path, &to).unwrap();
        to
    };
    let broken = servers("broken-");
    let machines: Vec<PathBuf> = broken.iter().take(64).enumerate().map(copy).collect();
    assert_eq!(machines.len(), 64);
    let page = fleet(&machines);
    sound("64 long names", &page);
    assert!(page.len() <= FLEET_LIMIT, "{} bytes", page.len());
    // Without a browser: the rules that a look at 420 pixels and at the print showed to be enough, and the
    // table that they are for.
    assert!(page.contains("<table class=\"nodes "));
    for rule in [
        ".nodes tbody th { max-width: 36vw; }",
        ".nodes tbody th, .nodes td:last-child { white-space: normal; overflow-wrap: anywhere;",
        ".nodes { table-layout: fixed; width: 100%;",
    ] {
        assert!(page.contains(rule), "{rule}");
    }
}

#[test]
fn credentials_on_the_command_line_are_hidden() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("password=hunter2.log");
    fs::write(&file, "RuntimeError: CUDA error: out of memory\n").unwrap();
    let page = page(&["diagnose", &file.to_string_lossy(), "--format", "html"]);
    let command = page.split_once("<dt>Command</dt>").unwrap().1.split_once("</dd>").unwrap().0;
    assert!(!command.contains("hunter2"), "{command}");
}
