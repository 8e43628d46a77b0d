//! Downloads with hf_transfer in a service whose image does not contain it.

use crate::hf_transfer::{FIX, VARIABLE, missing};
use crate::read::compose::{Compose, Service};
use crate::rule::{Example, Found, Judge, Rule, Severity};

const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, companions }
}

const DOCKERFILE: &str =
    "FROM python:3.11-slim\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n";

pub(crate) const RULE: Rule = Rule {
    id: "hf-transfer-missing-in-service",
    severity: Severity::Warning,
    summary: "hf_transfer is in the image of a service with HF_HUB_ENABLE_HF_TRANSFER",
    explain: include_str!("hf_transfer_missing_in_service.md"),
    judge: Judge::Compose(judge),
    fires: &[
        with(
            "services:\n  a:\n    build: .\n    environment: {HF_HUB_ENABLE_HF_TRANSFER: \"1\"}\n",
            &[("Dockerfile", DOCKERFILE), ("requirements.txt", "huggingface_hub==0.26.2\n")],
        ),
        with(
            "services:\n  a:\n    build: .\n    env_file: [.env]\n",
            &[
                ("Dockerfile", DOCKERFILE),
                ("requirements.txt", "huggingface_hub==0.26.2\ntransformers==4.46.3\n"),
                (".env", "HF_HUB_ENABLE_HF_TRANSFER=1\n"),
            ],
        ),
    ],
    silent: &[
        with(
            "services:\n  a:\n    build: .\n    environment: {HF_HUB_ENABLE_HF_TRANSFER: \"1\"}\n",
            &[("Dockerfile", DOCKERFILE), ("requirements.txt", "huggingface_hub==0.26.2\nhf_transfer\n")],
        ),
        with(
            "services:\n  a:\n    build: .\n    environment: {HF_HUB_ENABLE_HF_TRANSFER: \"1\"}\n",
            &[("Dockerfile", DOCKERFILE)],
        ),
        with(
            "services:\n  a:\n    build: .\n",
            &[
                ("Dockerfile", DOCKERFILE),
                ("requirements.txt", "huggingface_hub==0.26.2\n"),
                (".env", "HF_HUB_ENABLE_HF_TRANSFER=1\n"),
            ],
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    file.services.iter().filter_map(|service| fault(file, service)).collect()
}

fn fault(file: &Compose, service: &Service) -> Option<Found> {
    let (key, value) = value(file, service)?;
    let why = missing(&value, file.built(service)?.as_ref())?;
    Some(Found::warning(service.line_of(key), format!("service {}: {why}", service.name), FIX))
}

/// The value of the variable, and the key of the service that sets it.
fn value(file: &Compose, service: &Service) -> Option<(&'static str, String)> {
    if let Some(value) = service.environment().remove(VARIABLE) {
        return value.map(|value| ("environment", value));
    }
    let names = service.env_files();
    let texts = names.iter().filter_map(|name| file.files.get(name.trim_start_matches("./"))?.as_deref());
    let lines = texts.flat_map(str::lines);
    let mut found = lines.filter_map(|line| line.trim().strip_prefix(VARIABLE)?.strip_prefix('='));
    found.next_back().map(|value| ("env_file", value.trim().trim_matches(['"', '\'']).to_owned()))
}
