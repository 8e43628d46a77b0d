//! `pyproject.toml`: the dependencies and the Python of `[project]` (PEP 621).

use std::collections::BTreeMap;
use std::ops::Range;
use std::str::FromStr;

use diagnostic::visible;
use pep440_rs::VersionSpecifiers;
use serde::Deserialize;
use toml::Spanned;

use crate::declared::{Declared, Origin, PythonRange};
use crate::error::ProjectError;
use crate::not_read::{NotRead, Reason};
use crate::project::{Project, ReadFile};
use crate::requirement::{self, Parsed};

#[derive(Debug, Default, Deserialize)]
struct Pyproject {
    project: Option<Table>,
    #[serde(default, rename = "dependency-groups")]
    groups: BTreeMap<String, toml::Value>,
    #[serde(default)]
    tool: toml::Table,
}

#[derive(Debug, Default, Deserialize)]
struct Table {
    #[serde(rename = "requires-python")]
    python: Option<Spanned<String>>,
    #[serde(default)]
    dependencies: Vec<Spanned<String>>,
    #[serde(default, rename = "optional-dependencies")]
    extras: BTreeMap<String, toml::Value>,
    #[serde(default)]
    dynamic: Vec<String>,
}

/// A requirements file that `[tool.setuptools.dynamic]` takes the dependencies from.
pub(crate) type Files = Vec<String>;

/// Adds what the file declares; returns the requirements files that it names.
pub(crate) fn read(project: &mut Project, name: &str, text: &str) -> Result<Files, ProjectError> {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let file = File { name, text, mark };
    let parsed: Pyproject = toml::from_str(&text[mark..]).map_err(|error| ProjectError::Toml {
        file: name.to_owned(),
        line: file.line(error.span().map_or(0, |span| span.start)),
        why: error.message().lines().next().unwrap_or_default().to_owned(),
    })?;
    let Pyproject { project: table, groups, tool } = parsed;
    let table = table.unwrap_or_default();
    project.read.push(ReadFile { name: name.to_owned(), requirements: None, packages: None });
    let index = project.read.len() - 1;
    if let Some(python) = &table.python {
        project.python.push(file.python(python)?);
    }
    for one in &table.dependencies {
        file.dependency(project, one)?;
    }
    let files = dynamic(&tool);
    if !table.dependencies.is_empty() {
        project.read[index].requirements = Some(table.dependencies.len());
    }
    let mut skip = |reason| project.not_read.push(NotRead { file: name.to_owned(), line: None, reason });
    let computed = |key: &str| table.dynamic.iter().any(|one| one == key);
    if computed("dependencies") && files.is_empty() {
        skip(Reason::DynamicMetadata { key: "dependencies" });
    }
    if computed("requires-python") {
        skip(Reason::DynamicMetadata { key: "requires-python" });
    }
    if !table.extras.is_empty() {
        skip(Reason::Extras { names: names(&table.extras) });
    }
    if !groups.is_empty() {
        skip(Reason::Groups { names: names(&groups) });
    }
    for (tool_name, keys) in OF_TOOLS {
        let named = |key: &&&str| tool.get(*tool_name).and_then(|table| table.get(**key)).is_some();
        for key in keys.iter().filter(named) {
            skip(Reason::Table { name: format!("[tool.{tool_name}.{key}]") });
        }
    }
    Ok(if computed("dependencies") { files } else { Vec::new() })
}

/// Tables of tools that declare dependencies, or where they come from.
const OF_TOOLS: &[(&str, &[&str])] = &[
    ("poetry", &["dependencies", "source"]),
    ("uv", &["sources", "index", "index-url", "extra-index-url", "find-links", "dev-dependencies"]),
    ("pdm", &["source", "dev-dependencies"]),
    ("pixi", &["dependencies", "pypi-dependencies"]),
    ("flit", &["metadata"]),
];

fn names(of: &BTreeMap<String, toml::Value>) -> String {
    of.keys().cloned().collect::<Vec<_>>().join(", ")
}

