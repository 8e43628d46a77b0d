//! A base image that does not exist.

use crate::read::dockerfile::{Dockerfile, From};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};
use catalog::Catalog;
use catalog::images::Existence;

pub(crate) const RULE: Rule = Rule {
    id: "base-image-missing",
    severity: Severity::Error,
    summary: "every image in FROM and COPY --from exists",
    explain: include_str!("base_image_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM nvidia/cuda:12.1-base\n"),
        dockerfile("ARG CUDA=12.7.0\nFROM nvidia/cuda:${CUDA}-devel-ubuntu22.04\n"),
        dockerfile("FROM pytorch/pytorch:2.3.1-cuda12.4-cudnn9-devel\n"),
        dockerfile("FROM python:3.14-slim-bullseye\n"),
        dockerfile("FROM scratch\nCOPY --from=nvidia/cuda:latest /a /b\n"),
    ],
    silent: &[
        dockerfile("FROM nvidia/cuda:12.1.1-base-ubuntu22.04\n"),
        dockerfile("ARG CUDA\nFROM nvidia/cuda:${CUDA}-devel-ubuntu22.04\n"),
        dockerfile(
            "FROM python:3.12-slim AS build\nFROM build\nCOPY --from=build /a /b\nCOPY --from=0 /a /b\n",
        ),
        dockerfile("FROM my.registry/nvidia/cuda:12.1-base\n"),
        dockerfile("FROM nvidia/cuda:99.1.0-base-ubuntu22.04\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in &file.stages {
        if let From::Image(image) = &stage.from
            && image.known
        {
            found.extend(missing(file.catalog, stage.line, &image.text, !image.default));
        }
        let named = |name: &str| {
            file.stages.iter().any(|stage| stage.name.as_deref() == Some(&name.to_ascii_lowercase()))
        };
        for copy in stage.instructions.iter().filter(|one| matches!(one.keyword.as_str(), "COPY")) {
            let image = copy.flag("from").filter(|name| !name.contains('$') && !named(name));
            found.extend(
                image
                    .filter(|name| name.contains([':', '/']))
                    .and_then(|name| missing(file.catalog, copy.line, name, true)),
            );
        }
    }
    found
}

/// What is wrong with an image that is named somewhere.
pub(crate) fn missing(
    catalog: &'static Catalog,
    line: usize,
    reference: &str,
    certain: bool,
) -> Option<Found> {
    let Existence::No { why, .. } = catalog.images().exists(reference) else { return None };
    let near: Vec<String> =
        catalog.images().nearest(reference).iter().map(|image| image.reference()).collect();
    let fix = match near.is_empty() {
        true => String::new(),
        false => format!("Use an existing image: {}", near.join(", ")),
    };
    Some(
        Found::error(line, format!("image {reference} does not exist: {why}"), fix)
            .about(reference)
            .unless_certain(certain),
    )
}
