//! Checks files before anything is built or started: Dockerfiles, compose and stack
//! files, environment variables and the scripts that set them, DeepSpeed's configuration, files that
//! configure a machine, services of systemd, workflows of GitHub Actions, makefiles, training scripts.
//!
//! In: files, and the facts of a machine where they are wanted. Out: findings with their lines, and the edits
//! that are certain.
//!
//! [`read`] parses a file, the rules ([`RULES`]) judge it, [`ignore`] reads the ignore comments in it. An
//! error certainly fails; a rule reports nothing about what it cannot understand.

mod accelerate;
mod accelerate_starts;
mod asks;
mod base;
mod build_files;
pub mod collect;
mod collectives;
mod comments;
mod compiles;
mod compose;
mod cuda_extensions;
mod cuda_use;
mod daemon_edits;
mod deepspeed;
pub mod detect;
mod dockerfile;
mod downloads;
mod edit;
pub mod file;
mod files;
pub mod fix;
mod found;
mod gpus_option;
mod hf_transfer;
mod ignore;
mod image_entrypoints;
mod image_owners;
mod key_names;
mod kind;
mod kubernetes;
mod lightning;
mod list;
mod location;
mod machine;
mod makefile;
mod model_layers;
mod model_path;
mod mounted_settings;
mod node_labels;
mod one_word;
mod outputs;
mod packages;
mod pod_names;
mod programs;
mod pythons_required;
mod ray;
mod read;
pub mod recognize;
pub mod report;
mod rule;
mod schema;
mod script;
mod servers;
mod shell_words;
mod systemd;
mod terminal;
mod tokens;
mod torch;
mod training;
mod uv_environments;
mod variables;
mod video;
mod workers;
mod workflow;
mod wrapped_weights;

pub use asks::{Asks, asks, env_files, hostfiles, modules, nearby, unit_scripts};
pub use detect::{Skipped, Unchecked};
pub use file::{File, Over, Stack, World};
pub use kind::Kind;
pub use list::RULES;
pub use read::hostfile::{Hostfile, Readers};
pub use read::unreadable::Unreadable;
pub use rule::{Example, Found, Rule, Severity, Subject};

use std::collections::{BTreeMap, BTreeSet};

use read::accelerate::AccelerateConfig;
use read::compose::Compose;
use read::config::Config;
use read::dockerfile::Dockerfile;
use read::dockerfile::copied::join;
use read::launch::Launches;
use read::machine::Machine;
use read::makefile::Makefile;
use read::manifest::Manifest;
use read::of_file::{hostfile, requirements};
use read::packages::PackageList;
use read::python::Program;
use read::script::Script;
use read::settings::Settings;
use read::started::Started;
use read::template::Template;
use read::unit::Unit;
use read::workflow::Workflow;

use facts::Facts;
use judge::Checks;
use key_names::KeyNames;
use rule::Judge;

/// One thing that a rule found in a file.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The name of the file, as it was given.
    pub file: String,
    /// What, where, and how bad.
    pub found: Found,
}

/// What is read of a file, as far as its kind has it.
#[derive(Debug, Default)]
struct Content {
    dockerfile: Option<Dockerfile>,
    compose: Option<Compose>,
    started: Option<Started>,
    settings: Option<Settings>,
    script: Option<Script>,
    launches: Option<Launches>,
    packages: Option<PackageList>,
    accelerate: Option<AccelerateConfig>,
    config: Option<Config>,
    hostfile: Option<Hostfile>,
    machine: Option<Machine>,
    unit: Option<Unit>,
    manifest: Option<Manifest>,
    workflow: Option<Workflow>,
    makefile: Option<Makefile>,
    template: Option<Template>,
    program: Option<Program>,
}

