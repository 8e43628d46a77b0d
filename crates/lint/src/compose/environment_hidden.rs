//! A mount over the virtual environment of the image.

use serde_yaml::Value;

use crate::file::Context;
use crate::read::compose::{Compose, Service, bare, below, text};
use crate::read::dockerfile::Dockerfile;
use crate::rule::{Example, Found, Judge, Rule, Severity};

const IMAGE: &str = "FROM python:3.12-slim\nWORKDIR /app\nRUN python -m venv /app/.venv\n\
     ENV PATH=/app/.venv/bin:$PATH\nRUN pip install torch\nCOPY . .\nCMD [\"python\", \"train.py\"]\n";

pub(crate) const RULE: Rule = Rule {
    id: "environment-hidden",
    severity: Severity::Warning,
    summary: "no mount hides the virtual environment of the image",
    explain: include_str!("environment_hidden.md"),
    judge: Judge::Compose(judge),
    fires: &[Example {
        name: "compose.yaml",
        text: "services:\n  a:\n    build: .\n    volumes:\n      - ./:/app\n",
        companions: &[("Dockerfile", IMAGE)],
    }],
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
    if below(&service.value, &["build", "target"]).is_some() {
        return None;
    }
    let source = file.files.get(&service.dockerfile()?)?.as_deref()?;
    let image = Dockerfile::read(file.catalog, source, &Context::new());
    let end = &image.stages.last()?.end;
    let path = end.variables.get("PATH").and_then(|value| value.text.clone()).unwrap_or_default();
    let command = service.command();
    let is_used = |place: &str| {
        let programs = format!("{place}/bin");
        path.split(':').any(|one| one.trim_end_matches('/') == programs) || command.starts_with(&programs)
    };
    let place = end.pythons.environments.iter().map(|(place, _)| place).find(|place| is_used(place))?;
    let mounts = mounts(service);
    let within = |target: &str, place: &str| {
        place == target || place.strip_prefix(target).is_some_and(|rest| rest.starts_with('/'))
    };
    let (_, target) = mounts.iter().find(|(from_host, target)| *from_host && within(target, place))?;
    let kept = mounts.iter().any(|(_, other)| other.len() > target.len() && within(other, place));
    let message = format!(
        "service {}: the mount at {target} hides {place} of the image, whose programs it runs",
        service.name
    );
    let fix = format!("Make the environment outside of {target}, or add the volume `{place}`");
    (!kept).then(|| Found::warning(service.line_of("volumes"), message, fix))
}

/// What is mounted: whether it is a directory of the host, and where.
fn mounts(service: &Service) -> Vec<(bool, String)> {
    let Some(Value::Sequence(items)) = service.at(&["volumes"]) else { return Vec::new() };
    let clean = |target: &str| target.trim_end_matches('/').to_owned();
    let one = |item: &Value| {
        let Some(short) = text(item) else {
            let bind = below(bare(item), &["type"]).and_then(text).as_deref() == Some("bind");
            return below(bare(item), &["target"]).and_then(text).map(|target| (bind, clean(&target)));
        };
        Some(match short.split_once(':') {
            Some((source, rest)) => {
                let target = rest.split(':').next().unwrap_or(rest);
                (source.starts_with(['.', '/', '~']), clean(target))
            }
            None => (false, clean(&short)),
        })
    };
    items.iter().filter_map(one).collect()
}
