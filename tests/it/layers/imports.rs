//! Which modules import which, read from the source text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use regex::Regex;

use super::Graph;

/// Which module of a folder imports which other one, and in which files.
#[derive(Default)]
pub(super) struct Imports {
    pub(super) edges: Graph,
    files: BTreeMap<(String, String), BTreeSet<PathBuf>>,
}

impl Imports {
    /// Those of every folder of a crate, its root first: which of its modules imports which of its others.
    pub(super) fn of_folders(source: &Path) -> Vec<(Vec<String>, Imports)> {
        let texts: Vec<(Vec<String>, PathBuf, String)> = rust_files(source)
            .into_iter()
            .map(|path| {
                let text = code(&std::fs::read_to_string(&path).unwrap());
                (module_of(source, &path), path, text)
            })
            .collect();
        let tests = test_modules(source);
        let test = |module: &[String]| (1..=module.len()).any(|length| tests.contains(&module[..length]));
        let folders: BTreeSet<Vec<String>> = texts
            .iter()
            .flat_map(|(module, ..)| (0..module.len()).map(|depth| module[..depth].to_vec()))
            .collect();
        let production = || texts.iter().filter(|(module, ..)| !test(module));
        folders.into_iter().map(|folder| (folder.clone(), Imports::between(&folder, production()))).collect()
    }

    fn between<'t>(
        folder: &[String],
        texts: impl Iterator<Item = &'t (Vec<String>, PathBuf, String)> + Clone,
    ) -> Imports {
        let inside = |path: &[String]| path.strip_prefix(folder).and_then(|rest| rest.first()).cloned();
        let names: BTreeSet<String> = texts.clone().filter_map(|(module, ..)| inside(module)).collect();
        let mut reexports = BTreeMap::new();
        for (_, _, text) in texts.clone().filter(|(module, ..)| module == folder) {
            for path in reexported(text).into_iter().filter(|path| names.contains(&path[0])) {
                reexports.insert(path[path.len() - 1].clone(), path[0].clone());
            }
        }
        let mut imports = Imports::default();
        for (module, file, text) in texts {
            let Some(own) = inside(module) else { continue };
            for first in paths(text, module).iter().filter_map(|path| inside(path)) {
                let target = names.get(&first).or_else(|| reexports.get(&first));
                if let Some(target) = target.filter(|target| **target != own) {
                    imports.edges.entry(own.clone()).or_default().insert(target.clone());
                    imports.files.entry((own.clone(), target.clone())).or_default().insert(file.clone());
                }
            }
        }
        imports
    }

    pub(super) fn explain(&self, cycle: &[String]) -> String {
        let in_cycle = |(from, to): &&(String, String)| cycle.contains(from) && cycle.contains(to);
        let edges = self.files.keys().filter(in_cycle);
        edges.map(|edge| format!("    {} -> {}: {:?}\n", edge.0, edge.1, self.files[edge])).collect()
    }
}

pub(super) fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(rust_files(&path)),
            false if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            false => {}
        }
    }
    found.sort();
    found
}

/// The files of a crate without its tests and what only they use.
pub(super) fn files_outside_tests(source: &Path) -> Vec<PathBuf> {
    let tests = test_modules(source);
    let mut files = rust_files(source);
    files.retain(|file| {
        let module = module_of(source, file);
        !(1..=module.len()).any(|length| tests.contains(&module[..length]))
            && module.first().is_none_or(|first| first != "testing")
    });
    files
}

/// `src/docker/tests.rs` is `[docker, tests]`, `src/lib.rs` is `[]`.
pub(super) fn module_of(source: &Path, file: &Path) -> Vec<String> {
    let relative = file.strip_prefix(source).unwrap().with_extension("");
    let mut parts: Vec<String> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// Modules in files of their own that are compiled for tests alone.
pub(super) fn test_modules(source: &Path) -> BTreeSet<Vec<String>> {
    let declared =
        Regex::new(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\(\w+\))? )?mod (\w+);").unwrap();
    let mut found = BTreeSet::new();
    for file in rust_files(source) {
        let text = std::fs::read_to_string(&file).unwrap();
        for name in declared.captures_iter(&text) {
            let mut module = module_of(source, &file);
            module.push(name[1].to_owned());
            found.insert(module);
        }
    }
    found
}

/// The text without comments on lines of their own and without the tests at its end.
pub(super) fn production(text: &str) -> String {
    let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let code = text[..tests].lines().filter(|line| !line.trim_start().starts_with("//"));
    code.collect::<Vec<_>>().join("\n")
}

