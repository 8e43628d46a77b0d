//! The declarations of a project as requirements of a plan.

use std::collections::BTreeMap;

use image::request::ImageRequest;
use project::{Environment, Others, Project, Selection, Texts, declare, has_project_files};
use resolve::outcome::Outcome;
use resolve::parameter::Source;
use resolve::parse::package_name;
use resolve::report::{FileNotRead, FileRead, ProjectFiles};
use resolve::request::{Request, Requirement, RequirementKind, Versions};
use resolve::universe::{Python, Universe};

use crate::machines::Requirements;
use diagnostic::error::Error;
use diagnostic::words::plural;

/// A project whose files are read.
#[derive(Debug, Clone, Default)]
pub struct ProjectRequest {
    pub selection: Selection,
    /// Whether a directory without such files is none.
    pub optional: bool,
    /// Texts that count in place of files.
    pub instead: BTreeMap<String, String>,
}

impl ProjectRequest {
    /// The project; `None` where there is none and it may be so.
    pub(crate) fn read(&self) -> Result<Option<Project>, Error> {
        let selection = &self.selection;
        if self.optional && selection.requirements.is_empty() && !has_project_files(&selection.directory) {
            return Ok(None);
        }
        let mut texts = Texts { instead: self.instead.clone(), ..Texts::default() };
        Ok(Some(project::read_texts(selection, &mut texts)?))
    }
}

/// Adds what a project requires, but for what the user asked for in another way; returns what is only for
/// pip.
pub(crate) fn join(
    universe: &Universe,
    project: &Project,
    image: &ImageRequest,
    required: &mut Requirements,
) -> Result<Others, Error> {
    let architecture = architecture(&required.request).to_owned();
    let given = required.request.requirements.clone();
    let pythons = pythons(universe, project, &given);
    let declared = |pythons: &[u32]| {
        declare(universe.catalog, project, Environment { architecture: &architecture, pythons })
    };
    let mut found = declared(&pythons)?;
    let lock = project.lock.as_ref().map(|lock| lock.file.as_str());
    let mut kept = Kept::of(found.requirements, &given, lock);
    if found.depends_on_python {
        let mut probe = required.request.clone();
        probe.requirements.extend(kept.requirements.iter().cloned());
        if let Outcome::Resolved(resolution) = resolve::resolve(universe, &probe) {
            let python = &resolution.stack.python;
            found = declared(minor(python).as_slice())?;
            kept = Kept::of(std::mem::take(&mut found.requirements), &given, lock);
            kept.requirements.extend(of_markers(python));
            required.notes.push(format!("markers are evaluated for Python {python}"));
        }
    }
    let mut others = found.others;
    let option = |text: &str| image.packages.iter().find(|one| package_name(one) == package_name(text));
    let (replaced, left): (Vec<String>, _) =
        others.packages.into_iter().partition(|text| option(text).is_some());
    others.packages = left;
    required.notes.extend(kept.notes);
    let replaced = replaced.iter().filter_map(|text| Some((text, option(text)?)));
    required.notes.extend(replaced.map(|(text, by)| format!("{text} of the project is replaced by {by}")));
    required.notes.extend(notes(project, &others));
    required.request.requirements.extend(kept.requirements);
    required.project = Some(files(project));
    Ok(others)
}

/// The series for which markers were evaluated: with another one other requirements would hold.
fn of_markers(python: &str) -> Option<Requirement> {
    let versions: Versions = python.parse().ok()?;
    let source = Source::Stated(format!("Python {python}, for which markers were evaluated"));
    Some(Requirement { source, kind: RequirementKind::Python(versions) })
}

pub(crate) fn minor(python: &str) -> Option<u32> {
    python.strip_prefix("3.")?.parse().ok()
}

/// The minor numbers of the Pythons that all requirements allow.
fn pythons(universe: &Universe, project: &Project, given: &[Requirement]) -> Vec<u32> {
    let asked: Vec<_> = given
        .iter()
        .filter_map(|one| match &one.kind {
            RequirementKind::Python(versions) => Some(&versions.specifiers),
            _ => None,
        })
        .collect();
    let is_given = given.iter().any(|one| is_given(one) && matches!(one.kind, RequirementKind::Python(_)));
    let own = project.python.iter().filter(|_| !is_given);
    // Nothing replaces the Python of a lock.
    let of_lock = project.lock.iter().filter_map(|lock| lock.python.as_ref());
    let own = own.chain(of_lock).map(|one| &one.value.specifiers);
    let ranges: Vec<_> = asked.into_iter().chain(own).collect();
    let allowed = |python: &&Python| ranges.iter().all(|range| python.within(range));
    universe.pythons.iter().filter(allowed).filter_map(|python| minor(&python.text)).collect()
}

fn architecture(request: &Request) -> &str {
    let required = request.requirements.iter().find_map(|one| match &one.kind {
        RequirementKind::Architecture(name) => Some(name.as_str()),
        _ => None,
    });
    let of_gpu = || {
        request.requirements.iter().find_map(|one| match &one.kind {
            RequirementKind::Gpu(gpu) => gpu.processor.as_deref(),
            _ => None,
        })
    };
    required.or_else(of_gpu).unwrap_or("x86_64")
}

