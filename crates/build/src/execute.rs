//! Builds, verifies, tags and pushes an image; cleans up after an interruption.

use catalog::Catalog;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

use diagnostic::error::{Error, Kind};
use diagnostic::units::time;
use docker::auth::Logins;
use docker::build::{self, Built, Failure};
use docker::engine::Engine;
use docker::{image as images, push, run as container};
use image::build_log::{self, Diagnosis};
use image::report::{self, BuildReport, FailureEntry, ImageEntry, Note, Progress, PushedEntry, SCHEMA};
use image::verify::{self, Verification};

use crate::build_plan::{BuildPlan, ImageBuild};
use crate::image_index;

/// Builds each platform of a plan in turn, and stops at the first that fails. Each report goes to
/// `on_report`; the last one after the image indexes are pushed.
pub fn run(
    catalog: &'static Catalog,
    plan: &BuildPlan,
    new_progress: &dyn Fn() -> Progress,
    on_report: &mut dyn FnMut(BuildReport) -> Result<(), Error>,
) -> Result<(), Error> {
    let runtime = docker::runtime()?;
    let engine = runtime.block_on(Engine::connect(&plan.client.endpoint))?;
    let mut reports: Vec<BuildReport> = Vec::new();
    for image in image_index::images(plan) {
        let mut progress = new_progress();
        let logins = Arc::new(plan.client.logins.clone());
        let mut report = runtime
            .block_on(Execution::new(catalog, &engine, logins, &image).until_interrupted(&mut progress))?;
        report.notes.extend(plan.client.notes.iter().cloned().map(Note::Info));
        report.notes.extend_from_slice(&plan.notes);
        report.stack.clone_from(&plan.stack);
        drop(progress);
        if report.failure.is_some() {
            return on_report(report);
        }
        if reports.len() + 1 < plan.platforms.len() {
            on_report(report.clone())?;
        }
        reports.push(report);
    }
    let indexes = image_index::push_indexes(plan, &reports);
    let Some(mut last) = reports.pop() else { return Ok(()) };
    if let Ok(indexes) = &indexes {
        last.pushed.extend(indexes.iter().cloned());
    }
    on_report(last)?;
    indexes.map(drop)
}

/// The current phase, for the clean-up after an interruption.
#[derive(Debug, Clone, Default)]
enum Phase {
    #[default]
    Before,
    Building,
    Verifying(String),
    Tagging(String),
    Pushing,
}

/// One image on its way through the engine.
struct Execution<'a> {
    catalog: &'static Catalog,
    engine: &'a Engine,
    logins: Arc<Logins>,
    image: &'a ImageBuild,
    /// The container that verifies it.
    container: String,
    phase: RefCell<Phase>,
}

