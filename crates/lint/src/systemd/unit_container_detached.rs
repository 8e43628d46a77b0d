//! A container in the background of a service that waits for its program.

use crate::read::docker_run::DockerRun;
use crate::read::unit::{Unit, UnitCommand};
use crate::rule::{Found, Judge, Rule, Severity, named};
use catalog::Catalog;

pub(crate) const RULE: Rule = Rule {
    id: "unit-container-detached",
    severity: Severity::Error,
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
        named("a.service", "[Service]\nExecStart=/usr/bin/docker start vllm\n"),
        named(
            "stack.service",
            "[Unit]\nAfter=docker.service\n[Service]\nType=oneshot\nWorkingDirectory=/srv/stack\n\
             ExecStartPre=-/usr/bin/docker compose pull\nExecStart=/usr/bin/docker compose up -d \
             --wait\nExecStop=/usr/bin/docker compose down\n[Install]\nWantedBy=multi-user.target\n",
        ),
        named(
            "llm.service",
            "[Service]\nType=oneshot\nRemainAfterExit=no\nExecStartPre=-/usr/bin/podman rm -f \
             llm\nExecStart=/usr/bin/podman run --detach --name llm --device nvidia.com/gpu=all \
             example.net/llm:2\nExecStopPost=-/usr/bin/podman stop -t 20 llm\n",
        ),
        named(
            "gpus.service",
            "[Service]\nType=oneshot\nExecStart=/usr/bin/nvidia-smi -pm 1\nExecStop=/usr/bin/nvidia-smi -pm \
             0\n[Install]\nWantedBy=multi-user.target\n",
        ),
    ],
    silent: &[
        // What a job needs while it runs.
        named(
            "nightly.service",
            "[Service]\nType=oneshot\nExecStart=/usr/bin/docker compose up -d db\nExecStart=/usr/bin/docker \
             compose run --rm export\nExecStopPost=/usr/bin/docker compose down\n",
        ),
        named(
            "backup.service",
            "[Service]\nType=oneshot\nExecStart=/usr/bin/mount /mnt/backup\nExecStart=/usr/bin/rsync -a \
             /srv/ /mnt/backup/\nExecStopPost=/usr/bin/umount /mnt/backup\n",
        ),
        named(
            "pull.service",
            "[Service]\nType=oneshot\nExecStart=/usr/bin/docker compose up -d\n[Install]\n\
             WantedBy=multi-user.target\n",
        ),
        named(
            "stack.service",
            "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/bin/docker compose up \
             -d\nExecStop=/usr/bin/docker compose down\n",
        ),
        named("a.service", "[Service]\nExecStart=/usr/bin/docker run --rm --name a --gpus all a\n"),
        named("a.service", "[Service]\nExecStart=/usr/bin/docker start --attach a\n"),
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
    if unit.value("Type") == Some("oneshot") {
        return undone(unit).into_iter().collect();
    }
    let waits = matches!(unit.value("Type"), None | Some("simple" | "exec"));
    if !waits || remains(unit) || unit.drop_in_of.is_some() {
        return Vec::new();
    }
    let commands = unit.commands();
    let started = commands.iter().filter(|one| one.key == "ExecStart");
    started.filter_map(|command| fault(unit, command)).collect()
}

fn fault(unit: &Unit, command: &UnitCommand) -> Option<Found> {
    let what = Detached::of(unit.catalog, command)?;
    let stops = unit.of_key("ExecStop").next().is_some();
    let again = unit.value("Restart").is_some_and(|restart| restart == "always");
    let effect = match (stops, again) {
        (true, _) => "systemd then runs ExecStop= and stops the container",
        (false, true) => "systemd then starts it again, next to the container that still runs",
        (false, false) => "systemd then takes the service for ended",
    };
    let message = match what.verb {
        "start" => format!("`{}` without `-a` returns at once; {effect}", what.text()),
        _ => format!("`{}` returns at once; {effect}", what.text()),
    };
    let attached = match what.verb {
        "start" => "Add `-a`",
        _ => "Remove `-d`",
    };
    let fix = format!("{attached}, or set `Type=oneshot` and `RemainAfterExit=yes`");
    Some(Found::warning(command.line, message, fix))
}

/// Whether a unit stays active when its processes have ended.
fn remains(unit: &Unit) -> bool {
    matches!(unit.value("RemainAfterExit"), Some("yes" | "true" | "1" | "on"))
}

/// A unit of type oneshot that undoes at once what it has done: systemd runs ExecStop= when the last command
/// of ExecStart= has ended, unless the unit remains active.
fn undone(unit: &Unit) -> Option<Found> {
    if remains(unit) || unit.drop_in_of.is_some() {
        return None;
    }
    let commands = unit.commands();
    let of = |key: &'static str| commands.iter().filter(move |one| one.key == key);
    // ExecStartPost= may be the actual work.
    if of("ExecStartPost").next().is_some() {
        return None;
    }
    let last = of("ExecStart").next_back()?;
    let single = of("ExecStart").count() == 1;
    let mut stops = of("ExecStop").chain(of("ExecStopPost"));
    let fix = "Add `RemainAfterExit=yes`";
    let why = "a Type=oneshot unit without RemainAfterExit=yes becomes inactive when ExecStart= exits";
    if let Some(what) = Detached::of(unit.catalog, last) {
        let stop = stops.find(|stop| stops_containers(stop))?;
        let message = format!(
            "{why}; systemd then runs {}= right after `{}` and stops the containers",
            stop.key,
            what.text()
        );
        return Some(Found::error(last.line, message, fix));
    }
    let stop = stops.find(|stop| single && is_opposite(last, stop))?;
    let message = format!("{why}; systemd then runs {}=, which undoes `{}`", stop.key, last.program());
    Some(Found::warning(last.line, message, fix))
}

