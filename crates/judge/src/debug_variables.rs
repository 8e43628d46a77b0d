//! What variables for finding faults cost: for the check of a machine and for the lint rule about files.

/// What a variable for finding faults costs; `None` where it is none or off. `log`: whether NCCL_DEBUG is
/// INFO or TRACE.
pub fn effect(name: &str, value: &str, log: bool) -> Option<&'static str> {
    let on = |value: &str| !matches!(value, "" | "0") && !value.eq_ignore_ascii_case("false");
    let effect = match name {
        "CUDA_LAUNCH_BLOCKING" if on(value) => "the host waits for every kernel",
        "CUDA_FORCE_PTX_JIT" if on(value) => "every kernel is recompiled from PTX",
        "NCCL_DEBUG" if value.eq_ignore_ascii_case("TRACE") => "every call is logged",
        "NCCL_DEBUG_SUBSYS"
            if log
                && ["ALL", "COLL", "CALL"]
                    .iter()
                    .any(|all| value.split(',').any(|system| system == *all)) =>
        {
            "every collective is logged"
        }
        "TORCH_NCCL_BLOCKING_WAIT" | "NCCL_BLOCKING_WAIT" if on(value) => {
            "the host waits for every collective, and no watchdog runs"
        }
        "TORCH_DISTRIBUTED_DEBUG" if value.eq_ignore_ascii_case("DETAIL") => {
            "every collective is compared across all ranks"
        }
        "PYTORCH_NO_CUDA_MEMORY_CACHING" if on(value) => "every allocation calls the driver",
        _ => return None,
    };
    Some(effect)
}