impl<'a> Execution<'a> {
    fn new(
        catalog: &'static Catalog,
        engine: &'a Engine,
        logins: Arc<Logins>,
        image: &'a ImageBuild,
    ) -> Execution<'a> {
        let container = format!("envdoc-verify-{}", std::process::id());
        Execution { catalog, engine, logins, image, container, phase: RefCell::default() }
    }

    /// After Ctrl-C stops what was started; the error names what remains.
    async fn until_interrupted(&self, progress: &mut Progress) -> Result<BuildReport, Error> {
        tokio::select! {
            report = self.execute(progress) => return report,
            () = docker::interrupted() => {}
        }
        // By now the future is dropped: the session and the connection of the build are closed.
        Err(self.clean_up().await)
    }

    async fn clean_up(&self) -> Error {
        let phase = self.phase.borrow().clone();
        let message = match phase {
            Phase::Before => "interrupted before the build started".to_owned(),
            Phase::Building => {
                build::cancel(self.engine, &self.image.build.id).await;
                "interrupted: the build was canceled; completed steps stay in the build cache".to_owned()
            }
            Phase::Verifying(image) => {
                let removed = container::remove(self.engine, &self.container).await;
                let container =
                    removed.map_or_else(|left| left.to_string(), |()| "the container was removed".into());
                format!("interrupted during verification: {container}; image {image} stays, without a tag")
            }
            Phase::Tagging(image) => format!("interrupted while tagging image {image}"),
            Phase::Pushing => "interrupted while pushing: the image is built and tagged on the engine; the \
                               registry may have some of its layers"
                .into(),
        };
        Error::new(Kind::Interrupted, message)
    }

    async fn execute(&self, progress: &mut Progress) -> Result<BuildReport, Error> {
        let mut report = BuildReport {
            schema: SCHEMA,
            envdoc: env!("CARGO_PKG_VERSION").into(),
            status: "failed".into(),
            engine: self.engine.name.clone(),
            ..BuildReport::default()
        };
        self.phase.replace(Phase::Building);
        let mut on_event = |event| progress.event(&event);
        let build = self.image.build.clone();
        let built = match build::build(self.engine, self.logins.clone(), build, &mut on_event).await {
            Ok(built) => built,
            Err(failure) => {
                report.failure = Some(failed(self.catalog, failure)?);
                return Ok(report);
            }
        };
        report.image = Some(inspect(self.engine, &built.image).await?);
        let id = built.image.clone();
        add_build(&mut report, built);
        self.phase.replace(Phase::Verifying(id.clone()));
        let verification = self.verify(&id, progress).await;
        let tag = verification.allows_tag(self.image.strict);
        if !tag {
            report.failure = Some(not_as_expected(verification.message.clone()));
        }
        report.verification = Some(verification);
        if tag {
            self.publish(&id, progress, &mut report).await;
        }
        Ok(report)
    }

    async fn verify(&self, id: &str, progress: &mut Progress) -> Verification {
        let Some(expected) = &self.image.expectations else {
            return verify::skipped("not verified (--no-verify)");
        };
        if expected.is_empty() {
            return verify::verify(self.engine, id, &self.container, expected).await;
        }
        progress.note("verifying the image ...");
        let started = Instant::now();
        let verification = verify::verify(self.engine, id, &self.container, expected).await;
        progress.note(&format!("{} ({})", verification.message, time(started.elapsed().as_secs_f64())));
        verification
    }

    /// Tags and pushes a verified image.
    async fn publish(&self, id: &str, progress: &mut Progress, report: &mut BuildReport) {
        let image = self.image;
        self.phase.replace(Phase::Tagging(id.to_owned()));
        if let Err(why) = images::tag(self.engine, id, &image.tags).await {
            report.failure = Some(failure(self.catalog, report::Phase::Tag, why.to_string()));
            return;
        }
        if let Some(entry) = &mut report.image {
            entry.tags.clone_from(&image.tags);
        }
        report.status = "built".into();
        let pushed_tags = image.tags.iter().filter(|_| image.push);
        let names: Vec<String> = pushed_tags.chain(&image.cache_names).cloned().collect();
        if names.is_empty() {
            return;
        }
        self.phase.replace(Phase::Pushing);
        if let Err(why) = images::tag(self.engine, id, &image.cache_names).await {
            report.failure = Some(failure(self.catalog, report::Phase::Tag, why.to_string()));
            return;
        }
        for name in names {
            progress.note(&format!("pushing {name} ..."));
            match push::push(self.engine, self.logins.clone(), &name).await {
                Ok(digest) => report.pushed.push(PushedEntry { name, digest }),
                Err(why) => {
                    report.status = "failed".into();
                    report.failure =
                        Some(failure(self.catalog, report::Phase::Push, format!("{name}: {why}")));
                    return;
                }
            }
        }
    }
}

fn add_build(report: &mut BuildReport, built: Built) {
    report.builder = Some(built.builder);
    report.build_seconds = Some(built.seconds);
    report.context_bytes = Some(built.context_bytes);
    report.steps = built.steps.iter().map(Into::into).collect();
}

async fn inspect(engine: &Engine, id: &str) -> Result<ImageEntry, Error> {
    let found = images::inspect(engine, id).await.map_err(|why| {
        Error::new(Kind::Engine, format!("built image {id}, but the engine cannot inspect it: {why}"))
    })?;
    let mut layers: Vec<_> = found.layers.into_iter().filter(|layer| layer.bytes > 0).collect();
    layers.sort_by_key(|layer| std::cmp::Reverse(layer.bytes));
    let (tags, architecture) = (Vec::new(), found.architecture);
    Ok(ImageEntry { id: found.id, tags, architecture, bytes: found.bytes, layers })
}

/// A failure of the engine or the registry.
fn failure(catalog: &'static Catalog, phase: report::Phase, message: String) -> FailureEntry {
    let diagnosis = build_log::diagnose(catalog, &[], &message);
    FailureEntry::new(phase, None, Vec::new(), message, diagnosis)
}

/// A failed verification: nothing that another program printed.
fn not_as_expected(message: String) -> FailureEntry {
    let phase = report::Phase::Verification;
    FailureEntry::new(phase, None, Vec::new(), message, Diagnosis::default())
}

/// The failure of the build; an error if envdoc could not run it.
fn failed(catalog: &'static Catalog, found: Failure) -> Result<FailureEntry, Error> {
    match found {
        Failure::Step { name, last, message } => {
            let diagnosis = build_log::diagnose(catalog, &last, &message);
            Ok(FailureEntry::new(report::Phase::Step, Some(name), last, message, diagnosis))
        }
        Failure::Refused(message) => Ok(failure(catalog, report::Phase::Rejected, message)),
        Failure::Context(why) => Err(Error::new(Kind::File, format!("cannot read the build context: {why}"))),
        Failure::Gone(why) => {
            let message = format!("lost the connection to the Docker engine during the build: {why}");
            Err(Error::new(Kind::Engine, message).hint(
                "no image was tagged; check the engine with `envdoc check --only docker` and `journalctl -u \
                 docker`",
            ))
        }
        Failure::Impossible(why) => Err(Error::new(Kind::Engine, why)),
    }
}
