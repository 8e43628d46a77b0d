//! A container that starts the Python of conda's base environment, where the packages are in another one.

use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::start::{entrypoint, started};
use crate::read::dockerfile::{Dockerfile, Run, Stage};
use crate::rule::{Found, Judge, Rule, Severity, with};

pub(crate) const RULE: Rule = Rule {
    id: "conda-environment-not-started",
    severity: Severity::Error,
    summary: "a container starts with the conda environment that has its packages",
    explain: include_str!("conda_environment_not_started.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        with(
            "FROM continuumio/miniconda3:24.7.1-0\nWORKDIR /workspace\nCOPY environment.yml .\nRUN conda env \
             create -f environment.yml && conda clean -afy\nCOPY train.py .\nCMD [\"python\", \
             \"train.py\"]\n",
            &[
                ("environment.yml", "name: train\ndependencies:\n  - python=3.11\n  - pytorch=2.3.1\n"),
                ("train.py", "import argparse\nimport torch\n"),
            ],
        ),
        with(
            "FROM condaforge/miniforge3:24.7.1-0\nRUN conda create -y -n train python=3.11 pytorch && . \
             /opt/conda/etc/profile.d/conda.sh && conda activate train && pip install einops\nCOPY train.py \
             .\nENTRYPOINT [\"python\", \"train.py\"]\n",
            &[("train.py", "from torch import nn\n")],
        ),
        with(
            "FROM continuumio/miniconda3:24.7.1-0\nCOPY env.yml .\nRUN conda env create --name=train \
             --file=env.yml\nCOPY train.py .\nCMD [\"python\", \"train.py\"]\n",
            &[("env.yml", "dependencies:\n  - pytorch=2.3.1\n"), ("train.py", "import torch\n")],
        ),
    ],
    silent: &[
        // Its place is another one.
        with(
            "FROM continuumio/miniconda3:24.7.1-0\nCOPY environment.yml .\nRUN conda env create \
             --prefix=/opt/venv\nCOPY train.py .\nCMD [\"python\", \"train.py\"]\n",
            &[
                ("environment.yml", "name: train\ndependencies:\n  - pytorch=2.3.1\n"),
                ("train.py", "import torch\n"),
            ],
        ),
        with(
            "FROM continuumio/miniconda3:24.7.1-0\nCOPY environment.yml .\nRUN conda env create -f \
             environment.yml\n\
             ENV PATH=/opt/conda/envs/train/bin:$PATH\nCOPY train.py .\nCMD [\"python\", \"train.py\"]\n",
            &[
                ("environment.yml", "name: train\ndependencies:\n  - pytorch=2.3.1\n"),
                ("train.py", "import torch\n"),
            ],
        ),
        with(
            "FROM continuumio/miniconda3:24.7.1-0\nCOPY environment.yml .\nRUN conda env create -f \
             environment.yml\n\
             COPY train.py .\nENTRYPOINT [\"conda\", \"run\", \"--no-capture-output\", \"-n\", \
             \"train\"]\nCMD \
             [\"python\", \"train.py\"]\n",
            &[("train.py", "import torch\n")],
        ),
        with(
            "FROM continuumio/miniconda3:24.7.1-0\nCOPY environment.yml .\nRUN conda env update -n base -f \
             environment.yml\nCOPY train.py .\nCMD [\"python\", \"train.py\"]\n",
            &[("train.py", "import torch\n")],
        ),
        with(
            "FROM continuumio/miniconda3:24.7.1-0\nRUN conda create -y -n tools python=3.11\nRUN pip install \
             torch==2.3.1\nCOPY train.py .\nCMD [\"python\", \"train.py\"]\n",
            &[("train.py", "import torch\n")],
        ),
        with(
            "FROM continuumio/miniconda3:24.7.1-0\nRUN conda create -y -n train python=3.11 pytorch\nCOPY \
             serve.py \
             .\nCMD [\"python\", \"serve.py\"]\n",
            &[("serve.py", "import subprocess\nsubprocess.run([\"conda\", \"run\", \"-n\", \"train\"])\n")],
        ),
    ],
};

/// Modules that no base environment of these images has.
const MODULES: &[&str] = &["torch", "tensorflow", "jax", "transformers", "vllm", "deepspeed", "lightning"];

fn judge(file: &Dockerfile) -> Vec<Found> {
    fault(file).into_iter().collect()
}

