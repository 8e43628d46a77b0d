//! Building an image through the engine's API: BuildKit, or the classic builder where there is no BuildKit.
//!
//! [`options`] decides between BuildKit and the classic builder, [`session`] answers BuildKit's questions
//! while it builds, [`reader`] listens, [`progress`] and [`classic`] turn what the two builders say into
//! [`Event`]s.

mod classic;
mod open_line;
mod options;
mod progress;
mod reader;
mod session;

use futures_util::future::{BoxFuture, LocalBoxFuture};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::auth::Logins;
use super::context::Context;
use super::engine::Engine;
use crate::bollard_request::SESSION_PREFIX;
use crate::error::Error;
pub use crate::error::StepKind;
pub(crate) use reader::read_messages;
use reader::{Reader, listen};

/// The longest until an engine that takes the context no more says its first word.
const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Builder {
    /// BuildKit where the engine has it, else its own.
    #[default]
    Best,
    /// BuildKit or nothing.
    BuildKit,
    Classic,
}

/// Everything that a build is made of; nothing is left to choose.
#[derive(Debug, Clone, Default)]
pub struct Build {
    /// What the build is called for [`cancel`]: [`new_id`].
    pub id: String,
    /// The context; its `dockerfile` names the Dockerfile within it.
    pub context: Context,
    /// BuildKit or the classic builder.
    pub builder: Builder,
    /// Why no other builder will do: `its RUN instructions have mounts`. Podman's knows mounts too.
    pub needs_buildkit: Option<String>,
    /// `linux/amd64`; the engine's own without it.
    pub platform: Option<String>,
    /// Values of ARG.
    pub arguments: BTreeMap<String, String>,
    /// Labels in addition to those of the Dockerfile.
    pub labels: BTreeMap<String, String>,
    /// The stage to stop at.
    pub target: Option<String>,
    /// The network of RUN: `host`, `none`; the engine's own without it.
    pub network: Option<String>,
    /// Take nothing from the cache.
    pub no_cache: bool,
    /// Ask registries for newer base images.
    pub pull: bool,
    /// Images whose layers may be taken (`--cache-from`).
    pub cache_from: Vec<String>,
    /// Whether the cache is to be written into the image; BuildKit only.
    pub inline_cache: bool,
    /// What `RUN --mount=type=secret,id=…` may read; BuildKit only.
    pub secrets: BTreeMap<String, Vec<u8>>,
}

/// What happens during a build.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Something that a person should know: a fallback, a warning of the builder.
    Note(String),
    /// A step began, or is found to exist.
    Started {
        /// Its number, from 0, in the order of appearance.
        step: usize,
        /// `[2/5] RUN apt-get update`.
        name: String,
        kind: StepKind,
    },
    /// A line that a step printed.
    Output {
        /// The number of the step, as in [`Event::Started`].
        step: usize,
        /// The line, without its end.
        line: String,
    },
    /// How far a step is, in its own unit (bytes, mostly).
    Progress {
        step: usize,
        /// What is counted: `sha256:…`, `transferring context`.
        what: String,
        /// How much there is.
        current: u64,
        /// How much there will be; 0 where nobody knows.
        total: u64,
    },
    /// A step ended.
    Ended {
        /// The step, as [`Built::steps`] has it.
        step: usize,
        /// Whether its result came from the cache.
        cached: bool,
        seconds: f64,
        /// Why it failed.
        error: Option<String>,
    },
}

/// One step of the finished build.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// `[2/5] RUN apt-get update`.
    pub name: String,
    pub kind: StepKind,
    /// How long it took; 0 for what came from the cache.
    pub seconds: f64,
    /// Whether its result came from the cache.
    pub cached: bool,
}

/// A finished build. The image has no name yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Built {
    /// `sha256:…`.
    pub image: String,
    /// `BuildKit`, `classic builder`, `Podman`.
    pub builder: String,
    pub steps: Vec<Step>,
    /// How long it took from the first byte sent.
    pub seconds: f64,
    /// Bytes of the context that were sent.
    pub context_bytes: u64,
}

/// Why there is no image.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    Step {
        /// The step's name.
        name: String,
        /// The last lines that it printed.
        last: Vec<String>,
        /// The builder's words.
        message: String,
    },
    /// The builder refused: the Dockerfile, an argument, a base image that is not there.
    Refused(String),
    /// The context could not be read.
    Context(String),
    /// The engine went away or stopped answering.
    Gone(String),
    /// What was asked for cannot be had from this engine.
    Impossible(String),
}

/// Lines that are kept of each step for the case that it fails.
pub const LAST_LINES_LIMIT: usize = 20;

/// Builds. Dropped half way, the engine ends the build: its connections are closed.
pub fn build<'a>(
    engine: &'a Engine,
    logins: Arc<Logins>,
    build: Build,
    on: &'a mut dyn FnMut(Event),
) -> LocalBoxFuture<'a, Result<Built, Failure>> {
    Box::pin(async move {
        let started = Instant::now();
        let buildkit = options::use_buildkit(engine, &build, on)?;
        let id = build.id.clone();
        let secrets = build.secrets.clone();
        // BuildKit asks for logins as it needs them; the classic builder wants them all beforehand, for the
        // registries of FROM.
        let (session, credentials) = match buildkit {
            true => (Some(open_session(engine, &id, secrets, logins).await?), None),
            false => {
                let all = options::credentials(&build, logins).await;
                (None, Some(all.map_err(|error| Failure::Impossible(error.to_string()))?))
            }
        };
        let options = options::options(&build, buildkit.then_some(id));
        let (stream, sent) = build.context.clone().stream();
        let answer = engine.docker.build_image(options, credentials, Some(bollard::body_try_stream(stream)));
        let mut reader = Reader::new(buildkit);
        let end = listen(answer, &sent, &mut reader, on).await;
        drop(session);
        let (image, steps) = reader.finish(end, &sent, on)?;
        let builder = match (buildkit, engine.podman) {
            (true, _) => "BuildKit",
            (false, true) => "Buildah",
            (false, false) => "classic builder",
        };
        Ok(Built {
            image,
            builder: builder.into(),
            steps,
            seconds: started.elapsed().as_secs_f64(),
            context_bytes: sent.bytes(),
        })
    })
}

async fn open_session(
    engine: &Engine,
    id: &str,
    secrets: BTreeMap<String, Vec<u8>>,
    logins: Arc<Logins>,
) -> Result<session::Session, Failure> {
    let open = session::Session::open(engine.transport.local(), id, secrets, logins);
    let open = tokio::time::timeout(FIRST_MESSAGE_TIMEOUT, open).await;
    let open = open.unwrap_or_else(|_| Err(Error::answer_timeout(FIRST_MESSAGE_TIMEOUT)));
    open.map_err(|why| Failure::Gone(format!("cannot open a BuildKit session: {why}")))
}

/// A name for a build that no other has.
pub fn new_id() -> String {
    format!("{}{:x}-{:x}", SESSION_PREFIX, std::process::id(), nanoseconds())
}

/// Tells the engine to give a build of BuildKit's up. Closing its connections does so too; this makes sure.
pub fn cancel<'a>(engine: &'a Engine, id: &'a str) -> BoxFuture<'a, ()> {
    Box::pin(async move {
        let path = format!("/build/cancel?id={id}");
        let _ =
            tokio::time::timeout(Duration::from_secs(10), super::http::post(engine.transport.local(), &path))
                .await;
    })
}

fn nanoseconds() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}
