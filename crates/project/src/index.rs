//! Indexes that a TOML file names.

use diagnostic::visible;
use resolve::marker;

use crate::declared::{Declared, Index, IndexRole, Notation};
use crate::project::Project;
use crate::toml_text::Text;
use crate::url::without_login;

/// How an index is defined.
#[derive(Debug)]
pub(crate) struct Defined<'d> {
    pub(crate) role: IndexRole,
    pub(crate) name: Option<&'d Text<'d>>,
}

/// Adds an index.
pub(crate) fn add(project: &mut Project, url: &Text<'_>, defined: &Defined<'_>) {
    let (address, has_login) = without_login(url.value);
    let shown = visible::line(&format!("index {address}")).into_owned();
    let origin = url.origin(Some(0..url.value.len()), shown, Notation::Specifiers);
    let value = Index {
        url: address,
        role: defined.role,
        has_login,
        name: defined.name.map(|text| text.value.to_owned()),
        name_span: defined.name.and_then(|text| text.bytes(0..text.value.len())),
    };
    project.indexes.push(Declared { value, origin });
}

/// Leaves out sources that hold on no Linux, gives the others the text of their index, and leaves out the
/// explicit indexes that no source names.
pub(crate) fn finish(project: &mut Project, file: &str) {
    let indexes = &project.indexes;
    let extras: Vec<&str> = project.extras.iter().map(String::as_str).collect();
    project.sources.retain_mut(|one| {
        if one.origin.file != file {
            return true;
        }
        let index =
            indexes.iter().find(|index| index.origin.file == file && index.value.name == one.value.index);
        if let Some(index) = index.filter(|_| one.value.index.is_some()) {
            let shown = format!("index {} for {}", index.value.url, one.value.package);
            one.origin.text = visible::line(&shown).into_owned();
        }
        one.value.marker.as_deref().is_none_or(|marker| may_hold(marker, &extras))
    });
    let sources = &project.sources;
    project.indexes.retain(|one| {
        let named = || sources.iter().any(|source| source.value.index == one.value.name);
        one.value.role != IndexRole::Explicit || one.origin.file != file || named()
    });
}

/// Whether a marker may hold on Linux.
pub(crate) fn may_hold(marker: &str, extras: &[&str]) -> bool {
    // From the first Python that can still be installed on.
    let on = |architecture| marker::holds_with_all(marker, 8..=15, architecture, extras);
    ["x86_64", "aarch64"].into_iter().any(|architecture| on(architecture) != Some(false))
}
