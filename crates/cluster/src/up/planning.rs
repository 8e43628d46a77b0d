//! What `up` would do, from what is there now: for `--dry-run`.

use super::containers::Action as OfContainer;
use super::{UpStep, Work, containers, former, images, ready, restart};
use crate::built;
use crate::container;
use crate::image::{self, Decision as OfImage};
use crate::network::{self, Decision as OfNetwork};
use crate::observed_state::{self, ObservedState};
use crate::problem::{Problem, Step};
use crate::progress::Outcome;
use crate::swarm::{self, Action};
use diagnostic::units::short_size;

/// Puts the steps into [`Work::steps`]; nothing is changed.
pub async fn planned(work: &Work<'_>) -> Result<(), Vec<Problem>> {
    let observed = ready(work).await?;
    for step in UpStep::of(work.plan) {
        match step {
            UpStep::Removed => of_former(work, &observed).await,
            UpStep::Image => of_image(work, &observed)?,
            UpStep::Swarm => of_swarm(work, &observed).await?,
            UpStep::Network => of_network(work, &observed)?,
            UpStep::Containers => of_containers(work, &observed).await?,
            // It waits for what the containers' step started.
            UpStep::Healthy => {}
            UpStep::Verify => of_verify(work),
        }
    }
    Ok(())
}

async fn of_former(work: &Work<'_>, observed: &[ObservedState]) {
    for one in former::former(work, observed).await {
        match &one.engine {
            Ok(engine) => {
                let message = "remove its container and settings: it is no longer in cluster.yaml".to_owned();
                let message = stopped(work, message, restart::busy(engine, &one.node.name).await);
                work.keep(former::STEP, &one.node.name, message, Outcome::Planned);
            }
            Err(why) => work.note(former::unreached(&one.recorded, why)),
        }
    }
    for (node, engine) in &work.nodes {
        for name in former::strays_of(observed, node) {
            let message = format!("remove the container {name}, which is not in cluster.yaml");
            let message = stopped(work, message, restart::busy(engine, name).await);
            work.keep(former::STEP, &node.name, message, Outcome::Planned);
        }
    }
}

/// A planned change with what it stops.
fn stopped(work: &Work<'_>, message: String, busy: Option<restart::Busy>) -> String {
    match (busy, work.restart) {
        (None, _) => message,
        (Some(busy), true) => format!("{message}; stops {busy}"),
        (Some(busy), false) => format!("{message}; stops {busy}: `up` refuses this without --restart"),
    }
}

fn of_verify(work: &Work<'_>) {
    let message = "test names, TCP, packet sizes and ssh between all containers";
    work.keep(Step::Verify, &work.plan.name, message, Outcome::Unchanged);
}

