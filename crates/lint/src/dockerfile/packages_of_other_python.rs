//! Python packages that are copied to where the Python of the image does not look for them.

use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::python::{Kind, is_series};
use crate::read::dockerfile::{Dockerfile, From, Stage, apt};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "packages-of-other-python",
    severity: Severity::Error,
    summary: "packages that are copied from another stage fit the Python of the image",
    explain: include_str!("packages_of_other_python.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.11-slim AS deps\nRUN pip install numpy\nFROM python:3.12-slim\nCOPY --from=deps \
             /usr/local/lib/python3.11/site-packages /usr/local/lib/python3.11/site-packages\n",
        ),
        dockerfile(
            "FROM python:3.11 AS deps\nRUN pip install numpy\nFROM python:3.12-slim\nCOPY --from=deps \
             /usr/local/lib/python3.11/site-packages/ /usr/local/lib/python3.12/site-packages/\n",
        ),
        dockerfile(
            "FROM python:3.10 AS deps\nRUN pip install numpy\nFROM nvidia/cuda:12.4.1-base-ubuntu22.04\n\
             RUN apt-get update && apt-get install -y python3\nCOPY --from=deps \
             /usr/local/lib/python3.10/site-packages /usr/local/lib/python3.10/site-packages\n",
        ),
        dockerfile(
            "FROM python:3.10 AS build\nRUN pip install --prefix=/install vllm==0.6.3\nFROM \
             python:3.12-slim\nCOPY --from=build /install /usr/local\nCMD [\"vllm\", \"serve\", \"a/b\"]\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.11 AS deps\nRUN pip install numpy\nFROM python:3.11-slim\nCOPY --from=deps \
             /usr/local/lib/python3.11/site-packages /usr/local/lib/python3.11/site-packages\n",
        ),
        dockerfile(
            "FROM python:3.11 AS deps\nRUN pip install numpy\nFROM python:3.12-slim\nENV PYTHONPATH=/deps\n\
             COPY --from=deps /usr/local/lib/python3.11/site-packages /deps\n",
        ),
        dockerfile(
            "FROM python:3.11 AS deps\nRUN pip install numpy\nFROM python:3.12-slim\nCOPY --from=deps \
             /usr/local /usr/local\n",
        ),
        dockerfile(
            "FROM python:3.11 AS deps\nRUN pip install numpy\nFROM ubuntu:22.04\n\
             RUN apt-get update && apt-get install -y software-properties-common && \
             add-apt-repository -y ppa:deadsnakes/ppa && apt-get install -y python3.11\nCOPY --from=deps \
             /usr/local/lib/python3.11/site-packages /usr/local/lib/python3.11/site-packages\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04 AS deps\nRUN apt-get update && apt-get install -y python3-pip && pip3 \
             install numpy\n\
             FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3\nCOPY --from=deps \
             /usr/local/lib/python3.10/dist-packages /usr/local/lib/python3.10/dist-packages\n",
        ),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found = Vec::new();
    for stage in &file.stages {
        let copies =
            stage.instructions.iter().filter(|one| one.keyword == "COPY" && one.flag("from").is_some());
        found.extend(copies.filter_map(|one| fault(stage, one).or_else(|| prefix(file, stage, one))));
    }
    found
}

/// The Python of a stage: its series, and whether Debian or Ubuntu made it.
fn python(stage: &Stage) -> Option<(String, bool)> {
    let image = stage.end.image;
    if let Some(image) = image.filter(|image| image.repository == "python") {
        return image.python.clone().map(|series| (series, false));
    }
    // One that no list of tags had.
    if let From::Image(image) = &stage.from
        && let Some(tag) = image.text.strip_prefix("python:").filter(|_| image.known)
    {
        let mut parts = tag.split(['.', '-']);
        let series = format!("{}.{}", parts.next()?, parts.next()?);
        return is_series(&series).then_some((series, false));
    }
    let of_system =
        image.is_some_and(|image| matches!(image.repository, "nvidia/cuda" | "ubuntu" | "debian"));
    let installed = stage.runs.iter().any(|run| {
        let words = apt::packages(run.state.catalog, &run.command);
        words
            .iter()
            .any(|word| matches!(apt::name(word), "python3" | "python3-pip" | "python3-dev" | "python3-venv"))
    });
    let added = stage.end.deadsnakes
        || stage.runs.iter().any(|run| run.state.pythons.default.kind == Kind::Additional);
    let series = stage.end.system?.python.clone()?;
    (of_system && installed && !added).then_some((series, true))
}

