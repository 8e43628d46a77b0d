//! What the catalog has for options and arguments.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap::Command;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, ValueCompleter};

use crate::cli::settings::SettingsFiles;
use crate::cli::{open_catalog, values};
use ::config::{OwnCheck, own};
use ::lint::RULES;
use catalog::{Catalog, embedded, images, packages};
use checks::fleet::FLEET_CHECKS;
use checks::{CHECKS, Group};
use diagnose::message;
use diagnostic::rule::Rule;
use resolve::lookup;
use resolve::universe::Universe;

/// A candidate, and a description or nothing.
type Candidates = Vec<(String, String)>;

/// An argument by the id that clap has for it, and its candidates for what was typed.
struct Row {
    /// `catalog show`; empty for every command that has the argument.
    command: &'static str,
    argument: &'static str,
    /// Whether several values are one word, separated by commas. Those that clap separates are not.
    list: bool,
    candidates: fn(&'static Catalog, &str) -> Candidates,
}

const fn row(
    command: &'static str,
    argument: &'static str,
    candidates: fn(&'static Catalog, &str) -> Candidates,
) -> Row {
    Row { command, argument, list: false, candidates }
}

const ROWS: &[Row] = &[
    row("explain", "words", ids),
    row("check", "only", checks),
    row("check", "ignore", checks),
    row("lint", "only", rules),
    row("lint", "ignore", rules),
    row("lint", "kind", file_types),
    row("catalog show", "file", files),
    row("inspect", "image", image_references),
    row("check", "image", image_references),
    row("", "base_image", image_references),
    row("", "base_devel", image_references),
    row("", "base", bases),
    Row { command: "", argument: "gpu", list: true, candidates: gpus },
    Row { command: "", argument: "with", list: true, candidates: package_names },
    row("", "preset", presets),
    row("", "mirror", mirrors),
    row("", "os", systems),
    row("", "arch", architectures),
    row("", "cuda", cudas),
    row("", "torch", torches),
    row("", "python", pythons),
    row("", "deepspeed", deepspeeds),
    row("", "deepspeed_ops", deepspeed_operators),
    row("", "driver", drivers),
];

/// The command line with these candidates. Only completion needs them: no other command pays for them.
pub(super) fn with_values(command: Command) -> Command {
    below(command, "")
}

fn below(command: Command, path: &str) -> Command {
    let command = command.mut_subcommands(|inner| {
        let path = format!("{path} {}", inner.get_name());
        below(inner, path.trim_start())
    });
    command.mut_args(|argument| {
        let of = |row: &&Row| {
            argument.get_id() == row.argument
                && argument.get_action().takes_values()
                && (row.command.is_empty() || row.command == path)
        };
        match ROWS.iter().find(of) {
            Some(row) => argument.add(ArgValueCompleter::new(row)),
            None => argument,
        }
    })
}

impl ValueCompleter for &'static Row {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let Some(current) = current.to_str() else { return Vec::new() };
        let start = if self.list { current.rfind(',').map_or(0, |comma| comma + 1) } else { 0 };
        let (before, typed) = current.split_at(start);
        let mut seen = BTreeSet::new();
        let mut found = (self.candidates)(open_catalog(), typed);
        found.retain(|(value, _)| value.starts_with(typed) && seen.insert(value.clone()));
        let candidate = |(value, help): (String, String)| {
            let help = (!help.is_empty()).then(|| help.into());
            CompletionCandidate::new(format!("{before}{value}")).help(help)
        };
        found.into_iter().map(candidate).collect()
    }
}

fn alone(values: impl IntoIterator<Item = impl Into<String>>) -> Candidates {
    values.into_iter().map(|value| (value.into(), String::new())).collect()
}

fn described<R: Rule + ?Sized>(rule: &R) -> (String, String) {
    (rule.id().to_owned(), rule.summary().to_owned())
}

