//! The steps `settings` and `container`: every node as planned, recreated only where it differs.

use std::collections::BTreeMap;

use super::diagnosis;
use super::{Work, on_all, restart};
use crate::Error;
use crate::compare::{self, FILES_LABEL, SETTINGS_LABEL, Settings};
use crate::container::{self, Container};
use crate::field_labels;
use crate::not_running;
use crate::observed_state::{self, ObservedState};
use crate::plan::{LABEL, Node, PLAN_LABEL, SETTINGS, Source};
use crate::problem::{Problem, Step};
use crate::progress::Outcome;
use crate::render::SettingsFile;
use diagnostic::Fix;
use docker::container::Found;
use docker::engine::Engine;
use docker::{container as engine_container, volume};

const STEP: Step = Step::Container;

/// What is to be done with a node's container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Keep,
    /// It is as it should be, and only stopped.
    Start,
    /// There is none, or another one of ours.
    Make {
        /// Whether one of ours goes.
        replaces: bool,
        /// Whether the settings are to be written.
        settings: bool,
    },
}

/// Decides; what is not of this cluster is refused.
pub(super) fn decide(
    work: &Work<'_>,
    observed: &ObservedState,
    wanted: &Container,
    digest: &str,
) -> Result<Action, Problem> {
    let ours = |labels: &BTreeMap<String, String>| labels.get(LABEL) == Some(&work.plan.name);
    let foreign = |what: &str| {
        Problem::of(
            STEP,
            &observed.name,
            format!("a {what} already exists on {} and does not belong to this cluster", observed.name),
        )
    };
    if let Some(volume) = &observed.volume
        && !ours(volume)
    {
        return Err(foreign(&format!("volume {}", work.plan.settings_volume)).fix(Fix::run(
            "Rename the cluster, or remove the volume if it is no longer needed:",
            "docker volume rm NAME",
        )));
    }
    // Without keys (a dry run) it is unknown what would be in it.
    let same_settings = observed.volume.as_ref().is_some_and(|labels| {
        labels.get(SETTINGS_LABEL).is_some_and(|label| label == digest || digest.is_empty())
    });
    let Some(found) = &observed.container else {
        return Ok(Action::Make { replaces: false, settings: !same_settings });
    };
    if !ours(&found.labels) {
        return Err(foreign(&format!("container {}", observed.name)).fix(Fix::run(
            "Rename the node in cluster.yaml, or remove the container if it is no longer needed:",
            format!("docker rm {}", observed.name),
        )));
    }
    let same_image = observed.image.as_ref().is_none_or(|image| image.id == found.image);
    let same = found.labels.get(PLAN_LABEL) == wanted.labels.get(PLAN_LABEL) && same_image && same_settings;
    Ok(match (same, found.running) {
        (true, true) => Action::Keep,
        (true, false) => Action::Start,
        (false, _) => Action::Make { replaces: true, settings: !same_settings },
    })
}

/// What is in a node's settings.
pub(super) fn settings_of(work: &Work<'_>, node: &Node) -> Result<Settings, Problem> {
    compare::settings(work.plan, node, work.keys.as_ref(), &work.secrets)
        .map_err(|error| Problem::of(Step::Settings, &node.name, error.message))
}

/// What of a node differs from cluster.yaml, as the reason to recreate its container.
pub(super) fn differences(
    observed: &ObservedState,
    wanted: &Container,
    settings: Option<&Settings>,
) -> String {
    let mut all = compare::container_differs(observed, wanted);
    all.extend(
        settings.map(|settings| compare::settings_differ(observed, settings, true)).unwrap_or_default(),
    );
    if let (Some(image), Some(found)) = (&observed.image, &observed.container)
        && image.id != found.image
    {
        all.push("image".into());
    }
    if all.is_empty() { "its settings differ".into() } else { format!("changed: {}", all.join(", ")) }
}

