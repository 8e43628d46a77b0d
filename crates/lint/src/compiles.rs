//! What an installation compiles with nvcc.

use super::read::dockerfile::Run;
use super::read::dockerfile::install::Install;

/// What is certainly compiled while this is installed: DeepSpeed's operators built ahead, flash-attn that is
/// told to; `None`: nothing that is known.
pub(crate) fn ahead(run: &Run, install: &Install) -> Option<String> {
    if install.requirement("deepspeed").is_some()
        && let Some(variable) = deepspeed_ahead(run)
    {
        return Some(format!("DeepSpeed ({variable}=1)"));
    }
    let forced = run.variable("FLASH_ATTENTION_FORCE_BUILD").and_then(|value| value.text);
    let flash = install.requirement("flash-attn").is_some() && forced.as_deref() == Some("TRUE");
    flash.then(|| "flash-attn (FLASH_ATTENTION_FORCE_BUILD=TRUE)".to_owned())
}

/// The variable that has operators of DeepSpeed with CUDA code built at installation.
pub(crate) fn deepspeed_ahead(run: &Run) -> Option<&'static str> {
    let on = |name: &str| run.variable(name).and_then(|value| value.text).as_deref() == Some("1");
    if on("DS_BUILD_OPS") {
        return Some("DS_BUILD_OPS");
    }
    let compiled = run.state.catalog.deepspeed().operators().iter().filter(|one| one.needs_nvcc);
    compiled.map(|one| one.variable.as_str()).find(|name| on(name))
}
