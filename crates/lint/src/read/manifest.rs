//! Kubernetes manifests: the documents of a file, and the pods that they describe.

use std::collections::BTreeMap;
use std::fmt;

use catalog::Catalog;
use diagnostic::yaml::{TOO_DEEP, too_deep};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_yaml::{Mapping, Value};

use super::broken::{Broken, apply_merges, limited, line_of};
use super::compose::{below, text};
use super::kustomization::{Role, is_kustomization, role};
pub(crate) use super::manifest_values::{labels, list, scalar};
use super::yaml_lines::YamlLines;
use crate::file::{File, Over};
use crate::recognize::base_name;

/// A file with manifests.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub catalog: &'static Catalog,
    /// Why a document cannot be read, and where.
    pub broken: Option<(usize, Broken)>,
    /// Keys that stand twice in one mapping: line and key.
    pub twice: Vec<(usize, String)>,
    pub documents: Vec<Document>,
    /// Those of other files in the same folder.
    pub others: Vec<Document>,
    /// Whether its name says that it is a template of pods, which a program completes: Spark does.
    pub template: bool,
    /// Its name, and the files that it names, where it is a kustomization.
    pub name: String,
    pub parts: Vec<Over>,
}

/// One manifest.
#[derive(Debug)]
pub(crate) struct Document {
    pub catalog: &'static Catalog,
    pub kind: String,
    /// `apps/v1`.
    pub api: String,
    pub name: String,
    pub value: Value,
    /// The line on which it begins, from 1.
    pub first: usize,
    /// Whether a kustomization builds it, and may add labels and selectors; a patch may add what it lacks.
    pub kustomized: bool,
    lines: YamlLines,
    source: String,
}

/// A pod that a document describes, itself or by a template.
#[derive(Debug)]
pub(crate) struct Pod<'d> {
    pub document: &'d Document,
    pub path: Vec<String>,
    pub spec: &'d Value,
    pub labels: Vec<(String, String)>,
}

/// A container of a pod.
#[derive(Debug)]
pub(crate) struct Container<'d> {
    pub pod: &'d Pod<'d>,
    pub path: Vec<String>,
    pub value: &'d Value,
    pub name: String,
    /// Whether it runs before the others.
    pub init: bool,
}

impl Manifest {
    /// Of a file, with those of other files in its folder.
    pub(crate) fn of(file: &File) -> Manifest {
        let read = |text: &str| Manifest::read(file.catalog, text);
        let others = file.over.iter().flat_map(|other| read(&other.text).documents).collect();
        let template = base_name(&file.name).contains("pod-template");
        let parts = match is_kustomization(&file.text) {
            true => file.over.clone(),
            false => Vec::new(),
        };
        let name = file.name.clone();
        let mut manifest = Manifest { others, template, name, parts, ..read(&file.text) };
        match role(&file.name, &file.over) {
            Some(Role::Patch) => manifest.documents.clear(),
            Some(Role::Resource) => manifest.documents.iter_mut().for_each(|one| one.kustomized = true),
            None => {}
        }
        manifest
    }

    /// The key of each line: `spec.containers[0].image`.
    pub(crate) fn keys(&self) -> BTreeMap<usize, String> {
        self.documents.iter().flat_map(|document| document.lines.keys()).collect()
    }

    pub(crate) fn read(catalog: &'static Catalog, source: &str) -> Manifest {
        let (twice, documents, others) = (Vec::new(), Vec::new(), Vec::new());
        let mut manifest = Manifest {
            catalog,
            broken: None,
            twice,
            documents,
            others,
            template: false,
            name: String::new(),
            parts: Vec::new(),
        };
        for (first, part) in parts(source) {
            if let Some(line) = too_deep(&part) {
                manifest.broken = manifest.broken.or(Some((first + line - 1, Broken::yaml(TOO_DEEP))));
                continue;
            }
            match manifest.value(first, &part) {
                Ok(mut value) => {
                    let _ = apply_merges(&mut value);
                    let value = match limited(value, &part) {
                        Ok(value) => value,
                        Err(why) => {
                            manifest.broken = manifest.broken.or(Some((first, why)));
                            continue;
                        }
                    };
                    let read = document(catalog, value, first, &part);
                    manifest.documents.extend(read.filter(|one| !one.is_patch()));
                }
                Err(error) => {
                    let line = line_of(&error, &part);
                    if part.lines().nth(line - 1).is_some_and(has_placeholder) {
                        continue;
                    }
                    let broken = (first + line - 1, Broken::yaml(&error.to_string()));
                    manifest.broken = manifest.broken.or(Some(broken));
                }
            }
        }
        manifest
    }