/// Makes them, on all nodes at once, where nothing is lost by it.
pub(super) async fn made(work: &Work<'_>) -> Result<(), Vec<Problem>> {
    if !work.restart {
        on_all(work.nodes.iter().copied(), |node, engine| stoppable(work, node, engine)).await?;
    }
    on_all(work.nodes.iter().copied(), |node, engine| one(work, node, engine)).await.map(drop)
}

/// Refuses a container that would be recreated while something runs in it that `up` did not start.
async fn stoppable(work: &Work<'_>, node: &Node, engine: &Engine) -> Result<(), Problem> {
    let observed = observed_state::one(work.plan, node, engine).await;
    let observed =
        observed.map_err(|why| Problem::of(STEP, &node.name, why.to_string()).closed(why.is_closed()))?;
    let wanted = container::of(work.plan, node);
    let settings = settings_of(work, node)?;
    let replaces =
        matches!(decide(work, &observed, &wanted, &settings.digest)?, Action::Make { replaces: true, .. });
    match replaces {
        true => match restart::busy(engine, &node.name).await {
            Some(busy) => {
                work.done(STEP, &node.name, "outdated, but in use", Outcome::Failed);
                let needed = differences(&observed, &wanted, Some(&settings));
                Err(restart::refused(STEP, node, &needed, &busy))
            }
            None => Ok(()),
        },
        false => Ok(()),
    }
}

pub(super) async fn one(work: &Work<'_>, node: &Node, engine: &Engine) -> Result<(), Problem> {
    let failed = |problem: Problem| {
        work.done(STEP, &node.name, "not running", Outcome::Failed);
        problem
    };
    let observed = observed_state::one(work.plan, node, engine)
        .await
        .map_err(|why| failed(Problem::of(STEP, &node.name, why.to_string()).closed(why.is_closed())))?;
    let wanted = container::of(work.plan, node);
    let settings_of_node = settings_of(work, node).map_err(failed)?;
    match decide(work, &observed, &wanted, &settings_of_node.digest).map_err(failed)? {
        Action::Keep if observed.container.as_ref().is_some_and(Found::paused) => {
            let problem = Problem::of(STEP, &node.name, format!("the container of {} is paused", node.name));
            return Err(failed(problem.fix(not_running::unpause(&node.name, &observed.name))));
        }
        Action::Keep => {
            work.done(STEP, &node.name, "running, matches cluster.yaml", Outcome::Unchanged);
            return Ok(());
        }
        Action::Start => {
            work.progress.doing(STEP, &node.name, "starting");
            if engine_container::start(engine, &node.name).await.is_ok() {
                work.done(STEP, &node.name, "was stopped; started again", Outcome::Changed);
                return Ok(());
            }
            // What an engine that died has left of it may keep it from starting; a new one is not kept.
            work.progress.doing(STEP, &node.name, "does not start; recreating it");
            let recreated = async {
                engine_container::remove(engine, &node.name).await?;
                engine_container::create_node(engine, &field_labels::labelled(work.plan, node)).await
            };
            let recreated: Result<(), docker::Error> = recreated.await;
            recreated.map_err(|why| failed(diagnosis::container(work, node, &why.into())))?;
        }
        Action::Make { replaces, settings } => {
            if replaces {
                work.progress.doing(STEP, &node.name, "removing the outdated container");
                let removed = engine_container::remove(engine, &node.name).await;
                removed.map_err(|why| {
                    failed(
                        Problem::of(STEP, &node.name, format!("cannot remove the outdated container: {why}"))
                            .closed(why.is_closed()),
                    )
                })?;
            }
            if settings {
                write(work, node, engine, &settings_of_node)
                    .await
                    .map_err(|why| failed(diagnosis::container(work, node, &why)))?;
            }
            shares(work, engine).await.map_err(|why| {
                failed(Problem::of(STEP, &node.name, why.to_string()).closed(why.is_closed()))
            })?;
            work.progress.doing(STEP, &node.name, "creating");
            let labelled = field_labels::labelled(work.plan, node);
            let created = engine_container::create_node(engine, &labelled).await;
            created.map_err(|why| failed(diagnosis::container(work, node, &why.into())))?;
            work.progress.doing(STEP, &node.name, "starting");
        }
    }
    if let Err(why) = engine_container::start(engine, &node.name).await {
        let why = Error::from(why);
        let problem = match diagnosis::limit(&why) {
            Some(limit) => diagnosis::unraised(work, node, engine, limit, &why).await,
            None => diagnosis::container(work, node, &why),
        };
        return Err(failed(problem));
    }
    work.done(STEP, &node.name, format!("created from {} and started", wanted.image), Outcome::Changed);
    Ok(())
}

