//! The image that cluster.yaml has built: from which file, and whether it is what that file says now.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::observed_state::ObservedState;
use super::plan::{ClusterPlan, Image};
use super::problem::{Problem, Step};
use crate::worker::digest::hex;
use diagnostic::Fix;
use host::file;

const STEP: Step = Step::Image;
/// Label of the image: what it was built from, as a SHA-256 of the file.
pub(crate) const BUILT_FROM: &str = "envdoc.cluster.built-from";

/// Whether the first node has the image that the file of `build` stands for now. One that is not built is
/// always current.
pub(crate) fn current(plan: &ClusterPlan, observed: &[ObservedState]) -> Result<bool, Problem> {
    let Some((path, _)) = source(plan) else { return Ok(true) };
    let digest = digest(&path)?;
    let image = observed.first().and_then(|first| first.image.as_ref());
    Ok(image.is_some_and(|image| image.labels.get(BUILT_FROM) == Some(&digest)))
}

/// The file that the image is built from, seen from here, and the image's tag.
pub(crate) fn source(plan: &ClusterPlan) -> Option<(PathBuf, &str)> {
    let Image::Built { request, tag } = &plan.image else { return None };
    let above = plan.origin.as_deref().and_then(|origin| Path::new(origin).parent());
    Some((above.unwrap_or(Path::new("")).join(request), tag))
}

pub(crate) fn digest(path: &Path) -> Result<String, Problem> {
    let text = file::read(path).map_err(|error| Problem::new(STEP, error.message))?;
    let text = text.ok_or_else(|| {
        Problem::new(STEP, file::missing(path).message)
            .fix(Fix::manual("Correct `build` in cluster.yaml; the path is relative to cluster.yaml"))
    })?;
    Ok(hex(&Sha256::digest(text.as_bytes())))
}
