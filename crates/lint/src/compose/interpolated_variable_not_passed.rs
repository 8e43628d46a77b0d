//! A variable of `.env` that a program needs, and that its service does not get.

use std::collections::{BTreeMap, BTreeSet};

use crate::compose::shared_memory_small::scripts;
use crate::read::compose::{Compose, Service};
use crate::read::python::string;
use crate::rule::{Example, Found, Judge, Rule, Severity, named_with};

/// A compose file with the files next to it.
const fn with(text: &'static str, files: &'static [(&'static str, &'static str)]) -> Example {
    named_with("compose.yaml", text, files)
}

pub(crate) const RULE: Rule = Rule {
    id: "interpolated-variable-not-passed",
    severity: Severity::Error,
    summary: "variables of .env that a program needs are in the environment of its service",
    explain: include_str!("interpolated_variable_not_passed.md"),
    judge: Judge::Compose(judge),
    fires: &[with(
        "services:\n  fetch:\n    image: python:3.11-slim\n    working_dir: /work\n    command: python \
         fetch.py\n    \
         environment:\n      MODEL_ID: ${MODEL_ID}\n    volumes:\n      - ./fetch.py:/work/fetch.py:ro\n",
        &[
            (".env", "MODEL_ID=a/b\nHF_TOKEN=hf_x\n"),
            (
                "fetch.py",
                "import os\nfrom huggingface_hub import login\nlogin(token=os.environ[\"HF_TOKEN\"])\n",
            ),
        ],
    )],
    silent: &[
        with(
            "services:\n  fetch:\n    image: python:3.11-slim\n    working_dir: /work\n    command: python \
             fetch.py\n    env_file: .env\n    volumes:\n      - ./fetch.py:/work/fetch.py:ro\n",
            &[(".env", "HF_TOKEN=hf_x\n"), ("fetch.py", "import os\nt = os.environ[\"HF_TOKEN\"]\n")],
        ),
        with(
            "services:\n  fetch:\n    image: python:3.11-slim\n    working_dir: /work\n    command: python \
             fetch.py\n    environment: [HF_TOKEN]\n    volumes:\n      - ./fetch.py:/work/fetch.py:ro\n",
            &[(".env", "HF_TOKEN=hf_x\n"), ("fetch.py", "import os\nt = os.environ[\"HF_TOKEN\"]\n")],
        ),
        with(
            "services:\n  fetch:\n    image: python:3.11-slim\n    working_dir: /work\n    command: python \
             fetch.py\n    volumes:\n      - ./:/work\n",
            &[
                (".env", "HF_TOKEN=hf_x\n"),
                (
                    "fetch.py",
                    "import os\nfrom dotenv import load_dotenv\nload_dotenv()\nt = \
                     os.environ[\"HF_TOKEN\"]\n",
                ),
            ],
        ),
        with(
            "services:\n  fetch:\n    image: python:3.11-slim\n    working_dir: /work\n    command: python \
             fetch.py\n    volumes:\n      - ./:/work\n",
            &[(".env", "HF_TOKEN=hf_x\n"), ("fetch.py", "import os\nt = os.environ.get(\"HF_TOKEN\")\n")],
        ),
        with(
            "services:\n  fetch:\n    image: python:3.11-slim\n    working_dir: /work\n    command: python \
             fetch.py\n    volumes:\n      - ./:/work\n",
            &[
                (".env", "HF_TOKEN=hf_x\n"),
                ("fetch.py", "import os\nos.environ[\"HF_TOKEN\"] = \"x\"\nt = os.environ[\"HF_TOKEN\"]\n"),
            ],
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let Some(names) = file.names_of_env_file() else { return Vec::new() };
    file.services.iter().filter_map(|service| fault(file, service, &names)).collect()
}

fn fault(file: &Compose, service: &Service, names: &BTreeSet<&str>) -> Option<Found> {
    // A file of variables, or an image of its own, may set any of them.
    let hidden = service.at(&["env_file"]).is_some()
        || service.at(&["build"]).is_some()
        || service.at(&["secrets"]).is_some()
        || service.at(&["entrypoint"]).is_some()
        || service.extends_elsewhere;
    let environment = service.environment();
    let command = service.command();
    if hidden || ["source ", "--env", ". /"].iter().any(|word| command.contains(word)) {
        return None;
    }
    scripts(file, service).iter().find_map(|path| {
        let text = file.files.get(path)?.as_deref()?;
        if text.contains("dotenv") || text.contains("environ.update") || text.contains("setdefault") {
            return None;
        }
        let (name, line) = needed(text, names, &environment)?;
        if command.contains(&format!("{name}=")) || command.contains(&format!("export {name}")) {
            return None;
        }
        let message = format!(
            "{} does not get {name}: Compose uses .env only to replace ${{…}} in this file; line {line} of \
             {path} raises KeyError",
            service.title
        );
        let fix = format!("Add `{name}: ${{{name}}}` to its environment, or `env_file: .env`");
        let key = if service.at(&["environment"]).is_some() { "environment" } else { "command" };
        Some(Found::error(service.line_of(key), message, fix).about(&name))
    })
}

/// A variable of `.env` that a program reads at its top without a default, and the service does not have.
fn needed(
    text: &str,
    names: &BTreeSet<&str>,
    environment: &BTreeMap<String, Option<String>>,
) -> Option<(String, usize)> {
    const READ: &str = "os.environ[";
    text.lines().enumerate().find_map(|(index, line)| {
        // Indented lines may run in some runs only.
        let top = !line.starts_with([' ', '\t', '#', '@', ')', ']', '}']);
        let (before, rest) = line.split_once(READ).filter(|_| top)?;
        let name = string(rest.split_once(']')?.0)?;
        let after = rest.split_once(']')?.1.trim_start();
        let sets = after.starts_with('=') && !after.starts_with("==");
        let given = text.contains(&format!("os.environ[\"{name}\"] ="));
        let plain = !sets && !given && !before.contains(" if ") && !before.starts_with("del ");
        let unset = !environment.contains_key(name);
        (plain && unset && names.contains(name)).then(|| (name.to_owned(), index + 1))
    })
}
