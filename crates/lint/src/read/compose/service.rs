//! One service of a compose file.

use std::collections::BTreeMap;

use catalog::Catalog;
use serde_yaml::Value;

use super::{Compose, bare, below, text, words};
use crate::location::Location;
use crate::read::dockerfile::copied::join;

#[derive(Debug, Clone)]
pub(crate) struct Service {
    pub name: String,
    /// As messages call it: `service train`.
    pub title: String,
    pub line: Location,
    /// Its content, with what it extends in the same file filled in.
    pub value: Value,
    /// True where it extends a service of another file.
    pub extends_elsewhere: bool,
    lines: BTreeMap<String, Location>,
}

/// A GPU that a service asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Gpus {
    All,
    /// So many, whichever.
    Count(u64),
    Ids(Vec<String>),
    /// Some; how many cannot be read.
    Some,
}

impl Gpus {
    /// How many, where the file says it.
    pub(crate) fn count(&self) -> Option<u64> {
        match self {
            Gpus::Count(count) => Some(*count).filter(|count| *count > 0),
            Gpus::Ids(ids) if !ids.iter().any(|id| id.contains(['$', '=', ':'])) => {
                u64::try_from(ids.len()).ok()
            }
            _ => None,
        }
    }
}

impl Service {
    /// The env files that it names, as it names them.
    pub(crate) fn env_files(&self) -> Vec<String> {
        let items = match self.at(&["env_file"]) {
            Some(Value::Sequence(items)) => items.clone(),
            other => other.cloned().into_iter().collect(),
        };
        let path = |item: &Value| text(item).or_else(|| below(item, &["path"]).and_then(text));
        items.iter().filter_map(path).filter(|path| !path.contains('$')).collect()
    }

    /// Reads a service of a file.
    pub(crate) fn read(name: &Value, value: &Value, file: &Compose) -> Option<Service> {
        let name = text(name)?;
        let (value, extends_elsewhere) = extended(bare(value).clone(), &file.root, 0);
        let keys = value.as_mapping().into_iter().flatten().filter_map(|(key, _)| text(key));
        let lines = keys.map(|key| (key.clone(), file.line(&["services", &name, &key]))).collect();
        let (line, title) = (file.first(&["services", &name]), format!("service {name}"));
        Some(Service { line, title, lines, name, value, extends_elsewhere })
    }

    /// Where one of its keys stands, or it itself.
    pub(crate) fn line_of(&self, key: &str) -> Location {
        self.lines.get(key).unwrap_or(&self.line).clone()
    }

