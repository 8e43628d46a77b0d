//! A server in a container that only the container reaches.

use crate::programs;
use crate::read::dockerfile::Dockerfile;
use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::start::started;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "server-on-loopback",
    severity: Severity::Warning,
    summary: "a server whose port is exposed listens on more than the loopback interface",
    explain: include_str!("server_on_loopback.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.12\nEXPOSE 8000\nCMD [\"python\", \"-m\", \
             \"vllm.entrypoints.openai.api_server\", \"--host\", \"127.0.0.1\"]\n",
        ),
        dockerfile("FROM python:3.12\nEXPOSE 8000\nCMD uvicorn app:app --port 8000\n"),
        dockerfile(
            "FROM python:3.12\nENV GRADIO_SERVER_NAME=localhost\nEXPOSE 7860\nCMD [\"python\", \"app.py\"]\n",
        ),
        dockerfile("FROM python:3.12\nEXPOSE 8000\nCMD gunicorn -b 127.0.0.1:8000 app:app\n"),
    ],
    silent: &[
        dockerfile("FROM python:3.12\nEXPOSE 8000\nCMD uvicorn app:app --host 0.0.0.0\n"),
        dockerfile("FROM python:3.12\nCMD uvicorn app:app --host 127.0.0.1\n"),
        dockerfile("FROM python:3.12\nEXPOSE 8000\nENV UVICORN_HOST=0.0.0.0\nCMD uvicorn app:app\n"),
        dockerfile("FROM python:3.12\nEXPOSE 8000\nCMD gunicorn --bind=0.0.0.0:8000 app:app\n"),
        dockerfile("FROM python:3.12\nEXPOSE 8000\nCMD gunicorn -c conf.py app:app\n"),
        dockerfile("FROM python:3.12\nEXPOSE 29500\nCMD torchrun --master_addr 127.0.0.1 train.py\n"),
    ],
};

/// Options that name the address that a server listens on.
const OPTIONS: &[&str] = &[
    "--host",
    "--bind",
    "-b",
    "--ip",
    "--listen",
    "--listen-address",
    "--address",
    "--server.address",
    "--server-name",
    "--hostname",
    "--http-host",
    "--dashboard-host",
    "--bind_address",
    "--bind-address",
];

/// Variables with that address.
const VARIABLES: &[&str] = &[
    "GRADIO_SERVER_NAME",
    "OLLAMA_HOST",
    "UVICORN_HOST",
    "FLASK_RUN_HOST",
    "STREAMLIT_SERVER_ADDRESS",
    "JUPYTER_IP",
    "MLFLOW_HOST",
];

/// Servers that listen on the loopback interface by default, with the variable that changes it.
const DEFAULTS: &[(&str, &str)] = &[
    ("uvicorn", "UVICORN_HOST"),
    ("gunicorn", "GUNICORN_CMD_ARGS"),
    ("jupyter", "JUPYTER_IP"),
    ("jupyter-lab", "JUPYTER_IP"),
    ("jupyter-notebook", "JUPYTER_IP"),
    ("tensorboard", ""),
    ("llama-server", "LLAMA_ARG_HOST"),
    ("sglang.launch_server", ""),
    ("hypercorn", ""),
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let exposed =
        file.shipped().iter().any(|stage| stage.instructions.iter().any(|one| one.keyword == "EXPOSE"));
    let Some(last) = file.stages.last().filter(|_| exposed) else { return Vec::new() };
    let commands = started(file);
    let mut found: Vec<Found> = commands.iter().filter_map(named).collect();
    if !found.is_empty() {
        return found;
    }
    for stage in file.shipped() {
        for one in stage.instructions.iter().filter(|one| one.keyword == "ENV") {
            let set = crate::read::dockerfile::stage::settings(&one.text.text).into_iter();
            let address = set.filter_map(|(name, value)| Some((name, value?)));
            let address =
                address.filter(|(name, value)| VARIABLES.contains(&name.as_str()) && is_loopback(value));
            found.extend(address.map(|(name, value)| warning(one.line, &format!("{name}={value}"))));
        }
    }
    let default = commands.iter().find_map(|command| {
        let program = program(command);
        let (name, variable) = DEFAULTS.iter().find(|(name, _)| *name == program)?;
        let set = last.end.variables.has(variable) || names_an_address(command);
        (!set).then(|| {
            let message =
                format!("{name} listens on 127.0.0.1 by default; the exposed port refuses connections");
            Found::warning(command.line, message, "Let it listen on 0.0.0.0")
        })
    });
    found.extend(default.filter(|_| last.end.variables.names().all(|name| !VARIABLES.contains(&name))));
    found
}

/// The program, or the module that Python runs.
fn program(command: &Command) -> &str {
    let module = command
        .words
        .iter()
        .position(|word| word.text == "-m")
        .filter(|_| command.program().starts_with("python"));
    module.map_or(command.program(), |at| command.word(at + 1))
}

fn names_an_address(command: &Command) -> bool {
    let marks =
        ["--bind_all", "--bind-all", "-c", "--config", "--uds", "--unix-socket", "--version", "--help"];
    let given = |word: &str| {
        let option = word.split('=').next().unwrap_or_default();
        OPTIONS.contains(&option)
            || marks.contains(&option)
            || option.ends_with(".ip")
            || word.starts_with("-b")
    };
    // An entry that nobody sees may bring more options.
    command.words.iter().any(|word| {
        !word.known || given(&word.text) || word.text.contains("0.0.0.0") || word.text.contains('$')
    })
}

/// An address that is given, and is the loopback one.
fn named(command: &Command) -> Option<Found> {
    let launcher =
        programs::is_launcher(command.program()) || matches!(command.program(), "psql" | "redis-cli");
    let option = |(index, word): (usize, &crate::read::dockerfile::command::Word)| {
        let (name, value) = match word.text.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (word.text.as_str(), command.word(index + 1).to_owned()),
        };
        (OPTIONS.contains(&name) && is_loopback(&value)).then(|| format!("{name} {value}"))
    };
    let what = command.words.iter().enumerate().find_map(option).filter(|_| !launcher)?;
    Some(warning(command.line, &what))
}

fn warning(line: usize, what: &str) -> Found {
    let message =
        format!("{what}: the server listens inside the container only; the exposed port refuses connections");
    Found::warning(line, message, "Use 0.0.0.0, and publish the port on 127.0.0.1 of the host if you must")
}

fn is_loopback(value: &str) -> bool {
    let value = value.trim_matches(['"', '\'']).trim_start_matches("http://");
    value == "127.0.0.1"
        || value == "localhost"
        || value == "::1"
        || value.starts_with("127.0.0.1:")
        || value.starts_with("localhost:")
}
