//! A model repository that is cloned without Git LFS.

use crate::read::dockerfile::{Dockerfile, Run, Stage};
use crate::rule::{Found, Judge, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "lfs-files-not-fetched",
    severity: Severity::Warning,
    summary: "clones of model repositories fetch the large files",
    explain: include_str!("lfs_files_not_fetched.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile("FROM python:3.11\nRUN git clone https://huggingface.co/facebook/opt-125m /models/opt\n"),
        dockerfile(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y git && \
             GIT_LFS_SKIP_SMUDGE=0 git clone --depth 1 https://huggingface.co/org/model\n",
        ),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.11\nRUN apt-get update && apt-get install -y git-lfs && git lfs install && git \
             clone https://huggingface.co/facebook/opt-125m\n",
        ),
        dockerfile("FROM python:3.11\nRUN git clone https://github.com/vllm-project/vllm\n"),
        dockerfile(
            "FROM python:3.11\nRUN GIT_LFS_SKIP_SMUDGE=1 git clone https://huggingface.co/org/model && cd \
             model && rm -rf .git\n",
        ),
        dockerfile("FROM python:3.11\nRUN git clone https://huggingface.co/spaces/org/demo\n"),
    ],
};

fn judge(file: &Dockerfile) -> Vec<Found> {
    file.stages.iter().filter_map(of_stage).collect()
}

fn of_stage(stage: &Stage) -> Option<Found> {
    // Another image may have it.
    let bare = stage.runs.first().is_some_and(|run| run.state.bare);
    let lfs = stage
        .instructions
        .iter()
        .any(|one| one.text.text.contains("-lfs") || one.text.text.contains(" lfs "));
    let run = stage.runs.iter().find(|run| clones(run)).filter(|_| bare && !lfs)?;
    let message = "git clones only pointers of the weights without git-lfs: each is a text of some lines, \
        and \
                   loading fails";
    let fix = "Install git-lfs and add `RUN git lfs install` before it, or download with `hf download`";
    Some(Found::warning(run.command.line, message, fix))
}

fn clones(run: &Run) -> bool {
    let command = &run.command;
    let model = |text: &str| {
        let rest = text.split_once("huggingface.co/").map(|(_, rest)| rest);
        rest.is_some_and(|rest| !rest.starts_with("spaces/") && rest.contains('/'))
    };
    let skipped = run.variable("GIT_LFS_SKIP_SMUDGE").and_then(|value| value.text).as_deref() == Some("1");
    command.program() == "git"
        && command.has("clone")
        && !run.state.opaque
        && !skipped
        && command.words.iter().any(|word| model(&word.text))
}