/// `[tool.setuptools.dynamic] dependencies = {file = ["requirements.txt"]}`.
fn dynamic(tool: &toml::Table) -> Files {
    let file = ["setuptools", "dynamic", "dependencies", "file"].iter();
    let mut value = tool.get("setuptools");
    for key in file.skip(1) {
        value = value.and_then(|table| table.get(key));
    }
    match value {
        Some(toml::Value::String(one)) => vec![one.clone()],
        Some(toml::Value::Array(all)) => {
            all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

struct File<'f> {
    name: &'f str,
    text: &'f str,
    /// Bytes of the byte order mark, which the parser does not get.
    mark: usize,
}

impl File<'_> {
    /// The line of an offset behind the mark.
    fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().get(..self.mark + offset).unwrap_or(self.text.as_bytes());
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// The bytes of a string between its quotes, where they are its value.
    fn content(&self, value: &Spanned<String>) -> Option<usize> {
        let Range { start, end } = value.span();
        let (start, end) = (self.mark + start, self.mark + end);
        let inner = self.text.get(start + 1..end.checked_sub(1)?)?;
        (inner == value.get_ref()).then_some(start + 1)
    }

    fn python(&self, value: &Spanned<String>) -> Result<Declared<PythonRange>, ProjectError> {
        let (line, text) = (self.line(value.span().start), value.get_ref());
        let specifiers = VersionSpecifiers::from_str(text).map_err(|_| ProjectError::Malformed {
            file: self.name.to_owned(),
            line,
            what: format!("requires-python {text:?} is not a range of versions; example: >=3.10"),
        })?;
        let span = self.content(value).map(|start| start..start + text.len());
        let text = visible::line(&format!("requires-python {text}")).into_owned();
        let origin = Origin { file: self.name.to_owned(), line, span, text };
        Ok(Declared { value: PythonRange { specifiers }, origin })
    }

    fn dependency(&self, project: &mut Project, value: &Spanned<String>) -> Result<(), ProjectError> {
        let (line, text) = (self.line(value.span().start), value.get_ref().trim());
        let file = self.name.to_owned();
        match requirement::parse(text) {
            Ok(Parsed::Dependency(dependency)) => {
                let range = requirement::specifier(value.get_ref());
                let span = self.content(value).zip(range);
                let span = span.map(|(start, range)| start + range.start..start + range.end);
                let origin = Origin { file, line, span, text: requirement::shown(text) };
                project.dependencies.push(Declared { value: dependency, origin });
                Ok(())
            }
            Ok(Parsed::Elsewhere(reason)) => {
                project.not_read.push(NotRead { file, line: Some(line), reason });
                Ok(())
            }
            Err(why) => Err(ProjectError::Requirement { file, line, text: text.to_owned(), why }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Project, Files) {
        let mut project = Project::default();
        let files = super::read(&mut project, "pyproject.toml", text).unwrap();
        (project, files)
    }

    #[test]
    fn dependencies_and_python_have_their_bytes() {
        let text = "\u{feff}[project]\r\nname = \"a\"\r\nrequires-python = \">=3.10,<3.13\"\r\n\
            dependencies = [\r\n  'torch==2.4.1',  # pinned\r\n  \"numpy<2; python_version < '3.13'\",\r\n  \
            \"pkg @ git+https://h.example/a\",\r\n]\r\n";
        let (project, _) = read(text);
        let shown: Vec<(usize, &str)> = project
            .dependencies
            .iter()
            .map(|one| (one.origin.line, &text[one.origin.span.clone().unwrap()]))
            .collect();
        assert_eq!(shown, [(5, "==2.4.1"), (6, "<2")]);
        let python = &project.python[0].origin;
        assert_eq!((&text[python.span.clone().unwrap()], python.line), (">=3.10,<3.13", 3));
        assert_eq!((project.not_read[0].line, &project.not_read[0].reason), (Some(7), &Reason::Vcs));
    }

    #[test]
    fn what_is_dynamic_or_of_another_tool_is_not_read() {
        let (project, files) = read(
            "[project]\nname = \"a\"\ndynamic = [\"dependencies\", \"version\"]\n\
             [project.optional-dependencies]\ndev = [\"pytest\"]\n[dependency-groups]\n\
             test = [\"tox\"]\n[tool.poetry.dependencies]\ntorch = \"^2.4\"\n\
             [[tool.uv.index]]\nurl = \"https://h.example\"\n",
        );
        let reasons: Vec<String> = project.not_read.iter().map(|one| one.reason.to_string()).collect();
        assert_eq!(
            reasons,
            [
                "dependencies is dynamic",
                "extras dev",
                "groups test",
                "[tool.poetry.dependencies] is not supported",
                "[tool.uv.index] is not supported"
            ]
        );
        assert!(files.is_empty());
        let (project, files) = read(
            "[project]\nname = \"a\"\ndynamic = [\"dependencies\"]\n[tool.setuptools.dynamic]\n\
             dependencies = { file = [\"reqs.txt\"] }\n",
        );
        assert!(project.not_read.is_empty());
        assert_eq!(files, ["reqs.txt"]);
    }

    #[test]
    fn faults_name_the_line() {
        let error = |text: &str| {
            super::read(&mut Project::default(), "pyproject.toml", text).unwrap_err().to_string()
        };
        let broken = error("[project]\nname = \"a\"\ndependencies = [\n  \"torch\n]\n");
        assert!(broken.starts_with("pyproject.toml:4: not valid TOML: "), "{broken}");
        let broken = error("[project]\ndependencies = \"torch\"\n");
        assert!(broken.starts_with("pyproject.toml:2: not valid TOML: "), "{broken}");
        let broken = error("[project]\ndependencies = [\n \"torch=2\",\n]\n");
        assert!(
            broken.starts_with("pyproject.toml:3: cannot read the requirement \"torch=2\": "),
            "{broken}"
        );
        let broken = error("[project]\nrequires-python = \"3.x\"\n");
        assert!(broken.starts_with("pyproject.toml:2: requires-python \"3.x\" is not a range"), "{broken}");
    }
}
