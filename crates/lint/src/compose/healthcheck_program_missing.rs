//! A health check with a program that the image does not contain.

use std::rc::Rc;

use serde_yaml::Value;

use super::unhealthy_before_loaded::waits_for;
use crate::dockerfile::program_missing::missing_in_check;
use crate::file::Context;
use crate::read::compose::{Compose, IsStack, Service, text};
use crate::read::dockerfile::Dockerfile;
use crate::rule::{Example, Found, Judge, Rule, Severity, compose};
use crate::servers::is_image;

pub(crate) const RULE: Rule = Rule {
    id: "healthcheck-program-missing",
    severity: Severity::Error,
    summary: "health checks use programs that the image of the service contains",
    explain: include_str!("healthcheck_program_missing.md"),
    judge: Judge::Compose(judge),
    fires: &[
        Example {
            name: "compose.yaml",
            text: "services:\n  api:\n    build: ./api\n    healthcheck:\n      test: [\"CMD\", \"curl\", \
                   \"-f\", \
                   \"http://localhost:7000/health\"]\n  web:\n    image: example/web\n    depends_on: {api: \
                   {condition: service_healthy}}\n",
            companions: &[(
                "api/Dockerfile",
                "FROM python:3.11-slim-bookworm\nRUN pip install fastapi uvicorn\nCOPY app.py .\nCMD \
                 [\"uvicorn\", \"app:app\"]\n",
            )],
        },
        compose(
            "services:\n  ollama:\n    image: ollama/ollama:0.5.7\n    healthcheck:\n      test: curl -f \
             http://localhost:11434/api/tags || exit 1\n      interval: 10s\n",
        ),
        compose(
            "services:\n  a:\n    image: python:3.12-slim\n    command: python app.py\n    healthcheck:\n\
             \x20     test: [CMD-SHELL, \"wget -qO- http://localhost:8000/ || exit 1\"]\n",
        ),
    ],
    silent: &[
        Example {
            name: "compose.yaml",
            text: "services:\n  api:\n    build: .\n    healthcheck: {test: [\"CMD\", \"curl\", \"-f\", \
                   \"http://localhost:7000\"]}\n",
            companions: &[(
                "Dockerfile",
                "FROM python:3.11-slim\nRUN apt-get update && apt-get install -y curl\n",
            )],
        },
        compose(
            "services:\n  ollama:\n    image: ollama/ollama:0.5.7\n    healthcheck: {test: [CMD, ollama, \
             list]}\n\
             \x20 a:\n    image: python:3.12-slim\n    command: bash -c \"apt-get update && apt-get \
             install -y \
             curl && python app.py\"\n    healthcheck: {test: curl -f \
             http://localhost:8000}\n  c:\n    image: \
             python:3.12\n    healthcheck: {test: curl -f http://localhost:8000}\n",
        ),
        compose(
            "services:\n  a:\n    image: python:3.12-slim\n    healthcheck: {test: \"curl -f \
             http://localhost:8000 || python -c 'import app'\"}\n",
        ),
    ],
};

/// Servers whose images are made of a small one and their own program: what they are made of.
const MADE_OF: &[(&str, &str)] = &[("ollama/ollama", "ubuntu:22.04"), ("qdrant/qdrant", "debian:12-slim")];

fn judge(file: &Compose) -> Vec<Found> {
    if file.stack == IsStack::Yes {
        return Vec::new();
    }
    file.services.iter().filter_map(|service| fault(file, service)).collect()
}

fn fault(file: &Compose, service: &Service) -> Option<Found> {
    let check = command(service)?;
    let image = image(file, service)?;
    let (program, package) = missing_in_check(&image, &check)?;
    // What the service itself installs, or mounts from the host.
    let installed = service.command().contains(program)
        || service.mounts().iter().any(|mount| {
            mount.target.ends_with(program)
                || ["/usr", "/bin", "/opt"].iter().any(|at| mount.target.starts_with(at))
        });
    if installed || service.extends_elsewhere {
        return None;
    }
    let waits = file.services.iter().find(|one| waits_for(one, &service.name));
    let effect = match waits {
        Some(waits) => format!("; it stays unhealthy and {} does not start", waits.name),
        None => "; it stays unhealthy".to_owned(),
    };
    let message = format!(
        "service {}: the health check uses {program}, which the image does not contain{effect}",
        service.name
    );
    let fix = format!("Install {package} in the image, or check with a program that it has");
    let line = file.line(&["services", &service.name, "healthcheck", "test"]);
    Some(Found::error(line, message, fix).unless_certain(waits.is_some()))
}

/// The command of a health check as the text of a shell.
fn command(service: &Service) -> Option<String> {
    match service.at(&["healthcheck", "test"])? {
        Value::Sequence(items) => {
            let words: Vec<String> = items.iter().filter_map(text).collect();
            let (first, rest) = words.split_first()?;
            match first.as_str() {
                "CMD-SHELL" => Some(rest.join(" ")),
                "CMD" => Some(rest.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
                _ => None,
            }
        }
        other => text(other),
    }
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> String {
    match word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./:=".contains(letter)) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The image of a service as far as its Dockerfile or its name shows it.
fn image(file: &Compose, service: &Service) -> Option<Rc<Dockerfile>> {
    if service.at(&["build"]).is_some() {
        return file.built(service);
    }
    let name = service.text("image").filter(|name| !name.contains('$'))?;
    let made_of = MADE_OF.iter().find(|(known, _)| is_image(&name, known) && !name.contains("rocm"));
    let base = made_of.map_or(name.as_str(), |(_, base)| base);
    Some(Rc::new(Dockerfile::read(file.catalog, &format!("FROM {base}\n"), &Context::new())))
}
