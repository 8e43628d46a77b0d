//! A project in which setuptools finds no single package.

use crate::kind::Kind;
use crate::read::packages::PackageList;
use crate::rule::{Found, Judge, Rule, Severity, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "several-top-level-packages",
    severity: Severity::Error,
    summary: "setuptools knows which of several directories are packages",
    explain: include_str!("several_top_level_packages.md"),
    judge: Judge::Packages(judge),
    fires: &[named_with(
        "pyproject.toml",
        "[build-system]\nrequires = [\"setuptools>=61\"]\nbuild-backend \
         = \"setuptools.build_meta\"\n\n[project]\n\
         name = \"trainer\"\nversion = \"1\"\n",
        &[("trainer/", ""), ("configs/", ""), ("tests/", "")],
    )],
    silent: &[
        named_with(
            "pyproject.toml",
            "[build-system]\nrequires = [\"setuptools>=61\"]\nbuild-backend = \"setuptools.build_meta\"\n\n\
             [project]\nname = \"trainer\"\nversion = \"1\"\n\n[tool.setuptools]\npackages = [\"trainer\"]\n",
            &[("trainer/", ""), ("configs/", "")],
        ),
        named_with(
            "pyproject.toml",
            "[build-system]\nrequires = [\"setuptools>=61\"]\nbuild-backend = \"setuptools.build_meta\"\n\n\
             [project]\nname = \"trainer\"\nversion = \"1\"\n",
            &[("src/", ""), ("configs/", ""), ("data/", "")],
        ),
        named_with(
            "pyproject.toml",
            "[build-system]\nrequires = [\"hatchling\"]\nbuild-backend \
             = \"hatchling.build\"\n\n[project]\nname = \
             \"trainer\"\nversion = \"1\"\n",
            &[("trainer/", ""), ("configs/", "")],
        ),
    ],
};

/// Directories that any release of setuptools leaves out (FlatLayoutPackageFinder.DEFAULT_EXCLUDE).
const EXCLUDED: &[&str] = &[
    "ci",
    "bin",
    "debian",
    "doc",
    "docs",
    "documentation",
    "manpages",
    "news",
    "newsfragments",
    "changelog",
    "test",
    "tests",
    "unit_test",
    "unit_tests",
    "example",
    "examples",
    "scripts",
    "tools",
    "util",
    "utils",
    "python",
    "build",
    "benchmark",
    "benchmarks",
    "exercise",
    "exercises",
    "htmlcov",
    "tasks",
    "fabfile",
    "site_scons",
    "dist",
    "venv",
    "env",
    "requirements",
    "target",
    "node_modules",
];

fn judge(list: &PackageList) -> Vec<Found> {
    let table = list.text.parse::<toml::Table>().ok().filter(|_| list.kind == Kind::Pyproject);
    let Some(table) = table else { return Vec::new() };
    let backend =
        table.get("build-system").and_then(|build| build.get("build-backend")).and_then(toml::Value::as_str);
    let setuptools = backend == Some("setuptools.build_meta");
    let configured = table.get("tool").and_then(|tool| tool.get("setuptools")).is_some();
    // These may say it as well.
    let other = ["setup.py", "setup.cfg"].iter().any(|name| matches!(list.context.get(*name), Some(Some(_))));
    if !setuptools
        || configured
        || other
        || table.get("project").is_none()
        || list.context.contains_key("src/")
    {
        return Vec::new();
    }
    let identifier = |name: &str| {
        name.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let packages: Vec<&str> = list
        .context
        .keys()
        .filter_map(|path| path.strip_suffix('/'))
        .filter(|name| identifier(name) && !EXCLUDED.contains(name))
        .collect();
    if packages.len() < 2 {
        return Vec::new();
    }
    let message = format!(
        "setuptools takes {} for packages and stops: `Multiple top-level packages discovered in a \
         flat-layout`",
        packages.join(", ")
    );
    let fix = "Add `[tool.setuptools.packages.find]` with `include`, or move the package below src";
    vec![Found::error(list.line_of("build-backend"), message, fix)]
}
