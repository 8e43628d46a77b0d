//! A configuration of DeepSpeed, and what is known of the run that it is for.

use catalog::Catalog;
use std::cell::OnceCell;
use std::rc::Rc;

use super::hostfile::Hostfile;
use super::json::Json;
use super::launch::{Launch, Launches};
use super::python::Program;
use super::script::Script;
use crate::file::{File, Over, World};
use facts::Facts;

/// A ds_config.json.
#[derive(Debug)]
pub(crate) struct Config {
    /// What it is compared with.
    pub catalog: &'static Catalog,
    pub json: Json,
    pub text: String,
    /// Whether it looks like a template that somebody still fills in.
    pub template: bool,
    /// The number of ranks and its source.
    pub world: Option<World>,
    /// The facts of the target machine, if known.
    pub facts: Option<Rc<Facts>>,
    /// Its name, and the scripts next to it that name it.
    pub name: String,
    pub nearby: Vec<Over>,
    /// The programs among them, read when they are first needed.
    programs: OnceCell<Vec<Program>>,
}

impl Config {
    /// Of a file; the number of ranks comes from a hostfile in the same directory, or from the script that
    /// starts a job with it, unless it was given.
    pub(crate) fn of(file: &File) -> Config {
        let companions = file.over.iter().find(|other| other.name.ends_with("hostfile"));
        let world_of_companions = companions.and_then(|other| {
            let size = Hostfile::read(&other.text).slots()?;
            Some(World { size, from: other.name.clone(), given: false })
        });
        let scripts = file
            .over
            .iter()
            .filter(|other| !other.name.ends_with("hostfile") && !other.name.ends_with(".py"));
        let launches: Vec<(&Over, Launch)> =
            scripts.filter_map(|other| Some((other, launch_with(file, other)?))).collect();
        // A launcher that chooses among the slots of a hostfile starts fewer ranks than it has.
        let chosen = launches.iter().any(|(_, launch)| CHOICES.iter().any(|name| launch.options.has(name)));
        let world_of_companions = world_of_companions.filter(|_| !chosen);
        let world_of_scripts = || {
            let mut worlds = launches.iter().filter_map(|(other, launch)| world_of(other, launch));
            worlds.next().filter(|first| worlds.all(|other| other.size == first.size))
        };
        let template = file.text.contains("{{") || file.text.contains("{%") || file.text.contains("${");
        Config {
            catalog: file.catalog,
            json: Json::read(&file.text),
            text: file.text.clone(),
            template,
            world: file.world.clone().or(world_of_companions).or_else(world_of_scripts),
            facts: file.facts.clone(),
            name: file.name.clone(),
            nearby: file.over.iter().filter(|other| !other.name.ends_with("hostfile")).cloned().collect(),
            programs: OnceCell::new(),
        }
    }

    /// The programs next to it that name it, or that a script starts with it.
    pub(crate) fn programs(&self) -> &[Program] {
        self.programs.get_or_init(|| {
            let programs = self.nearby.iter().filter(|one| one.name.ends_with(".py"));
            let read = |one: &Over| {
                let mut program = Program::read(self.catalog, &one.text);
                program.name.clone_from(&one.name);
                program
            };
            programs.map(read).collect()
        })
    }

    /// Its name without the directory.
    pub(crate) fn base(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    /// The stage of ZeRO; nothing where it is left to somebody else ("auto") or is a plain switch.
    pub(crate) fn stage(&self) -> Option<u64> {
        match self.json.get("zero_optimization") {
            None => Some(0),
            Some(_) => match self.json.get("zero_optimization.stage") {
                None => Some(0),
                Some(_) => whole(self.json.number("zero_optimization.stage")?),
            },
        }
    }

    pub(crate) fn whole(&self, path: &str) -> Option<u64> {
        whole(self.json.number(path)?)
    }
}

/// Options that take nodes or GPUs out of a hostfile.
const CHOICES: &[&str] = &["include", "i", "exclude", "e", "num_nodes", "num_gpus"];

/// The command of a script in the same directory that starts a job with a configuration.
fn launch_with(file: &File, other: &Over) -> Option<Launch> {
    let base = file.name.rsplit('/').next()?;
    let script = Script::read(file.catalog, &other.text);
    let names =
        |launch: &Launch| launch.words.iter().any(|word| word.text.rsplit(['/', '=']).next() == Some(base));
    Launches::of_script(&script).launches.into_iter().find(names)
}

/// The ranks that it starts.
fn world_of(other: &Over, launch: &Launch) -> Option<World> {
    let size = launch.ranks().filter(|_| launch.certain)?;
    Some(World { size, from: other.name.clone(), given: false })
}

fn whole(number: f64) -> Option<u64> {
    // Sizes and counts; larger ones would lose digits.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be whole, positive and small"
    )]
    (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64)
}
