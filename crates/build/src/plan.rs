//! From a request to a plan: what `envdoc render` writes and `envdoc build` builds.

use std::collections::BTreeSet;
use std::path::PathBuf;

use diagnostic::error::{Error, Kind};
use docker::client::Client;
use image::merge::Merged;
use image::plan::{self, Plan};
use image::request::ImageRequest;
use image::valid;
use project::Project;
use resolve::lock::{Lock, LockError};
use resolve::outcome::{Outcome, Resolution, Warning};
use resolve::parse::{self, Parsed, StackOptions};
use resolve::report::{ProjectFiles, Report};
use resolve::request::{Request, Requirement, RequirementKind};
use resolve::universe::Universe;

use crate::declared::{self, ProjectRequest};
use crate::lock_file::{LockFile, LockRequest, again};
use crate::machines::{Machines, ReadMachine, Requirements};
use crate::settings_mirrors::{SettingsMirrors, fill_in};
use crate::{base_image, host_mirrors, project_lock, registry, request_file};

/// An image that is asked for.
#[derive(Debug, Clone, Default)]
pub struct PlanRequest {
    /// The request file.
    pub file: Option<PathBuf>,
    /// The options, in the shape of a request file; they win over it.
    pub options: ImageRequest,
    /// The project whose declarations count; options and the request file win over them.
    pub project: Option<ProjectRequest>,
    /// Mirrors of the settings; the file and the options win over them.
    pub mirrors: SettingsMirrors,
    /// The machines that it must run on; those of the file, where no snapshot is named.
    pub machines: Machines,
    /// Whether and how a lock file takes part.
    pub lock: LockRequest,
    /// Whether the base image is pinned to its current digest, which asks the registry.
    pub pin: bool,
    /// The day (`2026-11-21`) that decides what is past its end of life.
    pub today: String,
}

/// The files of a request, read and understood.
#[derive(Debug)]
pub(crate) struct CheckedPlan {
    merged: Merged,
    parsed: Parsed,
    lock: Option<LockFile>,
    project: Option<Project>,
}

impl CheckedPlan {
    /// Whether a person has named the image.
    pub(crate) fn has_name(&self) -> bool {
        self.merged.request.name.is_some()
    }
}

/// What became of a request.
#[derive(Debug)]
pub enum Planned {
    /// There is one.
    Plan(Box<PlannedImage>),
    /// No stack meets the request.
    NoStack(Box<NoStack>),
}

/// The plan of an image, and the stack that it is for.
#[derive(Debug)]
pub struct PlannedImage {
    pub plan: Plan,
    /// What else is worth knowing.
    pub notes: Vec<String>,
    /// What the stack satisfies, with the lock.
    pub required: Request,
    pub resolution: Box<Resolution>,
}

/// Why there is no stack.
#[derive(Debug)]
pub struct NoStack {
    requirements: Vec<Requirement>,
    outcome: Outcome,
    warnings: Vec<Warning>,
    notes: Vec<String>,
    project: Option<ProjectFiles>,
}

impl NoStack {
    /// As `envdoc resolve` reports it.
    pub fn report(&self) -> Report<'_> {
        let NoStack { requirements, outcome, warnings, notes, project } = self;
        Report { requirements, outcome, warnings, notes, project: project.as_ref() }
    }
}

/// Plans without an engine: of an image of the user's own, the request describes the contents.
pub fn plan(
    universe: &Universe,
    request: &PlanRequest,
    read_here: ReadMachine<'_>,
) -> Result<Planned, Error> {
    request.resolve(universe, request.checked(universe)?, Vec::new(), read_here)
}

/// What the stack of a request must satisfy, without its lock.
pub fn requirements(
    universe: &Universe,
    request: &PlanRequest,
    read_here: ReadMachine<'_>,
) -> Result<Requirements, Error> {
    let unlocked = PlanRequest { lock: LockRequest::default(), ..request.clone() };
    let CheckedPlan { mut merged, parsed, project, .. } = unlocked.checked(universe)?;
    Ok(request.required(universe, (&mut merged.request, parsed, project.as_ref()), read_here)?.0)
}

