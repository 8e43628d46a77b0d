//! A command for an image whose ENTRYPOINT does not take it.

use crate::dockerfile::entrypoint_ignores_command::without_arguments;
use crate::read::compose::{Compose, Service, words};
use crate::rule::{Example, Found, Judge, Rule, Severity};

const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, companions }
}

pub(crate) const RULE: Rule = Rule {
    id: "entrypoint-ignores-service-command",
    severity: Severity::Warning,
    summary: "the ENTRYPOINT of an image takes the command of its service",
    explain: include_str!("entrypoint_ignores_service_command.md"),
    judge: Judge::Compose(judge),
    fires: &[
        with(
            "services:\n  a:\n    build: .\n    command: [\"--config\", \"/cfg/7b.yaml\"]\n",
            &[("Dockerfile", "FROM ubuntu:24.04\nENTRYPOINT torchrun --standalone train.py\n")],
        ),
        with(
            "services:\n  a:\n    build: {context: docker, dockerfile: Dockerfile.train}\n    command: \
             --epochs 3\n",
            &[("docker/Dockerfile.train", "FROM ubuntu:24.04\nENTRYPOINT exec python train.py\n")],
        ),
    ],
    silent: &[
        with(
            "services:\n  a:\n    build: .\n    command: [\"--config\", \"/cfg/7b.yaml\"]\n",
            &[("Dockerfile", "FROM ubuntu:24.04\nENTRYPOINT [\"torchrun\", \"train.py\"]\n")],
        ),
        with(
            "services:\n  a:\n    build: .\n    entrypoint: [torchrun]\n    command: [train.py]\n  c:\n    \
             build: .\n",
            &[("Dockerfile", "FROM ubuntu:24.04\nENTRYPOINT torchrun --standalone train.py\n")],
        ),
        with(
            "services:\n  a:\n    build: .\n    command: [\"--config\", \"/cfg/7b.yaml\"]\n",
            &[("Dockerfile", "FROM ubuntu:24.04\nENTRYPOINT exec python train.py \"$0\" \"$@\"\n")],
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    file.services.iter().filter_map(|service| fault(file, service)).collect()
}

fn fault(file: &Compose, service: &Service) -> Option<Found> {
    let own = service.value.as_mapping().is_some_and(|map| map.contains_key("entrypoint"));
    if own || service.extends_elsewhere || words(service.at(&["command"])).is_empty() {
        return None;
    }
    let image = file.built(service)?;
    let entry = without_arguments(&image)?;
    let message = format!(
        "service {}: the shell form of ENTRYPOINT (line {} of {}) ignores `command`",
        service.name,
        entry.line,
        service.dockerfile()?
    );
    let fix = "Write ENTRYPOINT as `[\"program\", \"argument\"]`, or set `entrypoint` in the service";
    Some(Found::warning(service.line_of("command"), message, fix))
}
