//! A compose or stack file: YAML with anchors, merges and extensions, read tolerantly, with the lines of its
//! keys.

mod key_lines;
mod merge;
mod mounts;
mod service;

pub(crate) use mounts::Source;
pub(crate) use service::{Gpus, Service, names_no_device};

use catalog::Catalog;
use diagnostic::yaml::{TOO_DEEP, too_deep};
use serde_yaml::Value;

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::file::{Context, Over, Stack};
use crate::location::{Location, OtherFile};
use crate::read::broken::{Broken, apply_merges, limited, line_of};
use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::start::started;
use crate::read::quotes::split;
use key_lines::KeyLines;

/// A compose file.
#[derive(Debug)]
pub(crate) struct Compose {
    pub catalog: &'static Catalog,
    /// Its content with merges applied; null if it cannot be read.
    pub root: Value,
    /// Why it cannot be read, and where.
    pub broken: Option<(Location, Broken)>,
    /// Whether it looks like a template that somebody still fills in.
    pub template: bool,
    /// Whether it is meant for `docker stack deploy`.
    pub stack: IsStack,
    pub services: Vec<Service>,
    /// The files next to it that tell more, by their path from its directory: `.env`, the Dockerfiles of its
    /// services.
    pub files: Context,
    /// The file itself, without those that are merged over it.
    pub text: String,
    /// The comments of the file, or of the script whose `docker run` commands it stands for.
    pub comments: Vec<String>,
    /// Whether it stands for the `docker run` commands of a script.
    pub run: bool,
    key_lines: Vec<Lines>,
    /// The content before `<<` is followed, read when it is first needed.
    unmerged: OnceCell<Option<Value>>,
    /// What its services are built from, by their names, read when it is first needed.
    images: RefCell<BTreeMap<String, Option<Rc<Dockerfile>>>>,
}

/// The lines of one of the files.
#[derive(Debug)]
struct Lines {
    file: Option<Rc<OtherFile>>,
    key_lines: KeyLines,
}

/// Whether a compose file is a stack file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IsStack {
    /// Nothing says so.
    No,
    /// It has keys that only swarm reads.
    Likely,
    /// Its name or the user says so.
    Yes,
}

impl Compose {
    /// The names that `.env` next to the file sets; `None` where there is none.
    pub(crate) fn names_of_env_file(&self) -> Option<BTreeSet<&str>> {
        let text = self.files.get(".env")?.as_deref()?;
        let lines = text.lines().map(|line| line.trim_start().trim_start_matches("export "));
        let lines = lines.filter(|line| !line.starts_with('#'));
        Some(lines.filter_map(|line| Some(line.split_once('=')?.0.trim())).collect())
    }

    /// Reads a compose file, and those that are merged over it.
    pub(crate) fn read(catalog: &'static Catalog, text: &str, over: &[Over], said: Stack) -> Compose {
        let (mut root, broken, key_lines) = one(text);
        let mut broken = broken.map(|(line, why)| (line.into(), why));
        let mut template = is_template(text);
        let mut files = vec![Lines { file: None, key_lines }];
        for layer in over {
            let (value, wrong, key_lines) = one(&layer.text);
            let file = Some(Rc::new(OtherFile { path: layer.name.clone(), by: None }));
            let location = |line| Location::new(file.clone(), line);
            broken = broken.or(wrong.map(|(line, why)| (location(line), why)));
            template |= is_template(&layer.text);
            root = merge::merge(root, value);
            files.push(Lines { file, key_lines });
        }
        let mut compose = Compose {
            catalog,
            root,
            broken,
            template,
            stack: IsStack::No,
            services: Vec::new(),
            files: Context::new(),
            text: text.to_owned(),
            comments: comments(text.lines()),
            run: false,
            key_lines: files,
            unmerged: OnceCell::new(),
            images: RefCell::default(),
        };
        let services = map(&compose.root, "services").into_iter().flatten();
        let services = services.filter_map(|(name, value)| Service::read(name, value, &compose)).collect();
        compose.services = services;
        compose.stack = match said {
            Stack::Yes => IsStack::Yes,
            Stack::Unsaid if compose.services.iter().any(Service::only_swarm) => IsStack::Likely,
            Stack::Unsaid => IsStack::No,
        };
        compose
    }

    /// The Dockerfile of a service as far as it is built: up to the stage that `build.target` names. Rules
    /// share it.
    pub(crate) fn built(&self, service: &Service) -> Option<Rc<Dockerfile>> {
        if let Some(known) = self.images.borrow().get(&service.name) {
            return known.clone();
        }
        let image = self.read_built(service).map(Rc::new);
        self.images.borrow_mut().insert(service.name.clone(), image.clone());
        image
    }

    fn read_built(&self, service: &Service) -> Option<Dockerfile> {
        let mut image = self.read_dockerfile(service)?;
        if let Some(target) = below(&service.value, &["build", "target"]) {
            let target = text(target)?.to_ascii_lowercase();
            let named = image.stages.iter().rposition(|one| one.name.as_deref() == Some(target.as_str()));
            let last = named.or_else(|| target.parse().ok())?;
            (last < image.stages.len()).then(|| image.stages.truncate(last + 1))?;
        }
        Some(image)
    }

    /// The words that a service starts: its own, or those of the image that it is built to.
    pub(crate) fn started_words(&self, service: &Service) -> Vec<String> {
        let own = service.words();
        match own.is_empty().then(|| self.built(service)).flatten() {
            Some(image) => {
                started(&image).into_iter().flat_map(|one| one.words).map(|word| word.text).collect()
            }
            None => own,
        }
    }

