//! accelerate's configuration, and the commands that start it with this file.

use std::collections::BTreeMap;

use serde_yaml::Value;

use super::launch::{Launch, Launches};
use super::launcher::Launcher;
use super::near::Near;
use super::python::Program;
use super::script::Script;
use super::yaml_lines::YamlLines;
use crate::file::{File, Over};
use crate::recognize::base_name;
use catalog::Catalog;

/// A configuration of `accelerate launch`.
#[derive(Debug)]
pub(crate) struct AccelerateConfig {
    /// What it is compared with.
    pub catalog: &'static Catalog,
    pub name: String,
    pub text: String,
    /// Its contents; nothing where it is no YAML.
    pub root: Value,
    lines: YamlLines,
    /// The scripts that name it.
    pub scripts: Vec<Near<Script>>,
    /// The programs in Python that they name.
    pub programs: Vec<Near<Program>>,
    /// The configuration of DeepSpeed that it names.
    pub deepspeed: Option<Over>,
    /// Other configurations in its directory.
    pub others: Vec<Over>,
}

impl AccelerateConfig {
    pub(crate) fn of(file: &File) -> AccelerateConfig {
        let is_config = |one: &Over| one.name.ends_with(".yaml") || one.name.ends_with(".yml");
        let (others, scripts): (Vec<Over>, Vec<Over>) = file.over.iter().cloned().partition(is_config);
        let (programs, scripts): (Vec<Over>, Vec<Over>) =
            scripts.into_iter().partition(|one| one.name.ends_with(".py"));
        let (deepspeed, scripts): (Vec<Over>, Vec<Over>) =
            scripts.into_iter().partition(|one: &Over| one.name.ends_with(".json"));
        AccelerateConfig {
            others,
            catalog: file.catalog,
            name: file.name.clone(),
            text: file.text.clone(),
            root: serde_yaml::from_str(&file.text).unwrap_or_default(),
            lines: YamlLines::read(&file.text, 1),
            scripts: scripts.into_iter().map(Near::from).collect(),
            programs: programs.into_iter().map(Near::from).collect(),
            deepspeed: deepspeed.into_iter().next(),
        }
    }

    /// The line of a path of keys.
    pub(crate) fn line(&self, path: &[&str]) -> usize {
        let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        self.lines.nearest(&path).unwrap_or(1)
    }

    /// The key of each line.
    pub(crate) fn keys(&self) -> BTreeMap<usize, String> {
        self.lines.keys()
    }

    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        let value = self.root.get(key)?;
        value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
    }

    pub(crate) fn string(&self, key: &str) -> Option<&str> {
        self.root.get(key)?.as_str()
    }

    /// The value of a key at the top as it is written, with its quotes.
    pub(crate) fn written(&self, key: &str) -> Option<&str> {
        let line = self.text.lines().nth(self.line(&[key]) - 1)?;
        let rest = line.trim_start_matches(['"', '\'']).strip_prefix(key)?;
        let value = rest.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?.trim();
        Some(value.split(" #").next().unwrap_or(value).trim_end())
    }

    /// The starts with this file, each with the name of the script.
    pub(crate) fn starts(&self) -> Vec<(&Over, Launch)> {
        let base = base_name(&self.name);
        let mut found = Vec::new();
        for script in &self.scripts {
            let launches = Launches::of_script(script.script(self.catalog)).launches;
            found.extend(launches.into_iter().filter_map(|launch| {
                let file = launch.options.get("config_file")?;
                let named = file.value.as_deref().or(file.written.as_deref()).map(base_name);
                (launch.launcher == Launcher::Accelerate && named.as_deref() == Some(base.as_str()))
                    .then_some((&**script, launch))
            }));
        }
        found
    }
}
