//! apt-get install without the lists of packages.

use crate::dockerfile::package_manager_missing::lacks_apt;
use crate::read::dockerfile::{Dockerfile, From, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "apt-without-update",
    severity: Severity::Warning,
    summary: "`apt-get update` runs in the same RUN as `apt-get install`, before it",
    explain: include_str!("apt_without_update.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM nvidia/cuda:12.1.1-base-ubuntu22.04\nRUN apt-get install -y git\n"),
        dockerfile(
            "FROM debian:12\nRUN apt-get update && apt-get install -y git && rm -rf /var/lib/apt/lists/*\n\
             RUN apt-get install -y vim\n",
        ),
        dockerfile("FROM debian:12\nRUN apt-get update\nRUN apt-get install -y git\n"),
    ],
    silent: &[
        dockerfile("FROM debian:12\nRUN apt-get update && apt-get install -y git\n"),
        dockerfile("FROM example/base:1\nRUN apt-get install -y git\n"),
        dockerfile("FROM debian:12\nRUN --mount=type=cache,target=/var/lib/apt apt-get install -y git\n"),
        dockerfile("FROM debian:12\nRUN ./prepare.sh && apt-get install -y git\n"),
        dockerfile("FROM debian:12\nRUN apt-get install -y ./local.deb\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let known = |stage: &&Stage| {
        let repository = stage.end.image.map(|image| image.repository);
        matches!(stage.from, From::Image(_))
            && repository.is_some_and(|name| !name.starts_with("nvcr.io") && name != "rockylinux")
    };
    file.stages.iter().filter(known).filter(|one| !lacks_apt(file, one)).filter_map(stage).collect()
}

fn stage(stage: &Stage) -> Option<Found> {
    let (mut updated, mut in_run) = (false, None);
    for run in &stage.runs {
        let command = &run.command;
        let flags = stage.instructions.get(run.instruction).map_or(&[][..], |one| &one.flags);
        let mounted = flags.iter().any(|flag| flag.starts_with("--mount") && flag.contains("/apt"));
        if mounted || run.state.opaque {
            return None;
        }
        if apt::verb(command, "update")
            || command.text().contains("apt-get update")
            || command.program() == "add-apt-repository"
        {
            updated = true;
            in_run = Some(run.instruction);
        }
        if command.program() == "rm" && command.text().contains("/var/lib/apt/lists") {
            updated = false;
        }
        let packages = apt::packages(run.state.catalog, command);
        let named = packages
            .iter()
            .any(|word| word.known && !word.text.contains('/') && !word.text.ends_with(".deb"));
        if !named || !command.certain {
            continue;
        }
        let fix = "Write `apt-get update && apt-get install …` in one RUN";
        if !updated {
            return Some(Found::warning(
                command.line,
                "no package lists at this point; `apt-get install` fails without `apt-get update`",
                fix,
            ));
        }
        if in_run != Some(run.instruction) {
            let message = "package lists come from an earlier cached layer; a stale list makes the download \
                fail with 404";
            return Some(Found::warning(command.line, message, fix));
        }
    }
    None
}