async fn of_containers(work: &Work<'_>, observed: &[ObservedState]) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    for ((node, engine), observed) in work.nodes.iter().zip(observed) {
        let wanted = container::of(work.plan, node);
        // What is in the settings is unknown without all keys and secrets.
        let known =
            (work.keys.is_some() || work.plan.ssh.is_none()) && work.secrets.len() == work.plan.secrets.len();
        let settings = containers::settings_of(work, node).ok().filter(|_| known);
        let digest = settings.as_ref().map_or("", |settings| settings.digest.as_str());
        match containers::decide(work, observed, &wanted, digest) {
            Err(problem) => problems.push(problem),
            Ok(OfContainer::Keep) => {
                work.keep(Step::Container, &node.name, "running, matches cluster.yaml", Outcome::Unchanged)
            }
            Ok(OfContainer::Start) => {
                work.keep(Step::Container, &node.name, "start the stopped container", Outcome::Planned)
            }
            Ok(OfContainer::Make { replaces, settings: write }) => {
                if write {
                    let message = format!(
                        "write the settings (keys, hostfile, …) to the volume {}",
                        work.plan.settings_volume
                    );
                    work.keep(Step::Settings, &node.name, message, Outcome::Planned);
                }
                let mut message = format!("create one from {} and start it", wanted.image);
                if replaces {
                    let changed = containers::differences(observed, &wanted, settings.as_ref());
                    message = format!("remove the outdated container ({changed}) and {message}");
                    message = stopped(work, message, restart::busy(engine, &node.name).await);
                }
                work.keep(Step::Container, &node.name, message, Outcome::Planned);
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn of_image(work: &Work<'_>, observed: &[ObservedState]) -> Result<(), Vec<Problem>> {
    let name = work.plan.image_name();
    let current = built::current(work.plan, observed).map_err(|problem| vec![problem])?;
    match image::decide(work.plan, observed, current) {
        OfImage::Same(image) => {
            let message = format!("{name} is the same on every node: {}", images::short(&image.id));
            work.keep(Step::Image, &work.plan.name, message, Outcome::Unchanged);
        }
        OfImage::Build => {
            let first = work.nodes.first().map_or("", |(node, _)| node.name.as_str());
            work.keep(Step::Image, first, format!("build {name}"), Outcome::Planned);
            for (node, _) in work.nodes.iter().skip(1) {
                work.keep(Step::Image, &node.name, format!("copy {name} from {first}"), Outcome::Planned);
            }
        }
        OfImage::Pull => {
            for (node, _) in &work.nodes {
                work.keep(Step::Image, &node.name, format!("pull {name}"), Outcome::Planned);
            }
        }
        OfImage::Send { from, to, registry } => {
            let source = &observed[from];
            let bytes = source
                .image
                .as_ref()
                .map_or(String::new(), |image| format!(" ({})", short_size(image.bytes)));
            if let Some(registry) = &work.plan.registry {
                work.keep(Step::Image, &source.name, format!("push {name} to {registry}"), Outcome::Planned);
            }
            let first = if registry { "pull it, or " } else { "" };
            for index in to {
                let message = match &observed[index].image {
                    None => format!("{first}copy {name} from {}{bytes}", source.name),
                    Some(other) => format!(
                        "{first}copy {name} from {}{bytes}; replaces the image that has this name ({})",
                        source.name,
                        images::short(&other.id)
                    ),
                };
                work.keep(Step::Image, &observed[index].name, message, Outcome::Planned);
            }
        }
    }
    Ok(())
}

async fn of_swarm(work: &Work<'_>, observed: &[ObservedState]) -> Result<(), Vec<Problem>> {
    let former = observed_state::former(work.plan, observed);
    let decision = swarm::decide(observed, &work.members(observed).await?, &former)?;
    for note in decision.notes {
        work.note(note);
    }
    let first = observed.first().map_or("", |first| first.name.as_str());
    for (node, action) in observed.iter().zip(decision.actions) {
        let (message, outcome) = match action {
            Action::None => ("in the swarm".to_owned(), Outcome::Unchanged),
            Action::Init => (format!("start a swarm, manager at {}:2377", node.address), Outcome::Planned),
            Action::Join => (format!("join the swarm of {first}"), Outcome::Planned),
            Action::Wait => {
                (format!("wait until the node has joined the swarm of {first}"), Outcome::Planned)
            }
            Action::Again => {
                (format!("clear the failed join and join the swarm of {first}"), Outcome::Planned)
            }
        };
        work.keep(Step::Swarm, &node.name, message, outcome);
    }
    Ok(())
}

fn of_network(work: &Work<'_>, observed: &[ObservedState]) -> Result<(), Vec<Problem>> {
    let network = &work.plan.network;
    let message = match network::decide(work.plan, observed).map_err(|problem| vec![problem])? {
        OfNetwork::None => return Ok(()),
        OfNetwork::Keep { .. } => {
            work.keep(Step::Network, &work.plan.name, format!("{} exists", network.name), Outcome::Unchanged);
            return Ok(());
        }
        OfNetwork::Make => {
            let mtu =
                network.mtu.map_or("the smallest of the machines minus 50".to_owned(), |mtu| mtu.to_string());
            let subnet = network.subnet.as_deref().unwrap_or("chosen by Docker");
            let encrypted = if network.encrypted { ", encrypted" } else { "" };
            format!("create the overlay {} (subnet {subnet}, MTU {mtu}{encrypted})", network.name)
        }
    };
    work.keep(Step::Network, &work.plan.name, message, Outcome::Planned);
    Ok(())
}
