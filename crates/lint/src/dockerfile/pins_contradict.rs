//! Pins of several installations of one stage that contradict each other.

use std::collections::BTreeMap;

use catalog::Catalog;
use diagnostic::Fix;
use pep440_rs::VersionSpecifiers;

use crate::read::dockerfile::install::{Install, Requirement};
use crate::read::dockerfile::{Dockerfile, Run, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};
use crate::torch::FAMILY;

pub(crate) const RULE: Rule = Rule {
    id: "pins-contradict",
    severity: Severity::Warning,
    summary: "packages pinned in several commands of one stage are compatible",
    explain: include_str!("pins_contradict.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.11\nRUN pip install --no-cache-dir stable-baselines3==2.4.1\n\
             RUN pip install --no-cache-dir numpy==2.1.0\n",
        ),
        dockerfile(
            "FROM python:3.11\nRUN pip install --no-cache-dir torch==2.5.1\n\
             RUN pip install --no-cache-dir xformers==0.0.29.post3\n",
        ),
        dockerfile(
            "FROM python:3.11\nRUN pip install --no-cache-dir numpy==1.26.4\n\
             RUN pip install --no-cache-dir numpy==1.25.2\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.11\nRUN pip install --no-cache-dir torch==2.1.0\n\
             RUN pip install --no-cache-dir xformers==0.0.23 --no-dependencies\n",
        ),
        dockerfile(
            "FROM python:3.11\nRUN pip install --no-cache-dir stable-baselines3==2.4.1\n\
             RUN pip install --no-cache-dir numpy==1.26.4\nFROM python:3.11\n\
             RUN pip install --no-cache-dir numpy==2.1.0\n",
        ),
        dockerfile(
            "FROM python:3.11\nRUN pip install --no-cache-dir numpy==1.26.4\n\
             RUN pip install --no-cache-dir --target /opt/other numpy==1.25.2 && pip install --no-cache-dir \
             numpy==1.26.4\n",
        ),
        dockerfile(
            "FROM python:3.11\nRUN python -m venv /a && python -m venv /b\n\
             RUN /a/bin/pip install numpy==1.26.4\nRUN /b/bin/pip install numpy==1.25.2\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().flat_map(stage).collect()
}

/// The pinned packages of one Python, by name.
#[derive(Default)]
struct Pinned<'s> {
    all: BTreeMap<&'s str, &'s Requirement>,
    /// Those of which the catalog knows what the release requires.
    known: BTreeMap<&'s str, &'s Requirement>,
}

impl<'s> Pinned<'s> {
    fn insert(&mut self, catalog: &'static Catalog, one: &'s Requirement) {
        self.all.insert(&one.name, one);
        match one.row(catalog) {
            Some(_) => self.known.insert(&one.name, one),
            None => self.known.remove(one.name.as_str()),
        };
    }

    /// Those that require `one`, or that it requires.
    fn related(&self, catalog: &'static Catalog, one: &Requirement) -> BTreeMap<&'s str, &'s Requirement> {
        let mut found = self.known.clone();
        let row = one.row(catalog).into_iter();
        let names = row.flat_map(|row| {
            row.requires.keys().chain(row.elsewhere.iter().flat_map(|other| other.requires.keys()))
        });
        found.extend(names.filter_map(|name| self.all.get_key_value(name.as_str())));
        found
    }
}

fn stage(stage: &Stage) -> Vec<Found> {
    let mut pythons: BTreeMap<String, Pinned> = BTreeMap::new();
    let mut found = Vec::new();
    for (run, install) in stage.runs.iter().filter_map(|run| Some((run, run.install.as_ref()?))) {
        // Of several environments nobody knows which one is active.
        let alone = run.state.pythons.environments.len() < 2;
        if !install.certain || install.elsewhere() || !alone {
            continue;
        }
        let program = run.command.words.first().map_or("", |word| word.text.as_str());
        let there = pythons.entry(format!("{program} {:?}", install.python)).or_default();
        if !install.option("--no-deps") {
            found.extend(contradictions(run, install, there));
        }
        for one in install.requirements.iter().filter(|one| one.pin.is_some() && !one.default) {
            there.insert(run.state.catalog, one);
        }
    }
    found
}

fn contradictions(run: &Run, install: &Install, there: &Pinned) -> Vec<Found> {
    let catalog = run.state.catalog;
    let pinned = install.requirements.iter().filter(|one| one.pin.is_some() && !one.default);
    let mut found = Vec::new();
    for one in pinned {
        let before = there.all.get(one.name.as_str()).filter(|before| before.pin != one.pin);
        if let Some(before) = before.filter(|_| !FAMILY.contains(&one.name.as_str())) {
            let message = format!("{} replaces {} from {}", shown(one), shown(before), before.location());
            found.push(Found::note(one, message, "Pin one release, in one place"));
        }
        // What this command names itself is another rule's.
        let related = there.related(catalog, one);
        let others = related.values().filter(|other| install.requirement(&other.name).is_none());
        found.extend(others.filter_map(|other| pair(run.state.catalog, install, one, other)));
    }
    found
}

/// What a pinned package and one that was installed before make of each other.
fn pair(
    catalog: &'static Catalog,
    install: &Install,
    one: &Requirement,
    before: &Requirement,
) -> Option<Found> {
    if let Some(wanted) = excludes(catalog, install, before, one) {
        let message = format!(
            "{} from {} requires {} {wanted}; this command replaces it with {}",
            shown(before),
            before.location(),
            one.name,
            one.pin_text
        );
        return Some(Found::warning(one, message, fix(one, before)));
    }
    let wanted = excludes(catalog, install, one, before)?;
    let message = format!(
        "{} requires {} {wanted}; pip replaces {} from {}",
        shown(one),
        before.name,
        shown(before),
        before.location()
    );
    Some(Found::warning(one, message, fix(one, before)))
}

/// What one release requires of another package, where the other's pin is not among it.
fn excludes(
    catalog: &'static Catalog,
    install: &Install,
    one: &Requirement,
    other: &Requirement,
) -> Option<VersionSpecifiers> {
    let wanted: VersionSpecifiers = install.required(one.row(catalog)?, &other.name)?.parse().ok()?;
    (!wanted.contains(other.pin.as_ref()?)).then_some(wanted)
}

fn fix(one: &Requirement, before: &Requirement) -> Fix {
    let command = format!("envdoc resolve --with {},{}", one.name, before.name);
    Fix::run("Find compatible releases:", command)
}

fn shown(one: &Requirement) -> String {
    format!("{} {}", one.name, one.pin_text)
}
