//! A Python is installed, and pip is that of another one.

use crate::read::dockerfile::python::{Kind, is_series};
use crate::read::dockerfile::{Dockerfile, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "wrong-python-for-pip",
    severity: Severity::Warning,
    summary: "pip installs into the Python that the image installs",
    explain: include_str!("wrong_python_for_pip.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM pytorch/pytorch:2.2.1-cuda12.1-cudnn8-devel\n\
             RUN add-apt-repository ppa:deadsnakes/ppa && apt-get install -y python3.12\n\
             RUN pip3 install deepspeed\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN add-apt-repository ppa:deadsnakes/ppa && apt-get install -y python3.12 \
             python3-pip\nRUN pip install torch\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM ubuntu:22.04\nRUN add-apt-repository ppa:deadsnakes/ppa && apt-get install -y python3.12 \
             python3.12-venv\nRUN python3.12 -m venv /v && /v/bin/pip install torch\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN add-apt-repository ppa:deadsnakes/ppa && apt-get install -y python3.12 \
             python3-pip\nRUN python3.12 -m pip install torch\nRUN pip install x\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3.10 python3-pip\n\
             RUN pip install torch\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nRUN add-apt-repository ppa:deadsnakes/ppa && apt-get install -y python3.12 \
             && ln -sf /usr/bin/python3.12 /usr/bin/python3 && curl -sS https://b/get-pip.py | python3\n\
             RUN pip install torch\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter_map(stage).collect()
}

fn stage(stage: &Stage) -> Option<Found> {
    let (index, series, line) = stage.runs.iter().enumerate().find_map(|(index, run)| {
        let series = apt::packages(run.state.catalog, &run.command).into_iter().find_map(|word| {
            let series = apt::name(word).strip_prefix("python").filter(|text| is_series(text))?;
            (word.known && run.command.certain).then_some((series, word.line))
        })?;
        Some((index, series.0, series.1))
    })?;
    let program = format!("python{series}");
    let used = |text: &str| text.contains(&program);
    // Whatever else names it (a path, a link, an environment, CMD) may be how it is meant.
    let named = stage
        .runs
        .iter()
        .filter(|run| apt::packages(run.state.catalog, &run.command).is_empty())
        .any(|run| used(&run.command.text()))
        || stage.instructions.iter().any(|one| one.keyword != "RUN" && used(&one.text.text))
        || stage.runs.iter().any(|run| run.command.program() == "uv");
    let install = stage.runs[index..].iter().find_map(|run| run.install.as_ref())?;
    let python = &install.python;
    let other = matches!(python.kind, Kind::System | Kind::Conda | Kind::Image)
        && python.series.as_deref() != Some(series);
    if named || !other || install.uv {
        return None;
    }
    let message = format!(
        "pip installs into {}, not into Python {series} from line {line}; imports fail there",
        python.message()
    );
    let fix = format!("Add `RUN {program} -m venv /opt/venv` and set `ENV PATH=/opt/venv/bin:$PATH`");
    Some(Found::warning(install.line, message, fix))
}
