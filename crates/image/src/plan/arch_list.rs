//! TORCH_CUDA_ARCH_LIST: the build sees no GPU, so the target architectures must be set.

use super::PlanContext;
use super::base::{NvccNeed, nvcc_need};
use super::step::{Instruction, Step};
use facts::support::capabilities;

/// For which GPUs is compiled.
pub(super) fn step(context: &PlanContext) -> Option<Step> {
    if nvcc_need(context.catalog, context.request, context.stack).0 == NvccNeed::Never {
        return None;
    }
    let (list, why) = list(context)?;
    Some(Step::new(Instruction::Arg("TORCH_CUDA_ARCH_LIST".into(), Some(list))).with_comment(why))
}

/// The list, and why it is this one; `None` where the compute capabilities of the torch build are not known.
fn list(context: &PlanContext) -> Option<(String, String)> {
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

/// `FLASH_ATTN_CUDA_ARCHS` for some GPUs; `None` where none is named, or one of them is not among the
/// architectures that its build can be limited to: then it compiles for all.
pub(super) fn of_flash_attn(targets: &[(u32, u32)]) -> Option<String> {
    let code = |target: &(u32, u32)| {
        Some(match target {
            (8, _) => 80,
            (9, 0) => 90,
            (10, _) => 100,
            (12, _) => 120,
            _ => return None,
        })
    };
    let mut codes: Vec<u32> = targets.iter().map(code).collect::<Option<_>>()?;
    codes.sort_unstable();
    codes.dedup();
    let codes: Vec<String> = codes.iter().map(u32::to_string).collect();
    (!codes.is_empty()).then(|| codes.join(";"))
}

#[cfg(test)]
mod tests {
    use super::of_flash_attn;

    #[test]
    fn architectures_of_flash_attn() {
        assert_eq!(of_flash_attn(&[(12, 0)]).as_deref(), Some("120"));
        assert_eq!(of_flash_attn(&[(9, 0), (8, 6), (8, 0)]).as_deref(), Some("80;90"));
        assert_eq!(of_flash_attn(&[(10, 3)]).as_deref(), Some("100"));
        assert_eq!(of_flash_attn(&[]), None);
        assert_eq!(of_flash_attn(&[(9, 0), (7, 5)]), None);
    }
}
