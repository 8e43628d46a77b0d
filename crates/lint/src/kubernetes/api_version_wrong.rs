//! An apiVersion that has no such kind.

use catalog::Table;
use catalog::kubernetes_kinds::KubernetesKind;

use crate::read::manifest::{Document, Manifest};
use crate::rule::{Change, Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "api-version-wrong",
    severity: Severity::Error,
    summary: "each document's apiVersion serves its kind",
    explain: include_str!("api_version_wrong.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named("d.yaml", "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: a}\n"),
        named("j.yaml", "apiVersion: v1\nkind: Job\nmetadata: {name: a}\n"),
        named("c.yaml", "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\n"),
        named("p.yaml", "apiVersion: v1\nkind: pod\nmetadata: {name: a}\n"),
    ],
    silent: &[
        named("r.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a}\n"),
        named("j.yaml", "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\n"),
        named("s.yaml", "apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: a}\n"),
    ],
};

/// Groups of Kubernetes itself: a kind that they do not have is refused.
const OWN: &[&str] = &["", "apps", "batch", "extensions", "policy", "networking.k8s.io", "node.k8s.io"];

fn judge(file: &Manifest) -> Vec<Found> {
    let known = file.catalog.kubernetes_kinds();
    let documents = file.documents.iter().filter(|one| !one.api.is_empty());
    documents.filter_map(|document| wrong(known, document)).collect()
}

fn wrong(known: &Table<KubernetesKind>, document: &Document) -> Option<Found> {
    let (kind, api) = (document.kind.as_str(), document.api.as_str());
    let line = |key: &str| document.line_of(&[key]);
    let Some(row) = known.kind(kind) else {
        let meant = known.all().iter().find(|row| row.kind.eq_ignore_ascii_case(kind))?.kind.as_str();
        let message = format!("kind {kind} does not exist; kinds are case-sensitive");
        let change = Change::value(line("kind"), "kind", kind, meant);
        return Some(Found::error(line("kind"), message, format!("Write `kind: {meant}`")).change(change));
    };
    let group = |api: &'_ str| api.split_once('/').map_or(String::new(), |(group, _)| group.to_owned());
    if row.is_served_by(api) {
        return None;
    }
    let right = row.api.as_str();
    let fix = format!("Write `apiVersion: {right}`");
    if row.former.iter().any(|former| former == api) {
        let message = format!("{api} no longer has kind {kind}; current clusters refuse it");
        return Some(Found::error(line("apiVersion"), message, fix));
    }
    let own = OWN.contains(&group(api).as_str()) || group(api) == group(right);
    let message = format!("{api} has no kind {kind}; it is in {right}");
    own.then(|| Found::error(line("apiVersion"), message, fix))
}
