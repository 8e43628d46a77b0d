//! A package whose build imports torch, in uv's isolated build environment.

use toml::Value;

use crate::kind::Kind;
use crate::read::packages::PackageList;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "build-isolation-of-uv",
    severity: Severity::Warning,
    summary: "uv builds packages that import torch while they are built where torch is",
    explain: include_str!("build_isolation_of_uv.md"),
    judge: Judge::Packages(judge),
    fires: &[
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = [\"torch==2.4.1\", \
             \"flash-attn==2.6.3\"]\n[tool.uv.sources]\ntorch = { index = \"x\" }\n[[tool.uv.index]]\nname = \
             \"x\"\nurl = \"https://download.pytorch.org/whl/cu121\"\n",
        ),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = [\"torch\"]\n\
             [project.optional-dependencies]\nfast = [\"flash_attn>=2.6\"]\n[tool.uv]\npackage = true\n",
        ),
    ],
    silent: &[
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = [\"torch\", \"flash-attn\"]\n\
             [tool.uv]\nno-build-isolation-package = [\"flash-attn\"]\n",
        ),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = [\"torch\", \"flash-attn\"]\n\
             [tool.uv.extra-build-dependencies]\nflash-attn = [{ requirement = \"torch\", match-runtime = \
             true }]\n",
        ),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = [\"torch\", \"flash-attn\"]\n\
             [tool.uv.sources]\nflash-attn = { url = \"https://example.com/flash_attn-2.6.3-cp311.whl\" }\n",
        ),
        named(
            "pyproject.toml",
            "[project]\nname = \"a\"\nversion = \"1\"\ndependencies = [\"torch\", \"flash-attn\"]\n",
        ),
    ],
};

/// Packages with only a source distribution on PyPI, whose setup.py imports torch, and which do not declare
/// it for the build.
const IMPORT_TORCH: &[&str] = &["flash-attn"];

fn judge(list: &PackageList) -> Vec<Found> {
    if list.kind != Kind::Pyproject {
        return Vec::new();
    }
    let Ok(file) = list.text.parse::<toml::Table>() else { return Vec::new() };
    let Some(uv) = file.get("tool").and_then(|tool| tool.get("uv")) else { return Vec::new() };
    let named = requirements(&file);
    let found = IMPORT_TORCH.iter().filter_map(|package| {
        let text = named.iter().find(|text| normalized(text) == *package)?;
        (!is_arranged(uv, package)).then(|| finding(list, package, text))
    });
    found.collect()
}

fn finding(list: &PackageList, package: &str, text: &str) -> Found {
    let message = format!(
        "uv builds {package} in an environment without torch, which its setup.py imports; `uv sync` fails \
         with `No module named 'torch'`"
    );
    let fix = format!("Add `no-build-isolation-package = [\"{package}\"]` to [tool.uv]");
    Found::warning(list.line_of(text), message, fix)
}

/// The requirements of the project, its extras and groups.
fn requirements(file: &toml::Table) -> Vec<&str> {
    let project = file.get("project");
    let own = project.and_then(|project| project.get("dependencies"));
    let extras = project.and_then(|project| project.get("optional-dependencies"));
    let tables = extras.into_iter().chain(file.get("dependency-groups")).filter_map(Value::as_table);
    let lists = own.into_iter().chain(tables.flat_map(toml::Table::values));
    lists.filter_map(Value::as_array).flatten().filter_map(Value::as_str).collect()
}

/// The name of a requirement, normalised.
fn normalized(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c)).unwrap_or(text.len());
    text[..end].to_ascii_lowercase().replace(['_', '.'], "-")
}

/// Whether the settings say how to build a package, or where it comes from.
fn is_arranged(uv: &Value, package: &str) -> bool {
    let lists = ["no-build-isolation-package", "no-build-package"];
    let in_list = lists.iter().filter_map(|key| uv.get(key)?.as_array()).flatten();
    let tables = ["sources", "extra-build-dependencies"];
    let in_table = tables.iter().filter_map(|key| uv.get(key)?.as_table()).flat_map(toml::Table::keys);
    let off = ["no-build-isolation", "no-build", "no-sources", "find-links"];
    let named = in_list.filter_map(Value::as_str).chain(in_table.map(String::as_str));
    let mut named = named.map(normalized);
    named.any(|name| name == package)
        || off.iter().any(|key| uv.get(key).is_some())
        || uv.get("pip").is_some_and(|pip| pip.get("no-build-isolation").is_some())
        // Overrides and metadata may leave it out of the environment.
        || uv.get("override-dependencies").is_some()
        || uv.get("environments").is_some()
        // A member of a workspace has the settings of its root.
        || sources(uv).any(|source| source.get("workspace").is_some())
}

fn sources(uv: &Value) -> impl Iterator<Item = &Value> {
    uv.get("sources").and_then(Value::as_table).into_iter().flat_map(toml::Table::values)
}
