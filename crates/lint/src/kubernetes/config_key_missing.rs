//! A file of a mounted ConfigMap that the ConfigMap does not have.

use serde_yaml::Value;

use crate::read::compose::{below, text};
use crate::read::manifest::{Container, Document, Manifest, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "config-key-missing",
    severity: Severity::Error,
    summary: "commands name files that the mounted ConfigMap has",
    explain: include_str!("config_key_missing.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: hub}\nstringData: {token: x}\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      env:\n        - name: HF_TOKEN\n          valueFrom: {secretKeyRef: {name: hub, \
             key: HF_TOKEN}}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cfg}\ndata:\n  ds_config.json: \
            |\n    {}\n---\n\
         apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
         image: b\n\
         \x20     command: [\"deepspeed\", \"train.py\", \"--deepspeed_config\", \"/cfg/deepspeed.json\"]\n\
         \x20     volumeMounts:\n        - {name: c, mountPath: /cfg}\n  volumes:\n    - name: c\n      \
         configMap: {name: cfg}\n",
        ),
        named_with(
            "deployment.yaml",
            POD_WITH_TOKEN,
            &[(
                "secret.yaml",
                "apiVersion: v1\nkind: Secret\nmetadata: {name: hub}\ndata: {hf-token: eA==}\n",
            )],
        ),
        named_with(
            "deployment.yaml",
            POD_WITH_TOKEN,
            &[(
                "base.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hub}\ndata: {HF_TOKEN: x}\n---\n\
                 apiVersion: v1\nkind: Secret\nmetadata: {name: hub}\nstringData: {hf_token: x, user: y}\n",
            )],
        ),
    ],
    silent: &[
        named_with(
            "deployment.yaml",
            POD_WITH_TOKEN,
            &[("s.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: hub}\nstringData: {HF_TOKEN: x}\n")],
        ),
        named_with(
            "deployment.yaml",
            POD_WITH_TOKEN,
            &[
                ("s.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: hub}\nstringData: {user: x}\n"),
                (
                    "external.yaml",
                    "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: \
                     token}\nspec: {target: {name: hub, creationPolicy: Merge}}\n",
                ),
            ],
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: hub}\nstringData: {token: x}\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      env:\n        - name: A\n          valueFrom: {secretKeyRef: {name: hub, key: \
             token}}\n        - name: B\n          valueFrom: {secretKeyRef: {name: hub, key: b, optional: \
             true}}\n        - name: C\n          valueFrom: {configMapKeyRef: {name: hub, key: c}}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: x}\ndata: {token: x}\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: b\n      env:\n        - name: A\n          valueFrom: {configMapKeyRef: {name: m, key: \
             a}}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cfg}\ndata:\n  ds_config.json: |\n    \
             {}\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
             image: \
             b\n      command: [\"deepspeed\", \"train.py\", \"--config\", \"/cfg/ds_config.json\"]\n\
             \x20     volumeMounts:\n        - {name: c, mountPath: /cfg}\n  volumes:\n    - name: c\n      \
             configMap: {name: cfg}\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cfg}\ndata:\n  a: b\n---\napiVersion: v1\n\
             kind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      image: b\n      \
             command: [\"cat\", \"/cfg/x.json\"]\n      volumeMounts:\n        - {name: c, mountPath: /cfg}\n\
             \x20 volumes:\n    - name: c\n      configMap: {name: cfg, items: [{key: a, path: x.json}]}\n",
        ),
    ],
};

/// A pod that reads a key of a Secret, for the examples.
const POD_WITH_TOKEN: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - \
    name: a\n      image: b\n      env:\n        - name: HF_TOKEN\n          valueFrom: {secretKeyRef: \
    {name: hub, key: HF_TOKEN}}\n";

fn judge(file: &Manifest) -> Vec<Found> {
    let maps: Vec<&Document> =
        file.documents.iter().chain(&file.others).filter(|one| one.kind == "ConfigMap").collect();
    let pods = file.pods();
    let mut found = Vec::new();
    for pod in &pods {
        let containers = pod.containers();
        found.extend(containers.iter().filter_map(|container| fault(container, &maps)));
        found.extend(containers.iter().flat_map(|container| references(container, file)));
    }
    found
}

/// Variables whose value is a key that the Secret or ConfigMap does not have.
fn references(container: &Container, file: &Manifest) -> Vec<Found> {
    let mut found = Vec::new();
    for (at, variable) in list(container.value, "env").into_iter().enumerate() {
        for (field, kind) in [("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")] {
            let Some(reference) = below(variable, &["valueFrom", field]) else { continue };
            let (Some(name), Some(key)) = (scalar(reference, &["name"]), scalar(reference, &["key"])) else {
                continue;
            };
            let optional = scalar(reference, &["optional"]).as_deref() == Some("true");
            let space = |one: &Document| scalar(&one.value, &["metadata", "namespace"]);
            let same = |one: &&Document| {
                one.kind == kind && one.name == name && space(one) == space(container.pod.document)
            };
            let mut named = file.documents.iter().chain(&file.others).filter(same);
            let Some(object) = named.next().filter(|_| !optional && named.next().is_none()) else { continue };
            let known = entries(object, &["data", "stringData", "binaryData"]);
            let fits = known.is_empty() || known.contains(&key) || key.contains(['$', '{', '<']);
            if fits || is_filled(file, object, &name) {
                continue;
            }
            let message = format!(
                "the {kind} {name} has no key {key}, only {}; the container does not start \
                 (`CreateContainerConfigError`)",
                known.join(", ")
            );
            let line = container.line(&["env", &at.to_string(), "valueFrom", field, "key"]);
            found.push(Found::error(line, message, format!("Name a key of the {kind}, or add {key} to it")));
        }
    }
    found
}

