//! A stage that does not exist where it is used.

use crate::read::dockerfile::{Dockerfile, From};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "stage-unknown",
    severity: Severity::Error,
    summary: "`--from` and FROM name an earlier stage or an image",
    explain: include_str!("stage_unknown.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM ubuntu:24.04\nCOPY --from=builder /x /x\nFROM ubuntu:24.04 AS builder\nRUN make\n"),
        dockerfile("FROM ubuntu:24.04 AS builder\nRUN make\nFROM ubuntu:24.04\nCOPY --from=build /x /x\n"),
        dockerfile("FROM ubuntu:24.04\nCOPY --from=1 /x /x\n"),
        dockerfile("ARG V=0.8\nFROM ubuntu:24.04\nCOPY --from=ghcr.io/astral-sh/uv:${V} /uv /bin/\n"),
        dockerfile(
            "FROM ubuntu:24.04 AS wheels\nFROM ubuntu:24.04\nRUN --mount=type=bind,from=wheel,target=/w \
             true\n",
        ),
        dockerfile(
            "FROM python:3.12 AS base\nRUN true\nFROM python:3.12-slim AS Base\nCOPY --from=base /a /a\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:24.04 AS Builder\nFROM ubuntu:24.04\nCOPY --from=builder /x /x\nCOPY --from=0 /y \
             /y\n",
        ),
        dockerfile(
            "FROM ubuntu:24.04 AS a\nFROM ubuntu:24.04\nCOPY --from=ghcr.io/astral-sh/uv:0.8 /uv /bin/\n",
        ),
        dockerfile("FROM ubuntu:24.04\nCOPY --from=golang /x /x\nCOPY --from=busybox:1 /y /y\n"),
    ],
};

/// Official images that files copy from without a tag.
const IMAGES: &[&str] = &[
    "golang",
    "busybox",
    "alpine",
    "nginx",
    "node",
    "python",
    "rust",
    "ubuntu",
    "debian",
    "docker",
    "maven",
    "gradle",
    "composer",
    "php",
    "redis",
    "postgres",
    "caddy",
    "traefik",
    "gcc",
    "ruby",
    "openjdk",
    "amazoncorretto",
    "eclipse-temurin",
    "bash",
    "registry",
    "httpd",
    "memcached",
    "haproxy",
    "fedora",
    "rockylinux",
    "almalinux",
    "perl",
    "julia",
    "r-base",
    "swift",
    "mongo",
    "mysql",
    "mariadb",
    "kong",
    "vault",
    "consul",
    "telegraf",
    "influxdb",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let names: Vec<Option<&str>> = file.stages.iter().map(|stage| stage.name.as_deref()).collect();
    let mut found = Vec::new();
    for (index, stage) in file.stages.iter().enumerate() {
        if let Some(name) = stage.name.as_deref()
            && let Some(other) = names[..index].iter().position(|known| *known == Some(name))
        {
            let line = file.stages[other].line;
            let message = format!("line {line} already has a stage named {name}; the build fails");
            found.push(Found::error(stage.line, message, "Give the stages different names"));
        }
        if let From::Image(image) = &stage.from {
            let later =
                names.iter().skip(index).any(|name| *name == Some(image.text.to_ascii_lowercase().as_str()));
            if later && image.known {
                let message =
                    format!("stage {} is defined later; here it is the name of an image", image.text);
                found.push(Found::error(stage.line, message, "Move that stage up"));
            }
        }
        for one in &stage.instructions {
            let mounts = one.flags.iter().filter_map(|flag| flag.strip_prefix("--mount="));
            let mounted =
                mounts.flat_map(|mount| mount.split(',')).filter_map(|pair| pair.strip_prefix("from="));
            let copied = matches!(one.keyword.as_str(), "COPY" | "ADD").then(|| one.flag("from")).flatten();
            found.extend(
                copied.into_iter().chain(mounted).filter_map(|from| fault(&names, index, one.line, from)),
            );
        }
    }
    found
}

fn fault(names: &[Option<&str>], index: usize, line: usize, from: &str) -> Option<Found> {
    if from.contains('$') {
        let message = format!("--from={from}: variables are not expanded in `from`; the build fails");
        return Some(Found::error(line, message, "Give the image a stage of its own: `FROM …:$X AS name`"));
    }
    if let Ok(number) = from.parse::<usize>() {
        let message = format!("stage {number} does not exist before this one; the first is 0");
        return (number >= index).then(|| Found::error(line, message, "Name the stage with `AS`"));
    }
    let from = from.to_ascii_lowercase();
    let earlier = names[..index].contains(&Some(from.as_str()));
    if earlier || from.is_empty() || from == "scratch" || from.contains(['/', ':', '.', '@']) {
        return None;
    }
    if names[index..].contains(&Some(from.as_str())) {
        let message = format!("stage {from} is not before this one; the build fails");
        return Some(Found::error(line, message, "Move that stage up"));
    }
    if IMAGES.contains(&from.as_str()) {
        return None;
    }
    let near = names[..index].iter().flatten().find(|name| {
        name.starts_with(&from) || from.starts_with(**name) || diagnostic::suggest::edits(name, &from) <= 2
    });
    let message = format!("no stage is named {from}; BuildKit pulls an image docker.io/library/{from}");
    Some(match near {
        Some(near) => {
            Found::error(line, format!("{message}; did you mean {near}?"), format!("Use `from={near}`"))
        }
        None => Found::warning(line, message, "Name the stage, or the image with its registry and tag"),
    })
}
