//! Lines that name an index of a torch build.

use std::ops::Range;

use super::NewBuild;
use super::builds::of_builds;
use super::writer::Writer;
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
                rename(writer, position, text, &old[1..], &new[1..]);
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

/// Gives an index that is named for its build the name of the new one, and the sources that name it too:
/// `pytorch-cu121`.
fn rename(writer: &mut Writer<'_>, position: usize, text: &str, old: &str, new: &str) {
    let index = &writer.project.indexes[position];
    let (Some(name), Some(span)) = (&index.value.name, &index.value.name_span) else { return };
    let renamed = name.replacen(old, new, 1);
    let sources = writer.project.sources.iter().enumerate();
    let named: Vec<(usize, Range<usize>)> = sources
        .filter(|(_, one)| one.origin.file == index.origin.file && one.value.index.as_ref() == Some(name))
        .filter_map(|(at, one)| Some((at, one.origin.span.clone()?)))
        .collect();
    let quoted = |quote: char| text.matches(&format!("{quote}{name}{quote}")).count();
    // Sources of other systems or extras may name it, and another index may have the name.
    let everywhere = quoted('"') + quoted('\'') == named.len() + 1;
    let taken = writer.project.indexes.iter().any(|one| one.value.name.as_ref() == Some(&renamed));
    if renamed == *name || !everywhere || taken {
        return;
    }
    let file = index.origin.file.as_str();
    writer.replace(file, span.clone(), renamed.clone());
    writer.expected.indexes[position].value.name = Some(renamed.clone());
    for (at, span) in named {
        writer.replace(file, span, renamed.clone());
        writer.expected.sources[at].value.index = Some(renamed.clone());
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
        let origin = Origin { file: file.to_owned(), line: 1, ..Origin::default() };
        let value = Index { url, role: IndexRole::FindLinks, has_login: false, name: None, name_span: None };
        writer.expected.indexes.push(Declared { value, origin });
    }
    writer.replace(file, start..start, lines);
}

/// Tables of tools that may name an index and are not read.
fn of_tools(project: &Project) -> Option<String> {
    let names: Vec<String> = project
        .not_read
        .iter()
        .filter_map(|one| match &one.reason {
            Reason::Table { name } if name.starts_with("[tool.pdm.") => Some(name.clone()),
            _ => None,
        })
        .collect();
    (!names.is_empty()).then(|| format!(" {} may name an index too and is not read.", names.join(", ")))
}
