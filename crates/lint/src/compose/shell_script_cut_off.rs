//! A shell that gets only the first word of a command as its script.

use crate::read::compose::{Compose, Service, words};
use crate::read::dockerfile::start::entrypoint;
use crate::rule::{Example, Found, Judge, Rule, Severity, compose};
use crate::shell_words::cut_off;

pub(crate) const RULE: Rule = Rule {
    id: "shell-script-cut-off",
    severity: Severity::Error,
    summary: "the script of `bash -c` is one word of the command",
    explain: include_str!("shell_script_cut_off.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    image: b\n    command: bash -c python train.py --epochs 3\n"),
        compose(
            "services:\n  a:\n    image: b\n    entrypoint: [\"/bin/bash\", \"-lc\"]\n    command: torchrun \
             --standalone train.py\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    command:\n      - sh\n      - -c\n      - python\n      - \
             train.py\n",
        ),
        Example {
            name: "compose.yaml",
            text: "services:\n  a:\n    build: .\n    command: python train.py\n",
            companions: &[("Dockerfile", "FROM ubuntu:24.04\nENTRYPOINT [\"bash\", \"-c\"]\n")],
        },
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: b\n    entrypoint: [bash, -c]\n    command: [\"python \
             train.py\"]\n  \
             c:\n    image: b\n    command: bash -c \"python train.py\"\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    command: [bash, -c, \"exec python train.py \\\"$$@\\\"\", \
             --, \
             --epochs, \"3\"]\n",
        ),
        compose("services:\n  a:\n    image: b\n    command: bash run.sh -c config.yaml\n"),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let whole = |one: &&Service| !one.extends_elsewhere;
    file.services.iter().filter(whole).filter_map(|service| fault(file, service)).collect()
}

fn fault(file: &Compose, service: &Service) -> Option<Found> {
    let command = words(service.at(&["command"]));
    let own = service.value.as_mapping().is_some_and(|map| map.contains_key("entrypoint"));
    let first = match own {
        true => words(service.at(&["entrypoint"])),
        false => of_image(file, service).unwrap_or_default(),
    };
    let cut = cut_off(&[first, command].concat())?;
    // Operators behind it are another rule's.
    let operator = |word: &String| word.contains(['&', '|', ';', '<', '>']);
    if cut.lost.iter().any(operator) {
        return None;
    }
    let key = if service.at(&["command"]).is_some() { "command" } else { "entrypoint" };
    let message = format!("service {}: {}", service.name, cut.message());
    Some(Found::error(service.line_of(key), message, cut.fix()))
}

/// The ENTRYPOINT of the image that a service is built from.
fn of_image(file: &Compose, service: &Service) -> Option<Vec<String>> {
    entrypoint(file.built(service)?.as_ref())?.json.clone()
}