impl Content {
    fn read(file: &File, checks: Checks) -> Content {
        let mut content = Content::default();
        match file.kind {
            Kind::Dockerfile => content.dockerfile(file),
            Kind::Compose => {
                let mut read = Compose::read(file.catalog, &file.text, &file.over, file.stack);
                read.files.clone_from(&file.context);
                content.settings = Some(Settings::of_compose(&read, file));
                content.compose = Some(read);
            }
            Kind::Environment | Kind::DeepspeedEnvironment | Kind::NcclConf => {
                content.settings = Some(Settings::of_lines(file));
            }
            Kind::Shell | Kind::Profile => content.script(file),
            Kind::AccelerateConfig => content.accelerate = Some(AccelerateConfig::of(file)),
            Kind::DeepspeedConfig => content.config = Some(Config::of(file)),
            Kind::Hostfile => content.hostfile = Some(hostfile(file)),
            // What pip would install, whatever the image.
            Kind::Requirements | Kind::Pyproject | Kind::Conda => {
                content.packages = Some(asks::list_of(file));
                content.dockerfile = Some(requirements(file));
            }
            Kind::HelmTemplate => content.template = Some(Template { text: file.text.clone() }),
            Kind::DaemonJson | Kind::ToolkitConfig | Kind::Sshd | Kind::Crontab | Kind::Limits => {
                let (name, text, facts) = (file.name.clone(), file.text.clone(), file.facts.clone());
                let (catalog, kind, others) = (file.catalog, file.kind, file.over.clone());
                content.machine = Some(Machine { catalog, checks, kind, name, text, others, facts });
            }
            Kind::SystemdUnit => content.unit(file),
            Kind::GithubWorkflow => content.workflow = Some(Workflow::of(file)),
            Kind::Makefile => content.makefile = Some(Makefile::read(&file.text)),
            Kind::Kubernetes => content.manifest = Some(Manifest::of(file)),
            Kind::Python => {
                content.program = Some(Program::of(file));
            }
        }
        if let Some(settings) = &mut content.settings {
            settings.checks = checks;
        }
        content
    }

    fn dockerfile(&mut self, file: &File) {
        let mut read = Dockerfile::read(file.catalog, &file.text, &file.context);
        read.near.clone_from(&file.over);
        self.settings = Some(Settings::of_dockerfile(&read, file));
        self.launches = Some(Launches::of_dockerfile(&read));
        self.dockerfile = Some(read);
    }

    fn unit(&mut self, file: &File) {
        let read = Unit::of(file);
        self.settings = Some(Settings::of_unit(&read, file));
        self.unit = Some(read);
    }

    fn script(&mut self, file: &File) {
        let is_data = |one: &Over| [".yaml", ".yml", ".json"].iter().any(|end| one.name.ends_with(end));
        let (files, programs) = file.over.iter().cloned().partition(is_data);
        let read = Script { programs, files, ..Script::read(file.catalog, &file.text) };
        self.settings = Some(Settings::of_script(&read, file));
        self.launches = Some(Launches::of_script(&read));
        self.started = Started::of_script(&read);
        if let Some(started) = &mut self.started {
            started.compose.files.clone_from(&file.context);
        }
        self.script = Some(read);
    }

    /// What a rule finds in it.
    fn judged(&self, rule: &Rule, facts: Option<&Facts>) -> Vec<Found> {
        match rule.judge {
            Judge::Dockerfile(judge) => self.dockerfile.as_ref().map(judge),
            Judge::Compose(judge) => self.compose.as_ref().map(judge),
            Judge::Containers(judge) => {
                let of_file = self.compose.as_ref().map(judge);
                of_file.or_else(|| {
                    self.started.as_ref().map(|started| in_script(judge(&started.compose), started))
                })
            }
            Judge::Variables(judge) => self.settings.as_ref().map(judge),
            Judge::Script(judge) => self.script.as_ref().map(judge),
            Judge::Launch(judge) => self.launches.as_ref().map(judge),
            Judge::Packages(judge) => self.packages.as_ref().map(judge),
            Judge::Accelerate(judge) => self.accelerate.as_ref().map(judge),
            Judge::Deepspeed(judge) => self.config.as_ref().map(judge),
            Judge::Hostfile(judge) => self.hostfile.as_ref().map(|hostfile| judge((hostfile, facts))),
            Judge::Machine(judge) => self.machine.as_ref().map(judge),
            Judge::Unit(judge) => self.unit.as_ref().map(judge),
            Judge::Workflow(judge) => self.workflow.as_ref().map(judge),
            Judge::Makefile(judge) => self.makefile.as_ref().map(judge),
            Judge::Manifest(judge) => self.manifest.as_ref().map(judge),
            Judge::Template(judge) => self.template.as_ref().map(judge),
            Judge::Training(judge) => self.program.as_ref().map(judge),
            // Of what could not be read there is no content: [`unreadable`].
            Judge::Unreadable(_) | Judge::Skipped(_) => None,
        }
        .unwrap_or_default()
    }
}

/// What was found in the containers of a script, at the lines of the script.
fn in_script(found: Vec<Found>, started: &Started) -> Vec<Found> {
    // The keys are of a compose file that nobody wrote.
    let moved = |one: Found| Found { line: started.line(one.line), name: None, changes: Vec::new(), ..one };
    found.into_iter().map(moved).collect()
}