    /// The value of a document. kubectl takes the last of a key that stands twice.
    fn value(&mut self, first: usize, part: &str) -> Result<Value, serde_yaml::Error> {
        let error = match serde_yaml::from_str::<Value>(part) {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let text = error.to_string();
        let Some((_, key)) = text.split_once("duplicate entry with key \"") else { return Err(error) };
        let key = key.split('"').next().unwrap_or_default().to_owned();
        match serde_yaml::from_str::<Last>(part) {
            Ok(Last(value)) => {
                self.twice.push((first + second_line(&error, part, &key) - 1, key));
                Ok(value)
            }
            Err(_) => Err(error),
        }
    }

    /// Every pod of every document.
    pub(crate) fn pods(&self) -> Vec<Pod<'_>> {
        self.documents.iter().flat_map(Document::pods).collect()
    }

    /// What `of` gives for every container of every pod.
    pub(crate) fn of_containers<T, I: IntoIterator<Item = T>>(
        &self,
        of: impl Fn(&Container<'_>) -> I,
    ) -> Vec<T> {
        let mut all = Vec::new();
        for pod in self.pods() {
            all.extend(pod.containers().iter().flat_map(&of));
        }
        all
    }
}

/// The documents of a text as they are, patches of Kustomize included; none where one cannot be read.
pub(crate) fn all_documents(catalog: &'static Catalog, source: &str) -> Vec<Document> {
    let read = |(first, part): (usize, String)| {
        too_deep(&part).is_none().then_some(())?;
        let value = serde_yaml::from_str::<Value>(&part).ok()?;
        document(catalog, value, first, &part)
    };
    parts(source).into_iter().filter_map(read).collect()
}

/// The line of a document on which a key stands for the second time, in block style; otherwise that on which
/// its mapping begins, which the parser names.
fn second_line(error: &serde_yaml::Error, part: &str, key: &str) -> usize {
    let first = line_of(error, part);
    let indent = error.location().map_or(0, |location| location.column().saturating_sub(1));
    let is_key = |line: &str| {
        let rest = line.get(indent..).and_then(|rest| rest.strip_prefix(key));
        rest.is_some_and(|rest| rest.starts_with(':'))
    };
    let is_inside = |index: usize, line: &str| {
        let own = line.len() - line.trim_start_matches(' ').len();
        index < first || own >= indent || line.trim().is_empty()
    };
    let lines = part.lines().enumerate().skip(first - 1);
    let mut keys = lines.take_while(|(index, line)| is_inside(*index, line)).filter(|(_, line)| is_key(line));
    keys.nth(1).map_or(first, |(index, _)| index + 1)
}

/// Whether a value begins with a word in braces that somebody is to fill in: `image: {user}/server:latest`.
fn has_placeholder(line: &str) -> bool {
    let word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    line.match_indices('{').any(|(at, _)| {
        let (before, inner) = (&line[..at], &line[at + 1..]);
        let Some((name, rest)) = inner.split_once('}') else { return false };
        let begins = before.is_empty() || before.ends_with([' ', '\t', '"', '\'']);
        let goes_on = rest.chars().next().is_some_and(|next| !next.is_whitespace() && !",}]:".contains(next));
        begins && goes_on && !name.is_empty() && name.chars().all(word)
    })
}

/// A value in which the last of a key counts that stands twice in one mapping.
struct Last(Value);

impl<'de> Deserialize<'de> for Last {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Last, D::Error> {
        deserializer.deserialize_any(LastVisitor).map(Last)
    }
}

struct LastVisitor;

impl<'de> Visitor<'de> for LastVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value without a tag")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Last(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(Value::Sequence(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Mapping::new();
        while let Some((Last(key), Last(value))) = entries.next_entry()? {
            all.insert(key, value);
        }
        Ok(Value::Mapping(all))
    }
}