/// Words in annotations of an object to which a program of the cluster adds keys.
const FILLERS: &[&str] = &["vault", "avp.", "reflector", "replicat", "external-secrets", "sealedsecrets"];

/// Whether something else may add keys to an object: an operator, a generator of Kustomize.
fn is_filled(file: &Manifest, object: &Document, name: &str) -> bool {
    let annotations = object.at(&["metadata", "annotations"]).and_then(Value::as_mapping);
    let mut keys = annotations.into_iter().flatten().filter_map(|(key, _)| text(key));
    let is_named = |value: &Value| scalar(value, &["name"]).as_deref() == Some(name);
    let makes = |one: &Document| {
        let operator = one.kind != "Secret" && one.kind.contains("Secret") && {
            let targets =
                [&["spec", "target"][..], &["spec", "destination"], &["spec", "template", "metadata"]];
            one.name == name || targets.iter().any(|path| one.at(path).is_some_and(is_named))
        };
        let generators = ["secretGenerator", "configMapGenerator"].into_iter();
        let generated = generators.flat_map(|key| list(&one.value, key)).any(is_named);
        operator || generated
    };
    keys.any(|key| FILLERS.iter().any(|word| key.contains(word)))
        || file.documents.iter().chain(&file.others).any(makes)
}

/// The keys of an object below these fields.
fn entries(object: &Document, fields: &[&str]) -> Vec<String> {
    let maps = fields.iter().filter_map(|field| object.at(&[field]).and_then(Value::as_mapping));
    maps.flatten().filter_map(|(key, _)| text(key)).collect()
}

fn fault(container: &Container, maps: &[&Document]) -> Option<Found> {
    let items = below(container.value, &["volumeMounts"])?.as_sequence()?;
    let mounts: Vec<(String, String, bool)> = items
        .iter()
        .filter_map(|one| {
            let part = below(one, &["subPath"]).or(below(one, &["subPathExpr"])).is_some();
            Some((scalar(one, &["name"])?, scalar(one, &["mountPath"])?, part))
        })
        .collect();
    for (name, path, part) in &mounts {
        let volumes = container.pod.volumes();
        let Some((_, _, volume)) = volumes.iter().find(|(_, known, _)| known == name) else { continue };
        let Some(source) = below(volume, &["configMap"]).filter(|_| !part) else { continue };
        let Some(keys) = keys(source, maps) else { continue };
        let folder = format!("{}/", path.trim_end_matches('/'));
        // Something else may be mounted below it.
        if mounts.iter().any(|(_, other, _)| other.starts_with(&folder)) {
            continue;
        }
        for (key, at, word) in words(container) {
            let Some(file) = word.strip_prefix(&folder) else { continue };
            let plain = file.contains('.') && !file.contains(['/', '$', '*', '{']);
            if plain && !keys.iter().any(|known| known == file) {
                let map = scalar(source, &["name"]).unwrap_or_default();
                let message =
                    format!("{word} does not exist: the ConfigMap {map} at {path} has {}", keys.join(", "));
                let fix = "Name a key of the ConfigMap, or add the key";
                return Some(Found::error(container.line(&[key, &at.to_string()]), message, fix));
            }
        }
    }
    None
}

/// The words of command and arguments that are a path, with the key and item in which they stand. In a script
/// of a shell a path may be one that is written.
fn words(container: &Container) -> Vec<(&'static str, usize, String)> {
    let mut found = Vec::new();
    for key in ["command", "args"] {
        let items = below(container.value, &[key]).and_then(Value::as_sequence).into_iter().flatten();
        for (at, word) in
            items.filter_map(text).enumerate().filter(|(_, word)| !word.contains(char::is_whitespace))
        {
            let path = word.split_once('=').map_or(word.as_str(), |(_, path)| path).to_owned();
            found.push((key, at, path));
        }
    }
    found
}

/// The files that a ConfigMap makes; nothing where it is not known, or named twice.
fn keys(source: &Value, maps: &[&Document]) -> Option<Vec<String>> {
    let name = scalar(source, &["name"])?;
    if let Some(items) = below(source, &["items"]).and_then(Value::as_sequence) {
        return items.iter().map(|one| scalar(one, &["path"])).collect();
    }
    let mut named = maps.iter().filter(|one| one.name == name);
    let map = named.next().filter(|_| named.next().is_none())?;
    Some(entries(map, &["data", "binaryData"])).filter(|keys| !keys.is_empty())
}
