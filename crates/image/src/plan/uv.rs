//! uv, which installs Pythons that the system does not have: it is in a stage of its own, and in no layer of
//! the image.

use super::PlanContext;

/// The uv that installs Python: the release whose list of downloads the catalog was read from.
const UV: &str = "0.13.9";

/// Puts uv into /opt/uv. uv is a program, and needs the Python of pip only to be installed: an old one will
/// do.
pub(super) fn commands(context: &PlanContext, program: &str) -> Vec<Vec<String>> {
    let pip = |arguments: String| vec![context.with_secrets(format!("{program} -m pip install {arguments}"))];
    match context.base.system.and_then(|system| system.pip_first.as_deref()) {
        Some(version) => vec![
            pip(format!("pip=={version}")),
            pip(format!("--ignore-requires-python --target /opt/uv uv=={UV}")),
        ],
        None => vec![pip(format!("--target /opt/uv uv=={UV}"))],
    }
}

/// uv, from its stage: in no layer.
pub(super) fn mounts(context: &PlanContext) -> Vec<String> {
    let mut mounts = vec!["type=bind,from=python,source=/opt/uv/bin,target=/mnt".to_owned()];
    if context.request.uses_cache() {
        mounts.push("type=cache,target=/root/.cache/uv".into());
    }
    mounts.extend(context.secret_mounts());
    mounts
}