/// The documents of a file, with the line on which each begins.
fn parts(source: &str) -> Vec<(usize, String)> {
    let mut parts = vec![(1, String::new())];
    for (index, line) in source.trim_start_matches('\u{feff}').lines().enumerate() {
        if line == "---" || line.starts_with("--- ") || line.starts_with("---\t") {
            parts.push((index + 2, String::new()));
        } else if let Some((_, part)) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts
}

fn document(catalog: &'static Catalog, value: Value, first: usize, source: &str) -> Option<Document> {
    let of = |path: &[&str]| below(&value, path).and_then(text).unwrap_or_default();
    let (kind, api, name) = (of(&["kind"]), of(&["apiVersion"]), of(&["metadata", "name"]));
    let lines = YamlLines::read(source, first);
    let source = source.to_owned();
    let (kustomized, is_mapping) = (false, value.is_mapping());
    let made = || Document { catalog, kind, api, name, value, first, kustomized, lines, source };
    // Only a mapping is a manifest.
    is_mapping.then(made)
}

/// Kinds that have a selector and a template of pods.
const WORKLOADS: &[&str] = &["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"];

impl Document {
    /// Whether it is an object of a kind: `ClusterQueue`.
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.kind == kind
    }

    /// The line of a path, or of the nearest key above it.
    pub(crate) fn line(&self, path: &[String]) -> usize {
        self.lines.nearest(path).unwrap_or(self.first)
    }

    /// The line of a path that is written out.
    pub(crate) fn line_of(&self, path: &[&str]) -> usize {
        self.line(&path.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>())
    }

    /// What is below a path of keys.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Value> {
        below(&self.value, path).filter(|value| !value.is_null())
    }

    /// Whether a scalar is written without quotes.
    pub(crate) fn is_plain(&self, path: &[String], word: &str) -> bool {
        let line = self.source.lines().nth(self.line(path) - self.first).unwrap_or_default();
        let value = line.split(" #").next().unwrap_or_default().trim_end();
        value.strip_suffix(word).is_some_and(|rest| rest.ends_with(": "))
    }

    /// Whether it only changes another manifest, as patches of Kustomize do: no container has an image, or
    /// there is neither a selector nor a template. Keys of the other one are missing here.
    fn is_patch(&self) -> bool {
        let pods = self.pods();
        let images = pods.iter().flat_map(Pod::containers).map(|one| below(one.value, &["image"]).is_some());
        let images: Vec<bool> = images.collect();
        let bare = pods.is_empty() && WORKLOADS.contains(&self.kind.as_str()) && self.at(&["spec"]).is_some();
        bare && self.at(&["spec", "selector"]).is_none() || !images.is_empty() && !images.contains(&true)
    }

    /// Whether it is a workload of apps/v1 without a selector that Kustomize completes: a patch with an
    /// image, or a manifest to which a kustomization adds selector and labels.
    pub(crate) fn is_partial(&self) -> bool {
        self.api == "apps/v1"
            && WORKLOADS.contains(&self.kind.as_str())
            && self.at(&["spec", "selector"]).is_none()
            && (self.kustomized || self.at(&["spec", "template", "metadata", "labels"]).is_none())
    }

    /// `Deployment vllm`.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.kind, self.name).trim_end().to_owned()
    }

    pub(crate) fn pods(&self) -> Vec<Pod<'_>> {
        if self.kind == "Pod" {
            let spec = self.at(&["spec"]);
            let labels = labels(self.at(&["metadata", "labels"]));
            let pod = |spec| Pod { document: self, path: vec!["spec".to_owned()], spec, labels };
            return spec.map(pod).into_iter().collect();
        }
        let mut found = Vec::new();
        templates(self, &self.value, &mut Vec::new(), &mut found);
        found
    }
}

/// The templates of pods below a value: `template`, `leaderTemplate`.
fn templates<'d>(document: &'d Document, value: &'d Value, path: &mut Vec<String>, found: &mut Vec<Pod<'d>>) {
    let entries: Vec<(String, &Value)> = match value {
        Value::Mapping(map) => map.iter().filter_map(|(key, value)| Some((text(key)?, value))).collect(),
        Value::Sequence(items) => items.iter().enumerate().map(|(at, one)| (at.to_string(), one)).collect(),
        _ => return,
    };
    for (key, inner) in entries {
        let is_template = key.ends_with("emplate");
        path.push(key);
        match below(inner, &["spec"]).filter(|spec| is_template && below(spec, &["containers"]).is_some()) {
            Some(spec) => {
                let path = [path.as_slice(), &["spec".to_owned()]].concat();
                let labels = labels(below(inner, &["metadata", "labels"]));
                found.push(Pod { document, path, spec, labels });
            }
            None => templates(document, inner, path, found),
        }
        path.pop();
    }
}

