//! TORCH_CUDA_ARCH_LIST: the build sees no GPU, so the target architectures must be set.

use super::PlanContext;
use facts::support::capabilities;

/// The list, and why it is this one; `None` where the compute capabilities of the torch build are not known.
pub(super) fn list(context: &PlanContext) -> Option<(String, String)> {
    let Some(known) = &context.stack.gpu_archs else { return of_targets(context) };
    let known = capabilities(known);
    if context.request.targets.is_empty() {
        let all: Vec<String> = known.iter().map(written).collect();
        return Some((
            format!("{}+PTX", all.join(";")),
            "No target GPU requested: all architectures of this torch build, and PTX for newer GPUs.".into(),
        ));
    }
    let mut chosen: Vec<(u32, u32)> = Vec::new();
    let mut ptx = false;
    for target in &context.request.targets {
        // Code for 8.6 runs on 8.9: same major, not newer. Where there is none, the newest code is kept as
        // PTX.
        let near = known.iter().filter(|code| code.0 == target.0 && code.1 <= target.1).max();
        match near.or_else(|| known.iter().filter(|code| *code < target).max()) {
            Some(code) => {
                ptx |= code.0 != target.0;
                chosen.push(*code);
            }
            None => return None,
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    let written: Vec<String> = chosen.iter().map(written).collect();
    let ending = if ptx { "+PTX" } else { "" };
    Some((
        format!("{}{ending}", written.join(";")),
        "The requested GPUs; the build machine needs no GPU.".into(),
    ))
}

/// The GPUs themselves, where it is not known for which ones torch has code (NVIDIA's own builds).
fn of_targets(context: &PlanContext) -> Option<(String, String)> {
    let mut chosen = context.request.targets.clone();
    chosen.sort_unstable();
    chosen.dedup();
    let written: Vec<String> = chosen.iter().map(written).collect();
    (!written.is_empty())
        .then(|| (written.join(";"), "The requested GPUs; the build machine needs no GPU.".into()))
}

fn written((major, minor): &(u32, u32)) -> String {
    format!("{major}.{minor}")
}
