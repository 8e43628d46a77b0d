//! The step `image`: the same one on every node.

use docker::fan_out;

use super::{Work, build, on_all};
use crate::Error;
use crate::built;
use crate::fixes;
use crate::image::{self, Decision};
use crate::observed_state::ObservedState;
use crate::plan::Node;
use crate::problem::{Problem, Step};
use crate::progress::Outcome;
use diagnostic::Fix;
use diagnostic::units::short_size;
use docker::engine::Engine;
use docker::image::Identity;
use docker::{pull, push, transfer};

const STEP: Step = Step::Image;
/// The first letters of a digest that tell images apart for people.
const SHORT_ID_LENGTH: usize = 19;

/// Brings it to those that lack it.
pub(super) async fn same_everywhere(work: &Work<'_>, observed: &[ObservedState]) -> Result<(), Vec<Problem>> {
    let current = built::current(work.plan, observed).map_err(|problem| vec![problem])?;
    let decision = image::decide(work.plan, observed, current);
    if decision == Decision::Build {
        build::build(work).await?;
        let observed = work.look().await?;
        return distribute(work, &observed, image::decide(work.plan, &observed, true)).await;
    }
    distribute(work, observed, decision).await
}

async fn distribute(
    work: &Work<'_>,
    observed: &[ObservedState],
    decision: Decision,
) -> Result<(), Vec<Problem>> {
    let name = work.plan.image_name();
    match decision {
        Decision::Same(image) => fits(&image, observed).map(|()| unchanged(work, &image)),
        Decision::Build => Err(vec![Problem::new(
            STEP,
            format!("the image {name} was built, but the first node does not have it"),
        )]),
        Decision::Pull => {
            on_all(work.nodes.iter().copied(), |node, engine| pull_on(work, node, engine)).await?;
            equal(work).await
        }
        Decision::Send { from, mut to, registry } => {
            let (_, source) = work.nodes[from];
            let whole = found(source, name).await.map_err(|why| {
                let node = &work.nodes[from].0.name;
                vec![Problem::of(STEP, node, why.to_string()).closed(why.is_closed())]
            })?;
            fits(&whole, observed)?;
            if registry {
                pushed(work, from).await;
                to = without_pulled(work, &whole, to).await;
            }
            send(work, from, &to, &whole).await?;
            equal(work).await
        }
    }
}

fn fits(image: &Identity, observed: &[ObservedState]) -> Result<(), Vec<Problem>> {
    let misfits = image::misfits(image, observed);
    if !misfits.is_empty() {
        return Err(misfits);
    }
    image::worker_fits(image).map_err(|problem| vec![problem])
}

fn unchanged(work: &Work<'_>, image: &Identity) {
    let message = format!(
        "{} is the same on every node: {} ({})",
        work.plan.image_name(),
        short(&image.id),
        short_size(image.bytes)
    );
    work.done(STEP, &work.plan.name, message, Outcome::Unchanged);
}

/// A digest's first letters.
pub(super) fn short(id: &str) -> &str {
    id.get(..SHORT_ID_LENGTH).unwrap_or(id)
}

async fn found(engine: &Engine, name: &str) -> Result<Identity, Error> {
    let found = docker::image::identity(engine, name).await?;
    found.ok_or_else(|| Error::Other(format!("the image {name} was removed during `up`")))
}

async fn pull_on(work: &Work<'_>, node: &Node, engine: &Engine) -> Result<(), Problem> {
    let name = work.plan.image_name();
    work.progress.doing(STEP, &node.name, &format!("pulling {name}"));
    let far = |here, all| work.progress.far(STEP, &node.name, "pulled", here, all);
    match pull::pull(engine, work.logins.clone(), name, far).await {
        Ok(()) => {
            work.done(STEP, &node.name, format!("pulled {name}"), Outcome::Changed);
            Ok(())
        }
        Err(why) => {
            work.done(STEP, &node.name, "not pulled", Outcome::Failed);
            Err(unpulled(node, name, &why))
        }
    }
}

fn unpulled(node: &Node, name: &str, why: &docker::Error) -> Problem {
    let problem =
        Problem::of(STEP, &node.name, format!("no node has the image {name}, and pulling it failed: {why}"))
            .closed(why.is_closed());
    if *why.cause() == docker::Cause::DiskFull {
        return no_space(node, name, why);
    }
    problem
        .fix(Fix::run(
            "Build or load it on one node; the others copy it from there:",
            format!("envdoc build --tag {name}"),
        ))
        .fix(Fix::run("If the registry requires a login, log in on this machine:", "docker login"))
}