impl<'d> Pod<'d> {
    /// The line of a path below its specification.
    pub(crate) fn line(&self, path: &[&str]) -> usize {
        let inner = path.iter().map(|key| (*key).to_owned());
        self.document.line(&self.path.iter().cloned().chain(inner).collect::<Vec<_>>())
    }

    pub(crate) fn containers(&'d self) -> Vec<Container<'d>> {
        let of = |key: &'static str, init| {
            let items = list(self.spec, key).into_iter().enumerate();
            items.map(move |(index, value)| {
                let own = [key.to_owned(), index.to_string()];
                let path = [self.path.as_slice(), &own].concat();
                let name = scalar(value, &["name"]).unwrap_or_default();
                Container { pod: self, path, value, name, init }
            })
        };
        of("initContainers", true).chain(of("containers", false)).collect()
    }

    /// The volumes by name, with their index.
    pub(crate) fn volumes(&self) -> Vec<(usize, String, &'d Value)> {
        let items = list(self.spec, "volumes").into_iter().enumerate();
        items.map(|(at, one)| (at, scalar(one, &["name"]).unwrap_or_default(), one)).collect()
    }
}

impl<'d> Container<'d> {
    /// The line of a path below it.
    pub(crate) fn line(&self, path: &[&str]) -> usize {
        let inner = path.iter().map(|key| (*key).to_owned());
        self.pod.document.line(&self.path.iter().cloned().chain(inner).collect::<Vec<_>>())
    }

    /// Its resources of one kind: `limits`, `requests`.
    pub(crate) fn resources(&self, kind: &str) -> Vec<(String, String)> {
        labels(below(self.value, &["resources", kind]))
    }

    /// The words of command and arguments.
    pub(crate) fn words(&self) -> Vec<String> {
        let of = |key| list(self.value, key).into_iter().filter_map(text);
        let texts: Vec<String> = of("command").chain(of("args")).collect();
        texts.iter().flat_map(|text| text.split_whitespace().map(str::to_owned)).collect()
    }

    /// The texts of ConfigMaps that it mounts and whose files its command names: scripts.
    pub(crate) fn scripts<'m>(&self, file: &'m Manifest) -> Vec<&'m str> {
        let words = self.words();
        let mut found = Vec::new();
        for (name, folder) in self.mounts() {
            let volumes = self.pod.volumes();
            let map = volumes.iter().find(|(_, known, _)| *known == name);
            let Some(map) = map.and_then(|(_, _, volume)| scalar(volume, &["configMap", "name"])) else {
                continue;
            };
            let documents = file.documents.iter().chain(&file.others);
            let mut of_name = documents.filter(|one| one.kind == "ConfigMap" && one.name == map);
            let data = of_name.next().and_then(|one| one.at(&["data"])?.as_mapping());
            for (key, value) in data.into_iter().flatten() {
                let (Some(key), Some(value)) = (text(key), value.as_str()) else { continue };
                let path = format!("{}/{key}", folder.trim_end_matches('/'));
                if words.contains(&path) {
                    found.push(value);
                }
            }
        }
        found
    }

    /// Its variables with a value of their own.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let items = list(self.value, "env").into_iter();
        items.filter_map(|one| Some((scalar(one, &["name"])?, scalar(one, &["value"])?))).collect()
    }

    /// The names and paths of what it mounts.
    pub(crate) fn mounts(&self) -> Vec<(String, String)> {
        let items = list(self.value, "volumeMounts").into_iter();
        let of = |one: &Value, key| scalar(one, &[key]).unwrap_or_default();
        items.map(|one| (of(one, "name"), of(one, "mountPath"))).collect()
    }

    /// The GPUs that it gets, by the names under which device plugins offer them.
    pub(crate) fn gpus(&self) -> Option<u64> {
        let limits = self.resources("limits");
        let found = limits.iter().find(|(name, _)| is_gpu(name) && !name.contains("mig"))?;
        found.1.parse().ok()
    }
}

/// Whether a resource is a GPU or a part of one.
pub(crate) fn is_gpu(name: &str) -> bool {
    let known = ["nvidia.com/", "amd.com/gpu", "gpu.intel.com/", "habana.ai/"];
    known.iter().any(|prefix| name.starts_with(prefix))
}