impl PlanRequest {
    /// The options over the request file, where everything in them can be understood: no usage error is left.
    pub(crate) fn checked(&self, universe: &Universe) -> Result<CheckedPlan, Error> {
        valid::options(universe.catalog, &self.options)?;
        let file = self.file.as_deref().map(request_file::read).transpose()?;
        let merged = Merged::new(file.unwrap_or_default(), &self.options);
        valid::base_python(universe.catalog, &merged.request, self.options.base_python.is_some())?;
        let parsed = merged.requirements(universe)?;
        let project = self.project.as_ref().map(ProjectRequest::read).transpose()?.flatten();
        Ok(CheckedPlan { merged, parsed, lock: self.lock.read()?, project })
    }

    /// [`plan`], with the contents of an own base image as the engine has it.
    pub(crate) fn plan_on(
        &self,
        universe: &Universe,
        mut checked: CheckedPlan,
        client: &Client,
        read_here: ReadMachine<'_>,
    ) -> Result<Planned, Error> {
        let notes = base_image::describe(universe.catalog, &mut checked.merged, client)?;
        // What the image contains adds requirements.
        checked.parsed = checked.merged.requirements(universe)?;
        self.resolve(universe, checked, notes, read_here)
    }

    fn resolve(
        &self,
        universe: &Universe,
        CheckedPlan { merged, parsed, lock, project }: CheckedPlan,
        mut notes: Vec<String>,
        read_here: ReadMachine<'_>,
    ) -> Result<Planned, Error> {
        let mut image = merged.request;
        let of_mirrors = if image.mirrors.from_host { host_mirrors::fill_in(&mut image) } else { Vec::new() };
        let of_settings = fill_in(&mut image, &self.mirrors)?;
        let (required, of_image) =
            self.required(universe, (&mut image, parsed, project.as_ref()), read_here)?;
        let Requirements { request: mut required, mut warnings, notes: of_request, project: files } =
            required;
        notes.extend(of_request.into_iter().chain(of_image).chain(of_mirrors).chain(of_settings));
        image.requested =
            required.requirements.iter().map(|requirement| requirement.source.to_string()).collect();
        // A pin and its build are two requirements of one line.
        let mut seen = BTreeSet::new();
        image.requested.retain(|one| seen.insert(one.clone()));
        image.targets = required.requirements.iter().filter_map(capability).collect();
        if let Some(lock) = &lock {
            let error = |error: LockError| Error::new(Kind::File, format!("{}: {error}", lock.name));
            required.requirements.extend(lock.lock.requirements(&lock.name).map_err(error)?);
        }
        let resolution = match resolve::resolve(universe, &required) {
            Outcome::Resolved(resolution) => resolution,
            outcome => {
                let requirements = required.requirements;
                let none = NoStack { requirements, outcome, warnings, notes, project: files };
                return Ok(Planned::NoStack(Box::new(none)));
            }
        };
        if let Some(project) = &project {
            let asked = (&required.requirements[..], &image.architectures[..]);
            image.project_lock = project_lock::of_stack(project, &resolution.stack, asked)?;
        }
        self.pin_base(&mut image, &resolution)?;
        image.lock = lock.as_ref().map(|lock| lock.lock.clone());
        let mut plan = plan::plan(universe.catalog, &image, &resolution)?;
        plan.warnings.append(&mut warnings);
        notes.extend(self.ignored_lock(lock.as_ref(), &plan)?);
        if let Some(none) = on_other_architectures(universe, &image, &required, &resolution)? {
            return Ok(Planned::NoStack(Box::new(none)));
        }
        notes.splice(0..0, files.as_ref().map(|files| files.sentence(false)));
        Ok(Planned::Plan(Box::new(PlannedImage { plan, notes, required, resolution })))
    }

