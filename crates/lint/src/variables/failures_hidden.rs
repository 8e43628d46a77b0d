//! A variable keeps failures from being noticed.

use crate::read::settings::{Setting, Settings};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "failures-hidden",
    severity: Severity::Warning,
    summary: "no variable disables error handling",
    explain: include_str!("failures_hidden.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("train.env", "TORCH_NCCL_ASYNC_ERROR_HANDLING=0\n"),
        named("train.sh", "export NCCL_IB_TIMEOUT=31\ntorchrun train.py\n"),
    ],
    silent: &[named(
        "train.env",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING=1\nNCCL_IB_TIMEOUT=22\nTORCH_NCCL_ENABLE_MONITORING=1\n",
    )],
};

fn judge(settings: &Settings) -> Vec<Found> {
    settings.known().filter_map(|(_, one, value)| hidden(one, value)).collect()
}

fn hidden(one: &Setting, value: &str) -> Option<Found> {
    let warning = |effect: &str| {
        let message = format!("{}={value}: {effect}", one.name);
        Some(Found::warning(one.location.clone(), message, "Remove it"))
    };
    match (one.name.as_str(), value) {
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING" | "NCCL_ASYNC_ERROR_HANDLING", "0") => {
            warning("after a failed collective the ranks wait forever")
        }
        ("TORCH_NCCL_ASYNC_ERROR_HANDLING" | "NCCL_ASYNC_ERROR_HANDLING", "2") => {
            warning("after a failed collective the ranks continue with bad data")
        }
        ("TORCH_NCCL_ENABLE_MONITORING", "0") => warning("a hung watchdog is never detected"),
        ("TORCH_NCCL_RETHROW_CUDA_ERRORS", "0") => warning("CUDA errors are ignored"),
        ("NCCL_IB_RETURN_ASYNC_EVENTS", "0") => warning("NCCL does not stop at a fatal event of the adapter"),
        ("NCCL_IB_TIMEOUT", "0") => warning("the adapter waits forever; a dead link is never detected"),
        ("NCCL_IB_TIMEOUT", _) => {
            let power = value.parse::<u32>().ok().filter(|power| *power > 22)?;
            let message = match power {
                32.. => format!("NCCL_IB_TIMEOUT={value}: at 32 and above the adapter waits forever"),
                // 4.096 µs · 2^n, seven retries.
                _ => format!(
                    "NCCL_IB_TIMEOUT={value}: the adapter waits {:.0} s for each of up to seven retries \
                     before it reports a dead link",
                    4.096e-6 * f64::from(1_u32 << power)
                ),
            };
            Some(Found::note(one.location.clone(), message, "Remove it; the default is 20"))
        }
        ("NVIDIA_DISABLE_REQUIRE", "1" | "true") => {
            let message = format!(
                "NVIDIA_DISABLE_REQUIRE={value}: an image too new for the driver starts anyway, and CUDA \
                 fails in it later"
            );
            Some(Found::note(
                one.location.clone(),
                message,
                "Remove it, or use an image that the driver supports",
            ))
        }
        _ => None,
    }
}