/// The text without comments, string literals and inline test modules.
pub(super) fn code(text: &str) -> String {
    let noise =
        Regex::new(r##"(?s)//[^\n]*|/\*.*?\*/|r#+".*?"#+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)'"##).unwrap();
    let text = noise.replace_all(text, "");
    let tests = Regex::new(r"#\[cfg\(test\)\]\s*(?:pub(?:\(\w+\))? )?mod \w+ \{").unwrap();
    let (mut kept, mut rest) = (String::new(), &*text);
    while let Some(start) = tests.find(rest) {
        kept.push_str(&rest[..start.start()]);
        let mut depth = 1;
        let end = rest[start.end()..].find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        rest = end.map_or("", |end| &rest[start.end() + end + 1..]);
    }
    kept + rest
}

/// The paths from the crate's root that a file of `module` names by `crate::` or `super::`.
fn paths(code: &str, module: &[String]) -> BTreeSet<Vec<String>> {
    let start = Regex::new(r"\b(crate|super)((?:\s*::\s*super)*)\s*::\s*").unwrap();
    let mut found = BTreeSet::new();
    for start in start.captures_iter(code) {
        let up = if &start[1] == "super" { 1 + start[2].matches("super").count() } else { module.len() };
        let base = &module[..module.len().saturating_sub(up)];
        tree(&code[start.get(0).unwrap().end()..], base.to_vec(), &mut found);
    }
    found.into_iter().filter(|path| !path.is_empty()).collect()
}

/// The paths that the crate's root re-exports from its modules.
fn reexported(code: &str) -> Vec<Vec<String>> {
    let start = Regex::new(r"\bpub(?:\(\w+\))? use (?:crate::|self::)?").unwrap();
    let mut found = BTreeSet::new();
    for start in start.find_iter(code) {
        tree(&code[start.end()..], Vec::new(), &mut found);
    }
    found.into_iter().filter(|path| !path.is_empty()).collect()
}

/// Reads `a::{b, c::d}` and returns what follows it.
fn tree<'t>(text: &'t str, mut path: Vec<String>, found: &mut BTreeSet<Vec<String>>) -> &'t str {
    let mut rest = text.trim_start();
    loop {
        if let Some(mut inner) = rest.strip_prefix('{') {
            loop {
                inner = inner.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
                match inner.strip_prefix('}') {
                    Some(after) => return after,
                    None if !inner.starts_with(|c: char| c.is_alphanumeric() || "_*{".contains(c)) => {
                        return inner;
                    }
                    None => inner = tree(inner, path.clone(), found),
                }
            }
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "_*".contains(c))).unwrap_or(rest.len());
        if end > 0 {
            path.push(rest[..end].to_owned());
        }
        let after = rest[end..].trim_start();
        match after.strip_prefix("::").map(str::trim_start).filter(|next| !next.starts_with('<')) {
            Some(next) if end > 0 => rest = next,
            _ => {
                found.insert(path);
                let renamed = after.strip_prefix("as ").map(|name| {
                    name.trim_start().trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
                });
                return renamed.unwrap_or(after);
            }
        }
    }
}

/// The groups of nodes that reach each other.
pub(super) fn cycles(graph: &Graph) -> Vec<Vec<String>> {
    let reached = |from: &String| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(next) = open.pop() {
            for target in graph.get(next).into_iter().flatten().filter(|target| seen.insert(*target)) {
                open.push(target);
            }
        }
        seen
    };
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|node| (node, reached(node))).collect();
    let mut found = BTreeSet::new();
    for (node, targets) in reach.iter().filter(|(node, targets)| targets.contains(*node)) {
        let both = targets.iter().filter(|target| reach.get(*target).is_some_and(|back| back.contains(node)));
        found.insert(both.map(|target| (*target).clone()).collect::<Vec<_>>());
    }
    found.into_iter().collect()
}

#[test]
fn import_paths_are_found_in_source() {
    let text = r#"
        use crate::{alpha, beta::{self, gamma::Delta}};
        use super::epsilon::f; // use crate::comment;
        fn main() { let zeta = crate::zeta::run("crate::literal"); super::super::eta(); }
        #[cfg(test)]
        mod tests { use crate::theta; }
    "#;
    let paths: BTreeSet<String> =
        paths(&code(text), &["own".into(), "child".into()]).into_iter().map(|path| path.join("::")).collect();
    let expected = ["alpha", "beta::self", "beta::gamma::Delta", "own::epsilon::f", "zeta::run", "eta"];
    assert_eq!(paths, expected.map(str::to_owned).into());
    let edge = |from: &str, to: &str| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    let graph: Graph = [edge("a", "b"), edge("b", "c"), edge("c", "b"), edge("d", "a")].into();
    assert_eq!(cycles(&graph), [["b", "c"]]);
}