    /// What the options, the file, the machines and the project require; and notes on the image of a project.
    fn required(
        &self,
        universe: &Universe,
        (image, parsed, project): (&mut ImageRequest, Parsed, Option<&Project>),
        read_here: ReadMachine<'_>,
    ) -> Result<(Requirements, Vec<String>), Error> {
        let machines = self.machines_or_those_of(image);
        let mut required = machines.requirements(universe.catalog, parsed, &self.today, read_here)?;
        let Some(project) = project else { return Ok((required, Vec::new())) };
        let others = declared::join(universe, project, image, &mut required)?;
        let notes = declared::notes_on_image(&others);
        image.declared = others.packages;
        Ok((required, notes))
    }

    fn machines_or_those_of(&self, image: &ImageRequest) -> Machines {
        let mut machines = self.machines.clone();
        if machines.snapshots.is_empty() {
            machines.snapshots = image.from.iter().map(PathBuf::from).collect();
        }
        machines
    }

    fn pin_base(&self, image: &mut ImageRequest, resolution: &Resolution) -> Result<(), Error> {
        let stack = || resolution.stack.base_image.as_ref().map(ToString::to_string);
        let base = image.base_image.clone().or_else(stack);
        if let Some(base) = base.filter(|_| self.pin) {
            let certificates = self.options.ca_certificates.as_deref().map(PathBuf::from);
            image.base_digest = Some(registry::digest(&base, certificates.as_deref())?);
        }
        Ok(())
    }

    /// The notes on a lock that the plan ignores; an error with `--locked`.
    fn ignored_lock(&self, lock: Option<&LockFile>, plan: &Plan) -> Result<Vec<String>, Error> {
        let Some(lock) = lock else { return Ok(Vec::new()) };
        self.lock.accept(lock, plan)?;
        let mut notes: Vec<String> =
            plan.lock_drift.iter().map(|one| format!("{}: {one}", lock.name)).collect();
        if !notes.is_empty() {
            notes.push(format!("{} is ignored; regenerate it: {}", lock.name, again(&lock.name)));
        }
        Ok(notes)
    }
}

fn capability(requirement: &Requirement) -> Option<(u32, u32)> {
    match &requirement.kind {
        RequirementKind::Gpu(gpu) => Some(gpu.capability),
        _ => None,
    }
}

/// Why the same stack does not work on another architecture of the request; `None` where it works on all.
fn on_other_architectures(
    universe: &Universe,
    image: &ImageRequest,
    required: &Request,
    resolution: &Resolution,
) -> Result<Option<NoStack>, Error> {
    let of_processor =
        |requirement: &Requirement| matches!(requirement.kind, RequirementKind::Architecture(_));
    let first = image.architectures.first();
    let others: BTreeSet<&String> = image.architectures.iter().filter(|one| Some(*one) != first).collect();
    for architecture in others {
        let typed = StackOptions { arch: Some(architecture.clone()), ..StackOptions::default() };
        let mut requirements = Lock::new(&resolution.stack, &[])
            .requirements("the stack of the first processor")
            .map_err(|error| Error::new(Kind::Usage, error.to_string()))?;
        requirements.retain(|requirement| !of_processor(requirement));
        requirements.extend(parse::requirements(universe, &typed)?.requirements);
        requirements
            .extend(required.requirements.iter().filter(|requirement| !of_processor(requirement)).cloned());
        let other = Request { requirements, ..required.clone() };
        let outcome = resolve::resolve(universe, &other);
        if matches!(outcome, Outcome::Conflict(_)) {
            let (warnings, notes) = (Vec::new(), Vec::new());
            let project = None;
            return Ok(Some(NoStack { requirements: other.requirements, outcome, warnings, notes, project }));
        }
    }
    Ok(None)
}
