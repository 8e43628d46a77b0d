//! Packages of a release whose archive has moved.

use crate::read::dockerfile::{Dockerfile, From, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "package-archive-gone",
    severity: Severity::Error,
    summary: "the distribution of the base image still serves packages",
    explain: include_str!("package_archive_gone.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM centos:7\nRUN yum install -y git\n"),
        dockerfile("FROM example/base:1.0-centos8\nRUN dnf install -y git\n"),
        dockerfile("FROM debian:stretch\nRUN apt-get update && apt-get install -y git\n"),
        dockerfile("FROM ubuntu:23.04\nRUN apt-get update && apt-get install -y git\n"),
    ],
    silent: &[
        dockerfile(
            "FROM centos:7\nRUN sed -i 's|mirrorlist|#mirrorlist|; \
             s|#baseurl=http://mirror|baseurl=http://vault|' /etc/yum.repos.d/*.repo && yum install -y git\n",
        ),
        dockerfile("FROM centos:7\nCOPY local.repo /etc/yum.repos.d/\nRUN yum install -y git\n"),
        dockerfile("FROM debian:12\nRUN apt-get update && apt-get install -y git\n"),
        dockerfile("FROM quay.io/centos/centos:stream9\nRUN dnf install -y git\n"),
        dockerfile("FROM centos:7\nRUN pip install x\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter_map(stage).collect()
}

fn stage(stage: &Stage) -> Option<Found> {
    let From::Image(image) = &stage.from else { return None };
    let archived = stage.end.catalog.systems().archived(&image.text)?;
    for run in &stage.runs {
        let command = &run.command;
        let changed = run.state.opaque
            || run.state.archives
            || stage.instructions[..=run.instruction].iter().any(configures);
        if changed {
            return None;
        }
        let verb = ["install", "update", "upgrade", "makecache"].iter().any(|verb| command.has(verb));
        let manager = matches!(command.program(), "yum" | "dnf" | "microdnf") || apt::is_apt(command);
        if manager && verb && command.certain {
            let message = format!("the package servers no longer serve {}; the build fails", archived.name);
            let archive = &archived.archive;
            let fix = format!("Use a newer base image, or point the repository files to {archive} first");
            return Some(Found::error(command.line, message, fix));
        }
    }
    None
}

/// Whether an instruction changes where packages come from.
fn configures(one: &crate::read::dockerfile::instructions::Instruction) -> bool {
    let marks = [
        "yum.repos.d",
        "/etc/apt",
        "vault",
        "archive.debian",
        "old-releases",
        "baseurl",
        "sources.list",
        "--enablerepo",
        "mirror",
    ];
    let documents = one.heredocs.iter().map(|heredoc| heredoc.text.text.as_str());
    let mut texts = std::iter::once(one.text.text.as_str()).chain(documents);
    texts.any(|text| marks.iter().any(|mark| text.contains(mark)))
}
