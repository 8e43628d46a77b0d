//! A list of GPUs that docker takes apart.

use crate::gpus_option::fault;
use crate::read::assigned;
use crate::read::docker_run::DockerRun;
use crate::read::handed::all_commands;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "gpus-list-not-quoted",
    severity: Severity::Error,
    summary: "a list of devices reaches `docker run --gpus` in quotes of its own",
    explain: include_str!("gpus_list_not_quoted.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("serve.sh", "docker run -d --gpus device=0,1 --ipc=host vllm/vllm-openai --model m\n"),
        named("serve.sh", "sudo docker run --gpus=\"device=0,1\" pytorch/pytorch nvidia-smi\n"),
        named("serve.sh", "GPUS=2,3\ndocker run --gpus \"device=$GPUS\" pytorch/pytorch nvidia-smi\n"),
        named("serve.sh", "ssh node1 \"docker run --gpus 'device=0,1' image train\"\n"),
        named(
            "serve.sh",
            "opts=(\n  --rm\n  --gpus device=GPU-aa,GPU-bb\n)\ndocker run \"${opts[@]}\" image\n",
        ),
        named("serve.sh", "docker run --gpus 2,device=0 image\n"),
    ],
    silent: &[
        named("serve.sh", "docker run --gpus all image --gpus device=0,1 --epochs 3\n"),
        named("serve.sh", "docker run --gpus '\"device=0,1\"' image\ndocker run --gpus device=0 image\n"),
        named("serve.sh", "docker run --gpus \"\\\"device=0,1\\\"\" image\n"),
        named("serve.sh", "docker run --gpus 'all,\"capabilities=compute,utility\"' image\n"),
        named("serve.sh", "docker run --gpus '\"device=0,1\",\"capabilities=compute,utility\"' image\n"),
        named("serve.sh", "podman run --gpus device=0,1 image\ntrain.sh --gpus device=0,1\n"),
        named("serve.sh", "ssh node1 \"docker run --gpus '\\\"device=0,1\\\"' image train\"\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let sets = assigned::of_script(script);
    let value = |name: &str| {
        let mut all = sets.iter().filter(|one| one.name == name);
        all.next().filter(|_| all.next().is_none())?.value.clone()
    };
    let runs_docker = script.text.contains("docker run") || script.text.contains("docker create");
    let mut found = Vec::new();
    for command in all_commands(script) {
        // The options may be in a list of the script: its words are read as a command.
        let of_docker = matches!(command.program(), "docker" | "nerdctl")
            || (runs_docker && command.program().starts_with("--"));
        if !of_docker {
            continue;
        }
        // What is behind the image is the container's.
        let behind = DockerRun::read(script.catalog, &command).map_or(0, |run| run.behind.len());
        let own = &command.words[..command.words.len() - behind];
        let texts: Vec<(&str, usize)> = own.iter().map(|word| (word.text.as_str(), word.line)).collect();
        for (at, (text, line)) in texts.iter().enumerate() {
            let next = texts.get(at + 1).map(|(next, _)| *next);
            let given = if *text == "--gpus" { next } else { text.strip_prefix("--gpus=") };
            let Some(given) = given else { continue };
            if let Some((message, fix)) = fault(&with_values(given, &value)) {
                found.push(Found::error((*line).max(command.line), message, fix));
            }
        }
    }
    found
}

/// A text with the values of variables that the script sets once.
fn with_values(text: &str, value: &impl Fn(&str) -> Option<String>) -> String {
    let mut out = text.to_owned();
    for name in assigned::used(text) {
        if let Some(value) = value(&name).filter(|value| !value.contains('$')) {
            out = out.replace(&format!("${{{name}}}"), &value).replace(&format!("${name}"), &value);
        }
    }
    out
}
