//! The Python that a table of pyproject.toml requires.

use diagnostic::visible;
use pep440_rs::VersionSpecifiers;

use crate::declared::{Declared, Notation, PythonRange};
use crate::error::ProjectError;
use crate::project::Project;
use crate::toml_text::Text;

/// Adds the Python of a project; `range`: what the text says.
pub(crate) fn python(
    project: &mut Project,
    text: &Text<'_>,
    key: &'static str,
    range: Option<VersionSpecifiers>,
    notation: Notation,
) -> Result<(), ProjectError> {
    let specifiers = range.ok_or_else(|| ProjectError::Range {
        file: text.file(),
        line: text.line(),
        key,
        text: text.value.to_owned(),
        example: ">=3.10",
    })?;
    let shown = visible::line(&format!("{key} {}", text.value)).into_owned();
    let origin = text.origin(Some(0..text.value.len()), shown, notation);
    project.python.push(Declared { value: PythonRange { specifiers }, origin });
    Ok(())
}