fn fault(file: &Dockerfile) -> Option<Found> {
    let last = file.stages.last()?;
    let base = file.base(last).filter(|base| base.known && !base.default)?;
    let images = ["continuumio/miniconda3", "condaforge/miniforge3", "condaforge/mambaforge"];
    if !images.iter().any(|image| crate::servers::is_image(&base.text, image)) {
        return None;
    }
    let lineage = file.lineage(last);
    let runs = || lineage.iter().flat_map(|stage| &stage.runs);
    // The environment of a script, of SHELL, or of a PATH that names it.
    let shell = lineage.iter().flat_map(|stage| &stage.instructions).any(|one| one.keyword == "SHELL");
    let path = last.end.variables.get("PATH").is_some();
    let named = ["CONDA_DEFAULT_ENV", "CONDA_PREFIX", "PYTHONPATH"];
    let set = named.iter().any(|name| last.end.variables.get(name).is_some());
    if shell || set || path || entrypoint(file).is_some_and(is_other) {
        return None;
    }
    let (made, name) = runs().find_map(|run| environment(file, run))?;
    if lineage.iter().any(|stage| changes_base(stage)) {
        return None;
    }
    let commands = started(file);
    let [command] = &commands[..] else { return None };
    let (program, module) = needs(file, last, command)?;
    let message = format!(
        "{program} is the base environment's Python, which has no {module}; the packages are in environment \
         {name} (line {made}), which is not active in the container"
    );
    let fix = format!(
        "Write `ENV PATH=/opt/conda/envs/{name}/bin:$PATH` after it, or start with `conda run \
         --no-capture-output -n {name}`"
    );
    Some(Found::error(command.line, message, fix).unless_certain(command.certain))
}

/// The Python that a command starts, and a module that its program imports.
fn needs(file: &Dockerfile, last: &Stage, command: &Command) -> Option<(String, String)> {
    let program =
        command.words.first().filter(|word| word.known && matches!(&*word.text, "python" | "python3"))?;
    let script = command.words.iter().skip(1).find(|word| word.known && word.text.ends_with(".py"))?;
    let (_, text) = file.text_at(&last.end, &script.text)?;
    let module = text.lines().find_map(|line| {
        let rest = line.strip_prefix("import ").or_else(|| line.strip_prefix("from "))?;
        let first = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
        MODULES.contains(&first).then(|| first.to_owned())
    })?;
    Some((program.text.clone(), module))
}

/// An ENTRYPOINT that may activate the environment: anything but Python itself.
fn is_other(one: &crate::read::dockerfile::instructions::Instruction) -> bool {
    let first = one.json.as_deref().and_then(|words| words.first());
    !first.is_some_and(|word| word == "python" || word == "python3")
}

fn is_conda(command: &Command) -> bool {
    matches!(command.program(), "conda" | "mamba")
}

/// The environment that a command makes besides the base one, with its line.
fn environment(file: &Dockerfile, run: &Run) -> Option<(usize, String)> {
    let command = &run.command;
    let makes = command.word(1) == "create" || command.word(1) == "env" && command.word(2) == "create";
    if !is_conda(command) || !makes || !command.certain {
        return None;
    }
    let given = |names: &[&str]| command.value(names).map(|word| word.text);
    let prefix = given(&["-p", "--prefix"]).is_some();
    let of_file = || {
        let path = given(&["-f", "--file"]).unwrap_or_else(|| "environment.yml".to_owned());
        let own = || file.copies.contains(&path).then(|| file.context_text(&path)).flatten();
        let text = file.text_at(&run.state, &path).map(|(_, text)| text).or_else(own)?;
        let name = text.lines().find_map(|line| line.strip_prefix("name:"))?;
        Some(name.trim().trim_matches(['"', '\'']).to_owned())
    };
    let name = given(&["-n", "--name"]).or_else(of_file)?;
    let plain = !name.is_empty()
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter));
    (!prefix && plain && name != "base").then_some((command.line, name))
}

/// Whether something may install packages into the base environment, or replace its Python.
fn changes_base(stage: &Stage) -> bool {
    let activates = stage.instructions_with(|run| run.command.text().contains("activate"));
    stage.runs.iter().any(|run| {
        let command = &run.command;
        let program = command.program();
        let pip = matches!(program, "pip" | "pip3" | "uv") || run.install.is_some();
        let python = program.starts_with("python") && command.has("pip");
        let text = command.text();
        let named =
            ["-n ", "--name", "-f ", "--file", "-p ", "--prefix"].iter().any(|name| text.contains(name));
        let into_base = is_conda(command)
            && (command.word(1) == "install" && !named || text.contains("update") || text.contains(" base"));
        let links = text.contains("/envs/") || text.contains("CONDA_DEFAULT");
        ((pip || python) && !activates.contains(&run.instruction)) || into_base || links
    })
}
