//! A user with the id that the base image has given away.

use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::{Dockerfile, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "user-id-taken",
    severity: Severity::Error,
    summary: "users and groups get ids that the base image does not have yet",
    explain: include_str!("user_id_taken.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM ubuntu:24.04\nRUN useradd -m -u 1000 app\nUSER app\n"),
        dockerfile(
            "FROM nvidia/cuda:12.6.3-runtime-ubuntu24.04\nARG UID=1000\nRUN groupadd --gid 1000 dev \\\n && \
             useradd --uid $UID --gid 1000 -m dev\n",
        ),
        dockerfile("FROM ubuntu:24.04 AS base\nFROM base\nRUN adduser --disabled-password --uid=1000 me\n"),
    ],
    silent: &[
        dockerfile("FROM ubuntu:24.04\nRUN userdel -r ubuntu && useradd -m -u 1000 app\n"),
        dockerfile("FROM ubuntu:22.04\nRUN useradd -m -u 1000 app\n"),
        dockerfile("FROM ubuntu:24.04\nRUN useradd -m -u 1001 app && useradd -o -u 1000 b\n"),
        dockerfile("FROM ubuntu:24.04\nRUN getent passwd 1000 || useradd -m -u 1000 app\n"),
        dockerfile(
            "FROM ubuntu:24.04\nRUN usermod -l app ubuntu && usermod -u 1001 app\nRUN useradd -u 1000 b\n",
        ),
        dockerfile("FROM python:3.12-slim\nRUN useradd -u 1000 app\n"),
        dockerfile("FROM ubuntu:24.04\nRUN useradd -m -g 1000 app\n"),
    ],
};

/// Systems whose image has the user and the group `ubuntu` with the id 1000.
const SYSTEMS: &[&str] = &["ubuntu24.04", "ubuntu26.04"];

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter(|stage| has_user(stage)).flat_map(|stage| of_stage(file, stage)).collect()
}

fn has_user(stage: &Stage) -> bool {
    let image = stage.end.image.filter(|image| matches!(image.repository, "ubuntu" | "nvidia/cuda"));
    image.and_then(|image| image.system.as_deref()).is_some_and(|system| SYSTEMS.contains(&system))
}

fn of_stage(file: &Dockerfile, stage: &Stage) -> Vec<Found> {
    let before = file.lineage(stage).into_iter().skip(1);
    if before.flat_map(|one| &one.runs).any(|run| changes_users(&run.command)) {
        return Vec::new();
    }
    let mut found: Vec<Found> = Vec::new();
    for run in &stage.runs {
        if run.state.opaque || changes_users(&run.command) {
            break;
        }
        let Some((program, what, option)) = takes(&run.command).filter(|_| run.command.certain) else {
            continue;
        };
        let message = format!(
            "{option} 1000: the image already has the {what} ubuntu with this id, and {program} fails ({})",
            match what {
                "user" => "`UID 1000 is not unique`",
                _ => "`GID '1000' already exists`",
            }
        );
        let fix = "Add `RUN userdel -r ubuntu` before it, or take another id";
        let certain = run.command.words.iter().all(|word| word.known && !word.default);
        found.push(Found::error(run.command.line, message, fix).unless_certain(certain));
        // What follows is refused for the same reason.
        break;
    }
    found
}

/// Whether a command may remove the user or give it another id.
fn changes_users(command: &Command) -> bool {
    matches!(
        command.program(),
        "userdel" | "deluser" | "usermod" | "groupmod" | "groupdel" | "delgroup" | "sed"
    )
}

/// The program that makes a user or a group with the id, what it makes, and its option.
fn takes(command: &Command) -> Option<(&str, &'static str, &'static str)> {
    let (what, options): (_, [&'static str; 2]) = match command.program() {
        "useradd" | "adduser" => ("user", ["-u", "--uid"]),
        "groupadd" | "addgroup" => ("group", ["-g", "--gid"]),
        _ => return None,
    };
    if command.words.iter().any(|word| matches!(word.text.as_str(), "-o" | "--non-unique" | "-f" | "--force"))
    {
        return None;
    }
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    options.into_iter().find_map(|option| {
        let apart = words.windows(2).any(|two| two[0] == option && two[1] == "1000");
        let joined = words
            .iter()
            .any(|word| word.strip_prefix(option).is_some_and(|rest| rest.trim_start_matches('=') == "1000"));
        (apart || joined).then_some((command.program(), what, option))
    })
}
