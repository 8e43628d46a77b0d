//! What the targets share: every one reads text of strangers and asserts more than the absence of a panic.

use diagnostic::layout::Layout;
use diagnostic::visible::is_hidden;
use lint::{File, Kind, RULES};

/// The catalog.
pub fn catalog() -> &'static catalog::Catalog {
    catalog::testing::catalog()
}

/// A terminal of 80 columns.
pub const LAYOUT: Layout = Layout { width: 80, unicode: true, verbose: true, root: true };

/// A text for a terminal holds no character that a terminal acts on, apart from tabs and envdoc's own
/// colours.
pub fn assert_clean(text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find(|c| is_hidden(c) && c != '\n' && c != '\t') {
        let found = &rest[at..];
        let colour = found.strip_prefix("\x1b[").and_then(|code| {
            let end = code.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            code[end..].strip_prefix('m')
        });
        match colour {
            Some(after) => rest = after,
            None => panic!("{:?} reaches the terminal: {text:?}", found.chars().next()),
        }
    }
}

/// Lints a text as a file of a kind: findings are on lines of the file, and their report is clean.
pub fn lint(kind: Kind, name: &str, text: &str) {
    let file = File::new(catalog(), name, text, kind);
    let findings = lint::lint(RULES, checks::CHECKS, &file);
    let lines = text.lines().count().max(1);
    for finding in &findings {
        let line = finding.found.line;
        assert!(finding.found.file.is_some() || line <= lines, "line {line} of {lines}: {finding:?}");
    }
    let coverage = lint::report::Coverage::of(RULES, std::slice::from_ref(&file), 0, Vec::new());
    assert_clean(&lint::report::text(&findings, &coverage, LAYOUT));
    let report = lint::report::report(&findings, &coverage);
    assert!(diagnostic::render::junit::report(&report).is_ok());
    assert!(
        !diagnostic::render::html::report(&report, &diagnostic::report::Run::default())
            .contains("<script>alert")
    );
    serde_json::to_string(&diagnostic::render::sarif::report(&report)).unwrap();
    for line in diagnostic::render::github::report(&report).lines() {
        assert!(line.starts_with("::"), "a finding begins a line of its own: {line:?}");
    }
}

/// Reads a text as each file of a project: what it declares is on its lines, and fit for a file of an image.
pub fn project(text: &str) {
    let names: Vec<String> = ["a", "dev", "gpu"].map(str::to_owned).into();
    let chosen = project::Selection { extras: names.clone(), groups: names, ..project::Selection::default() };
    for name in ["requirements.txt", "pyproject.toml", ".python-version", "setup.cfg"] {
        let project = match project::read_text(name, text, &chosen) {
            Ok(project) => project,
            Err(error) => {
                assert_clean(&diagnostic::visible::line(&error.to_string()));
                continue;
            }
        };
        for one in &project.dependencies {
            assert!(one.origin.line <= text.lines().count().max(1), "{one:?}");
            assert!(one.origin.span.clone().is_none_or(|span| text.get(span).is_some()), "{one:?}");
        }
        let environment = project::Environment { architecture: "x86_64", pythons: &[9, 12] };
        let declared = project::declare(catalog(), &project, environment).expect("there is no lock");
        for one in &declared.requirements {
            assert_clean(&one.source.to_string());
        }
        for package in &declared.others.packages {
            assert!(resolve::parse::is_requirement(package), "{package:?}");
        }
    }
}

/// What a text is as each kind of a project's lock, and what of it is installed.
pub fn project_lock(text: &str) {
    use project::{Edge, LockFormat, Target, read_lock};
    let names = ["dev".to_owned(), "cuda".to_owned(), "torch".to_owned()];
    for format in [LockFormat::Uv, LockFormat::Poetry, LockFormat::Pylock] {
        for (python, architecture) in [(10, "x86_64"), (12, "aarch64")] {
            let edges = names.clone().map(|name| Edge { name, ..Edge::default() });
            let (extras, groups, declared) = (&names[..], &names[..], &edges[..]);
            let choice = Target { python, architecture, extras, groups, declared };
            let read = read_lock(format, format.file_name(), text);
            let selected = read.and_then(|lock| {
                assert!(lock.packages.iter().all(|one| one.line <= text.lines().count()), "{lock:?}");
                Ok(lock.selected(choice)?.len() <= lock.packages.len())
            });
            match selected {
                Ok(fewer) => assert!(fewer),
                Err(error) => assert_clean(&diagnostic::visible::line(&error.to_string())),
            }
        }
    }
}

/// Facts of a machine that has these readings and nothing else, and the checks of it.
pub fn machine(readings: &[(&str, &str)]) -> facts::Facts {
    let facts = facts::testing::sparse::gpu_host(&facts::testing::Sparse::new(readings));
    for check in checks::CHECKS {
        let _ = checks::judge_one(check, &facts);
    }
    facts
}
