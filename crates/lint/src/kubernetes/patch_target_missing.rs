//! A patch of Kustomize for something that the manifests do not have.

use std::rc::Rc;

use crate::location::{Location, OtherFile};
use crate::read::compose::below;
use crate::read::dockerfile::copied::join;
use crate::read::kustomization::{is_kustomization, named_by};
use crate::read::manifest::{Document, Manifest, all_documents, list, scalar};
use crate::recognize::base_name;
use crate::rule::{Found, Judge, Rule, Severity, named_with};

const BASE: (&str, &str) = (
    "base/deployment.yaml",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: vllm}\nspec:\n  selector: {matchLabels: {a: \
     b}}\n  \
     template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers: [{name: server, \
     image: \"b:1\"}]\n",
);

const OF_BASE: (&str, &str) = (
    "base/kustomization.yaml",
    "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [deployment.yaml]\n",
);

const OVERLAY: &str = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: \
    [../base]\npatches:\n  - path: gpu.yaml\n";

pub(crate) const RULE: Rule = Rule {
    id: "patch-target-missing",
    severity: Severity::Error,
    summary: "patches of Kustomize name objects and containers of the manifests",
    explain: include_str!("patch_target_missing.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named_with(
            "prod/kustomization.yaml",
            OVERLAY,
            &[
                BASE,
                OF_BASE,
                (
                    "prod/gpu.yaml",
                    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: vllm}\nspec:\n  template:\n    \
                     spec:\n      \
                     containers:\n        - name: vllm\n          resources: {limits: {nvidia.com/gpu: 1}}\n",
                ),
            ],
        ),
        named_with(
            "prod/kustomization.yaml",
            OVERLAY,
            &[
                BASE,
                OF_BASE,
                (
                    "prod/gpu.yaml",
                    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: vlm}\nspec:\n  replicas: 2\n",
                ),
            ],
        ),
    ],
    silent: &[
        named_with(
            "prod/kustomization.yaml",
            OVERLAY,
            &[
                BASE,
                OF_BASE,
                (
                    "prod/gpu.yaml",
                    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: vllm}\nspec:\n  template:\n    \
                     spec:\n      \
                     containers:\n        - name: server\n          resources: {limits: {nvidia.com/gpu: \
                     1}}\n        - \
                     name: proxy\n          image: nginx:1.27\n",
                ),
            ],
        ),
        named_with(
            "prod/kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../base, \
             \"https://github.com/a/b\"]\npatches:\n  - path: gpu.yaml\n",
            &[
                BASE,
                OF_BASE,
                (
                    "prod/gpu.yaml",
                    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: other}\nspec:\n  replicas: 2\n",
                ),
            ],
        ),
        named_with(
            "prod/kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: \
             [../base]\npatches:\n  - path: \
             gpu.yaml\n    target: {kind: Deployment}\n",
            &[
                BASE,
                OF_BASE,
                (
                    "prod/gpu.yaml",
                    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: any}\nspec:\n  replicas: 2\n",
                ),
            ],
        ),
    ],
};

/// Keys that make manifests which are not in the files.
const GENERATORS: &[&str] =
    &["helmCharts:", "helmChartInflationGenerator:", "generators:", "components:", "crds:"];

fn judge(file: &Manifest) -> Vec<Found> {
    let own = file.documents.iter().find(|one| one.kind == "Kustomization" || one.kind.is_empty());
    let (Some(own), false) = (own, file.parts.is_empty()) else { return Vec::new() };
    let folder = file.name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let patches: Vec<String> = list(&own.value, "patches")
        .into_iter()
        .filter(|one| below(one, &["target"]).is_none())
        .filter_map(|one| scalar(one, &["path"]))
        .chain(list(&own.value, "patchesStrategicMerge").into_iter().filter_map(crate::read::compose::text))
        .collect();
    let all: Vec<String> = own_patches(own).iter().map(|path| join(folder, path)).collect();
    let bases: Vec<Document> = file
        .parts
        .iter()
        .filter(|one| !all.contains(&one.name) && !is_kustomization(&one.text))
        .flat_map(|one| all_documents(file.catalog, &one.text))
        .collect();
    let whole = is_whole(file, folder, own);
    let mut found = Vec::new();
    for path in patches {
        let path = join(folder, &path);
        let Some(patch) = file.parts.iter().find(|one| one.name == path) else { continue };
        let other = Rc::new(OtherFile { path: patch.name.clone(), by: None });
        for document in all_documents(file.catalog, &patch.text) {
            let at = |line| Location::new(Some(Rc::clone(&other)), line);
            found.extend(of_patch(&document, &bases, whole, &at));
        }
    }
    found
}

