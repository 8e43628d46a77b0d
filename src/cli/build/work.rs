//! Builds, verifies, tags and pushes an image; cleans up after an interruption.

use catalog::Catalog;
use std::cell::RefCell;
use std::sync::Arc;

use super::options::Order;
use crate::cli::running::interrupted;
use ::image::report::{self, BuildReport, FailureEntry, ImageEntry, Progress, PushedEntry, SCHEMA};
use ::image::verify::{self, Status};
use diagnostic::error::{Error, Kind};
use diagnostic::units::time;
use docker::auth::Logins;
use docker::build::{self, Built, Failure};
use docker::engine::Engine;
use docker::{image, push, run};

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

/// Carries out the order. After Ctrl-C stops what was started; the error names what remains.
pub(super) async fn carry_out_until_interrupted(
    engine: &Engine,
    logins: Arc<Logins>,
    order: &Order,
    progress: &mut Progress,
) -> Result<BuildReport, Error> {
    let phase = RefCell::new(Phase::default());
    let container = format!("envdoc-verify-{}", std::process::id());
    tokio::select! {
        report = carry_out(engine, logins, order, progress, &phase, &container) => return report,
        () = interrupted() => {}
    }
    // By now the future is dropped: the session and the connection of the build are closed.
    let phase = phase.borrow().clone();
    Err(clean_up(engine, &phase, &order.build.id, &container).await)
}

async fn clean_up(engine: &Engine, phase: &Phase, id: &str, container: &str) -> Error {
    let says = match phase {
        Phase::Before => "interrupted before the build started".to_owned(),
        Phase::Building => {
            build::cancel(engine, id).await;
            "interrupted: the build was canceled; completed steps stay in the build cache"
                .to_owned()
        }
        Phase::Verifying(image) => match run::remove(engine, container).await {
            Ok(()) => format!(
                "interrupted during verification: the container was removed; image {image} stays, without a tag"
            ),
            Err(left) => {
                format!("interrupted during verification: {left}; image {image} stays, without a tag")
            }
        },
        Phase::Tagging(image) => format!("interrupted while tagging image {image}"),
        Phase::Pushing => {
            "interrupted while pushing: the image is built and tagged on the engine; the registry may have some of its layers"
                .into()
        }
    };
    Error::new(Kind::Interrupted, says)
}

async fn carry_out(
    engine: &Engine,
    logins: Arc<Logins>,
    order: &Order,
    progress: &mut Progress,
    phase: &RefCell<Phase>,
    container: &str,
) -> Result<BuildReport, Error> {
    let mut report = BuildReport {
        schema: SCHEMA,
        envdoc: env!("CARGO_PKG_VERSION").into(),
        status: "failed".into(),
        engine: engine.name.clone(),
        ..BuildReport::default()
    };
    phase.replace(Phase::Building);
    let built =
        build::build(engine, logins.clone(), order.build.clone(), &mut |event| progress.event(&event)).await;
    let built = match built {
        Ok(built) => built,
        Err(failure) => {
            report.failure = Some(failed(order.catalog, failure)?);
            return Ok(report);
        }
    };
    take(&mut report, &built);
    report.image = Some(look(engine, &built.image).await?);
    phase.replace(Phase::Verifying(built.image.clone()));
    if !verified(engine, order, &built, container, progress, &mut report).await {
        return Ok(report);
    }
    phase.replace(Phase::Tagging(built.image.clone()));
    if let Err(says) = image::tag(engine, &built.image, &order.tags).await {
        report.failure = Some(failure(order.catalog, report::Phase::Tag, says.to_string()));
        return Ok(report);
    }
    if let Some(image) = &mut report.image {
        image.tags.clone_from(&order.tags);
    }
    report.status = "built".into();
    let names =
        order.tags.iter().filter(|_| order.push).chain(&order.cache_names).cloned().collect::<Vec<_>>();
    if !names.is_empty() {
        phase.replace(Phase::Pushing);
        if let Err(says) = image::tag(engine, &built.image, &order.cache_names).await {
            report.failure = Some(failure(order.catalog, report::Phase::Tag, says.to_string()));
            return Ok(report);
        }
        pushed(engine, logins, order, &names, progress, &mut report).await;
    }
    Ok(report)
}

