//! From a request to a plan: what `envdoc render` writes and `envdoc build` builds.

use std::path::PathBuf;

use diagnostic::error::{Error, Kind};
use docker::client::Client;
use image::merge::Merged;
use image::plan::{self, Plan};
use image::request::ImageRequest;
use resolve::answer::{Answer, Resolution, Warning};
use resolve::lock::{Lock, LockError};
use resolve::parse::{self, Typed};
use resolve::report::Report;
use resolve::request::{Request, Want, Wish};
use resolve::world::World;

use crate::lock_file::{LockFile, LockRequest};
use crate::machines::{Machines, ReadMachine, Requirements};
use crate::{base_image, host_mirrors, registry, request_file};

/// An image that is asked for.
#[derive(Debug, Clone, Default)]
pub struct PlanRequest {
    /// The request file.
    pub file: Option<PathBuf>,
    /// The options, in the shape of a request file; they win over it.
    pub options: ImageRequest,
    /// The machines that it must run on; those of the file, where no snapshot is named.
    pub machines: Machines,
    /// The lock.
    pub lock: LockRequest,
    /// Whether the base image is pinned to its current digest, which asks the registry.
    pub pin: bool,
    /// The day (`2026-11-21`) that decides what is past its end of life.
    pub today: String,
}

/// What became of a request.
#[derive(Debug)]
pub enum Planned {
    /// The plan, and what else is worth knowing.
    Plan(Box<Plan>, Vec<String>),
    /// No stack meets the request.
    NoStack(Box<NoStack>),
}

/// Why there is no stack.
#[derive(Debug)]
pub struct NoStack {
    wishes: Vec<Wish>,
    answer: Answer,
    warnings: Vec<Warning>,
    notes: Vec<String>,
}

impl NoStack {
    /// As `envdoc resolve` reports it.
    pub fn report(&self) -> Report<'_> {
        let NoStack { wishes, answer, warnings, notes } = self;
        Report { wishes, answer, warnings, notes }
    }
}

/// Plans without an engine: of an image of the user's own, the request describes the contents.
pub fn plan(world: &World, request: &PlanRequest, read_here: ReadMachine<'_>) -> Result<Planned, Error> {
    let merged = request.merged()?;
    request.resolve(world, merged, Vec::new(), read_here)
}

impl PlanRequest {
    /// The options over the request file.
    pub(crate) fn merged(&self) -> Result<Merged, Error> {
        let file = self.file.as_deref().map(request_file::read).transpose()?;
        Ok(Merged::new(file.unwrap_or_default(), &self.options))
    }

    /// The same, where everything in it can be understood: no usage error is left.
    pub(crate) fn checked(&self, world: &World) -> Result<Merged, Error> {
        let merged = self.merged()?;
        merged.requirements(world)?;
        self.lock.read()?;
        Ok(merged)
    }

    /// [`plan`], with the contents of an own base image as the engine has it.
    pub(crate) fn plan_on(
        &self,
        world: &World,
        mut merged: Merged,
        client: &Client,
        read_here: ReadMachine<'_>,
    ) -> Result<Planned, Error> {
        let notes = base_image::describe(world.catalog, &mut merged, client)?;
        self.resolve(world, merged, notes, read_here)
    }