/// Checks a file with some rules, a few of which judge by the `checks` of a machine; findings are in line
/// order.
pub fn lint(rules: &[&'static Rule], checks: Checks, file: &File) -> Vec<Finding> {
    let content = Content::read(file, checks);
    let ignores = match &content.dockerfile {
        Some(_) if file.kind.lists_packages() => ignore::Ignores::of_lines(&file.text),
        Some(dockerfile) => ignore::Ignores::of_dockerfile(&file.text, dockerfile),
        None => ignore::Ignores::of_lines(&file.text),
    };
    let judged = rules.iter().map(|rule| (*rule, content.judged(rule, file.facts.as_deref())));
    let mut found = kept(judged, &ignores, file);
    // Of a file that is installed where it is installed, of one over the other behind it.
    let line = |found: &Found| found.file.as_ref().map_or(found.line, |other| other.by.unwrap_or(usize::MAX));
    found.sort_by(|(_, one), (_, other)| {
        (line(one), one.line, other.severity).cmp(&(line(other), other.line, one.severity))
    });
    // Two stages may install the same file.
    found.dedup_by(|(rule, one), (other, kept)| rule.id == other.id && one.file.is_some() && one == kept);
    let keys = KeyNames::of(&content);
    found.into_iter().map(|(rule, found)| finding(rule, keys.named(found), file)).collect()
}

/// Rules, each with one that knows more of the same fault: where both name the same in the same line, the
/// finding of the second counts.
const KNOWS_MORE: &[(&str, &str)] =
    &[(script::launch_options_behind_script::RULE.id, training::script_option_mismatch::RULE.id)];

/// Where a finding is and what it is about, by the rule that it is compared with.
type Place<'f> = (&'static str, String, usize, Option<&'f str>);

fn place<'f>(rule: &'static str, one: &'f Finding) -> Place<'f> {
    (rule, join("", &one.file), one.found.line, one.found.name.as_deref())
}

/// Checks files that were collected together. What a rule finds in a list of packages by itself is left out
/// where it finds the same in it as it is installed, and so is what another rule knows more of.
pub fn lint_all(rules: &[&'static Rule], checks: Checks, files: &[File]) -> Vec<Finding> {
    let mut found: Vec<Finding> = files.iter().flat_map(|file| lint(rules, checks, file)).collect();
    let installed = found.iter().filter(|one| one.found.file.as_ref().is_some_and(|file| file.by.is_some()));
    let known: BTreeMap<(&str, String, usize), Severity> = installed
        .map(|one| ((one.rule.id, join("", &one.file), one.found.line), one.found.severity))
        .collect();
    let repeats = |one: &Finding| {
        let key = (one.rule.id, join("", &one.file), one.found.line);
        one.found.file.is_none() && known.get(&key).is_some_and(|severity| *severity >= one.found.severity)
    };
    let better = found.iter().filter(|one| KNOWS_MORE.iter().any(|(_, id)| *id == one.rule.id));
    let better: BTreeSet<Place> = better.map(|one| place(one.rule.id, one)).collect();
    let is_known = |one: &Finding| {
        let mut others = KNOWS_MORE.iter().filter(|(id, _)| *id == one.rule.id);
        others.any(|(_, id)| better.contains(&place(id, one)))
    };
    let kept: Vec<bool> = found.iter().map(|one| !repeats(one) && !is_known(one)).collect();
    let mut kept = kept.into_iter();
    found.retain(|_| kept.next().unwrap_or(true));
    found
}

/// What some rules find in a file that none of them checks.
pub fn skipped(rules: &[&'static Rule], file: &Skipped) -> Vec<Finding> {
    let found = rules.iter().filter_map(|&rule| match rule.judge {
        Judge::Skipped(judge) => Some((rule, judge(file))),
        _ => None,
    });
    let finding = |rule, found| Finding { rule, file: file.name.clone(), found };
    found.flat_map(|(rule, found)| found.into_iter().map(move |one| finding(rule, one))).collect()
}

/// What some rules find in a file that could not be read.
pub fn unreadable(rules: &[&'static Rule], file: &Unreadable) -> Vec<Finding> {
    let found = rules.iter().filter_map(|&rule| match rule.judge {
        Judge::Unreadable(judge) => Some((rule, judge(file))),
        _ => None,
    });
    let finding = |rule, found| Finding { rule, file: file.name.clone(), found };
    found.flat_map(|(rule, found)| found.into_iter().map(move |one| finding(rule, one))).collect()
}

/// The text of another file, by the path that findings have of it.
fn other_text<'f>(path: &str, file: &'f File) -> Option<&'f str> {
    let over = file.over.iter().find(|one| one.name == path).map(|one| &*one.text);
    over.or_else(|| file.context.get(path)?.as_deref())
}

fn finding(rule: &'static Rule, mut found: Found, file: &File) -> Finding {
    let name = match &found.file {
        Some(other) => match other.by {
            Some(_) if file.kind.lists_packages() => file.name.clone(),
            Some(by) => {
                let installed = file.sibling(&other.path);
                let by_file = match file.name.starts_with('/') {
                    true => path_from(&installed, &file.name),
                    false => file.name.clone(),
                };
                found.message.push_str(&format!(" (installed in line {by} of {by_file})"));
                installed
            }
            // Next to the compose file.
            None if file.kind == Kind::Compose && file.context.contains_key(&other.path) => {
                let folder = file.name.rsplit_once('/').map(|(folder, _)| folder);
                folder.map_or_else(|| other.path.clone(), |folder| format!("{folder}/{}", other.path))
            }
            None => other.path.clone(),
        },
        None => file.name.clone(),
    };
    let own = found.file.is_none() || file.kind.lists_packages();
    let changed = match &found.file {
        Some(other) if !own => other_text(&other.path, file),
        _ => Some(file.text.as_str()),
    };
    let edits = changed.map(|text| edit::edits(&found.changes, &name, text)).unwrap_or_default();
    let mut found = with_short_names(found.with_edits(edits), file).without_credentials();
    if file.kind.lists_packages() {
        found.file = None;
    }
    Finding { rule, file: name, found }
}

/// The same, with the other files by their place next to this one where they have absolute names: a report
/// names the directory of its files already.
fn with_short_names(mut found: Found, file: &File) -> Found {
    for other in file.over.iter().filter(|other| other.name.starts_with('/')) {
        let shown = found.message.contains(&other.name)
            || found.fixes.iter().any(|fix| fix.title.contains(&other.name));
        if !shown {
            continue;
        }
        let short = path_from(&file.name, &other.name);
        found.message = found.message.replace(&other.name, &short);
        for fix in &mut found.fixes {
            fix.title = fix.title.replace(&other.name, &short);
        }
    }
    found
}

/// The path of a file from the directory of another one: `../run.sh`.
fn path_from(file: &str, other: &str) -> String {
    let folder: Vec<&str> = file.rsplit_once('/').map_or("", |(folder, _)| folder).split('/').collect();
    let parts: Vec<&str> = other.split('/').collect();
    let same = folder.iter().zip(&parts).take_while(|(one, other)| one == other).count();
    // Without a common directory below the root it keeps its name.
    if same < 2 {
        return other.to_owned();
    }
    let ups = std::iter::repeat_n("..", folder.len() - same);
    ups.chain(parts[same..].iter().copied()).collect::<Vec<_>>().join("/")
}

fn kept(
    judged: impl Iterator<Item = (&'static Rule, Vec<Found>)>,
    ignores: &ignore::Ignores,
    file: &File,
) -> Vec<(&'static Rule, Found)> {
    let mut others: BTreeMap<String, ignore::Ignores> = BTreeMap::new();
    let left_out = |rule: &Rule| {
        file.ignored.iter().any(|id| *id == rule.id || *id == diagnostic::rule::Rule::group(rule).id)
    };
    let judged = judged.filter(|(rule, _)| !left_out(rule));
    let found = judged.flat_map(|(rule, found)| found.into_iter().map(move |one| (rule, one)));
    found.filter(|(rule, found)| !ignored(rule, found, ignores, &mut others, file)).collect()
}

/// Whether a comment leaves a finding out: one of the file itself, or one of `others`, which are read when
/// they are first needed.
fn ignored(
    rule: &Rule,
    found: &Found,
    own: &ignore::Ignores,
    others: &mut BTreeMap<String, ignore::Ignores>,
    file: &File,
) -> bool {
    let Some(other) = found.file.as_ref().filter(|_| !file.kind.lists_packages()) else {
        return own.cover(rule.id, found.line);
    };
    if other.by.is_some_and(|by| own.cover(rule.id, by)) {
        return true;
    }
    if !others.contains_key(&other.path) {
        let text = other_text(&other.path, file).unwrap_or_default();
        others.insert(other.path.clone(), ignore::Ignores::of_lines(text));
    }
    others.get(&other.path).is_some_and(|ignores| ignores.cover(rule.id, found.line))
}

#[cfg(test)]
mod tests;