/// Puts the image into the registry that cluster.yaml names; where that fails, the image goes from engine to
/// engine, and it is said.
async fn pushed(work: &Work<'_>, from: usize) {
    let Some(registry) = &work.plan.registry else { return };
    let (node, engine) = work.nodes[from];
    let name = work.plan.image_name();
    work.progress.doing(STEP, &node.name, &format!("pushing {name}"));
    match push::push(engine, work.logins.clone(), name).await {
        Ok(digest) => {
            work.done(STEP, &node.name, format!("pushed {name} ({})", short(&digest)), Outcome::Changed);
        }
        Err(why) => {
            work.done(STEP, &node.name, format!("{registry} rejected the push of {name}"), Outcome::Failed);
            work.note(format!(
                "{registry} rejected the push of {name} ({why}); copying it directly \
                between the engines"
            ));
        }
    }
}

/// Those of the nodes that did not get the same image from the registry.
async fn without_pulled(work: &Work<'_>, whole: &Identity, to: Vec<usize>) -> Vec<usize> {
    let tried = to.iter().map(|index| async {
        let (node, engine) = work.nodes[*index];
        work.progress.doing(STEP, &node.name, "pulling from the registry");
        let far = |here, all| work.progress.far(STEP, &node.name, "pulled", here, all);
        let pulled = pull::pull(engine, work.logins.clone(), work.plan.image_name(), far).await.is_ok();
        let same = docker::image::identity(engine, work.plan.image_name()).await.ok().flatten();
        let same = pulled && same.is_some_and(|image| image.same(whole));
        if same {
            work.done(STEP, &node.name, "pulled from its registry", Outcome::Changed);
        }
        (*index, same)
    });
    let tried = fan_out(tried).await;
    tried.into_iter().filter(|(_, same)| !same).map(|(index, _)| index).collect()
}

/// From engine to engine.
async fn send(work: &Work<'_>, from: usize, to: &[usize], whole: &Identity) -> Result<(), Vec<Problem>> {
    if to.is_empty() {
        return Ok(());
    }
    let (source, engine) = work.nodes[from];
    let targets: Vec<_> = to.iter().map(|index| work.nodes[*index]).collect();
    for (node, _) in &targets {
        work.progress.doing(
            STEP,
            &node.name,
            &format!("copying from {} ({})", source.name, short_size(whole.bytes)),
        );
    }
    let started = std::time::Instant::now();
    let engines: Vec<_> = targets.iter().map(|(_, engine)| *engine).collect();
    let name = work.plan.image_name();
    let results = transfer::stream(engine, name, &engines, |bytes| {
        for (node, _) in &targets {
            work.progress.far(STEP, &node.name, &format!("copied from {}:", source.name), bytes, whole.bytes);
        }
    })
    .await;
    let took = diagnostic::units::time(started.elapsed().as_secs_f64());
    let mut problems = Vec::new();
    for (result, (node, _)) in results.into_iter().zip(&targets) {
        match result {
            Ok(()) => {
                let message =
                    format!("copied {name} from {} ({}, {took})", source.name, short_size(whole.bytes));
                work.done(STEP, &node.name, message, Outcome::Changed);
            }
            Err(why) => {
                work.done(STEP, &node.name, "image not copied", Outcome::Failed);
                problems.push(match *why.cause() == docker::Cause::DiskFull {
                    true => no_space(node, name, &why),
                    false => Problem::of(
                        STEP,
                        &node.name,
                        format!("{} could not copy the image {name} from {}: {why}", node.name, source.name),
                    )
                    .closed(why.is_closed())
                    .fix(fixes::resume()),
                });
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn no_space(node: &Node, name: &str, why: &docker::Error) -> Problem {
    Problem::of(STEP, &node.name, format!("the disk of {} is full: {name} does not fit ({why})", node.name))
        .fix(fixes::free_disk())
        .fix(Fix::run("Move the engine's data-root to a larger disk:", "envdoc explain data-root-too-small"))
}

/// At last every node must have the same.
async fn equal(work: &Work<'_>) -> Result<(), Vec<Problem>> {
    let observed = work.look().await?;
    match image::decide(work.plan, &observed, true) {
        Decision::Same(image) => fits(&image, &observed),
        _ => {
            let ids: Vec<_> = observed
                .iter()
                .map(|node| {
                    format!("{}: {}", node.name, node.image.as_ref().map_or("none", |image| short(&image.id)))
                })
                .collect();
            Err(vec![
                Problem::new(
                    STEP,
                    format!("{} differs between nodes: {}", work.plan.image_name(), ids.join(", ")),
                )
                .fix(Fix::manual(
                    "Pin the image by digest in cluster.yaml so that all nodes pull the same one: \
                    `image: NAME@sha256:…`",
                )),
            ])
        }
    }
}