    /// What stands below a path of keys.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Value> {
        below(&self.value, path).filter(|value| !value.is_null())
    }

    /// A key's scalar.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.at(&[key]).and_then(text)
    }

    /// The scalars of a list, or a single scalar.
    pub(crate) fn list(&self, path: &[&str]) -> Vec<String> {
        match self.at(path) {
            Some(Value::Sequence(items)) => items.iter().filter_map(text).collect(),
            Some(other) => text(other).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Its environment, from a list or a mapping.
    pub(crate) fn environment(&self) -> BTreeMap<String, Option<String>> {
        match self.at(&["environment"]) {
            Some(Value::Mapping(map)) => {
                map.iter().filter_map(|(key, value)| Some((text(key)?, text(value)))).collect()
            }
            Some(Value::Sequence(items)) => items
                .iter()
                .filter_map(text)
                .map(|item| match item.split_once('=') {
                    Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                    None => (item, None),
                })
                .collect(),
            _ => BTreeMap::new(),
        }
    }

    /// The variables of its environment that have a value.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        self.environment().into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// The words of entrypoint and command.
    pub(crate) fn words(&self) -> Vec<String> {
        [words(self.at(&["entrypoint"])), words(self.at(&["command"]))].concat()
    }

    /// Command and entrypoint as one text.
    pub(crate) fn command(&self) -> String {
        [self.list(&["entrypoint"]), self.list(&["command"])].concat().join(" ")
    }

    /// The path of the Dockerfile that it is built from, from the directory of the file.
    pub(crate) fn dockerfile(&self) -> Option<String> {
        let build = self.at(&["build"])?;
        let of = |key: &str| below(build, &[key]).and_then(text);
        if below(build, &["dockerfile_inline"]).is_some() {
            return None;
        }
        let folder = text(build).or_else(|| of("context")).unwrap_or_else(|| ".".to_owned());
        let name = of("dockerfile").unwrap_or_else(|| "Dockerfile".to_owned());
        let remote = |path: &str| path.contains("://") || path.contains('$') || path.starts_with("git@");
        (!remote(&folder) && !remote(&name)).then(|| join(&folder, &name))
    }

    /// The directory that it is built from, from the directory of the file; empty for that one.
    pub(crate) fn build_context(&self) -> Option<String> {
        let build = self.at(&["build"])?;
        let folder = text(build).or_else(|| below(build, &["context"]).and_then(text));
        Some(join("", folder.as_deref().unwrap_or(".")))
    }

    /// The device requests below `deploy.resources.reservations.devices`.
    pub(crate) fn requests(&self) -> Vec<&Value> {
        match self.at(&["deploy", "resources", "reservations", "devices"]) {
            Some(Value::Sequence(items)) => items.iter().map(bare).collect(),
            _ => Vec::new(),
        }
    }

    /// The GPUs that it asks for, by whatever way; `None`: none.
    pub(crate) fn gpus(&self) -> Option<Gpus> {
        if let Some(gpus) = self.at(&["gpus"]) {
            return Some(match gpus {
                Value::String(all) if all == "all" => Gpus::All,
                Value::Sequence(items) => items.first().map_or(Gpus::Some, |item| request(bare(item))),
                _ => Gpus::Some,
            });
        }
        if let Some(found) = self.requests().into_iter().find(|one| is_gpu(one)) {
            return Some(request(found));
        }
        let devices = self.list(&["devices"]);
        if devices.iter().any(|device| device.contains("nvidia")) {
            return Some(Gpus::Some);
        }
        if self.text("runtime").as_deref() == Some("nvidia") {
            return Some(match self.environment().get("NVIDIA_VISIBLE_DEVICES") {
                Some(Some(ids)) if ids == "all" => Gpus::All,
                Some(Some(ids)) if ids.starts_with(|letter: char| letter.is_ascii_digit()) => {
                    Gpus::Ids(ids.split(',').map(|id| id.trim().to_owned()).collect())
                }
                _ => Gpus::Some,
            });
        }
        self.at(&["deploy", "resources", "reservations", "generic_resources"]).map(|_| Gpus::Some)
    }

    /// Why it needs GPUs, in a clause; `None` where nothing says so.
    pub(crate) fn needs_gpus(&self, catalog: &Catalog) -> Option<String> {
        let environment = self.environment();
        let devices = environment.get("NVIDIA_VISIBLE_DEVICES").and_then(Option::as_deref);
        if devices.is_some_and(names_no_device) {
            return None;
        }
        let names =
            |devices: &str| devices == "all" || devices.starts_with(|letter: char| letter.is_ascii_digit());
        if devices.is_some_and(names) {
            return Some("sets NVIDIA_VISIBLE_DEVICES".to_owned());
        }
        let image = self.text("image").unwrap_or_default();
        // Triton's SDK image is of clients.
        if catalog.gpu_images().has(&image) && !image.ends_with("-sdk") {
            return Some(format!("its image {image} is built for GPUs"));
        }
        let command = self.command();
        let device = ["--device cuda", "--device=cuda", "--device \"cuda"];
        if device.iter().any(|option| command.contains(option)) {
            return Some("its command has --device cuda".to_owned());
        }
        let program = command
            .split_whitespace()
            .map(|word| word.rsplit('/').next().unwrap_or(word))
            .find(|word| matches!(*word, "torchrun" | "deepspeed" | "nvidia-smi"))?;
        (!command.contains("gloo") && !command.contains("--use-cpu"))
            .then(|| format!("its command runs {program}"))
    }

    /// Whether it names GPUs for the runtime of NVIDIA: `NVIDIA_VISIBLE_DEVICES: all`.
    pub(crate) fn names_devices(&self) -> bool {
        let environment = self.environment();
        let devices = environment.get("NVIDIA_VISIBLE_DEVICES");
        devices.is_some_and(|one| !one.as_deref().is_some_and(names_no_device))
    }

    /// Whether it has keys under `deploy` that only swarm reads.
    pub(crate) fn only_swarm(&self) -> bool {
        let keys = ["placement", "update_config", "rollback_config", "endpoint_mode"];
        let generic = ["deploy", "resources", "reservations", "generic_resources"];
        keys.iter().any(|key| self.at(&["deploy", key]).is_some()) || self.at(&generic).is_some()
    }

    /// The names of its networks.
    pub(crate) fn networks(&self) -> Vec<String> {
        match self.at(&["networks"]) {
            Some(Value::Mapping(map)) => map.keys().filter_map(text).collect(),
            _ => self.list(&["networks"]),
        }
    }
}

/// Whether this value of NVIDIA_VISIBLE_DEVICES gives a container no GPU.
pub(crate) fn names_no_device(value: &str) -> bool {
    matches!(value, "" | "none" | "void")
}

/// Whether a device request is for GPUs.
fn is_gpu(request: &Value) -> bool {
    let has = |key: &str, word: &str| match below(request, &[key]) {
        Some(Value::Sequence(items)) => items.iter().filter_map(text).any(|one| one.contains(word)),
        Some(other) => text(other).is_some_and(|one| one.contains(word)),
        None => false,
    };
    has("capabilities", "gpu")
        || has("capabilities", "nvidia")
        || has("driver", "nvidia")
        || has("driver", "cdi")
}

fn request(request: &Value) -> Gpus {
    let ids = |key: &str| match below(request, &[key]) {
        Some(Value::Sequence(items)) => Some(items.iter().filter_map(text).collect::<Vec<_>>()),
        _ => None,
    };
    if let Some(ids) = ids("device_ids") {
        return Gpus::Ids(ids);
    }
    match below(request, &["count"]) {
        None => Gpus::All,
        Some(count) => match (count.as_u64(), text(count).as_deref()) {
            (Some(count), _) => Gpus::Count(count),
            (None, Some("all")) => Gpus::All,
            (None, Some(number)) => number.parse().map_or(Gpus::Some, Gpus::Count),
            (None, None) => Gpus::Some,
        },
    }
}

/// A service with what it extends in the same file filled in; true where it extends one of another file.
fn extended(value: Value, root: &Value, depth: usize) -> (Value, bool) {
    let Some(extends) = below(&value, &["extends"]).filter(|_| depth < 8) else { return (value, false) };
    let name = text(extends).or_else(|| below(extends, &["service"]).and_then(text));
    if below(extends, &["file"]).is_some() {
        return (value, true);
    }
    let Some(base) = name.and_then(|name| below(root, &["services", &name]).cloned()) else {
        return (value, true);
    };
    let (base, elsewhere) = extended(base, root, depth + 1);
    let (Value::Mapping(mut merged), Value::Mapping(own)) = (base, value.clone()) else {
        return (value, elsewhere);
    };
    for (key, value) in own {
        merged.insert(key, value);
    }
    (Value::Mapping(merged), elsewhere)
}
