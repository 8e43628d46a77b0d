//! A mount over the virtual environment of the image.

use crate::read::compose::{Compose, Service, Source};
use crate::read::dockerfile::start::started;
use crate::rule::{Example, Found, Judge, Rule, Severity};

const IMAGE: &str = "FROM python:3.12-slim\nWORKDIR /app\nRUN python -m venv /app/.venv\n\
     ENV PATH=/app/.venv/bin:$PATH\nRUN pip install torch\nCOPY . .\nCMD [\"python\", \"train.py\"]\n";

pub(crate) const RULE: Rule = Rule {
    id: "environment-hidden",
    severity: Severity::Warning,
    summary: "no mount hides the virtual environment of the image",
    explain: include_str!("environment_hidden.md"),
    judge: Judge::Compose(judge),
    fires: &[
        Example {
            name: "compose.yaml",
            text: "services:\n  a:\n    build: .\n    volumes:\n      - ./:/app\n",
            companions: &[("Dockerfile", IMAGE)],
        },
        Example {
            name: "compose.yaml",
            text: "services:\n  api:\n    build: {context: .}\n    volumes:\n      - {type: bind, source: \
                   ., target: \
               /app}\n",
            companions: &[(
                "Dockerfile",
                "FROM python:3.11-slim\nCOPY --from=ghcr.io/astral-sh/uv:0.5.11 /uv \
                 /usr/local/bin/uv\nWORKDIR \
             /app\nRUN uv venv /app/.venv && uv pip install --python /app/.venv/bin/python uvicorn\nCMD \
             [\"/app/.venv/bin/uvicorn\", \"main:app\"]\n",
            )],
        },
    ],
    silent: &[
        Example {
            name: "compose.yaml",
            text: "services:\n  a:\n    build: .\n    volumes:\n      - ./:/app\n      - /app/.venv\n",
            companions: &[("Dockerfile", IMAGE)],
        },
        Example {
            name: "compose.yaml",
            text: "services:\n  a:\n    build: .\n    volumes:\n      - ./src:/app/src\n",
            companions: &[("Dockerfile", IMAGE)],
        },
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    file.services.iter().filter(|one| !one.extends_elsewhere).filter_map(|one| fault(file, one)).collect()
}

fn fault(file: &Compose, service: &Service) -> Option<Found> {
    let image = file.built(service)?;
    let end = &image.stages.last()?.end;
    let path = end.variables.get("PATH").and_then(|value| value.text.clone()).unwrap_or_default();
    let command = match service.command() {
        own if own.is_empty() => {
            let words = started(&image).into_iter().flat_map(|command| command.words);
            words.map(|word| word.text).collect::<Vec<_>>().join(" ")
        }
        own => own,
    };
    let is_used = |place: &str| {
        let programs = format!("{place}/bin");
        path.split(':').any(|one| one.trim_end_matches('/') == programs)
            || command.split_whitespace().any(|word| word.starts_with(&format!("{programs}/")))
    };
    let place = end.pythons.environments.iter().map(|(place, _)| place).find(|place| is_used(place))?;
    let mounts = service.mounts();
    // A new volume begins with what the image has there.
    let mut hides = mounts.iter().filter(|one| one.source != Source::Volume);
    let target = &hides.find(|one| one.holds(place))?.target;
    let kept = mounts.iter().any(|other| other.target.len() > target.len() && other.holds(place));
    let message = format!(
        "service {}: the mount at {target} hides {place} of the image, whose programs it runs",
        service.name
    );
    let fix = format!("Make the environment outside of {target}, or add the volume `{place}`");
    (!kept).then(|| Found::warning(service.line_of("volumes"), message, fix))
}