    fn resolve(
        &self,
        world: &World,
        mut merged: Merged,
        mut notes: Vec<String>,
        read_here: ReadMachine<'_>,
    ) -> Result<Planned, Error> {
        let understood = merged.requirements(world)?;
        let mut image = std::mem::take(&mut merged.request);
        let machines = self.machines_or_those_of(&image);
        let of_mirrors = if image.mirrors.from_host { host_mirrors::fill_in(&mut image) } else { Vec::new() };
        let required = machines.requirements(world.catalog, understood, &self.today, read_here)?;
        let Requirements { request: mut required, mut warnings, notes: of_machines } = required;
        notes.extend(of_machines.into_iter().chain(of_mirrors));
        image.says = required.wishes.iter().map(|wish| wish.source.to_string()).collect();
        image.targets = required.wishes.iter().filter_map(capability).collect();
        let lock = self.lock.read()?;
        if let Some(lock) = &lock {
            let error = |error: LockError| Error::new(Kind::File, format!("{}: {error}", lock.name));
            required.wishes.extend(lock.lock.wishes(&lock.name).map_err(error)?);
        }
        let resolution = match resolve::resolve(world, &required) {
            Answer::Found(resolution) => resolution,
            answer => {
                let none = NoStack { wishes: required.wishes, answer, warnings, notes };
                return Ok(Planned::NoStack(Box::new(none)));
            }
        };
        if let Some(none) = on_other_architectures(world, &image, &required, &resolution)? {
            return Ok(Planned::NoStack(Box::new(none)));
        }
        self.pin_base(&mut image, &resolution)?;
        image.lock = lock.as_ref().map(|lock| lock.lock.clone());
        let mut plan = plan::plan(world.catalog, &image, &resolution)?;
        plan.warnings.append(&mut warnings);
        notes.extend(self.ignored_lock(lock.as_ref(), &plan)?);
        Ok(Planned::Plan(Box::new(plan), notes))
    }

    fn machines_or_those_of(&self, image: &ImageRequest) -> Machines {
        let mut machines = self.machines.clone();
        if machines.snapshots.is_empty() {
            machines.snapshots = image.from.iter().map(PathBuf::from).collect();
        }
        machines
    }

    fn pin_base(&self, image: &mut ImageRequest, resolution: &Resolution) -> Result<(), Error> {
        let base = image.base_image.as_ref().or(resolution.stack.base_image.as_ref());
        if let Some(base) = base.filter(|_| self.pin) {
            let certificates = self.options.ca_certificates.as_deref().map(PathBuf::from);
            image.base_digest = Some(registry::digest(base, certificates.as_deref())?);
        }
        Ok(())
    }

    /// The notes on a lock that the plan ignores; an error with `--locked`.
    fn ignored_lock(&self, lock: Option<&LockFile>, plan: &Plan) -> Result<Vec<String>, Error> {
        let Some(lock) = lock else { return Ok(Vec::new()) };
        self.lock.accept(lock, &plan.lock_drift)?;
        let mut notes: Vec<String> =
            plan.lock_drift.iter().map(|one| format!("{}: {one}", lock.name)).collect();
        if !notes.is_empty() {
            notes.push(format!("{} is ignored; recreate it with `envdoc render lock --force`", lock.name));
        }
        Ok(notes)
    }
}

fn capability(wish: &Wish) -> Option<(u32, u32)> {
    match &wish.want {
        Want::Gpu(gpu) => Some(gpu.capability),
        _ => None,
    }
}

/// Why the same stack does not work on another architecture of the request; `None` where it works on all.
fn on_other_architectures(
    world: &World,
    image: &ImageRequest,
    required: &Request,
    resolution: &Resolution,
) -> Result<Option<NoStack>, Error> {
    let of_processor = |wish: &Wish| matches!(wish.want, Want::Architecture(_));
    for architecture in image.architectures.iter().skip(1) {
        let typed = Typed { arch: Some(architecture.clone()), ..Typed::default() };
        let mut wishes = Lock::of(&resolution.stack, &[])
            .wishes("the stack of the first processor")
            .map_err(|error| Error::new(Kind::Usage, error.to_string()))?;
        wishes.retain(|wish| !of_processor(wish));
        wishes.extend(parse::wishes(world, &typed)?.wishes);
        wishes.extend(required.wishes.iter().filter(|wish| !of_processor(wish)).cloned());
        let other = Request { wishes, ..required.clone() };
        let answer = resolve::resolve(world, &other);
        if matches!(answer, Answer::None(_)) {
            let (warnings, notes) = (Vec::new(), Vec::new());
            return Ok(Some(NoStack { wishes: other.wishes, answer, warnings, notes }));
        }
    }
    Ok(None)
}