fn is_given(requirement: &Requirement) -> bool {
    matches!(requirement.source, Source::Given { .. })
}

/// The declared requirements that no option and no key replaces.
#[derive(Debug, Default)]
struct Kept {
    requirements: Vec<Requirement>,
    /// Which were replaced.
    notes: Vec<String>,
}

impl Kept {
    /// Nothing replaces what the file `lock` pins: its packages belong together.
    fn of(declared: Vec<Requirement>, given: &[Requirement], lock: Option<&str>) -> Kept {
        let mut kept = Kept::default();
        for mut one in declared {
            if matches!(&one.source, Source::Declared(from) if lock == Some(from.file.as_str())) {
                kept.requirements.push(one);
                continue;
            }
            let replaces = |other: &&Requirement| is_given(other) && replaces(&other.kind, &one.kind);
            if let Some(other) = given.iter().find(replaces) {
                kept.note(format!("{} is replaced by {}", one.source, other.source));
                continue;
            }
            let cuda = given.iter().find(|other| is_given(other) && is_cuda(&other.kind));
            if let (RequirementKind::Torch(Versions { build, .. }), Some(cuda)) = (&mut one.kind, cuda)
                && let Some(build) = build.take()
            {
                kept.note(format!("the build {build} of {} is replaced by {}", one.source, cuda.source));
            }
            kept.requirements.push(one);
        }
        kept
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

fn is_cuda(kind: &RequirementKind) -> bool {
    matches!(kind, RequirementKind::Cuda(_) | RequirementKind::Cpu)
}

/// Whether a requirement of the user replaces a declared one: both are about the same part. torchvision
/// and torchaudio are released with torch.
fn replaces(given: &RequirementKind, declared: &RequirementKind) -> bool {
    use RequirementKind::{Package, Python, Torch};
    match (given, declared) {
        // The build alone, as an index names it.
        (Torch(given), Torch(declared)) if declared.specifiers.is_empty() && declared.build.is_some() => {
            given.build.is_some()
        }
        (kind, Torch(declared)) if declared.specifiers.is_empty() && declared.build.is_some() => {
            is_cuda(kind)
        }
        (Torch(_), Torch(_)) | (Python(_), Python(_)) => true,
        (Torch(_), Package(name, _)) => name == "torchvision" || name == "torchaudio",
        (Package(given, _), Package(declared, _)) => given == declared,
        (Torch(_), RequirementKind::Cuda(_)) => true,
        (given, RequirementKind::Cuda(_)) => is_cuda(given),
        _ => false,
    }
}

fn notes(project: &Project, others: &Others) -> Vec<String> {
    let packages = |count: usize| if count == 1 { "1 package".into() } else { format!("{count} packages") };
    let mut notes = Vec::new();
    if !others.torch && !project.dependencies.is_empty() {
        notes.push("no file of the project requires torch; envdoc chose its version".to_owned());
    }
    if let Some(lock) = project.lock.as_ref().filter(|_| others.locked > 0) {
        let packages = plural(others.locked, "other package");
        notes.push(format!("{packages} of {}: installed by hash, not checked", lock.file));
    }
    for (origin, reason) in &others.elsewhere {
        notes.push(format!("{origin} ({reason}) is not installed"));
    }
    match others.packages.len() {
        0 => {}
        1 => notes.push("1 other package is not checked; pip installs it as declared".to_owned()),
        count => notes.push(format!("{count} other packages are not checked; pip installs them as declared")),
    }
    match others.of_torch {
        0 => {}
        1 => notes.push("1 package comes with torch, in the version of its build".to_owned()),
        count => notes.push(format!("{count} packages come with torch, in the versions of its build")),
    }
    if others.constraints > 0 {
        let count = others.constraints;
        notes.push(format!("constraints on {} that no file requires are not used", packages(count)));
    }
    notes
}

/// What is different in an image from an installation of the project by pip.
pub(crate) fn notes_on_image(others: &Others) -> Vec<String> {
    let index = |origin: &project::Origin| {
        format!("{origin} is not used in the image; name it with --pip-index or --extra-index")
    };
    let hashes = match others.hashes {
        0 => None,
        1 => Some("the hash of 1 requirement is not checked in the image".to_owned()),
        count => Some(format!("the hashes of {count} requirements are not checked in the image")),
    };
    others.indexes.iter().map(index).chain(hashes).collect()
}

fn files(project: &Project) -> ProjectFiles {
    ProjectFiles {
        directory: project.directory.display().to_string(),
        read: project
            .read
            .iter()
            .map(|one| FileRead {
                file: one.name.clone(),
                requirements: one.requirements,
                packages: one.packages,
                parts: one.parts.clone(),
            })
            .collect(),
        not_read: project
            .not_read
            .iter()
            .map(|one| FileNotRead { file: one.file.clone(), line: one.line, reason: one.reason.to_string() })
            .collect(),
        change: None,
    }
}
