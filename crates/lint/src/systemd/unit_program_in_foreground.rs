//! A service of type forking whose program stays in the foreground.

use crate::read::docker_run::DockerRun;
use crate::read::dockerfile::command::Command;
use crate::read::script::{Script, in_functions};
use crate::read::unit::{Unit, UnitCommand};
use crate::recognize::base_name;
use crate::rule::{Example, Found, Judge, Rule, Severity, named};

/// A unit with a script next to it as an example.
const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "gen.service", text, companions }
}

pub(crate) const RULE: Rule = Rule {
    id: "unit-program-in-foreground",
    severity: Severity::Error,
    summary: "programs of a service of Type=forking go to the background",
    explain: include_str!("unit_program_in_foreground.md"),
    judge: Judge::Unit(judge),
    fires: &[
        named("a.service", "[Service]\nType=forking\nExecStart=/opt/v/bin/vllm serve /srv/m --port 9000\n"),
        named(
            "a.service",
            "[Service]\nType=forking\nTimeoutStartSec=infinity\nExecStart=/usr/bin/docker run --rm --name a \
             a:1\n",
        ),
        with(
            "[Service]\nType=forking\nExecStart=/bin/bash /srv/gen/up.sh\n",
            &[("up.sh", "#!/bin/bash\nset -e\nexport HF_HOME=/srv/hf\nexec uvicorn gen:app --port 9000\n")],
        ),
    ],
    silent: &[
        named("a.service", "[Service]\nExecStart=/opt/v/bin/vllm serve /srv/m --port 9000\n"),
        named("a.service", "[Service]\nType=forking\nExecStart=/usr/bin/docker run -d --name a a:1\n"),
        named("a.service", "[Service]\nType=forking\nExecStart=/opt/v/bin/gunicorn --daemon gen:app\n"),
        named("a.service", "[Service]\nType=forking\nExecStart=/opt/v/bin/python /srv/daemonize.py\n"),
        with(
            "[Service]\nType=forking\nExecStart=/srv/gen/up.sh\n",
            &[("up.sh", "#!/bin/bash\nuvicorn gen:app --port 9000 > /var/log/gen.log 2>&1 &\n")],
        ),
        with(
            "[Service]\nType=forking\nExecStart=/srv/gen/up.sh\n",
            &[("up.sh", "#!/bin/bash\nnohup uvicorn gen:app &\necho $! > /run/gen.pid\n")],
        ),
    ],
};

/// Servers that have no option to go to the background.
const SERVERS: &[&str] = &[
    "accelerate",
    "dcgm-exporter",
    "deepspeed",
    "jupyter",
    "jupyter-lab",
    "jupyterhub",
    "llama-server",
    "node_exporter",
    "ollama",
    "prometheus",
    "tensorboard",
    "text-embeddings-router",
    "text-generation-launcher",
    "torchrun",
    "tritonserver",
    "uvicorn",
    "vllm",
];

/// Modules of Python that are such servers.
const MODULES: &[&str] =
    &["vllm.entrypoints.openai.api_server", "sglang.launch_server", "uvicorn", "http.server"];

fn judge(unit: &Unit) -> Vec<Found> {
    if unit.value("Type") != Some("forking") {
        return Vec::new();
    }
    let commands = unit.commands();
    let mut started = commands.iter().filter(|one| one.key == "ExecStart");
    let (Some(command), None) = (started.next(), started.next()) else { return Vec::new() };
    fault(unit, command).into_iter().collect()
}

fn fault(unit: &Unit, command: &UnitCommand) -> Option<Found> {
    let own = command.as_command();
    let what = match command.script() {
        Some(path) => {
            let base = base_name(path);
            let text = unit.scripts.get(&base)?.as_deref()?;
            let script = Script::read(unit.catalog, text);
            let last = script.commands.last().filter(|one| !in_functions(text)(one.line))?;
            format!("{} (line {} of {base})", stays(unit, last)?, last.line)
        }
        None => stays(unit, &own)?,
    };
    let endless = matches!(unit.value("TimeoutStartSec"), Some("infinity" | "0"));
    let effect = match endless {
        true => "the service stays \"activating\"",
        false => "systemd ends it after TimeoutStartSec=",
    };
    let message =
        format!("with Type=forking, systemd waits until ExecStart= returns; {what} never does: {effect}");
    Some(Found::error(command.line, message, "Set `Type=simple`, or `Type=exec`"))
}

/// The program of a command that certainly stays in the foreground.
fn stays(unit: &Unit, command: &Command) -> Option<String> {
    if command.after == "&" || command.after == "|" || !command.certain || command.loops > 0 {
        return None;
    }
    let words = command.words.iter().skip(usize::from(command.program() == "exec")).cloned().collect();
    let command = Command { words, ..command.clone() };
    let program = command.program();
    if let Some(run) = DockerRun::read(unit.catalog, &command) {
        let short = |name: &str| name.len() <= 4 && name.chars().all(|letter| "ditPq".contains(letter));
        let detached = run
            .options
            .iter()
            .any(|(name, value)| name == "detach" || value.is_none() && short(name) && name.contains('d'));
        let verb = command.words.iter().take(3).any(|word| word.text == "run");
        return (verb && !detached && !run.hidden).then(|| format!("{program} run"));
    }
    let help = ["--help", "--version", "pull", "list", "env", "config", "stop"];
    if help.iter().any(|word| command.has(word)) {
        return None;
    }
    if SERVERS.contains(&program) {
        return Some(program.to_owned());
    }
    let module = command.words.iter().position(|word| word.text == "-m").map(|at| command.word(at + 1))?;
    (program.starts_with("python") && MODULES.contains(&module)).then(|| module.to_owned())
}
