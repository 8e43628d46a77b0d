//! Downloads with hf_transfer, which is not installed.

use std::str::FromStr;

use pep440_rs::Version;

use crate::read::dockerfile::Dockerfile;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "hf-transfer-missing",
    severity: Severity::Warning,
    summary: "hf_transfer is installed where HF_HUB_ENABLE_HF_TRANSFER is on",
    explain: include_str!("hf_transfer_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[dockerfile(
        "FROM python:3.11-slim\nENV HF_HUB_ENABLE_HF_TRANSFER=1\nRUN pip install huggingface_hub==0.26.2 \
         transformers==4.46.3\n",
    )],
    silent: &[
        dockerfile(
            "FROM python:3.11-slim\nENV HF_HUB_ENABLE_HF_TRANSFER=1\nRUN pip install \
             huggingface_hub==0.26.2 \
             hf_transfer\n",
        ),
        dockerfile(
            "FROM python:3.11-slim\nENV HF_HUB_ENABLE_HF_TRANSFER=1\nRUN pip install \
             \"huggingface_hub[hf_transfer]==0.26.2\"\n",
        ),
        dockerfile(
            "FROM python:3.11-slim\nENV HF_HUB_ENABLE_HF_TRANSFER=1\nRUN pip install \
             huggingface_hub==0.34.4\n",
        ),
        dockerfile(
            "FROM python:3.11-slim\nENV HF_HUB_ENABLE_HF_TRANSFER=0\nRUN pip install \
             huggingface_hub==0.26.2\n",
        ),
        dockerfile(
            "FROM python:3.11-slim\nENV HF_HUB_ENABLE_HF_TRANSFER=1\nCOPY . .\nRUN ./install.sh && pip \
             install \
             huggingface_hub==0.26.2\n",
        ),
    ],
};

/// The first release that uses hf_transfer, and the first that comes with hf_xet, which downloads instead.
const USED: (&str, &str) = ("0.14.0", "0.32.0");

pub(crate) const VARIABLE: &str = "HF_HUB_ENABLE_HF_TRANSFER";

fn judge(file: &Dockerfile) -> Vec<Found> {
    let Some(last) = file.stages.last() else { return Vec::new() };
    let value = last.end.variables.get(VARIABLE).and_then(|value| value.text.clone());
    let Some(why) = value.and_then(|value| missing(&value, file)) else { return Vec::new() };
    let stages = file.shipped();
    let instructions = stages.iter().flat_map(|stage| &stage.instructions);
    let line = instructions.filter(|one| one.text.text.contains(VARIABLE)).map(|one| one.line).next();
    line.map(|line| Found::warning(line, why, FIX)).into_iter().collect()
}

pub(crate) const FIX: &str = "Install hf_transfer, or remove HF_HUB_ENABLE_HF_TRANSFER";

/// Why downloads fail with a value of the variable in an image.
pub(crate) fn missing(value: &str, file: &Dockerfile) -> Option<String> {
    let end = &file.stages.last()?.end;
    let bare = end.bare || end.image.is_some_and(|image| image.repository == "pytorch/pytorch");
    let hub = end.packages.get("huggingface-hub")?;
    let pin = hub.pin.as_ref()?;
    let of = |text: &str| Version::from_str(text).ok();
    let used = of(USED.0)? <= *pin && *pin < of(USED.1)?;
    let installed = end.packages.iter().any(|(name, one)| {
        name == "hf-transfer" || one.text.contains("hf_transfer") || one.text.contains("hf-transfer")
    });
    let xet = end.packages.get("hf-xet").is_some() || hub.text.contains("xet");
    let on = super::download_while_offline::is_on(value);
    (on && bare && used && !installed && !xet && !end.more_packages && !end.opaque).then(|| {
        format!(
            "{VARIABLE}={value}, but hf_transfer is not installed; huggingface_hub {} then refuses to \
             download: \
             `Fast download using 'hf_transfer' is enabled … but 'hf_transfer' package is not available`",
            hub.pin_text
        )
    })
}
