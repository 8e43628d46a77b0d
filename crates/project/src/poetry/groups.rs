//! Groups of Poetry. `poetry install` installs those that are not optional.

use resolve::parse::package_name;

use super::dependency::Reader;
use crate::choice::{Choice, skip_groups};
use crate::error::ProjectError;
use crate::purpose::purpose;
use crate::toml_text::Table;

/// Adds the dependencies of the groups that count; their names.
pub(super) fn read(
    reader: &mut Reader<'_>,
    choice: &mut Choice,
    file: &str,
    table: &Table<'_>,
) -> Result<Vec<String>, ProjectError> {
    let mut groups: Vec<(String, Table<'_>)> = Vec::new();
    if let Some(all) = table.table("group")? {
        for node in all.entries() {
            groups.push((package_name(node.key), node.table()?));
        }
    }
    let old = table.table("dev-dependencies")?;
    let mut chosen: Vec<String> = Vec::new();
    for (name, group) in &groups {
        choice.groups.offer(name);
        if choice.groups.is_asked(name) || !group.is_true("optional") && purpose(name).is_none() {
            chosen.push(name.clone());
        }
    }
    if old.is_some() {
        choice.groups.offer("dev");
    }
    // They can include others, which need not be chosen.
    let mut at = 0;
    while let Some(name) = chosen.get(at).cloned() {
        for (_, group) in groups.iter().filter(|(one, _)| *one == name) {
            let included = group.strings("include-groups")?;
            let new = included.iter().map(|text| package_name(text.value));
            let new: Vec<String> = new.filter(|one| !chosen.contains(one)).collect();
            chosen.extend(new);
        }
        at += 1;
    }
    for (_, group) in groups.iter().filter(|(name, _)| chosen.contains(name)) {
        for node in group.table("dependencies")?.map(|table| table.entries()).unwrap_or_default() {
            reader.package(&node)?;
        }
    }
    let old_asked = choice.groups.is_asked("dev");
    for node in old.filter(|_| old_asked).map(|table| table.entries()).unwrap_or_default() {
        reader.package(&node)?;
    }
    let old_left = (old.is_some() && !old_asked).then(|| "dev".to_owned());
    let mut left: Vec<String> = groups.iter().map(|(name, _)| name.clone()).chain(old_left).collect();
    left.retain(|name| !chosen.contains(name));
    skip_groups(reader.project, file, &left);
    chosen.retain(|name| groups.iter().any(|(one, _)| one == name));
    Ok(chosen)
}