/// Whether a command ends containers.
fn stops_containers(command: &UnitCommand) -> bool {
    const ENDS: &[&str] = &["stop", "down", "rm", "kill"];
    let engine =
        matches!(command.program(), "docker" | "docker-compose" | "podman" | "podman-compose" | "nerdctl");
    engine && command.words.iter().skip(1).any(|word| ENDS.contains(&word.text.as_str()))
}

/// Whether a command is another one with the opposite word: `nvidia-smi -pm 1` and `nvidia-smi -pm 0`.
fn is_opposite(start: &UnitCommand, stop: &UnitCommand) -> bool {
    const PAIRS: &[(&str, &str)] = &[
        ("start", "stop"),
        ("up", "down"),
        ("1", "0"),
        ("on", "off"),
        ("enable", "disable"),
        ("load", "unload"),
    ];
    if start.words.len() != stop.words.len() || start.words.len() < 2 {
        return false;
    }
    let words = start.words.iter().zip(&stop.words).enumerate();
    let texts = words.map(|(at, (one, other))| (at, one.text.as_str(), other.text.as_str()));
    let different: Vec<(usize, &str, &str)> = texts.filter(|(_, one, other)| one != other).collect();
    match different.as_slice() {
        [(0, _, _)] => is_mount(start, stop),
        [(_, one, other)] => PAIRS.contains(&(one, other)),
        _ => false,
    }
}

/// Whether a command mounts what another one unmounts.
fn is_mount(start: &UnitCommand, stop: &UnitCommand) -> bool {
    matches!((start.program(), stop.program()), ("mount", "umount") | ("swapon", "swapoff"))
}

/// A command that starts containers and returns while they run.
struct Detached {
    /// `docker`, `podman-compose`, `docker compose`.
    engine: String,
    /// `run`, `up` or `start`.
    verb: &'static str,
}

impl Detached {
    fn of(catalog: &Catalog, command: &UnitCommand) -> Option<Detached> {
        let read = command.as_command();
        let program = command.program();
        let of = |engine: String, verb| Detached { engine, verb };
        if let Some(run) = DockerRun::read(catalog, &read) {
            let short = |name: &str| name.len() <= 4 && name.chars().all(|letter| "ditPq".contains(letter));
            let found = run.options.iter().any(|(name, value)| {
                name == "detach" || value.is_none() && short(name) && name.contains('d')
            });
            let creates = read.words.iter().take(3).any(|word| word.text == "create");
            return (found && !creates).then(|| of(program.to_owned(), "run"));
        }
        let words: Vec<&str> = command.words.iter().skip(1).map(|word| word.text.as_str()).collect();
        let engine = matches!(program, "docker" | "podman" | "nerdctl");
        if engine && matches!(words.as_slice(), ["start", ..] | ["container", "start", ..]) {
            let waits = words.iter().any(|word| attaches(word));
            return (!waits).then(|| of(program.to_owned(), "start"));
        }
        let name = match words.first() {
            Some(&"compose") if engine => format!("{program} compose"),
            _ if matches!(program, "docker-compose" | "podman-compose") => program.to_owned(),
            _ => return None,
        };
        let up = words.iter().position(|word| *word == "up")?;
        let detached = words[up..].iter().any(|word| matches!(*word, "-d" | "--detach"));
        detached.then(|| of(name, "up"))
    }

    /// `docker compose up -d`, `docker start`.
    fn text(&self) -> String {
        let option = if self.verb == "start" { "" } else { " -d" };
        format!("{} {}{option}", self.engine, self.verb)
    }
}

/// Whether an option of `docker start` makes it wait for the container: `-a`, `--attach`, `-i`, `-ai`.
fn attaches(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    matches!(word, "--attach" | "--attach=true" | "--interactive" | "--interactive=true")
        || letters.is_some_and(|letters| letters.contains(['a', 'i']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::File;
    use crate::kind::Kind;
    use catalog::testing::catalog;

    #[test]
    fn what_returns_at_once_and_how_it_is_made_to_wait() {
        let of = |start: &str| {
            let text = format!("[Service]\nExecStart=/usr/bin/{start}\n");
            let unit = Unit::of(&File::new(catalog(), "a.service", text, Kind::SystemdUnit));
            let found = judge(&unit).pop()?;
            Some((found.message.split(';').next()?.to_owned(), found.fixes[0].title.clone()))
        };
        let expected = |message: &str, fix: &str| {
            Some((message.to_owned(), format!("{fix}, or set `Type=oneshot` and `RemainAfterExit=yes`")))
        };
        let started = expected("`docker start` without `-a` returns at once", "Add `-a`");
        assert_eq!(of("docker start llm"), started);
        assert_eq!(of("docker container start llm"), started);
        assert_eq!(of("podman run -d llm"), expected("`podman run -d` returns at once", "Remove `-d`"));
        let up = expected("`docker-compose up -d` returns at once", "Remove `-d`");
        assert_eq!(of("docker-compose up -d"), up);
        for waits in ["docker start -a llm", "docker start -ia llm", "docker container create -d llm"] {
            assert_eq!(of(waits), None, "{waits}");
        }
    }
}