fn ids(catalog: &'static Catalog, _: &str) -> Candidates {
    let mut all: Candidates = CHECKS.iter().copied().map(described).collect();
    all.extend(FLEET_CHECKS.iter().copied().map(described));
    all.extend(RULES.iter().copied().map(described));
    all.extend(::image::rules().map(described));
    let signatures = catalog.signatures().all().iter();
    all.extend(signatures.map(|one| (one.id.to_owned(), message::general(one.message))));
    all.extend(own_checks().iter().map(described_own));
    all.extend(alone(lookup::names(&Universe::new(catalog))));
    all
}

fn checks(_: &'static Catalog, _: &str) -> Candidates {
    let groups = Group::ALL.iter().map(|group| (group.id().to_owned(), group.title().to_owned()));
    let own = own_checks();
    let group = (!own.is_empty()).then(|| (own::GROUP.id.to_owned(), own::GROUP.title.to_owned()));
    let checks = groups.chain(CHECKS.iter().copied().map(described));
    checks.chain(group).chain(own.iter().map(described_own)).collect()
}

/// Those of settings files; none where a file cannot be read or is wrong.
fn own_checks() -> Vec<OwnCheck> {
    SettingsFiles::of_environment().read().map(|settings| settings.checks).unwrap_or_default()
}

/// The file may be one of a checkout that nobody has trusted: credentials in it stay off the screen.
fn described_own(check: &OwnCheck) -> (String, String) {
    (check.id(), format!("own check: {}", check.shown_command()))
}

fn rules(_: &'static Catalog, _: &str) -> Candidates {
    let groups = RULES.iter().map(|rule| rule.group());
    let groups = groups.map(|group| (group.id.to_owned(), group.title.to_owned()));
    groups.chain(RULES.iter().copied().map(described)).collect()
}

fn file_types(_: &'static Catalog, _: &str) -> Candidates {
    alone(values::kind_ids())
}

fn files(_: &'static Catalog, _: &str) -> Candidates {
    alone(embedded::all().map(|file| file.name.trim_end_matches(".yaml").to_owned()))
}

/// Repositories, and after the colon their tags: there are too many to list at once.
fn image_references(catalog: &'static Catalog, typed: &str) -> Candidates {
    let Some((repository, _)) = typed.split_once(':') else {
        return alone(images::REPOSITORIES.iter().map(|name| format!("{name}:")));
    };
    alone(catalog.images().of(repository).iter().map(images::Image::reference))
}

fn bases(catalog: &'static Catalog, typed: &str) -> Candidates {
    if typed.contains(':') {
        return image_references(catalog, typed);
    }
    let mut all = alone(images::REPOSITORIES.iter().copied());
    all.push(("ngc".into(), images::NGC.into()));
    all.push(("none".into(), "no container: a machine".into()));
    all
}

fn gpus(catalog: &'static Catalog, _: &str) -> Candidates {
    let models = catalog.gpus().all();
    let mut all: Candidates = models
        .iter()
        .flat_map(|gpu| gpu.aliases.iter().map(|alias| (alias.clone(), gpu.name.clone())))
        .collect();
    let capability = |text: &str| format!("sm_{}", text.replace('.', ""));
    all.extend(models.iter().map(|gpu| (capability(&gpu.compute_capability), gpu.architecture.clone())));
    all
}

fn presets(catalog: &'static Catalog, _: &str) -> Candidates {
    catalog.presets().all().iter().map(|one| (one.name.clone(), one.summary.clone())).collect()
}

fn mirrors(catalog: &'static Catalog, _: &str) -> Candidates {
    catalog.mirrors().all().iter().map(|one| (one.name.clone(), one.summary.clone())).collect()
}

fn systems(catalog: &'static Catalog, _: &str) -> Candidates {
    catalog.systems().all().iter().map(|one| (one.id.clone(), one.name.clone())).collect()
}

fn architectures(_: &'static Catalog, _: &str) -> Candidates {
    alone(["x86_64", "aarch64"])
}

fn package_names(_: &'static Catalog, _: &str) -> Candidates {
    alone(packages::names())
}

/// The newest first, as in all lists of versions.
fn cudas(catalog: &'static Catalog, _: &str) -> Candidates {
    let builds = catalog.torch().all().iter().rev().flat_map(|release| release.builds.iter().rev());
    let mut all = alone(builds.filter_map(|build| build.cuda.clone()));
    all.push(("cpu".into(), "none".into()));
    all
}

