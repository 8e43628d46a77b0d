//! One machine: its facts, as far as its endpoint lets them be seen, and the size of the image in its engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Options;
use super::bootstrap::Program;
use crate::nodes::{Location, Node};
use docker::transport::Transports;
use facts::docker::{EndpointSource, SelectedEndpoint};
use facts::fleet::Member;
use facts::{Expected, Fact, Facts, IntoFact, Missing, MissingKind, gather};
use host::Reading;
use host::live::Live;
use host::record::{Recorder, Replay};

/// A machine, and how long looking took.
pub(super) struct Gathered {
    pub(super) member: Member,
    pub(super) took: Duration,
}

/// Looks. What cannot be seen is unknown, with the reason.
pub(super) async fn look(
    node: &Node,
    program: Result<&Program, &crate::Error>,
    image: &str,
    options: Options,
) -> Gathered {
    let started = Instant::now();
    let (facts, image) = tokio::join!(facts(node, program, options), size(node, image, options.limits.each));
    let not_asked = || "not queried".to_owned();
    let member = Member {
        name: node.name.clone(),
        address: node.address.clone(),
        facts,
        identity: Fact::unknown(not_asked()),
        skew: Fact::unknown(not_asked()),
        contents: Default::default(),
        image,
    };
    Gathered { member, took: started.elapsed() }
}

async fn facts(node: &Node, program: Result<&Program, &crate::Error>, options: Options) -> Facts {
    let nothing = |why: &str| {
        gather::recorded(&Replay::new(Default::default(), why), Expected::default(), options.catalog)
    };
    match (node.location(), program) {
        (Location::Here, _) => {
            let (look, catalog) = (options.look, options.catalog);
            let here = tokio::task::spawn_blocking(move || {
                let deadline = Instant::now() + look;
                let recorder = Recorder::new(Arc::new(
                    Live::new(deadline - look / 20).with_engines(Arc::new(Transports::default())),
                ));
                gather::live(&recorder, deadline, Expected::default(), catalog)
            });
            here.await.unwrap_or_else(|_| nothing("envdoc failed while it inspected this machine"))
        }
        (Location::There(_), Ok(program)) => {
            let deadline = Instant::now() + options.limits.each + options.look;
            let snapshot = match &program.snapshot {
                Some(came) => came.clone(),
                None => node.snapshot(&program.command, options.look, deadline).await,
            };
            match snapshot {
                Ok(snapshot) => gather::recorded(&snapshot.host(), Expected::default(), options.catalog),
                Err(why) => nothing(&why.to_string()),
            }
        }
        (location, program) => {
            let why = match (&location, program) {
                (Location::There(_), Err(why)) => why.to_string(),
                _ => node.closed().unwrap_or_default(),
            };
            let mut facts = nothing(&why);
            if !matches!(location, Location::Blocked(_)) {
                engine_only(node, &mut facts, options.limits.each).await;
            }
            facts
        }
    }
}

/// What the engine says of itself, in place of what was not seen.
async fn engine_only(node: &Node, facts: &mut Facts, limit: Duration) {
    let (url, from) = (node.engine.clone(), EndpointSource::ClusterFile);
    let endpoint = SelectedEndpoint { url, from, elsewhere: false };
    facts.docker.endpoint = Fact::Known(endpoint);
    facts.docker.asked = Fact::Known(node.engine.clone());
    facts.docker.socket = Fact::Absent;
    facts.docker.idle = Fact::Known(false);
    let ask = async |path: &str| ask(node, path, limit).await.json::<Value>().about(node.engine.as_str());
    let (info, version) = tokio::join!(ask("/info"), ask("/version"));
    facts.docker.info = info;
    facts.docker.version = version;
}

async fn ask(node: &Node, path: &str, limit: Duration) -> Reading {
    let Ok(transport) = &node.transport else { return Reading::failed(node.closed().unwrap_or_default()) };
    match tokio::time::timeout(limit, docker::ask(transport.local(), path)).await {
        Ok(reading) => reading,
        Err(_) => Reading::Failed(Missing::new(
            MissingKind::TimedOut { milliseconds: u64::try_from(limit.as_millis()).ok() },
            "the engine accepted the connection but did not answer",
        )),
    }
}

/// Bytes of the image in the node's engine; absent where it does not have it.
async fn size(node: &Node, image: &str, limit: Duration) -> Fact<u64> {
    match ask(node, &format!("/images/{image}/json"), limit).await {
        Reading::Failed(why) if why.kind == MissingKind::Http(404) => Fact::Absent,
        Reading::Absent => Fact::Unknown("no Docker engine".into()),
        reading => {
            reading.json::<Value>().and_then(|image| match image.get("Size").and_then(Value::as_u64) {
                Some(bytes) => Fact::Known(bytes),
                None => Fact::Unknown("the Docker engine reports no image size".into()),
            })
        }
    }
}
