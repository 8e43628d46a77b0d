//! A container that a service starts with a terminal.

use crate::read::unit::Unit;
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::terminal::needs_terminal;

pub(crate) const RULE: Rule = Rule {
    id: "unit-terminal-missing",
    severity: Severity::Error,
    summary: "containers of a service are started without a terminal",
    explain: include_str!("unit_terminal_missing.md"),
    judge: Judge::Unit(judge),
    fires: &[
        named(
            "vllm.service",
            "[Service]\nExecStart=/usr/bin/docker run -it --rm --gpus all --name vllm \
             vllm/vllm-openai:v0.7.3 \
             --model /models/m\n",
        ),
        named(
            "a.service",
            "[Service]\nExecStartPre=-/usr/bin/docker rm -f a\nExecStart=/usr/bin/docker run --interactive \
             \\\n  \
             --tty --rm a\n",
        ),
        named("a.service", "[Service]\nType=oneshot\nExecStart=docker exec -ti ollama ollama pull llama3\n"),
    ],
    silent: &[
        named("a.service", "[Service]\nExecStart=/usr/bin/docker run --rm --gpus all -t a --it\n"),
        named("a.service", "[Service]\nExecStart=/usr/bin/docker run -i --rm a bash -it\n"),
        named("a.service", "[Service]\nStandardInput=tty\nTTYPath=/dev/tty3\nExecStart=docker run -it a\n"),
        named("a.service", "[Service]\nExecStart=/usr/bin/podman run -it --rm a\n"),
    ],
};

fn judge(unit: &Unit) -> Vec<Found> {
    if unit.value("StandardInput").is_some_and(|input| input.starts_with("tty")) {
        return Vec::new();
    }
    let commands = unit.commands();
    let found = commands.iter().filter_map(|command| {
        let verb = needs_terminal(unit.catalog, &command.as_command())?;
        let message = format!(
            "a service has no terminal; `docker {verb} -i -t` fails with \"the input device is not a TTY\""
        );
        Some(Found::error(command.line, message, "Remove `-t` and `-i`"))
    });
    found.collect()
}