fn take(report: &mut BuildReport, built: &Built) {
    report.builder = Some(built.builder.clone());
    report.build_seconds = Some(built.seconds);
    report.context_bytes = Some(built.context_bytes);
    report.steps = built.steps.iter().map(Into::into).collect();
}

async fn look(engine: &Engine, id: &str) -> Result<ImageEntry, Error> {
    let found = image::inspect(engine, id).await.map_err(|why| {
        Error::new(Kind::Engine, format!("built image {id}, but the engine cannot inspect it: {why}"))
    })?;
    let mut layers: Vec<_> = found.layers.into_iter().filter(|layer| layer.bytes > 0).collect();
    layers.sort_by_key(|layer| std::cmp::Reverse(layer.bytes));
    Ok(ImageEntry {
        id: found.id,
        tags: Vec::new(),
        architecture: found.architecture,
        bytes: found.bytes,
        layers,
    })
}

/// Whether the image may be tagged.
async fn verified(
    engine: &Engine,
    order: &Order,
    built: &Built,
    container: &str,
    progress: &mut Progress,
    report: &mut BuildReport,
) -> bool {
    let verification = match &order.expected {
        None => verify::skipped("not verified (--no-verify)"),
        Some(expected) => {
            if !expected.is_empty() {
                progress.say("verifying the image ...");
            }
            let started = std::time::Instant::now();
            let verification = verify::verify(engine, &built.image, container, expected).await;
            if !expected.is_empty() {
                progress.say(&format!("{} ({})", verification.says, time(started.elapsed().as_secs_f64())));
            }
            verification
        }
    };
    let refused = match verification.status {
        Status::Failed => true,
        // Nothing could be checked: do not tag.
        Status::Unknown => order.strict || verification.items.is_empty(),
        Status::Verified | Status::Skipped => false,
    };
    if refused {
        report.failure = Some(failure(order.catalog, report::Phase::Verification, verification.says.clone()));
    }
    report.proof = Some(verification);
    !refused
}

async fn pushed(
    engine: &Engine,
    logins: Arc<Logins>,
    order: &Order,
    names: &[String],
    progress: &mut Progress,
    report: &mut BuildReport,
) {
    for name in names {
        progress.say(&format!("pushing {name} ..."));
        match push::push(engine, logins.clone(), name).await {
            Ok(digest) => report.pushed.push(PushedEntry { name: name.clone(), digest }),
            Err(says) => {
                report.status = "failed".into();
                report.failure = Some(failure(order.catalog, report::Phase::Push, format!("{name}: {says}")));
                return;
            }
        }
    }
}

fn failure(catalog: &'static Catalog, phase: report::Phase, says: String) -> FailureEntry {
    FailureEntry::new(catalog, phase, None, Vec::new(), says)
}

/// The failure of the build; an error if envdoc could not run it.
fn failed(catalog: &'static Catalog, found: Failure) -> Result<FailureEntry, Error> {
    match found {
        Failure::Step { name, last, says } => Ok(FailureEntry::new(catalog, report::Phase::Step, Some(name), last, says)),
        Failure::Refused(says) => Ok(failure(catalog, report::Phase::Rejected, says)),
        Failure::Context(why) => {
            Err(Error::new(Kind::File, format!("cannot read the build context: {why}")))
        }
        Failure::Gone(why) => {
            Err(Error::new(Kind::Engine, format!("lost the connection to the Docker engine during the build: {why}")).hint(
                "no image was tagged; check the engine with `envdoc check --only docker` and `journalctl -u docker`",
            ))
        }
        Failure::Impossible(why) => Err(Error::new(Kind::Engine, why)),
    }
}
