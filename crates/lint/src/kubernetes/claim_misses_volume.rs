//! A claim that does not fit the volume that it names.

use std::collections::BTreeSet;

use super::quantity_invalid::amount;
use crate::read::compose::text;
use crate::read::manifest::{Document, Manifest, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "claim-misses-volume",
    severity: Severity::Warning,
    summary: "a claim asks its volume for no more than it offers",
    explain: include_str!("claim_misses_volume.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "pv.yaml",
            "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: models}\nspec:\n  capacity: {storage: \
             100Gi}\n  accessModes: [ReadWriteMany]\n  storageClassName: nfs\n  nfs: {server: a, path: \
             /b}\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: models}\nspec:\n  \
             accessModes: [ReadWriteMany]\n  storageClassName: nfs\n  volumeName: models\n  resources: \
             {requests: {storage: 200Gi}}\n",
        ),
        named(
            "pv.yaml",
            "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: m}\nspec:\n  capacity: {storage: \
             1Ti}\n  accessModes: [ReadOnlyMany]\n  storageClassName: \"\"\n  nfs: {server: a, path: \
             /b}\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: \
             c}\nspec:\n  accessModes: \
             [ReadWriteMany]\n  storageClassName: \"\"\n  volumeName: m\n  resources: {requests: {storage: \
             1Ti}}\n",
        ),
        named(
            "pv.yaml",
            "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: m}\nspec:\n  capacity: {storage: \
             1Ti}\n  accessModes: [ReadWriteMany]\n  storageClassName: lustre\n---\napiVersion: v1\nkind: \
             PersistentVolumeClaim\nmetadata: {name: c}\nspec:\n  accessModes: [ReadWriteMany]\n  \
             storageClassName: nfs\n  volumeName: m\n  resources: {requests: {storage: 500Gi}}\n",
        ),
    ],
    silent: &[
        named(
            "pv.yaml",
            "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: m}\nspec:\n  capacity: {storage: \
             1Ti}\n  accessModes: [ReadWriteMany, ReadOnlyMany]\n  storageClassName: nfs\n---\napiVersion: \
             v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\nspec:\n  accessModes: [ReadOnlyMany]\n  \
             storageClassName: nfs\n  volumeName: m\n  resources: {requests: {storage: 500Gi}}\n",
        ),
        named(
            "pv.yaml",
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\nspec:\n  accessModes: \
             [ReadWriteMany]\n  volumeName: other\n  resources: {requests: {storage: 500Gi}}\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let volumes: Vec<&Document> =
        file.documents.iter().chain(&file.others).filter(|one| one.is("PersistentVolume")).collect();
    let claims = file.documents.iter().filter(|one| one.is("PersistentVolumeClaim"));
    claims.flat_map(|claim| of_claim(claim, &volumes)).collect()
}

fn of_claim(claim: &Document, volumes: &[&Document]) -> Vec<Found> {
    let named = scalar(&claim.value, &["spec", "volumeName"]);
    let Some(volume) = volumes.iter().find(|one| Some(&one.name) == named.as_ref()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let refused = "the claim stays Pending";
    let asked = scalar(&claim.value, &["spec", "resources", "requests", "storage"]);
    let offered = scalar(&volume.value, &["spec", "capacity", "storage"]);
    if let (Some(asked), Some(offered)) = (asked, offered)
        && let (Some(more), Some(less)) = (amount(&asked), amount(&offered))
        && more > less
    {
        let line = claim.line_of(&["spec", "resources", "requests", "storage"]);
        let message = format!("asks for {asked}, but volume {} has {offered}; {refused}", volume.name);
        found.push(Found::warning(line, message, format!("Ask for {offered} at most")));
    }
    let modes = |one: &Document| -> BTreeSet<String> {
        let spec = one.at(&["spec"]).map_or_else(Vec::new, |spec| list(spec, "accessModes"));
        spec.into_iter().filter_map(text).collect()
    };
    let (own, of_volume) = (modes(claim), modes(volume));
    if let Some(mode) = own.iter().find(|mode| !of_volume.contains(*mode)).filter(|_| !of_volume.is_empty()) {
        let all = of_volume.iter().cloned().collect::<Vec<_>>().join(", ");
        let message = format!("asks for {mode}, but volume {} offers {all}; {refused}", volume.name);
        let line = claim.line_of(&["spec", "accessModes"]);
        found.push(Found::warning(line, message, format!("Write `accessModes: [{all}]` in one of them")));
    }
    let class = |one: &Document| scalar(&one.value, &["spec", "storageClassName"]);
    if let (Some(own), Some(of_volume)) = (class(claim), class(volume))
        && own != of_volume
    {
        let message = format!(
            "storageClassName is {own:?}, but that of volume {} is {of_volume:?}; {refused}",
            volume.name
        );
        let line = claim.line_of(&["spec", "storageClassName"]);
        found.push(Found::warning(line, message, format!("Write `storageClassName: {of_volume:?}`")));
    }
    found
}
