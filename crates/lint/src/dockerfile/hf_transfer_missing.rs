//! Downloads with hf_transfer, which is not installed.

use crate::hf_transfer::{FIX, VARIABLE, missing};
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

fn judge(file: &Dockerfile) -> Vec<Found> {
    let Some(last) = file.stages.last() else { return Vec::new() };
    let value = last.end.variables.get(VARIABLE).and_then(|value| value.text.clone());
    let Some(why) = value.and_then(|value| missing(&value, file)) else { return Vec::new() };
    let stages = file.shipped();
    let instructions = stages.iter().flat_map(|stage| &stage.instructions);
    let line = instructions.filter(|one| one.text.text.contains(VARIABLE)).map(|one| one.line).next();
    line.map(|line| Found::warning(line, why, FIX)).into_iter().collect()
}
