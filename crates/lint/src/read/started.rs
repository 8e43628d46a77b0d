//! The containers that a script starts with `docker run`, as services of a compose file: what is wrong with a
//! service is wrong with them too.

use catalog::Catalog;
use serde_json::{Map, Value, json};

use super::compose::{Compose, comments};
use super::docker_run::DockerRun;
use super::dockerfile::command::Command;
use super::script::Script;
use super::script_values;
use crate::file::Stack;
use crate::gpus_option;

/// The containers of a script.
#[derive(Debug)]
pub(crate) struct Started {
    /// One service each.
    pub compose: Compose,
    /// The line of the script for each line of that file.
    lines: Vec<usize>,
}

impl Started {
    /// `None` where the script starts none whose options are all visible.
    pub(crate) fn of_script(script: &Script) -> Option<Started> {
        let commands = script_values::commands(script);
        let runs: Vec<(usize, String, Value)> =
            commands.iter().filter_map(|one| service(script.catalog, one)).collect();
        let (mut text, mut lines) = ("services:\n".to_owned(), vec![1]);
        for (index, (line, _, value)) in runs.iter().enumerate() {
            // JSON on one line is YAML.
            text.push_str(&format!("  container{index}: {value}\n"));
            lines.push(*line);
        }
        let mut compose = Compose::read(script.catalog, &text, &[], Stack::Unsaid);
        compose.run = true;
        compose.comments = comments(script.text.lines().filter(|line| line.trim_start().starts_with('#')));
        for (index, (_, image, _)) in runs.iter().enumerate() {
            let name = format!("container{index}");
            if let Some(service) = compose.services.iter_mut().find(|service| service.name == name) {
                service.title = format!("the container of {image}");
            }
        }
        (!runs.is_empty()).then_some(Started { compose, lines })
    }

    /// The line of the script, from 1.
    pub(crate) fn line(&self, line: usize) -> usize {
        line.checked_sub(1).and_then(|index| self.lines.get(index)).copied().unwrap_or(1)
    }
}

/// A container as a service: its line, its image and its keys.
fn service(catalog: &Catalog, command: &Command) -> Option<(usize, String, Value)> {
    let run = DockerRun::read(catalog, command).filter(|run| !run.hidden)?;
    let image = run.image.text.clone();
    if image.contains('$') || !run.image.known {
        return None;
    }
    let mut service = Map::new();
    let mut set = |key: &str, value: Value| {
        service.insert(key.to_owned(), value);
    };
    set("image", json!(image));
    let behind: Vec<&str> = run.behind.iter().map(|word| word.text.as_str()).collect();
    if !behind.is_empty() {
        set("command", json!(behind));
    }
    for (key, long, short) in [
        ("environment", "env", "e"),
        ("env_file", "env-file", ""),
        ("ports", "publish", "p"),
        ("tmpfs", "tmpfs", ""),
        ("devices", "device", ""),
        ("cap_add", "cap-add", ""),
    ] {
        let values = run.values(long, short);
        if !values.is_empty() {
            set(key, json!(values));
        }
    }
    for (key, long, short) in [
        ("shm_size", "shm-size", ""),
        ("ipc", "ipc", ""),
        ("runtime", "runtime", ""),
        ("user", "user", "u"),
        ("working_dir", "workdir", "w"),
    ] {
        if let Some(value) = run.values(long, short).pop() {
            set(key, json!(value));
        }
    }
    if let Some(value) = run.values("entrypoint", "").pop() {
        set("entrypoint", if value.is_empty() { json!([]) } else { json!([value]) });
    }
    let networks = [run.values("network", ""), run.values("net", "")].concat();
    if let Some(mode) = networks.last() {
        set("network_mode", json!(mode));
    }
    let mut volumes: Vec<Value> = run.values("volume", "v").into_iter().map(Value::from).collect();
    volumes.extend(run.values("mount", "").iter().map(|mount| self::mount(mount)));
    if !volumes.is_empty() {
        set("volumes", Value::from(volumes));
    }
    if run.has("privileged") {
        set("privileged", json!(true));
    }
    if let Some(gpus) = run.values("gpus", "").pop() {
        let (key, value) = self::gpus(&gpus);
        set(key, value);
    }
    Some((command.line, image, Value::Object(service)))
}

/// `type=bind,source=/a,target=/b,readonly` in the long form of compose.
fn mount(text: &str) -> Value {
    let mut all = Map::new();
    for part in text.split(',') {
        let (key, value) = part.split_once('=').unwrap_or((part, "true"));
        let (key, value) = match key {
            "src" | "source" => ("source", json!(value)),
            "dst" | "destination" | "target" => ("target", json!(value)),
            "readonly" | "ro" => ("read_only", json!(value != "false")),
            "type" => ("type", json!(value)),
            _ => continue,
        };
        all.insert(key.to_owned(), value);
    }
    Value::Object(all)
}

/// `--gpus`: docker/cli opts/gpus.go takes `all`, a number, `device=…` in quotes, and `capabilities=…` with
/// them.
fn gpus(text: &str) -> (&'static str, Value) {
    let bare = text.trim_matches(['"', '\'']);
    let request = |value: Value| ("deploy", json!({"resources": {"reservations": {"devices": [value]}}}));
    if let Some(value) = with_capabilities(text) {
        return request(value);
    }
    if let Some(ids) = bare.strip_prefix("device=").filter(|_| text.contains('"') || !bare.contains(',')) {
        let ids: Vec<&str> = ids.split(',').collect();
        return request(json!({"capabilities": ["gpu"], "device_ids": ids}));
    }
    match bare.parse::<u64>() {
        Ok(count) => request(json!({"capabilities": ["gpu"], "count": count})),
        Err(_) if bare == "all" => ("gpus", json!("all")),
        Err(_) => request(json!({"capabilities": ["gpu"], "count": text})),
    }
}

/// The device request of a `--gpus` that names capabilities: fields of CSV, one of which docker makes `gpu`.
fn with_capabilities(text: &str) -> Option<Value> {
    let mut all = Map::new();
    let mut set = |key: &str, value: Value| all.insert(key.to_owned(), value).is_none();
    for field in gpus_option::fields(text).into_iter().map(|(_, field)| field) {
        let first = match field.split_once('=') {
            Some(("capabilities", names)) => {
                set("capabilities", names.split(',').chain(["gpu"]).map(Value::from).collect())
            }
            Some(("device", ids)) => set("device_ids", ids.split(',').map(Value::from).collect()),
            Some(("driver", name)) => set("driver", json!(name)),
            Some(("count", count)) => set("count", json!(count)),
            None => set("count", json!(field)),
            Some(_) => false,
        };
        first.then_some(())?;
    }
    all.contains_key("capabilities").then_some(Value::Object(all))
}
