//! A wheel for another Python than the one that pip installs into.

use crate::read::dockerfile::Dockerfile;
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "wheel-of-other-python",
    severity: Severity::Error,
    summary: "wheels that are named by their file are built for the Python of the image",
    explain: include_str!("wheel_of_other_python.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.11-slim\nRUN pip install \
             https://example.net/flash_attn-2.7.0+cu12torch2.5cxx11abiFALSE-cp310-cp310-linux_x86_64.whl\n",
        ),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y \
             python3-pip\nCOPY \
             dist/apex-0.1-cp312-cp312-linux_x86_64.whl /tmp/\nRUN pip3 install \
             /tmp/apex-0.1-cp312-cp312-linux_x86_64.whl\n",
        ),
    ],
    silent: &[
        dockerfile("FROM python:3.11-slim\nRUN pip install /w/a-1.0-cp311-cp311-linux_x86_64.whl\n"),
        dockerfile(
            "FROM python:3.11-slim\nRUN pip install /w/a-1.0-cp38-abi3-linux_x86_64.whl \
             b-1-py3-none-any.whl\n",
        ),
        dockerfile("FROM example/base:1\nRUN pip install /w/a-1.0-cp38-cp38-linux_x86_64.whl\n"),
        dockerfile(
            "FROM python:3.11-slim\nRUN pip install /w/a-1.0-cp310.cp311-cp310.cp311-linux_x86_64.whl\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for (_, run, install) in file.installs().filter(|(_, _, install)| !install.elsewhere()) {
        let Some(series) = install.python.series.as_deref() else { continue };
        for word in run.command.words.iter().filter(|word| word.known) {
            let Some((name, tag)) = tagged(&word.text) else { continue };
            let own = format!("cp{}", series.replace('.', ""));
            if tag.split('.').any(|one| one == own) {
                continue;
            }
            let message = format!(
                "{name} is a wheel for {tag}, but this is {}: `{name} is not a supported wheel on this \
                 platform`",
                install.python.message()
            );
            let fix = format!("Use the wheel with {own} in its name");
            found.push(
                Found::error(word.line.max(run.command.line), message, fix)
                    .unless_certain(install.certain && !word.default),
            );
        }
    }
    found
}

/// The file of a wheel, and the tag of the Python alone for which it is built: `cp310`.
fn tagged(text: &str) -> Option<(String, String)> {
    let name = text.split(['#', '?']).next()?.rsplit('/').next()?;
    let mut parts = name.strip_suffix(".whl")?.rsplit('-');
    let (_, abi, python) = (parts.next()?, parts.next()?, parts.next()?);
    let of_one = abi.starts_with("cp") && python.starts_with("cp") && parts.count() >= 2;
    of_one.then(|| (name.replace("%2B", "+").replace("%2b", "+"), python.to_owned()))
}
