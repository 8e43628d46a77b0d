//! What only root may do, after USER.

use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::setup::{User, setups};
use crate::read::dockerfile::{Dockerfile, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "root-needed",
    severity: Severity::Error,
    summary: "packages and users are managed before USER leaves root",
    explain: include_str!("root_needed.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM ubuntu:24.04\nUSER ubuntu\nRUN apt-get update && apt-get install -y git\n"),
        dockerfile("FROM ubuntu:24.04\nUSER 1000:1000\nRUN useradd -m other\n"),
        dockerfile("FROM mambaorg/micromamba:2.0\nRUN apt-get update\n"),
        dockerfile("FROM ubuntu:24.04\nUSER nobody\nRUN mkdir /data && touch /data/x\n"),
    ],
    silent: &[
        dockerfile("FROM ubuntu:24.04\nUSER ubuntu\nUSER root\nRUN apt-get update\n"),
        dockerfile(
            "FROM ubuntu:24.04\nUSER ubuntu\nRUN sudo apt-get update && sudo -E apt-get install -y git\n",
        ),
        dockerfile("FROM ubuntu:24.04\nUSER ubuntu\nRUN apt-get --version && mkdir -p /tmp/x ~/y data\n"),
        dockerfile("FROM example/base:1\nRUN apt-get update\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let setups = setups(file);
    let mut found = Vec::new();
    for (stage, setups) in file.stages.iter().zip(&setups) {
        let mut named = false;
        for run in &stage.runs {
            let Some(User::Other(name)) = setups.get(run.instruction).map(|setup| &setup.user) else {
                continue;
            };
            let Some(what) = needs_root(&run.command).filter(|_| !run.command.sudo) else { continue };
            // `sudo sh -c '…'`, and a program that may have the right by its file.
            if std::mem::replace(&mut named, true) {
                continue;
            }
            let message = format!("{what} runs as {name}, not as root; permission denied");
            let fix =
                format!("Move it above USER, or write `USER root` before it and `USER {name}` after it");
            found.push(Found::error(run.command.line, message, fix).unless_certain(run.command.certain));
        }
    }
    found
}

/// What of a command only root may do.
pub(super) fn needs_root(command: &Command) -> Option<String> {
    let program = command.program();
    let managed = match program {
        "apt-get" | "apt" | "aptitude" => ["update", "install", "upgrade", "dist-upgrade", "remove", "purge"]
            .iter()
            .any(|verb| apt::verb(command, verb)),
        "yum" | "dnf" | "microdnf" | "zypper" => {
            ["install", "update", "upgrade", "remove"].iter().any(|verb| command.has(verb))
        }
        "apk" => command.has("add"),
        "dpkg" => command.has("-i") || command.has("--install"),
        "useradd"
        | "groupadd"
        | "usermod"
        | "adduser"
        | "addgroup"
        | "ldconfig"
        | "update-alternatives"
        | "add-apt-repository"
        | "visudo"
        | "chpasswd" => true,
        _ => false,
    };
    if managed {
        let verb = command.words.get(1).map_or("", |word| word.text.as_str());
        let verb = if verb.starts_with('-') || matches!(program, "useradd" | "groupadd") { "" } else { verb };
        return Some(format!("`{}`", format!("{program} {verb}").trim_end()));
    }
    let below_root = |path: &str| {
        let top = path.strip_prefix('/').filter(|rest| !rest.is_empty() && !rest.contains('/'));
        top.is_some_and(|top| top != "tmp") || path.starts_with("/usr/") || path.starts_with("/etc/")
    };
    let made = match program {
        "mkdir" | "touch" => command.words[1..].iter().find(|word| word.known && below_root(&word.text)),
        _ => None,
    };
    made.map(|word| format!("`{program} {}`", word.text))
}
