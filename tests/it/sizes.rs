//! Files have at most 300 lines and functions at most 40. The list of those that are longer only shrinks.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read the source tree")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Lines of a file, without the tests at its end.
const FILE_LIMIT: usize = 300;
/// Lines of a function, from `fn` to its closing bracket.
const FUNCTION_LIMIT: usize = 40;

/// Folders whose files are all tests.
const TESTS: &[&str] = &["/tests/", "/testing/"];

/// A line `FILE lines N functions N`: the lines of a file where it is longer than the limit (else 0), and
/// how many of its functions are.
const LONGER: &str = include_str!("sizes.txt");

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The file without the tests at its end.
fn production(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).position(|two| two == ["#[cfg(test)]", "mod tests {"]);
    lines.truncate(tests.unwrap_or(lines.len()));
    lines
}

/// Functions over the limit. rustfmt closes a function with a bracket that is as far from the edge as the
/// function's first line.
fn long_functions(lines: &[&str]) -> usize {
    let mut long = 0;
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let before = code.split("fn ").next().unwrap_or_default();
        let is_function = code.contains("fn ")
            && before.split_whitespace().all(|word| {
                word.starts_with("pub")
                    || word.ends_with(')')
                    || ["const", "async", "unsafe", "extern", "\"C\"", "in"].contains(&word)
            });
        if !is_function || code.ends_with(';') {
            continue;
        }
        let close = format!("{}}}", " ".repeat(indent));
        let end = lines[start..].iter().position(|line| *line == close);
        long += usize::from(end.is_some_and(|end| end + 1 > FUNCTION_LIMIT));
    }
    long
}

/// The lines over the limit and the long functions of each file that has either.
fn measured() -> BTreeMap<String, (usize, usize)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut files);
    }
    let mut all = BTreeMap::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let is_test = name.ends_with("tests.rs") || TESTS.iter().any(|part| name.contains(part));
        if is_test || name.ends_with("/testing.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let lines = production(&text);
        let over = if lines.len() > FILE_LIMIT { lines.len() } else { 0 };
        let functions = long_functions(&lines);
        if over > 0 || functions > 0 {
            all.insert(name, (over, functions));
        }
    }
    all
}

fn listed() -> BTreeMap<String, (usize, usize)> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [file, "lines", lines, "functions", functions] = words[..] else { panic!("{line}") };
        (file.to_owned(), (lines.parse().unwrap(), functions.parse().unwrap()))
    };
    LONGER.lines().map(row).collect()
}

#[test]
fn files_and_functions_do_not_grow() {
    let (measured, listed) = (measured(), listed());
    if std::env::var_os("ENVDOC_REGENERATE").is_some() {
        let mut text = String::new();
        for (file, (lines, functions)) in &measured {
            let _ = writeln!(text, "{file} lines {lines} functions {functions}");
        }
        std::fs::write("tests/it/sizes.txt", text).unwrap();
        return;
    }
    let mut wrong = String::new();
    for (file, (lines, functions)) in &measured {
        let (lines_allowed, functions_allowed) = listed.get(file).copied().unwrap_or_default();
        if *lines > lines_allowed {
            let limit = lines_allowed.max(FILE_LIMIT);
            let _ = writeln!(wrong, "{file}: {lines} lines, at most {limit} are allowed; split it");
        }
        if *functions > functions_allowed {
            let _ = writeln!(
                wrong,
                "{file}: {functions} functions over {FUNCTION_LIMIT} lines, at most {functions_allowed} are \
                 allowed; split them"
            );
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    let mut shorter = String::new();
    for (file, allowed) in &listed {
        let (lines, functions) = measured.get(file).copied().unwrap_or_default();
        if lines < allowed.0 || functions < allowed.1 {
            let _ = writeln!(shorter, "{file} lines {lines} functions {functions}");
        }
    }
    assert!(
        shorter.is_empty(),
        "the list shrinks; run: ENVDOC_REGENERATE=1 cargo test -p envdoc --test it sizes, and review the \
         difference:\n{shorter}"
    );
}

#[test]
fn a_long_function_is_counted() {
    let body = "    one();\n".repeat(FUNCTION_LIMIT - 2);
    let fits = format!("pub(super) async fn fits() {{\n{body}}}\n");
    let long = format!("impl A {{\n    pub const fn long(\n        one: u8,\n    ) {{\n{body}    }}\n}}\n");
    assert_eq!(long_functions(&production(&fits)), 0);
    assert_eq!(long_functions(&production(&long)), 1);
    assert_eq!(long_functions(&production(&format!("#[cfg(test)]\nmod tests {{\n{long}}}\n"))), 0);
    assert_eq!(long_functions(&["    // fn in a comment {", "let fn_ = 1;"]), 0);
}
