//! The server of a service of a compose file, and of a container of a pod.

use super::checkouts::Checkouts;
use super::{Environment, Image, Server, server, variables};
use crate::read::compose::{Compose, Service};
use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::command::{Command, Word};
use crate::read::dockerfile::expand::Variables;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::stage::script;
use crate::read::dockerfile::start::{command, entrypoint, started};
use crate::read::dockerfile::text::Text;
use crate::read::manifest::{Container, list, scalar};

/// The server that a service runs, as far as the file and its Dockerfile show it.
pub(crate) fn of_service(file: &Compose, service: &Service) -> Option<Server> {
    if service.extends_elsewhere {
        return None;
    }
    let mut environment: Environment = service.environment();
    let visible = |value: &mut Option<String>| {
        if value.as_ref().is_some_and(|value| value.contains('$')) {
            *value = None;
        }
    };
    environment.values_mut().for_each(visible);
    // A file of variables may set any of them.
    if service.at(&["env_file"]).is_some() {
        for name in variables(file.catalog) {
            environment.entry(name.clone()).or_insert(None);
        }
    }
    let own = |key: &str| service.at(&[key]).is_some();
    let words = |key: &str| crate::read::compose::words(service.at(&[key]));
    let built = service.at(&["build"]).is_some();
    let image = service.text("image").filter(|_| !built);
    let of = |enters| image.as_deref().map(|name| Image { name, enters });
    let read = file.built(service);
    let mut checkouts = read.as_deref().map(Checkouts::of).unwrap_or_default();
    checkouts.workdir = service.text("working_dir").unwrap_or(checkouts.workdir);
    let named = |commands| checkouts.named(file.catalog, commands);
    if own("entrypoint") {
        let all = [words("entrypoint"), words("command")].concat();
        return server(file.catalog, of(false), &named(started_by(&all, 1)), &environment);
    }
    if !built {
        return server(file.catalog, of(true), &named(started_by(&words("command"), 1)), &environment);
    }
    let read = read?;
    // A stage that is not the last one.
    if crate::read::compose::below(&service.value, &["build", "target"]).is_some() {
        return None;
    }
    let last = read.stages.last()?;
    for name in last.end.variables.names() {
        let value = last.end.variables.get(name).and_then(|value| value.text.clone());
        environment.entry(name.to_owned()).or_insert(value);
    }
    let base = match &last.from {
        crate::read::dockerfile::From::Image(image) if image.known => Some(image.text.clone()),
        _ => None,
    };
    if configures(service, &read) {
        environment.entry(CONFIGURATION.to_owned()).or_insert(None);
    }
    let entry = entrypoint(&read);
    let base = base.as_deref().map(|name| Image { name, enters: entry.is_none() });
    match (entry, own("command")) {
        (None, true) => server(file.catalog, base, &named(started_by(&words("command"), 1)), &environment),
        (None, false) if command(&read).is_none() => server(file.catalog, base, &[], &environment),
        (_, false) => server(file.catalog, base, &named(started(&read)), &environment),
        (Some(entry), true) => {
            let first = entry.json.clone()?;
            let all = [first, words("command")].concat();
            server(file.catalog, base, &named(started_by(&all, 1)), &environment)
        }
    }
}

/// The variable with the directory of Jupyter's configuration, which may set an address.
const CONFIGURATION: &str = "JUPYTER_CONFIG_DIR";

/// Whether an image or a mount may bring a configuration of Jupyter: a file, or `jupyter …
/// --generate-config`.
fn configures(service: &Service, image: &Dockerfile) -> bool {
    let names =
        |text: &str| ["jupyter_", ".jupyter", "/jupyter", "config"].iter().any(|one| text.contains(one));
    let instructions = image.stages.iter().flat_map(|stage| &stage.instructions);
    let mut texts = instructions.map(|one| one.text.text.as_str()).filter(|text| text.contains("jupyter"));
    texts.any(names) || service.mounts().iter().any(|mount| mount.target.contains("jupyter"))
}

/// The server that a container of a pod runs.
pub(crate) fn of_pod(container: &Container) -> Option<Server> {
    let catalog = container.pod.document.catalog;
    let items = list(container.value, "env").into_iter();
    let mut environment: Environment = items
        .filter_map(|one| {
            let value = scalar(one, &["value"]).filter(|value| !value.contains("$("));
            Some((scalar(one, &["name"])?, value))
        })
        .collect();
    if !list(container.value, "envFrom").is_empty() {
        for name in variables(catalog) {
            environment.entry(name.clone()).or_insert(None);
        }
    }
    let texts = |key: &str| -> Vec<String> {
        list(container.value, key).into_iter().filter_map(crate::read::compose::text).collect()
    };
    let (command, arguments) = (texts("command"), texts("args"));
    // The options of such a word are what its author meant, and not what the program gets.
    let in_one_word = |word: &String| word.starts_with("--") && word.contains(" --");
    if command.iter().chain(&arguments).any(in_one_word) {
        return None;
    }
    let image = scalar(container.value, &["image"]);
    let image = image.as_deref().map(|name| Image { name, enters: command.is_empty() });
    server(catalog, image, &started_by(&[command, arguments].concat(), 1), &environment)
}

/// The commands that words start, those inside of `bash -c` included.
fn started_by(words: &[String], line: usize) -> Vec<Command> {
    if words.is_empty() {
        return Vec::new();
    }
    let instruction = Instruction {
        line,
        last: line,
        keyword: "CMD".to_owned(),
        flags: Vec::new(),
        text: Text::default(),
        json: Some(words.to_vec()),
        heredocs: Vec::new(),
    };
    let mut commands = script(&instruction, &Variables::default());
    for word in commands.iter_mut().flat_map(|command| command.words.iter_mut()) {
        hide_unknown(word);
    }
    commands
}

/// What docker compose, Kubernetes or a shell puts into a word is not visible.
fn hide_unknown(word: &mut Word) {
    if word.text.contains('$') {
        word.known = false;
    }
}
