//! A user that the image does not have.

use crate::base::Base;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::{Dockerfile, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "user-unknown",
    severity: Severity::Error,
    summary: "USER and --chown name users that the image has",
    explain: include_str!("user_unknown.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.11\nUSER trainer\nRUN make\n"),
        dockerfile(
            "FROM python:3.11 AS build\nRUN useradd -m app\nFROM python:3.11-slim\n\
             COPY --chown=app:app . /srv\nUSER app\n",
        ),
        dockerfile("FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nUSER ubuntu\n"),
    ],
    silent: &[
        dockerfile("FROM python:3.11\nRUN useradd -m trainer\nUSER trainer\nCOPY --chown=trainer . /app\n"),
        dockerfile("FROM python:3.11\nUSER 1000:1000\nUSER nobody\nUSER www-data:www-data\nUSER root\n"),
        dockerfile("FROM example/base:1\nUSER app\n"),
        dockerfile("FROM python:3.11 AS base\nRUN adduser --disabled-password app\nFROM base\nUSER app\n"),
        dockerfile("FROM python:3.11\nARG NAME=me\nRUN useradd ${NAME}\nUSER me\n"),
        dockerfile("FROM python:3.11\nCOPY setup.sh /\nRUN /setup.sh\nUSER app\n"),
        dockerfile("FROM ubuntu:24.04\nUSER ubuntu\n"),
    ],
};

/// Users and groups of Debian and Ubuntu.
const USERS: &[&str] = &[
    "root", "daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp", "proxy",
    "www-data", "backup", "list", "irc", "gnats", "nobody", "_apt", "nogroup", "staff", "users", "adm",
    "tty", "disk", "video", "sudo", "audio", "shadow", "utmp", "src", "operator", "plugdev", "dialout",
    "tape", "cdrom", "floppy", "voice", "fax", "kmem", "crontab",
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in &file.stages {
        let chain = file.lineage(stage);
        let Some(base) = base(file, stage).filter(|_| !stage.end.opaque) else { continue };
        let mut named = Vec::new();
        for (at, one) in stage.instructions.iter().enumerate() {
            let text = match one.keyword.as_str() {
                "USER" => one.text.text.trim(),
                "COPY" | "ADD" => one.flag("chown").unwrap_or_default(),
                _ => continue,
            };
            let name = text.split(':').next().unwrap_or_default();
            let plain = !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
            let number = name.bytes().all(|byte| byte.is_ascii_digit());
            let known = USERS.contains(&name) || name == "ubuntu" && !has_no_ubuntu(stage);
            if !plain || number || known || named.contains(&name) || makes(&chain, stage, at, name) {
                continue;
            }
            named.push(name);
            let message = match one.keyword.as_str() {
                "USER" => format!(
                    "{base} has no user {name}, and no RUN of this stage makes it; `unable to find user \
                     {name}: no \
                     matching entries in passwd file`"
                ),
                _ => format!(
                    "{base} has no user {name}, and no RUN before makes it; the build fails at --chown"
                ),
            };
            found.push(Found::error(
                one.line,
                message,
                format!("Add `RUN useradd --create-home {name}` before"),
            ));
        }
    }
    found
}

/// The base image, where its users are known.
fn base<'f>(file: &'f Dockerfile, stage: &'f Stage) -> Option<&'f str> {
    let image = file.base(stage)?;
    let alpine = image.text.contains("alpine") || image.text.contains("ubi") || image.text.contains("rocky");
    (image.known && !alpine && Base::of(&image.text).is_some()).then_some(image.text.as_str())
}

/// Whether the system is one before Ubuntu had the user ubuntu.
fn has_no_ubuntu(stage: &Stage) -> bool {
    let system = stage.end.image.and_then(|image| image.system.as_deref()).unwrap_or_default();
    matches!(system, "ubuntu18.04" | "ubuntu20.04" | "ubuntu22.04" | "debian11" | "debian12" | "debian13")
}

/// Whether something before an instruction may make the user.
fn makes(chain: &[&Stage], stage: &Stage, at: usize, name: &str) -> bool {
    let own = stage.instructions[..at].iter();
    let parents = chain.iter().skip(1).flat_map(|parent| parent.instructions.iter());
    let may = |one: &Instruction| {
        let texts =
            std::iter::once(&one.text.text).chain(one.heredocs.iter().map(|heredoc| &heredoc.text.text));
        texts.into_iter().any(|text| {
            let makers =
                ["useradd", "adduser", "groupadd", "addgroup", "newusers", "usermod", "passwd", "/etc/group"];
            let maker = makers.iter().any(|word| text.contains(word));
            let word = text
                .split(|letter: char| !letter.is_alphanumeric() && !"_-.".contains(letter))
                .any(|word| word == name);
            match one.keyword.as_str() {
                "RUN" => word || maker && text.contains('$'),
                "COPY" | "ADD" => text.contains("passwd") || one.words().last() == Some(&"/"),
                _ => false,
            }
        })
    };
    own.chain(parents).any(may)
}