fn torches(catalog: &'static Catalog, _: &str) -> Candidates {
    alone(catalog.torch().all().iter().rev().map(|release| release.version.clone()))
}

fn pythons(catalog: &'static Catalog, _: &str) -> Candidates {
    alone(catalog.systems().pythons().iter().rev().map(|row| row.python.clone()))
}

fn deepspeeds(catalog: &'static Catalog, _: &str) -> Candidates {
    alone(catalog.deepspeed().all().iter().rev().map(|release| release.version.clone()))
}

fn deepspeed_operators(catalog: &'static Catalog, _: &str) -> Candidates {
    alone(catalog.deepspeed().operators().iter().map(|operator| operator.name.clone()))
}

fn drivers(catalog: &'static Catalog, _: &str) -> Candidates {
    alone(catalog.drivers().all().iter().rev().map(|branch| branch.branch.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use resolve::parse::{self, StackOptions};

    fn arguments(command: &Command, path: &str, all: &mut BTreeSet<(String, String)>) {
        for argument in command.get_arguments().filter(|one| one.get_action().takes_values()) {
            all.insert((path.to_owned(), argument.get_id().to_string()));
        }
        for inner in command.get_subcommands() {
            let path = format!("{path} {}", inner.get_name());
            arguments(inner, path.trim_start(), all);
        }
    }

    #[test]
    fn every_row_belongs_to_an_argument_and_has_candidates() {
        let mut all = BTreeSet::new();
        arguments(&crate::cli::arguments::command(), "", &mut all);
        for row in ROWS {
            let known = all
                .iter()
                .any(|(path, id)| id == row.argument && (row.command.is_empty() || row.command == path));
            assert!(known, "{} {}", row.command, row.argument);
            let candidates = (row.candidates)(catalog::testing::catalog(), "");
            assert!(!candidates.is_empty(), "{} {}", row.command, row.argument);
            for (value, _) in candidates {
                let separators = |c: char| c.is_whitespace() || c.is_control() || ",'\"$\\".contains(c);
                assert!(!value.contains(separators), "{} {}: {value}", row.command, row.argument);
            }
        }
    }

    #[test]
    fn the_options_accept_their_candidates() {
        let universe = resolve::testing::universe();
        let one = |(value, _): (String, String)| Some(value);
        let accepted = |options: StackOptions| {
            let parsed = parse::requirements(universe, &options);
            assert!(parsed.is_ok(), "{options:?}: {parsed:?}");
        };
        let all = |candidates: fn(&'static Catalog, &str) -> Candidates, typed| {
            candidates(universe.catalog, typed).into_iter().map(one)
        };
        let none = StackOptions::default;
        for gpu in all(gpus, "") {
            accepted(StackOptions { gpu: gpu.into_iter().collect(), ..none() });
        }
        for preset in all(presets, "") {
            accepted(StackOptions { preset: preset.into_iter().collect(), ..none() });
        }
        for with in all(package_names, "") {
            accepted(StackOptions { with: with.into_iter().collect(), ..none() });
        }
        all(systems, "").for_each(|os| accepted(StackOptions { os, ..none() }));
        all(architectures, "").for_each(|arch| accepted(StackOptions { arch, ..none() }));
        all(cudas, "").for_each(|cuda| accepted(StackOptions { cuda, ..none() }));
        all(torches, "").for_each(|torch| accepted(StackOptions { torch, ..none() }));
        all(pythons, "").for_each(|python| accepted(StackOptions { python, ..none() }));
        all(deepspeeds, "").for_each(|deepspeed| accepted(StackOptions { deepspeed, ..none() }));
        all(drivers, "").for_each(|driver| accepted(StackOptions { driver, ..none() }));
        all(bases, "").for_each(|base| accepted(StackOptions { base, ..none() }));
        all(bases, "nvidia/cuda:").for_each(|base| accepted(StackOptions { base, ..none() }));
    }
}
