//! What the kustomizations around a manifest make of it: a patch of other manifests, or one of those to which
//! they add labels and selectors.

use serde_yaml::Value;

use super::compose::{below, text};
use super::dockerfile::copied::join;
use crate::file::Over;
use crate::recognize::base_name;

/// The names under which Kustomize looks for its file (kubernetes-sigs/kustomize:
/// api/konfig/general.go, RecognizedKustomizationFileNames).
pub(crate) const NAMES: &[&str] = &["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// What a file is to the kustomizations that name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It has only what changes in other manifests.
    Patch,
    /// It is built with others; labels and selectors may be added, also by a kustomization elsewhere that is
    /// built on this one.
    Resource,
}

/// The role of a file of this name.
pub(crate) fn role(name: &str, around: &[Over]) -> Option<Role> {
    let own = join("", name);
    let of = |one: &Over| {
        let folder = one.name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let is_own = |path: &String| join(folder, path) == own;
        let value: Value = serde_yaml::from_str(&one.text).unwrap_or_default();
        let patched = patches(&value).chain(commented_patches(&one.text)).any(|path| is_own(&path));
        let named = || strings(&value, "resources").chain(strings(&value, "bases")).any(|path| is_own(&path));
        match patched {
            true => Some(Role::Patch),
            false => named().then_some(Role::Resource),
        }
    };
    let kustomizations = around.iter().filter(|one| has_its_name(&one.name));
    let roles: Vec<Role> = kustomizations.filter_map(of).collect();
    let patch = roles.iter().find(|role| **role == Role::Patch);
    patch.or(roles.first()).copied()
}

/// Whether a text is a configuration of Kustomize, which needs neither `kind` nor `apiVersion`.
pub(crate) fn is_kustomization(text: &str) -> bool {
    let keys = ["resources:", "bases:", "components:", "patches:", "patchesStrategicMerge:"];
    text.contains("kustomize.config.k8s.io")
        || text.lines().any(|line| keys.iter().any(|key| line.starts_with(key)))
}

/// The paths that a kustomization names: resources and patches, from its directory.
pub(crate) fn named_by(text: &str) -> Vec<String> {
    let value: Value = serde_yaml::from_str(text).unwrap_or_default();
    let resources = ["resources", "bases", "components"].into_iter().flat_map(|key| strings(&value, key));
    let mut found: Vec<String> = resources.chain(patches(&value)).collect();
    found.retain(|path| !path.contains(['\n', ':', '$']) && !path.is_empty());
    found
}

fn has_its_name(name: &str) -> bool {
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(&base_name(name)))
}

fn strings(value: &Value, key: &str) -> impl Iterator<Item = String> {
    let items = below(value, &[key]).and_then(Value::as_sequence).into_iter().flatten();
    items.filter_map(text).collect::<Vec<_>>().into_iter()
}

/// The files of patches: `patches` and `patchesJson6902` name them under `path`.
fn patches(value: &Value) -> impl Iterator<Item = String> {
    let of = |key: &str| below(value, &[key]).and_then(Value::as_sequence).into_iter().flatten();
    let paths = of("patches").chain(of("patchesJson6902")).filter_map(|one| text(below(one, &["path"])?));
    paths.chain(strings(value, "patchesStrategicMerge")).collect::<Vec<_>>().into_iter()
}

/// Patches that are commented out, as generated kustomizations have them: `#- path: webhook_patch.yaml`.
fn commented_patches(source: &str) -> impl Iterator<Item = String> {
    let mut of_patches = false;
    let mut found = Vec::new();
    for line in source.lines() {
        let bare = line.trim_start_matches('#').trim();
        if let Some(key) = bare.strip_suffix(':').filter(|key| !key.contains([' ', '-'])) {
            of_patches = key.starts_with("patches") || of_patches && line.starts_with([' ', '#']);
            continue;
        }
        if !line.starts_with('#') || !of_patches {
            continue;
        }
        let item = bare.strip_prefix("- ");
        let path = item.unwrap_or(bare).trim().strip_prefix("path:").or(item);
        let path = path.and_then(|path| path.split(" #").next()).map(|path| path.trim().to_owned());
        found.extend(path.filter(|path| path.ends_with(".yaml") || path.ends_with(".yml")));
    }
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_of_files() {
        let text = "resources:\n- manager.yaml\n- ../base\npatches:\n# [AUTH] protects metrics\n\
            - path: auth.yaml\n  target: {kind: Deployment}\n#- path: hook.yaml\n#- target:\n\
            #    kind: Deployment\n#  path: late.yaml\npatchesStrategicMerge: [more/image.yaml]\n\
            #configurations:\n";
        let around = [Over::new("config/default/kustomization.yaml", text)];
        let of = |name: &str| role(name, &around);
        for patch in ["auth.yaml", "hook.yaml", "late.yaml", "more/image.yaml"] {
            assert_eq!(of(&format!("config/default/{patch}")), Some(Role::Patch), "{patch}");
        }
        assert_eq!(of("./config/default/manager.yaml"), Some(Role::Resource));
        assert_eq!(of("config/base"), Some(Role::Resource));
        assert_eq!(of("config/default/other.yaml"), None);
        assert_eq!(of("config/auth.yaml"), None);
        let broken = [Over::new("kustomization.yaml", "resources: [")];
        assert_eq!(role("a.yaml", &broken), None);
    }
}
