//! A container in the background of a service that waits for its program.

use crate::read::docker_run::DockerRun;
use crate::read::unit::{Unit, UnitCommand};
use crate::rule::{Found, Judge, Rule, Severity, named};
use catalog::Catalog;

pub(crate) const RULE: Rule = Rule {
    id: "unit-container-detached",
    severity: Severity::Warning,
    summary: "the container of a service runs in its foreground",
    explain: include_str!("unit_container_detached.md"),
    judge: Judge::Unit(judge),
    fires: &[
        named(
            "vllm.service",
            "[Service]\nRestart=always\nExecStart=/usr/bin/docker run -d --name vllm --gpus all \
             vllm/vllm-openai \
             --model /models/m\nExecStop=/usr/bin/docker stop vllm\n",
        ),
        named(
            "stack.service",
            "[Service]\nWorkingDirectory=/srv/stack\nExecStart=/usr/bin/docker compose up \
             -d\nExecStop=docker \
             compose down\n",
        ),
        named("a.service", "[Service]\nType=simple\nExecStart=docker-compose -f /srv/c.yml up --detach\n"),
    ],
    silent: &[
        named("a.service", "[Service]\nExecStart=/usr/bin/docker run --rm --name a --gpus all a\n"),
        named(
            "a.service",
            "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/bin/docker compose up -d\n",
        ),
        named("a.service", "[Service]\nRemainAfterExit=true\nExecStart=/usr/bin/docker run -d a\n"),
        named("a.service", "[Service]\nType=forking\nPIDFile=/run/a.pid\nExecStart=docker run -d a\n"),
        named(
            "a.service",
            "[Service]\nExecStart=/usr/bin/docker compose up\nExecStop=docker compose down -d\n",
        ),
        named("a.service", "[Service]\nExecStartPre=/usr/bin/docker run -d a\nExecStart=docker wait a\n"),
    ],
};

fn judge(unit: &Unit) -> Vec<Found> {
    let waits = matches!(unit.value("Type"), None | Some("simple" | "exec"));
    let remains = matches!(unit.value("RemainAfterExit"), Some("yes" | "true" | "1" | "on"));
    if !waits || remains || unit.drop_in_of.is_some() {
        return Vec::new();
    }
    let commands = unit.commands();
    let started = commands.iter().filter(|one| one.key == "ExecStart");
    started.filter_map(|command| fault(unit, command)).collect()
}

fn fault(unit: &Unit, command: &UnitCommand) -> Option<Found> {
    let what = detached(unit.catalog, command)?;
    let stops = unit.of_key("ExecStop").next().is_some();
    let again = unit.value("Restart").is_some_and(|restart| restart == "always");
    let effect = match (stops, again) {
        (true, _) => "systemd then runs ExecStop= and stops the container",
        (false, true) => "systemd then starts it again, next to the container that still runs",
        (false, false) => "systemd then takes the service for ended",
    };
    let message = format!("`{what}` returns at once; {effect}");
    let fix = "Remove `-d`, or set `Type=oneshot` and `RemainAfterExit=yes`";
    Some(Found::warning(command.line, message, fix))
}

/// The command that starts containers in the background.
fn detached(catalog: &Catalog, command: &UnitCommand) -> Option<&'static str> {
    let read = command.as_command();
    if let Some(run) = DockerRun::read(catalog, &read) {
        let short = |name: &str| name.len() <= 4 && name.chars().all(|letter| "ditPq".contains(letter));
        let found = run
            .options
            .iter()
            .any(|(name, value)| name == "detach" || value.is_none() && short(name) && name.contains('d'));
        return (found && read.word(1) != "create").then_some("docker run -d");
    }
    let compose = command.program() == "docker-compose"
        || command.program() == "docker" && command.words.get(1).is_some_and(|word| word.text == "compose");
    let up = command.words.iter().position(|word| word.text == "up")?;
    let behind = &command.words[up..];
    let detached = behind.iter().any(|word| matches!(word.text.as_str(), "-d" | "--detach"));
    (compose && detached).then_some("docker compose up -d")
}
