//! Lines that name an index of a torch build.

use super::NewBuild;
use super::builds::of_builds;
use super::writer::{Writer, is_toml};
use crate::declare::FAMILY;
use crate::declared::{Declared, Index, IndexRole, Origin};
use crate::not_read::Reason;
use crate::project::Project;

/// Replaces the builds of indexes by the new one; adds its pages where none is named.
pub(super) fn change(writer: &mut Writer<'_>, build: &NewBuild) {
    let project = writer.project;
    let mut named = false;
    for (position, one, old) in of_builds(project) {
        named = true;
        if old == build.name {
            continue;
        }
        let (old, new) = (format!("/{old}"), format!("/{}", build.name));
        let Some(text) = writer.text(&one.origin.file) else { continue };
        match in_line(text, one.origin.line, &old) {
            Some(start) => {
                writer.replace(&one.origin.file, start..start + old.len(), new.clone());
                let url = &mut writer.expected.indexes[position].value.url;
                *url = moved(url, &old, &new);
            }
            None => writer.hand(format!("{}: write {} in place of {old}", one.origin, build.name)),
        }
    }
    let Some(index) = &build.index else { return };
    match writer.needs_pages() {
        _ if named => {}
        Some(file) => add_pages(writer, file, index),
        None => {
            let from = of_tools(project).unwrap_or_default();
            writer
                .notes
                .push(format!("Install torch {} from {index}: PyPI has another build.{from}", build.torch));
        }
    }
}

/// The only place of a part of an address in a line.
fn in_line(text: &str, line: usize, part: &str) -> Option<usize> {
    let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let whole = text[before..].split('\n').next()?;
    let ends = |at: &usize| {
        let next = whole[at + part.len()..].chars().next();
        next.is_none_or(|next| next == '/' || next.is_whitespace() || ['"', '\''].contains(&next))
    };
    let mut places = whole.match_indices(part).map(|(at, _)| at).filter(ends);
    let first = places.next()?;
    places.next().is_none().then_some(before + first)
}

fn moved(url: &str, old: &str, new: &str) -> String {
    match in_line(url, 1, old) {
        Some(at) => format!("{}{new}{}", &url[..at], &url[at + old.len()..]),
        None => url.to_owned(),
    }
}

/// Adds pages of the build at the beginning of a file: as an index it would also serve old copies of other
/// packages.
fn add_pages(writer: &mut Writer<'_>, file: &str, index: &str) {
    let Some(text) = writer.text(file) else { return };
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let end = if text.split('\n').next().is_some_and(|line| line.ends_with('\r')) { "\r\n" } else { "\n" };
    let declared = |name: &&&str| writer.project.dependencies.iter().any(|one| one.value.name == **name);
    let names: Vec<&str> = FAMILY.iter().filter(declared).copied().collect();
    let mut lines = String::new();
    for name in names {
        let url = format!("{index}/{name}/");
        lines += &format!("--find-links {url}{end}");
        let origin = Origin { file: file.to_owned(), line: 1, span: None, text: String::new() };
        let value = Index { url, role: IndexRole::FindLinks, has_login: false };
        writer.expected.indexes.push(Declared { value, origin });
    }
    writer.replace(file, start..start, lines);
}

/// Tables of tools that may name an index and are not read.
fn of_tools(project: &Project) -> Option<String> {
    let is_of_indexes =
        |name: &str| ["[tool.uv.", "[tool.poetry.", "[tool.pdm."].iter().any(|one| name.starts_with(one));
    let names: Vec<String> = project
        .not_read
        .iter()
        .filter(|one| is_toml(&one.file))
        .filter_map(|one| match &one.reason {
            Reason::Table { name } if is_of_indexes(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    (!names.is_empty()).then(|| format!(" {} may name an index too and is not read.", names.join(", ")))
}
