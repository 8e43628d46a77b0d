//! A configuration of DeepSpeed, and what is known of the run that it is for.

use catalog::Catalog;
use std::cell::OnceCell;
use std::rc::Rc;

use super::hostfile::{Hostfile, tail};
use super::json::{Json, Value};
use super::launch::{Launch, Launches};
use super::launcher::Launcher;
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

/// The key that makes ZeRO-3 gather the weights when a model is saved, and its name of before.
pub(crate) const GATHER: &str = "zero_optimization.stage3_gather_16bit_weights_on_model_save";
const GATHER_BEFORE: &str = "zero_optimization.stage3_gather_fp16_weights_on_model_save";

/// Whether a configuration gathers the weights of ZeRO-3, or may: any value but `false`.
pub(crate) fn gathers_weights(json: &Json) -> bool {
    let keys = [GATHER, GATHER_BEFORE];
    keys.iter().any(|key| json.get(key).is_some_and(|value| *value != Value::Truth(false)))
}

impl Config {
    /// Of a file; the number of ranks comes from a hostfile in the same directory, or from the script that
    /// starts a job with it, unless it was given.
    pub(crate) fn of(file: &File) -> Config {
        let template = file.text.contains("{{") || file.text.contains("{%") || file.text.contains("${");
        Config {
            catalog: file.catalog,
            json: Json::read(&file.text),
            text: file.text.clone(),
            template,
            world: file.world.clone().or_else(|| world_of(file)),
            facts: file.facts.clone(),
            name: file.name.clone(),
            nearby: file.over.iter().filter(|other| names_it(file, other)).cloned().collect(),
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

/// Its name without the directory.
fn base(file: &File) -> &str {
    file.name.rsplit('/').next().unwrap_or_default()
}

/// Whether a file names the configuration, or is a program that may be started with it. Other scripts are
/// there for how they use a hostfile.
fn names_it(file: &File, other: &Over) -> bool {
    let names = other.name.ends_with(".py") || other.text.contains(base(file));
    names && !other.name.ends_with("hostfile")
}

/// The ranks that DeepSpeed's launcher starts on one machine where only CUDA_VISIBLE_DEVICES says how many.
fn visible(launch: &Launch) -> Option<u64> {
    const OTHERS: &[&str] = &["num_nodes", "num_gpus", "num_accelerators", "include", "exclude", "hostfile"];
    let chosen = OTHERS.iter().any(|name| launch.options.has(name));
    if launch.launcher != Launcher::Deepspeed || chosen || !launch.options.complete {
        return None;
    }
    const NAME: &str = "CUDA_VISIBLE_DEVICES";
    // A default of the script may not hold.
    let written = launch.written.get(NAME).is_none_or(|written| !written.contains('$'));
    let devices = launch.variables.get(NAME).filter(|value| !value.default && written)?;
    let ids: Vec<&str> = devices.text.as_deref()?.split(',').map(str::trim).collect();
    let numbers = ids.iter().all(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()));
    numbers.then_some(ids.len() as u64)
}

/// The number of ranks that the hostfile next to it has, or the script that starts a job with it.
fn world_of(file: &File) -> Option<World> {
    let base = base(file);
    let is_script = |one: &&Over| !one.name.ends_with("hostfile") && !one.name.ends_with(".py");
    let scripts = file.over.iter().filter(is_script);
    let starts: Vec<(&Over, Vec<Launch>)> = scripts
        .map(|other| (other, Launches::of_script(&Script::read(file.catalog, &other.text)).launches))
        .collect();
    let starts: Vec<(&Over, &Launch)> =
        starts.iter().flat_map(|(other, all)| all.iter().map(move |one| (*other, one))).collect();
    let is_this = |text: &str| text.rsplit(['/', '=']).next() == Some(base);
    let names = |launch: &Launch| launch.words.iter().any(|word| is_this(&word.text));
    let named: Vec<(&Over, &Launch)> = starts.iter().copied().filter(|(_, one)| names(one)).collect();
    let hostfile = file.over.iter().find(|other| other.name.ends_with("hostfile"));
    let of_hostfile = hostfile.and_then(|hostfile| {
        // Without a name in the command it may be in a variable, or in the program.
        let deepspeed = starts.iter().copied().filter(|(_, one)| one.launcher == Launcher::Deepspeed);
        let used = if named.is_empty() { deepspeed.collect() } else { named.clone() };
        let size = Hostfile::read(&hostfile.text).slots()?;
        let fits = used.iter().all(|(script, launch)| has_all_of(launch, hostfile, script));
        fits.then(|| World { size, from: hostfile.name.clone(), given: false })
    });
    of_hostfile.or_else(|| {
        let sizes = named.iter().filter(|(_, one)| one.certain);
        let mut worlds = sizes.filter_map(|(other, launch)| {
            let size = launch.ranks().or_else(|| visible(launch))?;
            Some(World { size, from: other.name.clone(), given: false })
        });
        worlds.next().filter(|first| worlds.all(|other| other.size == first.size))
    })
}

/// Whether a start has as many ranks as a hostfile: deepspeed takes them all, from this file.
fn has_all_of(launch: &Launch, hostfile: &Over, script: &Over) -> bool {
    let this = launch.options.get("hostfile").is_none_or(|given| {
        let tail = tail(&hostfile.name, &script.name);
        let ends = |path: &str| {
            path.strip_suffix(tail).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let path = given.value.as_deref().unwrap_or_default();
        path == hostfile.name || !path.starts_with('/') && ends(path)
    });
    let chosen = CHOICES.iter().any(|name| launch.options.has(name));
    launch.launcher == Launcher::Deepspeed && launch.options.complete && this && !chosen
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
