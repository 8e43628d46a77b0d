//! PATH without the folders of the system.

use crate::read::dockerfile::stage::{settings, unquoted};
use crate::read::dockerfile::{Dockerfile, From, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "path-replaced",
    severity: Severity::Error,
    summary: "ENV PATH keeps the folders in which the system's programs are",
    explain: include_str!("path_replaced.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM ubuntu:22.04\nENV PATH=/opt/conda/bin\nRUN apt-get update && apt-get install -y git\n",
        ),
        dockerfile(
            "FROM ubuntu:22.04\nENV PATH /opt/venv/bin:/opt/tools/bin\nCMD [\"python\", \"train.py\"]\n",
        ),
    ],
    silent: &[
        dockerfile("FROM ubuntu:22.04\nENV PATH=/opt/conda/bin:$PATH\nRUN apt-get update\n"),
        dockerfile("FROM ubuntu:22.04\nENV PATH=/opt/conda/bin:${PATH}\nRUN apt-get update\n"),
        dockerfile("FROM ubuntu:22.04\nENV PATH=/opt/bin:/usr/local/bin:/usr/bin:/bin\nRUN apt-get update\n"),
        dockerfile("FROM scratch\nENV PATH=/app\n"),
        dockerfile("FROM example/nix:1\nENV PATH=/run/current-system/sw/bin\n"),
        dockerfile("FROM ubuntu:22.04\nENV PATH=$CONDA_DIR/bin\n"),
    ],
};

/// Folders of the system's programs.
const FOLDERS: &[&str] = &["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"];

/// Programs that no environment of Python has.
const OF_SYSTEM: &[&str] =
    &["apt-get", "apt", "dpkg", "useradd", "groupadd", "adduser", "usermod", "ldconfig"];

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter(|stage| is_of_distribution(stage)).flat_map(of_stage).collect()
}

/// Whether the base has its programs in the usual folders.
fn is_of_distribution(stage: &Stage) -> bool {
    matches!(stage.from, From::Image(_)) && stage.end.image.is_some()
}

fn of_stage(stage: &Stage) -> Vec<Found> {
    let mut found = Vec::new();
    for (index, one) in stage.instructions.iter().enumerate().filter(|(_, one)| one.keyword == "ENV") {
        let values = settings(&one.text.text).into_iter().filter(|(name, _)| name == "PATH");
        for value in values.filter_map(|(_, value)| Some(unquoted(&value?))) {
            let kept = value.contains('$') || value.split(':').any(|folder| FOLDERS.contains(&folder));
            if value.is_empty() || kept {
                continue;
            }
            let later = || stage.instructions[index + 1..].iter().position(sets_path);
            let until = later().map_or(stage.instructions.len(), |at| index + 1 + at);
            let lost = stage.runs.iter().find(|run| {
                (index..until).contains(&run.instruction)
                    && run.command.words.first().is_some_and(|word| OF_SYSTEM.contains(&word.text.as_str()))
            });
            let what = match lost {
                Some(run) => format!("line {} does not find {}", run.command.line, run.command.program()),
                None => "sh, ls and other programs of the system are not found".to_owned(),
            };
            let message = format!("PATH={value} replaces the PATH of the base image; {what}");
            let certain = lost.is_some_and(|run| run.command.certain);
            found.push(
                Found::error(one.line, message, format!("Write `ENV PATH={value}:$PATH`"))
                    .about("PATH")
                    .unless_certain(certain),
            );
        }
    }
    found
}

fn sets_path(one: &crate::read::dockerfile::instructions::Instruction) -> bool {
    one.keyword == "ENV" && settings(&one.text.text).iter().any(|(name, _)| name == "PATH")
}
