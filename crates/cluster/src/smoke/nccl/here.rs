//! The phases on this machine, with what its kernel tells of memory.

use super::phases;
use super::workers::Site;
use crate::oom;
use crate::smoke::memory_kills;
use crate::smoke::outcome::{Outcome, PhaseFailed};
use crate::smoke::phases::Options;
use crate::smoke::progress::Progress;

/// [`phases::run`] on this machine; what the OOM killer ended meanwhile is added to the outcome.
pub async fn run(
    gpus: usize,
    options: &Options,
    progress: Progress<'_>,
    outcome: &mut Outcome,
) -> Result<(), PhaseFailed> {
    let memory = oom::Local::start();
    let finished = phases::run(&Site::Local, Some(gpus), options, progress, outcome).await;
    memory_kills::here(outcome, memory.end(), &[]);
    finished
}
