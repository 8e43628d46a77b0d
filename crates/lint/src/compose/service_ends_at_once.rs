//! A service whose command leaves something in the background, and ends.

use crate::dockerfile::container_ends_at_once::left_in_background;
use crate::read::compose::{Compose, Service, words};
use crate::rule::{Found, Judge, Rule, Severity, compose, named};

pub(crate) const RULE: Rule = Rule {
    id: "service-ends-at-once",
    severity: Severity::Error,
    summary: "commands of services run their programs in the foreground",
    explain: include_str!("service_ends_at_once.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "services:\n  head:\n    image: rayproject/ray:2.40.0\n    command: ray start --head \
             --port=6379\n",
        ),
        compose(
            "services:\n  node:\n    image: b\n    command: [bash, -c, \"ssh-keygen -A && \
             /usr/sbin/sshd\"]\n",
        ),
        named("run.sh", "docker run -d --gpus all --shm-size 8g rayproject/ray:2.40.0 ray start --head\n"),
    ],
    silent: &[
        compose(
            "services:\n  head:\n    image: rayproject/ray:2.40.0\n    command: ray start --head --block\n",
        ),
        compose(
            "services:\n  node:\n    image: b\n    entrypoint: [/start.sh]\n    command: [ray, start, \
             --head]\n",
        ),
        compose(
            "services:\n  node:\n    image: b\n    command: [bash, -c, \"/usr/sbin/sshd; sleep infinity\"]\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    file.services.iter().filter_map(ends).collect()
}

fn ends(service: &Service) -> Option<Found> {
    let (entrypoint, command) = (words(service.at(&["entrypoint"])), words(service.at(&["command"])));
    // An entrypoint of its own decides what it does with the command; so does that of a built image.
    let shell = entrypoint
        .first()
        .is_none_or(|word| matches!(word.as_str(), "sh" | "bash" | "/bin/sh" | "/bin/bash"));
    if !shell || service.at(&["build"]).is_some() || service.extends_elsewhere {
        return None;
    }
    // Of other images the entrypoint is not known, and may keep the container running.
    let image = service.text("image").unwrap_or_default();
    let certain = !entrypoint.is_empty() || image.starts_with("rayproject/ray");
    let (what, fix) = left_in_background(&[entrypoint, command].concat())?;
    let message = format!(
        "{what} returns at once: the first process of {} ends, and the container with it",
        service.title
    );
    let line = service.line_of("command");
    Some(match certain {
        true => Found::error(line, message, fix),
        false => Found::warning(line, message, fix),
    })
}
