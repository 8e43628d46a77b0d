//! One file of a project, by its text alone.

use std::path::Path;

use crate::choice::Choice;
use crate::declared::DeclaredBy;
use crate::error::ProjectError;
use crate::not_read::Reason;
use crate::project::{Project, ReadFile};
use crate::requirements::{Loaded, Reader};
use crate::selection::Selection;
use crate::{pyproject, python_version, setup_cfg};

/// Reads a `pyproject.toml`, a `setup.cfg`, a `.python-version` or, by any other name, a requirements file.
/// Files that it includes are not read. Of `selection` extras and groups count.
pub fn read_text(name: &str, text: &str, selection: &Selection) -> Result<Project, ProjectError> {
    let mut project = Project::default();
    let mut choice = Choice::of(selection);
    match Path::new(name).file_name().and_then(|name| name.to_str()) {
        Some("pyproject.toml") => {
            pyproject::read(&mut project, &mut choice, name, text)?;
        }
        Some("setup.cfg") => {
            setup_cfg::read(&mut project, &mut choice, name, text)?;
        }
        Some(".python-version") => match python_version::read(name, text) {
            Ok(python) => {
                project.python.extend(python);
                project.read.push(ReadFile::new(name));
            }
            Err(not_read) => project.not_read.push(not_read),
        },
        _ => {
            let mut first = Some(text.to_owned());
            let mut load = |_: &Path| {
                let refused = Loaded::Refused(Reason::NotChosen { kind: None });
                Ok(first.take().map_or(refused, Loaded::Text))
            };
            Reader::new(&mut load).file(&mut project, Path::new(name), DeclaredBy::Main, None)?;
        }
    }
    Ok(project)
}