/// Fills the settings' volume through a container that is never started.
async fn write(work: &Work<'_>, node: &Node, engine: &Engine, settings: &Settings) -> Result<(), Error> {
    work.progress.doing(Step::Settings, &node.name, "writing");
    let plan = work.plan;
    let name = &plan.settings_volume;
    let holder = container::settings_holder(plan, node);
    engine_container::remove_now(engine, &holder).await?;
    volume::remove(engine, name).await?;
    let ours = BTreeMap::from([(LABEL.to_owned(), plan.name.clone())]);
    let mut labels = ours.clone();
    labels.insert(SETTINGS_LABEL.into(), settings.digest.clone());
    labels.insert(FILES_LABEL.into(), field_labels::label(&settings.parts));
    volume::create(engine, name, &labels, &BTreeMap::new()).await?;
    let filled = async {
        engine_container::create_volume_holder(engine, &holder, plan.image_name(), name, SETTINGS, &ours)
            .await?;
        Ok::<_, Error>(engine_container::upload(engine, &holder, SETTINGS, archive(&settings.files)?).await?)
    };
    let filled = filled.await;
    // The volume is used by nothing else yet: it must not go with the container.
    let removed = engine_container::remove_keeping_volumes(engine, &holder).await;
    if let Err(why) = filled.and(removed.map_err(Error::from)) {
        // One that is not filled must not look as if it were.
        let _ = volume::remove(engine, name).await;
        return Err(why);
    }
    work.done(
        Step::Settings,
        &node.name,
        format!("wrote {} files to the volume {name}", settings.files.len()),
        Outcome::Changed,
    );
    Ok(())
}

fn archive(files: &[SettingsFile]) -> Result<Vec<u8>, Error> {
    let mut tar = tar::Builder::new(Vec::new());
    let failed = |error: std::io::Error| Error::Other(format!("cannot archive the settings: {error}"));
    let header = |mode: u32, kind: tar::EntryType, size: usize| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(size as u64);
        header
    };
    let mut folders: Vec<&str> =
        files.iter().filter_map(|file| file.path.rsplit_once('/').map(|(folder, _)| folder)).collect();
    folders.sort_unstable();
    folders.dedup();
    for folder in folders {
        let mut header = header(0o755, tar::EntryType::Directory, 0);
        tar.append_data(&mut header, format!("{folder}/"), std::io::empty()).map_err(failed)?;
    }
    for file in files {
        let mut header = header(file.mode, tar::EntryType::Regular, file.bytes.len());
        tar.append_data(&mut header, &file.path, file.bytes.as_slice()).map_err(failed)?;
    }
    tar.into_inner().map_err(failed)
}

/// Volumes of shares, which the engine mounts when a container starts.
async fn shares(work: &Work<'_>, engine: &Engine) -> Result<(), Error> {
    for mount in &work.plan.mounts {
        let Source::Nfs { volume: name, server, path, options } = &mount.from else { continue };
        if volume::labels(engine, name).await?.is_some() {
            continue;
        }
        let how =
            if options.is_empty() { format!("addr={server}") } else { format!("addr={server},{options}") };
        let driver = [("type", "nfs".to_owned()), ("o", how), ("device", format!(":{path}"))];
        let driver = driver.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let labels = BTreeMap::from([(LABEL.to_owned(), work.plan.name.clone())]);
        volume::create(engine, name, &labels, &driver).await?;
    }
    Ok(())
}
