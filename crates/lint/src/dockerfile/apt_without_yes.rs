//! apt-get install that stops at its question.

use crate::dockerfile::package_manager_missing::lacks_apt;
use crate::read::dockerfile::{Dockerfile, From, Run, Stage, apt};
use crate::rule::{Change, Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "apt-without-yes",
    severity: Severity::Warning,
    summary: "`apt-get install` runs with `-y`",
    explain: include_str!("apt_without_yes.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM debian:13\nRUN apt-get update && apt-get install vim\n"),
        dockerfile("FROM ubuntu:24.04\nRUN apt update && apt install -q --no-install-recommends git\n"),
        // A quiet frontend of debconf answers other questions.
        dockerfile(
            "FROM nvcr.io/nvidia/pytorch:24.05-py3\nENV DEBIAN_FRONTEND=noninteractive\nRUN apt-get update \
             && \
             apt-get install --no-install-recommends pdsh && apt-get clean && rm -rf /var/lib/apt/lists/*\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM debian:13\nRUN apt-get update && apt-get install -y vim && apt-get -y install git\n",
        ),
        dockerfile(
            "FROM debian:13\nRUN apt-get update && apt-get install -yqq vim && apt-get -qq install git\n",
        ),
        dockerfile(
            "FROM debian:13\nRUN apt-get update && apt-get install --yes vim && yes | apt install git\n",
        ),
        dockerfile(
            "FROM debian:13\nRUN echo 'APT::Get::Assume-Yes \"true\";' > /etc/apt/apt.conf.d/90yes\n\
             RUN apt-get update && apt-get install vim\n",
        ),
        dockerfile("FROM debian:13\nARG OPTS\nRUN apt-get update && apt-get install $OPTS vim\n"),
        dockerfile(
            "FROM debian:13\nRUN apt-get update && apt-get -o APT::Get::Assume-Yes=true install vim\n",
        ),
        dockerfile("FROM example/base:1\nRUN apt-get update && apt-get install vim\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter(|one| !lacks_apt(file, one)).flat_map(stage).collect()
}

fn stage(stage: &Stage) -> Vec<Found> {
    // Other images may bring a configuration that answers.
    let plain = matches!(stage.from, From::Image(_)) && stage.end.image.is_some();
    let configured = stage.instructions.iter().any(|one| {
        let text = &one.text.text;
        text.contains("Assume-Yes") || text.contains("assume-yes") || text.contains("/apt.conf")
    });
    if !plain || configured {
        return Vec::new();
    }
    let asks = stage.runs.iter().filter(|run| !run.state.opaque && asks(run));
    let found = asks.map(|run| {
        let message = format!(
            "`{} install` without -y asks for confirmation, and aborts in a build",
            run.command.program()
        );
        let install = run.command.words.iter().find(|word| word.text == "install");
        let change = install.map(|word| Change::Behind {
            line: word.line,
            word: "install".to_owned(),
            text: " -y".to_owned(),
        });
        Found::warning(run.command.line, message, "Add `-y`").change_if(change)
    });
    found.collect()
}

/// Whether apt stops at a question where it installs more than it was told to.
fn asks(run: &Run) -> bool {
    let command = &run.command;
    let certain = command.certain && !command.piped && command.words.iter().all(|word| word.known);
    let simulates = ["-s", "--simulate", "--dry-run", "--just-print", "--print-uris"];
    let harmless = simulates.iter().any(|option| command.has(option));
    certain
        && !harmless
        && !apt::packages(run.state.catalog, command).is_empty()
        && !command.words.iter().any(|word| answers(&word.text))
}

/// Whether an option answers the question: `-y`, `-yqq`, `-qq`, `-q=2`, `--yes`.
fn answers(option: &str) -> bool {
    if option.starts_with("--") {
        return ["--yes", "--assume-yes", "--assume-no", "--force-yes"].contains(&option);
    }
    let Some(letters) = option.strip_prefix('-') else { return false };
    letters.contains('y') || letters.matches('q').count() > 1 || letters.starts_with("q=2")
}