fn fault(stage: &Stage, one: &Instruction) -> Option<Found> {
    let words = one.words();
    let [source, target] = words[..] else { return None };
    let (from, _) = library(source)?;
    let (to, directory) = library(target)?;
    let (here, of_debian) = python(stage)?;
    if may_have(stage, &to, one) {
        return None;
    }
    let fix =
        "Use the same Python image in both stages, or install with `pip install --target` and set PYTHONPATH";
    let found = |message: String| Some(Found::error(one.line, message, fix));
    if to != here {
        return found(format!(
            "the image runs Python {here}, which does not look in {target}; the packages are not found"
        ));
    }
    if from != here {
        let message = format!(
            "the packages are those of Python {from}, and the image runs Python {here}; compiled modules \
             (numpy, torch) do not load"
        );
        return found(message).map(|found| found.unless_certain(false));
    }
    let searched = !of_debian || directory == "dist-packages";
    if searched {
        return None;
    }
    found(format!(
        "the Python of Debian and Ubuntu looks in dist-packages, not in {target}; the packages are not found"
    ))
}

/// What another stage installed below a directory of its own (`pip install --prefix=/install`) with another
/// Python.
fn prefix(file: &Dockerfile, stage: &Stage, one: &Instruction) -> Option<Found> {
    let words = one.words();
    let [source, target] = words[..] else { return None };
    let made = file.stage_of(one)?;
    let source = source.trim_end_matches('/');
    let installs = made.runs.iter().filter_map(|run| {
        let words = &run.command.words;
        let given = words.iter().enumerate().find_map(|(at, word)| match word.text.split_once('=') {
            Some(("--prefix", value)) => Some(value),
            _ if word.text == "--prefix" => words.get(at + 1).map(|next| next.text.as_str()),
            _ => None,
        })?;
        (given.trim_end_matches('/') == source).then_some(run.install.as_ref())?
    });
    let (from, _) = installs.into_iter().next().and_then(|_| python(made))?;
    let (here, _) = python(stage)?;
    let usual = matches!(target.trim_end_matches('/'), "/usr/local" | "/usr");
    let message = format!(
        "{source} has packages of Python {from} in lib/python{from}, and the image runs Python {here}, \
         which does \
         not look there; the packages are not found"
    );
    let fix = "Use the same Python image in both stages";
    (usual && from != here && !may_have(stage, &from, one)).then(|| Found::error(one.line, message, fix))
}

/// The series in the path of a directory of packages, and the name of the directory.
fn library(path: &str) -> Option<(String, &str)> {
    let mut parts = path.trim_end_matches('/').rsplit('/');
    let directory = parts.next().filter(|name| matches!(*name, "site-packages" | "dist-packages"))?;
    let series = parts.next()?.strip_prefix("python").filter(|series| is_series(series))?;
    let usual = ["/usr/local/lib/", "/usr/lib/"].iter().any(|start| path.starts_with(start));
    usual.then(|| (series.to_owned(), directory))
}

/// Whether a stage may have another Python, or look elsewhere for packages.
fn may_have(stage: &Stage, series: &str, copy: &Instruction) -> bool {
    let more = ["pyenv", "conda", "mamba", "uv ", "make altinstall", "PYTHONPATH", ".pth", "sitecustomize"];
    let named = format!("python{series}");
    let others = stage.instructions.iter().filter(|one| *one != copy);
    stage.end.opaque
        || stage.end.variables.has("PYTHONPATH")
        || others.into_iter().any(|one| {
            let text = one.text.text.as_str();
            let words = one.words();
            let target = words.last().map_or("", |target| target.trim_end_matches('/'));
            match one.keyword.as_str() {
                "COPY" | "ADD" if one.flag("from").is_some() => {
                    matches!(
                        target,
                        "" | "/usr" | "/usr/local" | "/usr/local/bin" | "/usr/bin" | "/usr/local/lib"
                    ) || text.contains(&format!("bin/{named}"))
                }
                "RUN" => more.iter().any(|word| text.contains(word)) || text.contains(named.as_str()),
                "ENV" => text.contains("PYTHONPATH") || text.contains("PYTHONHOME"),
                _ => false,
            }
        })
}
