//! A line of .deepspeed_env that DeepSpeed cannot take.

use crate::read::settings::Settings;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "deepspeed-env-invalid",
    severity: Severity::Error,
    summary: "every line of .deepspeed_env is NAME=value",
    explain: include_str!("deepspeed_env_invalid.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named(".deepspeed_env", "NCCL_IB_DISABLE=1\n\nNCCL_DEBUG=WARN\n"),
        named(".deepspeed_env", "# interfaces\nNCCL_SOCKET_IFNAME=eth0\n"),
        named(".deepspeed_env", "export NCCL_SOCKET_IFNAME=eth0\n"),
        named(".deepspeed_env", "PYTHONPATH=/a b\n"),
    ],
    silent: &[
        named(".deepspeed_env", "NCCL_SOCKET_IFNAME=eth0\nTORCH_NCCL_ASYNC_ERROR_HANDLING=1\nA=\"x y\"\n"),
        named("train.env", "# interfaces\n\nNCCL_SOCKET_IFNAME=eth0\n"),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    if settings.kind != Some(Kind::DeepspeedEnvironment) {
        return Vec::new();
    }
    let bad = settings.others.iter().map(|(line, text)| {
        if text.contains('=') && !text.trim_start().starts_with('#') {
            let message = format!(
                "{:?} becomes `export {}` on every node, which has no valid variable name",
                text.trim(),
                text.trim()
            );
            return Found::warning(*line, message, "Write NAME=value");
        }
        if text.contains('=') {
            let message = "the comment is exported as a variable; the launcher does not support comments";
            return Found::warning(*line, message, "Delete the line");
        }
        let what = match text.trim() {
            "" => "an empty line".to_owned(),
            other => format!("{other:?}"),
        };
        let message = format!("{what} has no `=`; the launcher fails with ValueError");
        Found::error(*line, message, "Write NAME=value")
    });
    let spaces = settings.known().filter(|(_, _, value)| {
        value.contains(' ') && !value.starts_with(['"', '\'']) || value.matches('"').count() % 2 == 1
    });
    let spaces = spaces.map(|(_, one, _)| {
        let message = format!(
            "the value of {} contains an unquoted space; the shell on the nodes drops the rest",
            one.name
        );
        Found::warning(one.location.clone(), message, "Quote the value")
    });
    bad.chain(spaces).collect()
}
