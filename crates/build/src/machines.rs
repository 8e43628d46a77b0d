//! The machines that a stack must run on, as requirements.

use catalog::Catalog;
use std::path::{Path, PathBuf};

use diagnostic::error::{Error, Kind};
use facts::{Expected, Facts, gather};
use host::snapshot::Snapshot;
use judge::{Checks, Verdict, judge_one};
use resolve::machine::{Machine, MachineScope};
use resolve::outcome::Warning;
use resolve::parse::Parsed;
use resolve::report::ProjectFiles;
use resolve::request::{Base, Prefer, Request, Requirement, RequirementKind};

/// Reads the facts of this machine, for `--here`.
pub type ReadMachine<'a> = &'a dyn Fn() -> Result<Facts, Error>;

/// The machines, and what to prefer among the stacks that run on all of them.
#[derive(Debug, Clone, Default)]
pub struct Machines {
    /// Recorded machines: files of `envdoc snapshot`.
    pub snapshots: Vec<PathBuf>,
    /// Whether this machine is one.
    pub here: bool,
    /// What a machine is checked for: the findings that matter to an image.
    pub checks: Checks,
    /// The ranking of stacks.
    pub prefer: Prefer,
}

/// What a stack must satisfy.
#[derive(Debug)]
pub struct Requirements {
    /// For the resolver.
    pub request: Request,
    /// What to know of the machines and of how an option was read.
    pub warnings: Vec<Warning>,
    /// Facts that add no requirement.
    pub notes: Vec<String>,
    /// The files of the project, where one was read.
    pub project: Option<ProjectFiles>,
}

impl Machines {
    /// The requirements of a user, and those of the machines. `today` (`2026-11-21`) decides what is past its
    /// end of life.
    pub fn requirements(
        &self,
        catalog: &'static Catalog,
        parsed: Parsed,
        today: &str,
        read_here: ReadMachine<'_>,
    ) -> Result<Requirements, Error> {
        let machines = self.machines(catalog, &parsed.requirements, read_here)?;
        let request = Request {
            requirements: parsed.requirements,
            prefer: self.prefer,
            today: today.to_owned(),
            ..Request::default()
        };
        let mut all = Requirements { request, warnings: parsed.warnings, notes: Vec::new(), project: None };
        for machine in machines {
            all.request.requirements.extend(machine.requirements);
            all.warnings.extend(machine.warnings);
            all.notes.extend(machine.notes);
            for (name, version) in machine.installed {
                all.request.installed.entry(name).or_insert(version);
            }
        }
        Ok(all)
    }

    fn machines(
        &self,
        catalog: &'static Catalog,
        requirements: &[Requirement],
        read_here: ReadMachine<'_>,
    ) -> Result<Vec<Machine>, Error> {
        let scope = MachineScope {
            bare: requirements
                .iter()
                .any(|requirement| matches!(requirement.kind, RequirementKind::Base(Base::None))),
            installed: self.prefer == Prefer::Installed,
            cpu: requirements.iter().any(|requirement| requirement.kind.is_cpu(catalog)),
        };
        if scope.installed && self.snapshots.is_empty() && !self.here {
            return Err(Error::new(Kind::Usage, "--prefer installed requires --here or --from")
                .hint("--from takes a snapshot of the machine"));
        }
        if self.snapshots.iter().filter(|file| is_standard_input(file)).count() > 1 {
            return Err(Error::new(Kind::Usage, "only one --from can be standard input (-)"));
        }
        let mut machines = Vec::new();
        for file in &self.snapshots {
            let facts = gather::recorded(&Snapshot::named(file)?.host(), Expected::default(), catalog);
            machines.push(with_findings(self.checks, &self.name(file), &facts, scope));
        }
        if self.here {
            machines.push(with_findings(self.checks, "this machine", &read_here()?, scope));
        }
        Ok(machines)
    }

    /// The file name; with its path if two files have the same name.
    fn name(&self, file: &Path) -> String {
        if is_standard_input(file) {
            return "standard input".to_owned();
        }
        let name = |file: &Path| file.file_name().map(|name| name.to_string_lossy().into_owned());
        let alone = self.snapshots.iter().filter(|other| name(other) == name(file)).count() == 1;
        name(file).filter(|_| alone).unwrap_or_else(|| file.display().to_string())
    }
}

fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// The requirements of one machine, with the findings on it as warnings.
fn with_findings(checks: Checks, name: &str, facts: &Facts, scope: MachineScope) -> Machine {
    let mut machine = Machine::from_facts(name, facts, scope);
    for check in checks {
        if let Verdict::Found(found) = judge_one(check, facts) {
            let message = format!("{name}: {}", found.message);
            machine.warnings.push(Warning { id: check.id.into(), message });
        }
    }
    machine
}