/// All patches that a kustomization names.
fn own_patches(own: &Document) -> Vec<String> {
    let mut found: Vec<String> =
        list(&own.value, "patches").into_iter().filter_map(|one| scalar(one, &["path"])).collect();
    let merges = list(&own.value, "patchesStrategicMerge").into_iter();
    found.extend(merges.filter_map(crate::read::compose::text));
    found
}

/// Whether all of its resources were read, and nothing else makes manifests.
fn is_whole(file: &Manifest, folder: &str, own: &Document) -> bool {
    let read = |folder: &str, path: &str| {
        let path = join(folder, path);
        file.parts.iter().any(|one| {
            let in_folder = one.name.rsplit_once('/').is_some_and(|(own, _)| own == path);
            one.name == path || in_folder && base_name(&one.name).starts_with("kustomization")
        })
    };
    let resources = list(&own.value, "resources").into_iter().chain(list(&own.value, "bases"));
    let names: Vec<String> = resources.filter_map(crate::read::compose::text).collect();
    let inner = file.parts.iter().filter(|one| is_kustomization(&one.text));
    let inner_read = inner.clone().all(|one| {
        let folder = one.name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let remote = one.text.contains("://") || one.text.contains("github.com/");
        !remote && named_by(&one.text).iter().all(|path| read(folder, path))
    });
    let made = inner.into_iter().any(|one| GENERATORS.iter().any(|key| one.text.contains(key)));
    let own_makes =
        ["helmCharts", "generators", "components", "crds"].iter().any(|key| own.at(&[key]).is_some());
    !names.is_empty() && names.iter().all(|path| read(folder, path)) && inner_read && !made && !own_makes
}

fn of_patch(
    patch: &Document,
    bases: &[Document],
    whole: bool,
    at: &dyn Fn(usize) -> Location,
) -> Option<Found> {
    let target = bases.iter().find(|one| one.kind == patch.kind && one.name == patch.name);
    let Some(target) = target else {
        let deletes = scalar(&patch.value, &["$patch"]).is_some();
        let near = bases.iter().find(|one| one.kind == patch.kind).map(|one| one.name.clone());
        let message = format!(
            "the patch is for {}, which no resource of the kustomization is; kustomize stops with `no \
             matches \
             for Id`",
            patch.title()
        );
        let fix = match near {
            Some(name) => format!("Write the name of the manifest, such as `{name}`"),
            None => "Name an object of the resources".to_owned(),
        };
        let known = whole && !deletes && !patch.name.is_empty() && !bases.is_empty();
        return known.then(|| Found::error(at(patch.line_of(&["metadata", "name"])), message, fix));
    };
    let path = ["spec", "template", "spec"];
    let names: Vec<String> = ["containers", "initContainers"]
        .iter()
        .flat_map(|key| list(below(&target.value, &path).unwrap_or(&target.value), key))
        .filter_map(|one| scalar(one, &["name"]))
        .collect();
    let spec = below(&patch.value, &path).filter(|_| !names.is_empty())?;
    let (index, name) = list(spec, "containers").into_iter().enumerate().find_map(|(index, one)| {
        let name = scalar(one, &["name"])?;
        let has_image = below(one, &["image"]).is_some() || below(one, &["$patch"]).is_some();
        (!has_image && !names.contains(&name)).then_some((index, name))
    })?;
    let message = format!(
        "the patch is for container {name}, but {} has {}: Kustomize adds a second container without an \
         image, \
         and the API server refuses it (image: Required value)",
        target.title(),
        names.join(", ")
    );
    let index = index.to_string();
    let line = patch.line_of(&[&path[..], &["containers", &index, "name"]].concat());
    Some(Found::error(at(line), message, format!("Write `name: {}`", names.first()?)))
}