    /// The Dockerfile of a service with all of its stages.
    pub(crate) fn whole_dockerfile(&self, service: &Service) -> Option<Rc<Dockerfile>> {
        match below(&service.value, &["build", "target"]) {
            Some(_) => self.read_dockerfile(service).map(Rc::new),
            None => self.built(service),
        }
    }

    /// Reads it with the files of its build context that are known.
    fn read_dockerfile(&self, service: &Service) -> Option<Dockerfile> {
        let text = self.files.get(&service.dockerfile()?)?.as_ref()?;
        let folder = service.build_context()?;
        let in_image = |path: &String| match folder.as_str() {
            "" => Some(path.clone()),
            folder => path.strip_prefix(folder)?.strip_prefix('/').map(str::to_owned),
        };
        let files = self.files.iter();
        let context = files.filter_map(|(path, text)| Some((in_image(path)?, text.clone()))).collect();
        Some(Dockerfile::read(self.catalog, text, &context))
    }

    /// The place of a key in the last file that has it, or of the nearest key above it. Its name is the path
    /// of the key, as docker compose prints it: `services.train.shm_size`.
    pub(crate) fn line(&self, path: &[&str]) -> Location {
        (1..=path.len())
            .rev()
            .find_map(|length| self.exact(&path[..length], self.key_lines.iter().rev()))
            .unwrap_or_else(|| 1.into())
            .named(&path.join("."))
    }

    /// The place of a key in the first file that has it.
    pub(crate) fn first(&self, path: &[&str]) -> Location {
        let first = self.exact(path, self.key_lines.iter());
        first.map_or_else(|| self.line(path), |first| first.named(&path.join(".")))
    }

    fn exact<'l>(&self, path: &[&str], files: impl Iterator<Item = &'l Lines>) -> Option<Location> {
        let mut found = files.map(|one| Some(Location::new(one.file.clone(), one.key_lines.exact(path)?)));
        found.find_map(|location| location)
    }

    /// A top-level key.
    pub(crate) fn top(&self, key: &str) -> Option<&Value> {
        self.root.as_mapping()?.get(key)
    }

    /// The content of the file itself as it is written, before `<<` is followed; nothing where it has none.
    pub(crate) fn unmerged(&self) -> Option<&Value> {
        let merges = !self.run && self.text.contains("<<") && self.broken.is_none();
        let read = || merges.then(|| serde_yaml::from_str(&self.text).ok()).flatten();
        self.unmerged.get_or_init(read).as_ref()
    }

    /// The networks at the top, by name.
    pub(crate) fn networks(&self) -> impl Iterator<Item = (&str, &Value)> {
        let networks = map(&self.root, "networks").into_iter().flatten();
        networks.filter_map(|(name, value)| Some((name.as_str()?, bare(value))))
    }
}

/// What is behind `#` in lines.
pub(super) fn comments<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    lines.filter_map(|line| line.split_once('#')).map(|(_, text)| text.to_owned()).collect()
}

/// One file alone: its content, why and where it cannot be read, its lines.
fn one(text: &str) -> (Value, Option<(usize, Broken)>, KeyLines) {
    let mut broken = None;
    if let Some(line) = too_deep(text) {
        return (Value::Null, Some((line, Broken::yaml(TOO_DEEP))), KeyLines::default());
    }
    let mut root = match serde_yaml::from_str::<Value>(text) {
        Ok(root) => root,
        Err(error) => {
            broken = Some((line_of(&error, text), Broken::yaml(&error.to_string())));
            Value::Null
        }
    };
    if let Err(error) = apply_merges(&mut root) {
        broken = broken.or(Some((1, Broken::yaml(&error.to_string()))));
    }
    let root = limited(root, text).unwrap_or_else(|why| {
        broken = Some((1, why));
        Value::Null
    });
    let key_lines = KeyLines::read(text);
    // The parser names the mapping in which a key stands twice, not the key's line.
    if let (Some(_), Some((line, key))) = (&broken, &key_lines.twice) {
        broken = Some((*line, Broken::Yaml(format!("duplicate key {key} in one mapping"))));
    }
    (root, broken, key_lines)
}

/// A longer command is not split: many rules look at the words of each.
const COMMAND_LIMIT_BYTES: usize = 256 << 10;

/// The words of a command, as docker compose splits a string; none of a very long one.
pub(crate) fn words(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Sequence(items)) => items.iter().filter_map(text).collect(),
        Some(one) => {
            let text = text(one).filter(|text| text.len() <= COMMAND_LIMIT_BYTES);
            text.map_or_else(Vec::new, |text| split(&text, false))
        }
        None => Vec::new(),
    }
}

fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

/// A value below a key that is a mapping.
fn map<'v>(value: &'v Value, key: &str) -> Option<&'v serde_yaml::Mapping> {
    bare(bare(value).as_mapping()?.get(key)?).as_mapping()
}

/// A value without its tag (`!reset`, `!override`).
pub(crate) fn bare(value: &Value) -> &Value {
    match value {
        Value::Tagged(tagged) => &tagged.value,
        other => other,
    }
}

/// A scalar as text.
pub(crate) fn text(value: &Value) -> Option<String> {
    match bare(value) {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// What stands below a path of keys.
pub(crate) fn below<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(bare(value), |value, key| value.as_mapping()?.get(*key).map(bare))
}
