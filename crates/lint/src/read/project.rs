//! Requirements of pip in other files, line by line: `pyproject.toml`, the environment of conda.
//!
//! Each set of requirements that is installed together becomes the text of a requirements file, in which a
//! requirement is on its line of the original.

use std::collections::BTreeMap;

use catalog::Catalog;
use serde::Deserialize;
use toml::Spanned;

use super::dockerfile::Dockerfile;
use super::line_index::LineIndex;
use crate::file::Context;

/// Requirements by the offsets of their texts.
type Texts = Vec<Spanned<toml::Value>>;

/// What is read of `pyproject.toml`.
#[derive(Debug, Default, Deserialize)]
struct Pyproject {
    project: Option<Project>,
    #[serde(default, rename = "dependency-groups")]
    groups: BTreeMap<String, Texts>,
    tool: Option<toml::Table>,
}

#[derive(Debug, Default, Deserialize)]
struct Project {
    #[serde(default)]
    dependencies: Texts,
    #[serde(default, rename = "optional-dependencies")]
    optional: BTreeMap<String, Texts>,
}

/// An index that nobody knows: builds of its own may be there.
const OTHER_INDEX: &str = "--index-url https://index.invalid/simple";

/// The most lines of all sets together; a file of 1000 lines may have as many sets.
const LINES_LIMIT: usize = 1 << 20;

/// The requirements of `pyproject.toml`: those of the project, then each extra and group on its own. None
/// where only tools other than pip know them.
///
/// # Errors
/// When the file is not TOML, or its dependencies, extras or groups are not lists.
pub(crate) fn pyproject(text: &str) -> Result<Vec<String>, toml::de::Error> {
    let Pyproject { project, groups, tool } = toml::from_str(text)?;
    let Project { dependencies, optional } = project.unwrap_or_default();
    let sets = std::iter::once(dependencies).chain(optional.into_values()).chain(groups.into_values());
    let elsewhere = tool.is_some_and(|tool| has_sources(&tool));
    let index = LineIndex::new(text);
    // Each set becomes a text of as many lines as the file has.
    let limit = LINES_LIMIT / text.lines().count().max(1);
    let sets = sets.filter(|set| !set.is_empty()).take(limit).map(|set| {
        let at = |one: &Spanned<toml::Value>| index.line(one.span().start);
        let requirements = set.iter().filter_map(|one| Some((at(one), one.get_ref().as_str()?)));
        let mut lines = numbered(text, requirements);
        lines.extend(elsewhere.then(|| OTHER_INDEX.to_owned()));
        lines.join("\n")
    });
    Ok(sets.collect())
}

/// Whether a tool's table names other indexes or sources.
fn has_sources(tool: &toml::Table) -> bool {
    let named = |name: &str, key: &str| tool.get(name).and_then(|table| table.get(key)).is_some();
    let uv = ["index", "index-url", "extra-index-url", "sources", "find-links", "pip"];
    uv.iter().any(|key| named("uv", key)) || named("poetry", "source") || named("pdm", "source")
}

/// The requirements of pip in an environment of conda: the list below `- pip:`.
pub(crate) fn conda(text: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut found: Vec<(usize, &str)> = Vec::new();
    let mut list: Option<usize> = None;
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let item = trimmed.strip_prefix("- ").map(str::trim);
        list = list.filter(|outer| indent(line) > *outer);
        match (list, item) {
            (None, Some("pip:")) => list = Some(indent(line)),
            (Some(_), Some(item)) => found.push((index, item.trim_matches(['"', '\'']))),
            _ => {}
        }
    }
    match found.is_empty() {
        true => Vec::new(),
        false => vec![numbered(text, found.into_iter()).join("\n")],
    }
}

/// A Dockerfile that installs each set into an unknown image, in a stage of its own.
pub(crate) fn installed(catalog: &'static Catalog, sets: Vec<String>) -> Dockerfile {
    // Without packages it is an image that installs nothing.
    let sets = if sets.is_empty() { vec![String::new()] } else { sets };
    let (mut text, mut context) = ("ARG BASE\n".to_owned(), Context::new());
    for (count, set) in sets.into_iter().enumerate() {
        // The first set is the file itself, to people too.
        let name = match count {
            0 => "requirements.txt".to_owned(),
            _ => format!("{count}/requirements.txt"),
        };
        text.push_str(&format!(
            "FROM $BASE\nCOPY {name} /r/{name}\nRUN pip install --no-cache-dir -r /r/{name}\n"
        ));
        context.insert(name, Some(set));
    }
    Dockerfile::read(catalog, &text, &context)
}

/// Lines with each requirement on its own line of the file. A second one on the same line is left out.
fn numbered<'t>(text: &str, requirements: impl Iterator<Item = (usize, &'t str)>) -> Vec<String> {
    let mut lines = vec![String::new(); text.lines().count()];
    for (index, requirement) in requirements {
        if let Some(line) = lines.get_mut(index).filter(|line| line.is_empty()) {
            *line = requirement.lines().next().unwrap_or_default().to_owned();
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(sets: &[String]) -> Vec<Vec<(usize, &str)>> {
        sets.iter()
            .map(|set| {
                let lines = set.lines().enumerate().filter(|(_, line)| !line.is_empty());
                lines.map(|(index, line)| (index + 1, line)).collect()
            })
            .collect()
    }

    #[test]
    fn projects() {
        let text = "[project]\nname = \"a\"\ndependencies = [\n  \"torch==2.6.0\",\n  \"numpy<2\",\n]\n\
            [project.optional-dependencies]\ndev = [\"pytest\"]\n";
        let sets = pyproject(text).unwrap();
        assert_eq!(shown(&sets), [vec![(4, "torch==2.6.0"), (5, "numpy<2")], vec![(8, "pytest")]]);
        let other = format!("{text}[tool.uv.sources]\ntorch = {{ index = \"x\" }}\n");
        assert!(pyproject(&other).unwrap()[0].ends_with(OTHER_INDEX));
        assert_eq!(
            pyproject("[tool.poetry.dependencies]\ntorch = \"2.6.0\"\n").unwrap(),
            Vec::<String>::new()
        );
        assert!(pyproject("dependencies = [").is_err());
        assert!(pyproject("[project]\ndependencies = \"torch\"\n").is_err());
    }

    #[test]
    fn environments_of_conda() {
        let text = "name: a\ndependencies:\n  - python=3.11\n  - pip:\n    # wheels\n    - torch==2.6.0\n\
            \x20   - 'numpy<2'\n\
            \x20 - gcc\n";
        assert_eq!(shown(&conda(text)), [vec![(6, "torch==2.6.0"), (7, "numpy<2")]]);
        assert_eq!(conda("dependencies:\n- python\n"), Vec::<String>::new());
    }
}
