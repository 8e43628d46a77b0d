//! A notebook server that runs commands for everybody who reaches its port.

use crate::read::compose::{Compose, Service, text};
use crate::rule::{Found, Judge, Rule, Severity, compose, named};

pub(crate) const RULE: Rule = Rule {
    id: "notebook-without-password",
    severity: Severity::Warning,
    summary: "Jupyter servers with published ports ask for a token or a password",
    explain: include_str!("notebook_without_password.md"),
    judge: Judge::Containers(judge),
    fires: &[
        compose(
            "services:\n  lab:\n    image: jupyter/base-notebook:2024-10-14\n    command: start-notebook.py \
             --ServerApp.token='' --ServerApp.password=''\n    ports: [\"8888:8888\"]\n",
        ),
        compose(
            "services:\n  lab:\n    image: b\n    network_mode: host\n    command: [jupyter, lab, \
             --ip=0.0.0.0, \
             --NotebookApp.token=]\n",
        ),
        named(
            "run.sh",
            "docker run -d --gpus all -p 8888:8888 lab:1 jupyter lab --ip 0.0.0.0 \
             --IdentityProvider.token=''\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  lab:\n    image: jupyter/base-notebook:2024-10-14\n    command: start-notebook.py \
             --ServerApp.token=''\n    ports: [\"127.0.0.1:8888:8888\"]\n",
        ),
        compose(
            "services:\n  lab:\n    image: b\n    command: [jupyter, lab, --ServerApp.token=, \
             \"--ServerApp.password=argon2:x\"]\n    ports: [\"8888:8888\"]\n",
        ),
        compose(
            "services:\n  lab:\n    image: b\n    command: jupyter lab --ServerApp.token=${TOKEN}\n    \
             ports: \
             [\"8888:8888\"]\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    file.services.iter().filter_map(open).collect()
}

fn open(service: &Service) -> Option<Found> {
    let all = service.words();
    let all: Vec<&str> = all.iter().flat_map(|word| word.split_whitespace()).collect();
    let value = |name: &str| {
        all.iter().rev().find_map(|word| {
            let (option, value) = word.split_once('=')?;
            let known =
                option.starts_with("--") && option.rsplit('.').next() == Some(name) && option.contains('.');
            known.then(|| value.trim_matches(['\'', '"']))
        })
    };
    let token = value("token").filter(|token| token.is_empty())?;
    let password = value("password").or_else(|| value("hashed_password")).unwrap_or(token);
    let where_to = published(service)?;
    let message = format!(
        "the Jupyter server has neither a token nor a password and {where_to}: everybody who reaches it runs \
         commands in the container"
    );
    let fix = "Remove the empty token, or publish the port on 127.0.0.1 and use a tunnel";
    password.is_empty().then(|| Found::warning(service.line_of("command"), message, fix))
}

/// How others reach it.
fn published(service: &Service) -> Option<String> {
    if service.text("network_mode").as_deref() == Some("host") {
        let command = service.command();
        let all =
            ["--ip=0.0.0.0", "--ip 0.0.0.0", "ip='*'", "ip=*"].iter().any(|word| command.contains(word));
        return all.then(|| "listens on all addresses of the host".to_owned());
    }
    let ports = service.list(&["ports"]);
    let local = |port: &String| {
        port.starts_with("127.") || port.starts_with("[::1]") || port.starts_with("localhost")
    };
    let short = ports.iter().find(|port| !local(port) && port.contains(':')).cloned();
    let long = || {
        let items = service.at(&["ports"])?.as_sequence()?;
        items.iter().find_map(|one| {
            let map = one.as_mapping()?;
            let open = map.get("host_ip").and_then(text).is_none_or(|ip| !ip.starts_with("127."));
            map.get("published").and_then(text).filter(|_| open)
        })
    };
    short.or_else(long).map(|port| format!("publishes the port {port}"))
}
