//! A RUN uses a file that a later COPY brings.

use crate::base::Base;
use crate::read::dockerfile::command::Command;
use crate::read::dockerfile::instructions::Instruction;
use crate::read::dockerfile::{Dockerfile, From, Run, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "file-not-copied-yet",
    severity: Severity::Error,
    summary: "files are copied before the RUN that uses them",
    explain: include_str!("file_not_copied_yet.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.12\nWORKDIR /app\nRUN pip install -r requirements.txt\nCOPY requirements.txt .\n",
        ),
        dockerfile("FROM python:3.12\nCOPY pyproject.toml .\nRUN uv sync --locked\nCOPY uv.lock .\n"),
        dockerfile("FROM python:3.12\nRUN poetry install\nCOPY pyproject.toml poetry.lock ./\n"),
        dockerfile("FROM python:3.12\nRUN bash setup.sh\nCOPY setup.sh .\n"),
        dockerfile(
            "FROM continuumio/miniconda3:24.5.0-0\nRUN conda env create -f environment.yml\nCOPY \
             environment.yml .\n",
        ),
        dockerfile("FROM python:3.11-slim\nWORKDIR /app\nRUN pip install -r requirements.txt\nCOPY . .\n"),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\nCOPY . .\n",
        ),
        dockerfile("FROM python:3.12\nCOPY . .\nRUN uv sync --locked\nCOPY uv.lock .\n"),
        dockerfile(
            "FROM python:3.12\nRUN --mount=type=bind,source=uv.lock,target=uv.lock uv sync --locked\nCOPY \
             uv.lock .\n",
        ),
        dockerfile(
            "FROM python:3.12\nRUN git clone https://example.com/x && cd x && pip install -r \
             requirements.txt\nCOPY requirements.txt .\n",
        ),
        dockerfile("FROM python:3.12\nRUN uv sync\nCOPY uv.lock .\n"),
        dockerfile("FROM example/base:1\nRUN pip install -r requirements.txt\nCOPY requirements.txt .\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    // What another image brings is not known.
    let known = |stage: &&Stage| {
        let plain = ["continuumio/", "condaforge/", "ghcr.io/astral-sh/uv", "mambaorg/"];
        match &stage.from {
            From::Image(image) => {
                stage.runs.first().is_some_and(|run| run.state.bare)
                    || Base::of(&image.text).is_some()
                    || plain.iter().any(|start| image.text.starts_with(start))
            }
            From::Stage(_) | From::Scratch => false,
        }
    };
    file.stages.iter().filter(known).filter_map(stage).collect()
}

fn stage(stage: &Stage) -> Option<Found> {
    // From here on there may be files of any name.
    let copied = stage.instructions.iter().position(brings_any);
    let fetched = stage.runs.iter().find(|run| fetches(run)).map(|run| run.instruction);
    let unknown_from = copied.into_iter().chain(fetched).min().unwrap_or(usize::MAX);
    for run in stage.runs.iter().take_while(|run| run.instruction < unknown_from) {
        if run.state.opaque {
            return None;
        }
        let before = &stage.instructions[..=run.instruction];
        for name in needs(&run.command) {
            let base = name.rsplit('/').next().unwrap_or_default();
            let behind = &stage.instructions[run.instruction + 1..];
            let later = behind.iter().find(|one| copies(one, base)).or_else(|| {
                // Everything is copied, and nothing was before.
                let none = before.iter().all(|one| !matches!(one.keyword.as_str(), "COPY" | "ADD"));
                behind.iter().find(|one| none && copies_all(one))
            })?;
            if before.iter().any(|one| copies(one, base)) {
                continue;
            }
            let message = format!("{base} does not exist yet: it is copied later, in line {}", later.line);
            let found =
                Found::error(run.command.line, message, format!("Move the COPY of {base} above this RUN"));
            return Some(found.unless_certain(run.command.certain));
        }
    }
    None
}

/// Whether an instruction may bring a file of any name.
fn brings_any(one: &Instruction) -> bool {
    let copy = matches!(one.keyword.as_str(), "COPY" | "ADD");
    let text = one.text.text.as_str();
    let sources = text.trim_end().rsplit_once(char::is_whitespace).map_or("", |(sources, _)| sources);
    let directory = sources.split_whitespace().any(|word| {
        let base = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        !base.contains('.') || word.ends_with('/') || base == "."
    });
    let mounts = |flag: &String| {
        flag.starts_with("--mount") && (flag.contains("type=bind") || flag.contains("source=."))
    };
    (copy
        && (directory
            || (one.flag("from").is_some() && !text.contains("uv"))
            || text.contains(['*', '?', '$'])))
        || one.flags.iter().any(mounts)
}

/// Whether a command may bring a file of any name.
fn fetches(run: &Run) -> bool {
    let program = run.command.program();
    matches!(program, "git" | "tar" | "unzip" | "wget" | "curl" | "cp" | "mv" | "svn" | "rsync")
        || !run.command.writes.is_empty()
}

/// Whether an instruction copies a file of this name.
fn copies(one: &Instruction, base: &str) -> bool {
    let words = one.words();
    let named = words.iter().any(|word| word.rsplit('/').next() == Some(base));
    matches!(one.keyword.as_str(), "COPY" | "ADD") && one.flag("from").is_none() && named
}

/// Whether an instruction copies the whole build context.
fn copies_all(one: &Instruction) -> bool {
    let words = one.words();
    one.keyword == "COPY" && one.flag("from").is_none() && words.len() == 2 && matches!(words[0], "." | "./")
}

/// Files in the working directory that a command certainly reads.
fn needs(command: &Command) -> Vec<String> {
    let value = |options: &[&str]| {
        let mut pairs = command.words.windows(2);
        pairs.find(|pair| options.contains(&pair[0].text.as_str())).map(|pair| pair[1].text.clone())
    };
    let program = command.program();
    let mut names: Vec<String> = match program {
        "uv" if command.word(1) == "sync" && (command.has("--frozen") || command.has("--locked")) => {
            vec!["uv.lock".to_owned(), "pyproject.toml".to_owned()]
        }
        "uv" if command.word(1) == "sync" => vec!["pyproject.toml".to_owned()],
        "poetry" | "pdm" if matches!(command.word(1), "install" | "sync") => {
            vec!["pyproject.toml".to_owned()]
        }
        "npm" if command.word(1) == "ci" => vec!["package-lock.json".to_owned()],
        "pip" | "pip3" | "uv" | "python" | "python3" => value(&["-r", "--requirement"]).into_iter().collect(),
        "conda" | "mamba" | "micromamba" => value(&["-f", "--file"]).into_iter().collect(),
        "bash" | "sh" | "source" | "." => vec![command.word(1).to_owned()],
        _ => Vec::new(),
    };
    if matches!(program, "python" | "python3") {
        names.extend(command.words.get(1).map(|word| word.text.clone()).filter(|word| word.ends_with(".py")));
    }
    names.retain(|name| {
        name.contains('.') && !name.starts_with(['/', '-', '$', '~']) && !name.contains("://")
    });
    names
}
