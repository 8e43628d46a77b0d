//! What `envdoc build` shows: its progress while it lasts ([`lines`], [`tree`], [`events`]) and its report
//! ([`text`], JSON).

pub mod events;
mod findings;
pub mod lines;
pub mod text;
pub mod tree;

#[cfg(test)]
mod tests;

pub use findings::{BuildRule, RULES, findings};

use diagnostic::render::message_keys;
use schemars::JsonSchema;
use serde::Serialize;

use diagnose::report::json::{self as diagnosis_json, CauseEntry};
use diagnose::root_cause::Diagnosis;
use docker::build::{Event, Step, StepKind};
use docker::image::Layer;

use crate::verify::{Status, Verification};

/// Version of the JSON report.
pub const SCHEMA: u32 = 2;

/// The last object that `envdoc build --format json` prints.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct BuildReport {
    /// Version of this format.
    pub schema: u32,
    /// Version of envdoc.
    pub envdoc: String,
    /// `built`, or `failed` where `failure` says why.
    pub status: String,
    /// The engine: `Docker 20.10.24`.
    pub engine: String,
    /// `BuildKit`, `classic builder`, `Podman`.
    pub builder: Option<String>,
    /// The image; null where there is none.
    pub image: Option<ImageEntry>,
    /// Names that were pushed, with their digests; empty where none was.
    pub pushed: Vec<PushedEntry>,
    /// Seconds of the build, without verification and push; null where the build failed.
    pub build_seconds: Option<f64>,
    /// Bytes of the context that were sent.
    pub context_bytes: Option<u64>,
    /// The steps of the build; empty where it failed.
    pub steps: Vec<StepEntry>,
    /// The versions that were resolved; null with --file.
    pub stack: Option<resolve::outcome::Stack>,
    /// Verification of the image; null if there is no image.
    #[serde(rename = "proof")]
    pub verification: Option<Verification>,
    /// Why there is no image, or why it was not named or pushed.
    pub failure: Option<FailureEntry>,
    /// What should be known; a warning begins with `warning: `.
    #[schemars(with = "Vec<String>")]
    pub notes: Vec<Note>,
}

/// How a build ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Built, verified, tagged and pushed as requested.
    Built,
    /// A step, the verification, the tagging or the push failed.
    Failed,
    /// The image could not be verified, and was not tagged.
    NotVerified,
}

impl BuildReport {
    /// Built, failed or not verified; the exit code follows from it.
    pub fn ending(&self) -> Ending {
        let unknown = self.verification.as_ref().is_some_and(|found| found.status == Status::Unknown);
        match &self.failure {
            Some(failure) if failure.phase == Phase::Verification && unknown => Ending::NotVerified,
            Some(_) => Ending::Failed,
            None => Ending::Built,
        }
    }
}

/// A remark of the report: one string in JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Something that may break the image later.
    Warning(String),
    /// Anything else worth knowing.
    Info(String),
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Note::Warning(text) => write!(f, "warning: {text}"),
            Note::Info(text) => f.write_str(text),
        }
    }
}

impl Serialize for Note {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The image that was built.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImageEntry {
    /// Id of the image in the engine: `sha256:…`.
    pub id: String,
    /// The names that it was given.
    pub tags: Vec<String>,
    /// Its processor, as Docker writes it: `amd64`.
    pub architecture: Option<String>,
    /// All layers together, in bytes, as the engine reports it.
    pub bytes: u64,
    /// Layers with something in them, the biggest first.
    pub layers: Vec<Layer>,
}

/// A name under which the image was pushed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PushedEntry {
    /// Name with registry and tag: `registry.example.org/team/train:1.0`.
    pub name: String,
    /// The digest that the registry gave: `sha256:…`.
    pub digest: String,
}

/// A step of the build, and how long it took.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StepEntry {
    /// Name that the builder gives it: `[2/5] RUN apt-get update`.
    pub name: String,
    /// What it is.
    #[serde(skip)]
    pub kind: StepKind,
    /// Duration in seconds.
    pub seconds: f64,
    /// Whether its result came from the cache.
    pub cached: bool,
}

impl From<&Step> for StepEntry {
    fn from(step: &Step) -> StepEntry {
        StepEntry { name: step.name.clone(), kind: step.kind, seconds: step.seconds, cached: step.cached }
    }
}

/// Phase of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// A step of the Dockerfile failed.
    Step,
    /// The engine rejected the build.
    #[serde(rename = "refused")]
    Rejected,
    /// The image is not as expected.
    #[serde(rename = "proof")]
    Verification,
    /// The image could not be tagged.
    Tag,
    /// The image could not be pushed.
    Push,
}

/// Why there is no image, or why it was not tagged or pushed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(transform = message_keys::describe)]
pub struct FailureEntry {
    /// The phase that failed.
    pub phase: Phase,
    /// Name of the step that failed; null where no step did.
    pub step: Option<String>,
    /// The last lines that the failed step printed; empty where no step failed.
    pub last_lines: Vec<String>,
    /// What the builder, the engine, the verification or the registry reported.
    #[serde(flatten, with = "message_keys")]
    #[schemars(!flatten, with = "String")]
    pub message: String,
    /// What these lines are known to mean, as `envdoc diagnose` tells it; the first is the root cause.
    pub causes: Vec<CauseEntry>,
    /// The same, as the text shows it.
    #[serde(skip)]
    diagnosis: Diagnosis,
}

impl FailureEntry {
    /// A failure with its diagnosis, which is empty for a failed verification: its lines are envdoc's own.
    pub fn new(
        phase: Phase,
        step: Option<String>,
        last_lines: Vec<String>,
        message: String,
        diagnosis: Diagnosis,
    ) -> FailureEntry {
        let causes = diagnosis_json::report(&diagnosis).causes;
        FailureEntry { phase, step, last_lines, message, causes, diagnosis }
    }
}

pub enum Progress {
    /// Lines that stay, on standard error.
    Lines(lines::Lines),
    /// Steps that run, redrawn, on a terminal.
    Tree(tree::Tree),
    /// JSON objects, on standard output.
    Events,
}

impl Progress {
    pub fn event(&mut self, event: &Event) {
        match self {
            Progress::Lines(lines) => lines.event(event),
            Progress::Tree(tree) => tree.event(event),
            Progress::Events => events::event(event),
        }
    }

    /// Shows what happens after the build: `verifying …`, `pushing …`.
    pub fn note(&mut self, text: &str) {
        match self {
            Progress::Lines(_) => diagnostic::terminal::note(text),
            Progress::Tree(tree) => tree.note(text),
            Progress::Events => events::phase(text),
        }
    }
}

/// The first line of a step without what stands before its command: mounts, and variables for the command
/// alone.
pub fn step_title(name: &str) -> String {
    let first = name.lines().next().unwrap_or_default();
    let mut words: Vec<&str> =
        first.split_whitespace().filter(|word| !word.starts_with("--mount=")).collect();
    if let Some(start) = words.iter().position(|word| *word == "export")
        && words[..start].last() == Some(&"RUN")
        && let Some(length) = words[start..].iter().position(|word| *word == "&&")
    {
        words.drain(start..=start + length);
    }
    words.join(" ")
}
