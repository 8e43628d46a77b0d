//! A Python that the distribution has is built from source.

use crate::read::dockerfile::{Dockerfile, Run};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "python-built-from-source",
    severity: Severity::Note,
    summary: "Python is installed from packages, not built from source",
    explain: include_str!("python_built_from_source.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[dockerfile(
        "FROM ubuntu:22.04\nRUN wget https://www.python.org/ftp/python/3.10.6/Python-3.10.6.tgz && tar -xf \
         Python-3.10.6.tgz && cd Python-3.10.6 && ./configure && make -j4 && make install\n",
    )],
    silent: &[
        dockerfile("FROM ubuntu:22.04\nRUN curl -LO https://example.org/tool-1.0.tgz && make install\n"),
        dockerfile("FROM ubuntu:22.04\nRUN echo Python-3.10.6.tgz\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for stage in &file.stages {
        let make = stage.instructions_with(|run| run.command.program() == "make");
        for run in &stage.runs {
            let Some(version) = download(run) else { continue };
            if make.contains(&run.instruction) {
                found.push(finding(run, version));
            }
        }
    }
    found
}

fn finding(run: &Run, version: &str) -> Found {
    let series = version.rsplit_once('.').map_or(version, |(series, _)| series);
    let own = run.state.system.filter(|system| system.python.as_deref() == Some(series));
    match own {
        Some(system) => {
            let message = format!(
                "Python {version} is built from source, but {} packages Python \
                 {series}",
                system.name
            );
            Found::note(run.command.line, message, "Use `apt-get install python3 python3-dev python3-venv`")
        }
        None => {
            let message = format!(
                "Python {version} is built from source; the build is slow and gets no \
                 security updates"
            );
            Found::note(run.command.line, message, format!("Use `uv python install {series}`"))
        }
    }
}

/// The version of Python whose source a command downloads.
fn download(run: &Run) -> Option<&str> {
    if !matches!(run.command.program(), "wget" | "curl" | "aria2c") {
        return None;
    }
    let name =
        run.command.words.iter().find_map(|word| word.text.rsplit('/').next()?.strip_prefix("Python-"))?;
    let version = [".tgz", ".tar.xz", ".tar.gz"].iter().find_map(|end| name.strip_suffix(end))?;
    version.starts_with('3').then_some(version)
}
