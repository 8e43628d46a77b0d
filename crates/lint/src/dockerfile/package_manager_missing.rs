//! The package manager of another distribution than the image's.

use crate::read::dockerfile::{Dockerfile, Run, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "package-manager-missing",
    severity: Severity::Error,
    summary: "RUN uses the package manager that the image has",
    explain: include_str!("package_manager_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-rockylinux8\nRUN apt-get update && apt-get install -y git \
             gcc-c++\n",
        ),
        dockerfile(
            "FROM registry.access.redhat.com/ubi9/ubi:9.4\nRUN apt update && apt install -y python3\n",
        ),
        dockerfile("FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN dnf -y install python3.11\n"),
        dockerfile("FROM python:3.12-alpine AS build\nRUN apt-get update\n"),
        dockerfile("FROM python:3.12-slim\nRUN apk add --no-cache git\n"),
        dockerfile("FROM rockylinux:9 AS base\nFROM base\nRUN [\"apt-get\", \"update\"]\n"),
    ],
    silent: &[
        dockerfile(
            "FROM docker.io/nvidia/cuda:12.4.1-devel-rockylinux9\nRUN dnf -y install gcc-c++ && dnf clean \
             all\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-base-ubi9\nRUN if command -v apt-get; then apt-get update; else dnf -y \
             install git; fi\n",
        ),
        dockerfile("FROM fedora:41\nRUN dnf -y install apt dnf5\nRUN apt-get --version\n"),
        dockerfile("FROM example/rockylinux-tools:1\nRUN apt-get update && apt-get install -y git\n"),
        dockerfile("ARG BASE\nFROM ${BASE}\nRUN yum install -y git\n"),
        dockerfile("FROM ubuntu:24.04\nRUN apt-get update && apt-get install -y dnf && dnf --version\n"),
        dockerfile("FROM rockylinux:9\nRUN apt-get update || dnf -y makecache\n"),
    ],
};

/// The distributions by their package managers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Debian,
    Red,
    Alpine,
}

impl Family {
    /// What of a command is a package manager of a family.
    fn of_program(program: &str) -> Option<Family> {
        match program {
            "apt-get" | "apt" | "aptitude" | "apt-cache" => Some(Family::Debian),
            "dnf" | "yum" | "microdnf" => Some(Family::Red),
            "apk" => Some(Family::Alpine),
            _ => None,
        }
    }

    fn own(self) -> &'static str {
        match self {
            Family::Debian => "apt-get",
            Family::Red => "dnf",
            Family::Alpine => "apk",
        }
    }
}

/// The family of the image that a stage begins with, its name, and whether it is certain.
pub(crate) fn family<'f>(file: &'f Dockerfile, stage: &'f Stage) -> Option<(Family, &'f str, bool)> {
    let image = file.base(stage)?;
    let name = image.text.as_str();
    let family = of_image(name).filter(|_| image.known)?;
    Some((family, name, !image.default))
}

/// The family of an image, as its name and tag show it.
fn of_image(name: &str) -> Option<Family> {
    let name = name.split('@').next()?;
    let (repository, tag) = name.rsplit_once(':').unwrap_or((name, ""));
    let repository = repository.strip_prefix("docker.io/").unwrap_or(repository);
    let repository = repository.strip_prefix("library/").unwrap_or(repository);
    let repository = repository.strip_prefix("nvcr.io/").unwrap_or(repository);
    let red_hat = ["registry.access.redhat.com/ubi", "registry.redhat.io/ubi", "redhat/ubi"];
    let part = |mark: &str| tag.split('-').any(|part| part.starts_with(mark));
    match repository {
        "rockylinux"
        | "rockylinux/rockylinux"
        | "almalinux"
        | "centos"
        | "fedora"
        | "amazonlinux"
        | "oraclelinux"
        | "quay.io/centos/centos" => Some(Family::Red),
        _ if red_hat.iter().any(|start| repository.starts_with(start)) => Some(Family::Red),
        "ubuntu" | "debian" => Some(Family::Debian),
        "alpine" => Some(Family::Alpine),
        "nvidia/cuda" if part("rockylinux") || part("ubi") || part("centos") || part("oraclelinux") => {
            Some(Family::Red)
        }
        "nvidia/cuda" if part("ubuntu") => Some(Family::Debian),
        "python" if part("alpine") => Some(Family::Alpine),
        "python" if part("windowsservercore") || part("nanoserver") => None,
        "python" => Some(Family::Debian),
        _ => None,
    }
}

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter_map(|stage| fault(file, stage)).collect()
}

fn fault(file: &Dockerfile, stage: &Stage) -> Option<Found> {
    let (family, image, certain) = family(file, stage)?;
    let run = stage.runs.iter().find(|run| {
        let command = &run.command;
        if Family::of_program(command.program()).is_none_or(|other| other == family) {
            return false;
        }
        // With two managers in one RUN, something chooses between them.
        let chooses = stage
            .commands_of(run.instruction)
            .iter()
            .any(|one| Family::of_program(one.command.program()) == Some(family));
        let guarded = !command.certain || command.condition || command.after == "||" || chooses;
        !guarded && command.words.first().is_some_and(|word| !word.text.contains('/'))
    })?;
    let program = run.command.program();
    // Some distributions have packages of the others' managers.
    let all: Vec<&Run> = file.lineage(stage).into_iter().rev().flat_map(|stage| &stage.runs).collect();
    let before = all.iter().take_while(|one| !std::ptr::eq(**one, run));
    let mut before = before.filter(|one| !std::ptr::eq(**one, run));
    let installed = before.any(|one| {
        one.state.opaque || one.command.has(program) || one.command.has("apt") && program.starts_with("apt")
    });
    let copied = stage
        .instructions
        .iter()
        .take(run.instruction)
        .any(|one| matches!(one.keyword.as_str(), "COPY" | "ADD") && one.text.text.contains("/bin"));
    if installed || copied || run.state.opaque {
        return None;
    }
    let message =
        format!("{image} has no {program}; its package manager is {}, and the RUN fails", family.own());
    let fix =
        format!("Use {}, with the names that the packages have there, or another base image", family.own());
    Some(Found::error(run.command.line, message, fix).unless_certain(certain))
}

/// Whether the image of a stage certainly has no apt.
pub(crate) fn lacks_apt(file: &Dockerfile, stage: &Stage) -> bool {
    family(file, stage).is_some_and(|(family, ..)| family != Family::Debian)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Context;

    #[test]
    fn rules_about_apt_skip_images_without_it() {
        let of = |from: &str| {
            let file = Dockerfile::read(catalog::testing::catalog(), from, &Context::new());
            file.stages.iter().map(|stage| lacks_apt(&file, stage)).collect::<Vec<_>>()
        };
        assert_eq!(of("FROM nvidia/cuda:12.4.1-devel-rockylinux8 AS a\nFROM a\n"), [true, true]);
        assert_eq!(of("FROM ubuntu:24.04\nFROM example/tools:1\nFROM scratch\n"), [false, false, false]);
    }
}
