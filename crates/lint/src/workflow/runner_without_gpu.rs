//! A job that needs a GPU on a runner that has none.

use serde_yaml::Value;

use crate::read::compose::{below, text};
use crate::read::docker_run::DockerRun;
use crate::read::dockerfile::command::Command;
use crate::read::workflow::{Job, Workflow};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "runner-without-gpu",
    severity: Severity::Error,
    summary: "jobs that use a GPU run on a runner that has one",
    explain: include_str!("runner_without_gpu.md"),
    judge: Judge::Workflow(judge),
    fires: &[
        named(
            ".github/workflows/gpu.yml",
            "on: push\njobs:\n  test:\n    runs-on: ubuntu-latest\n    container:\n      image: \
             nvcr.io/nvidia/pytorch:24.10-py3\n      options: --gpus all --ipc=host\n    steps:\n      - \
             run: \
             pytest -q\n",
        ),
        named(
            ".github/workflows/smoke.yml",
            "on: push\njobs:\n  smoke:\n    runs-on: [ubuntu-22.04]\n    steps:\n      - name: run\n        \
             run: |\n          \
             docker build -t t .\n          docker run --rm --gpus=all t python -c 'import torch'\n",
        ),
        named(
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  gpu:\n    strategy:\n      matrix: {os: [ubuntu-22.04, ubuntu-24.04]}\n    \
             runs-on: \
             ${{ matrix.os }}\n    steps:\n      - run: nvidia-smi\n",
        ),
        named(
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  gpu:\n    runs-on: ubuntu-24.04\n    services:\n      triton:\n        \
             image: \
             nvcr.io/nvidia/tritonserver:24.10-py3\n        options: --runtime nvidia\n    steps:\n      - \
             run: pytest\n",
        ),
    ],
    silent: &[
        named(
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  build:\n    runs-on: ubuntu-latest\n    container: \
             nvidia/cuda:12.4.1-devel-ubuntu22.04\n    steps:\n      - run: cmake --build build\n      - \
             run: \
             pytest -m \"not gpu\"\n  gpu:\n    runs-on: [self-hosted, linux, gpu]\n    container: {image: \
             a, options: \
             --gpus all}\n    steps:\n      - run: nvidia-smi && pytest\n",
        ),
        named(
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  a:\n    runs-on: ubuntu-22.04-gpu-t4\n    steps:\n      - run: \
             nvidia-smi\n  b:\n    \
             runs-on: {group: gpu-runners}\n    steps:\n      - run: docker run --gpus all a\n",
        ),
        named(
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: nvidia-smi || \
             true\n      - run: \
             nvidia-smi\n        continue-on-error: true\n      - run: if command -v nvidia-smi; then \
             nvidia-smi; fi\n",
        ),
        named(
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  a:\n    strategy: {matrix: {os: [ubuntu-latest, gpu-a10]}}\n    runs-on: \
             ${{ matrix.os \
             }}\n    steps:\n      - run: nvidia-smi\n",
        ),
    ],
};

fn judge(workflow: &Workflow) -> Vec<Found> {
    if workflow.of_another {
        return Vec::new();
    }
    workflow.jobs.iter().filter_map(|job| fault(workflow, job)).collect()
}

fn fault(workflow: &Workflow, job: &Job) -> Option<Found> {
    let runners = job.runners();
    let label = runners.first()?.first()?.clone();
    let hosted = |labels: &Vec<String>| labels.len() == 1 && is_hosted(&labels[0]);
    if !runners.iter().all(hosted) {
        return None;
    }
    let (line, what) = need(workflow, job)?;
    let message = format!("job {} runs on {label}, GitHub's own runner, which has no GPU; {what}", job.name);
    let fix = "Name a runner with a GPU in runs-on: the labels of a self-hosted one, or a larger runner of \
               your organization";
    Some(Found::error(line, message, fix))
}

/// Where a job certainly needs a GPU, and what happens without one.
fn need(workflow: &Workflow, job: &Job) -> Option<(usize, String)> {
    let options = |value: &Value| below(value, &["options"]).and_then(text).and_then(|one| gpu_option(&one));
    if let Some(option) = below(&job.value, &["container"]).and_then(options) {
        let line = workflow.line_in(job, &["container", "options"]);
        return Some((line, format!("with `{option}` its container does not start")));
    }
    let services = below(&job.value, &["services"]).and_then(Value::as_mapping).into_iter().flatten();
    for (name, value) in services {
        if let (Some(name), Some(option)) = (text(name), options(value)) {
            let line = workflow.line_in(job, &["services", &name, "options"]);
            return Some((line, format!("with `{option}` service {name} does not start")));
        }
    }
    job.steps.iter().filter(|step| !step.may_not_count).find_map(|step| {
        let certain = step.commands.iter().filter(|one| one.certain && !one.condition && one.after != "||");
        certain.into_iter().find_map(|one| Some((one.line, in_step(workflow, one)?)))
    })
}

fn in_step(workflow: &Workflow, command: &Command) -> Option<String> {
    if command.program() == "nvidia-smi" && !workflow.has_stand_in {
        return Some("nvidia-smi fails".to_owned());
    }
    let run = DockerRun::read(workflow.catalog, command)?;
    let nvidia = run.values("runtime", "").iter().any(|one| one == "nvidia");
    (run.has("gpus") || nvidia).then(|| {
        let option = if nvidia { "--runtime nvidia" } else { "--gpus" };
        format!("`docker run {option}` fails")
    })
}

/// The option of `docker create` that asks for GPUs.
fn gpu_option(options: &str) -> Option<&'static str> {
    let words: Vec<&str> = options.split_whitespace().collect();
    let gpus = words.iter().any(|word| *word == "--gpus" || word.starts_with("--gpus="));
    let runtime =
        words.contains(&"--runtime=nvidia") || words.windows(2).any(|pair| pair == ["--runtime", "nvidia"]);
    match (gpus, runtime) {
        (true, _) => Some("--gpus"),
        (_, true) => Some("--runtime nvidia"),
        _ => None,
    }
}

/// Whether a label is one of GitHub's standard runners: no other runner has exactly these names.
fn is_hosted(label: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.chars().all(|one| one.is_ascii_digit() || one == '.');
    let Some((system, rest)) = label.split_once('-') else { return false };
    let rest = rest.strip_suffix("-arm").or(rest.strip_suffix("-intel")).unwrap_or(rest);
    match system {
        "ubuntu" => matches!(rest, "latest" | "slim") || number(rest) && rest.contains('.'),
        "windows" | "macos" => rest == "latest" || number(rest),
        _ => false,
    }
}
