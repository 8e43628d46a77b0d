//! A variable has a value that its reader does not take.

use crate::read::settings::Settings;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "variable-value-not-taken",
    severity: Severity::Warning,
    summary: "variables have values that their reader accepts",
    explain: include_str!("variable_value_not_taken.md"),
    judge: Judge::Variables(judge),
    fires: &[
        named("train.env", "NCCL_IB_RETRY_CNT=13\n"),
        named("train.sh", "NCCL_P2P_DISABLE=true torchrun train.py\n"),
        named(
            "compose.yaml",
            "services:\n  a:\n    image: b\n    environment:\n      NCCL_P2P_LEVEL: NVLINK\n",
        ),
    ],
    silent: &[
        named(
            "train.env",
            "NCCL_IB_RETRY_CNT=7\nNCCL_IB_TIMEOUT=22\nNCCL_DEBUG=info\nNCCL_P2P_LEVEL=2\nNCCL_IB_TC=106\n",
        ),
        named("train.sh", "export NCCL_DEBUG=$LEVEL\ntrain\n"),
    ],
};

fn judge(settings: &Settings) -> Vec<Found> {
    let wrong = settings.known().filter_map(|(_, one, value)| {
        // Words that older programs took for "no log", and that come to it.
        if one.name == "NCCL_DEBUG"
            && ["NONE", "OFF", "0"].iter().any(|word| word.eq_ignore_ascii_case(value))
        {
            return None;
        }
        let row = settings.catalog.variable(&one.name)?;
        let allowed = row.allowed.as_deref()?;
        (row.takes(value) == Some(false)).then(|| {
            let message = format!("{}={value} is not an accepted value; allowed: {allowed}", one.name);
            let default = row.default.as_deref().unwrap_or_default();
            let fix = if default.is_empty() {
                String::new()
            } else {
                format!("Remove it; the default is {default}")
            };
            Found::warning(one.location.clone(), message, fix)
        })
    });
    wrong.collect()
}
