//! A whole command in one item of `command`.

use crate::one_word::{is_program, listed, program_of};
use crate::read::compose::text;
use crate::read::manifest::{Container, Manifest, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::servers::is_image;

pub(crate) const RULE: Rule = Rule {
    id: "container-command-in-one-word",
    severity: Severity::Error,
    summary: "`command` of a container has one item for each word",
    explain: include_str!("container_command_in_one_word.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
         \x20     command: [torchrun]\n      args: [\"--standalone --nproc_per_node=1 train.py --lr 1\"]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: \
         vllm/vllm-openai:v0.9.1\n      args:\n        - --model facebook/opt-125m\n        - --port=8000\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: \
         vllm/vllm-openai:v0.9.1\n      args: [\"--model=facebook/opt-125m --port=8000\"]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
         image: b\n\
         \x20     command: [\"python train.py\"]\n",
        ),
    ],
    silent: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
         \x20     args: [\"--override={\\\"a\\\": 1, \\\"--b\\\": 2}\", \"--system You are kind\", \
         --model, a/b]\n\
         \x20   - name: c\n      image: b\n      command: [bash, -c]\n      args: [\"--x --y\"]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
         image: b\n\
         \x20     command: [\"python\", \"train.py\"]\n    - name: c\n      image: b\n      command: \
         [\"bash\", \
         \"-c\", \"python train.py\"]\n",
        ),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    let mut found = file.of_containers(fault);
    found.extend(file.of_containers(of_arguments));
    found
}

/// Options of known servers and launchers that have a value.
const VALUED: &[&str] = &[
    "--model",
    "--model-path",
    "--model-id",
    "--port",
    "--host",
    "--dtype",
    "--served-model-name",
    "--max-model-len",
    "--tensor-parallel-size",
    "--pipeline-parallel-size",
    "--gpu-memory-utilization",
    "--nnodes",
    "--nproc_per_node",
    "--nproc-per-node",
    "--node_rank",
    "--master_addr",
    "--master_port",
    "--rdzv_endpoint",
];

/// Several options in one item, or an option with its value behind a blank.
fn of_arguments(container: &Container) -> Option<Found> {
    let of = |key| list(container.value, key).into_iter().filter_map(text).collect::<Vec<String>>();
    let (command, arguments) = (of("command"), of("args"));
    let is_shell =
        |word: &String| matches!(word.rsplit('/').next(), Some("sh" | "bash" | "dash" | "ash" | "zsh"));
    let first = command.iter().chain(&arguments).next();
    if first.is_some_and(is_shell) {
        return None;
    }
    let items =
        command.iter().map(|item| ("command", item)).chain(arguments.iter().map(|item| ("args", item)));
    let (key, item) = items.into_iter().find(|(_, item)| {
        let words: Vec<&str> = item.split_whitespace().collect();
        let option = words.first().filter(|word| word.starts_with("--"));
        // JSON, prompts and templates have blanks on purpose.
        let plain = !item.contains(['{', '"', '\'', '[', '\n', '$']);
        let known =
            |option: &&&str| VALUED.contains(*option) && words.len() == 2 && !words[1].starts_with('-');
        let several =
            words.len() > 1 && words[1..].iter().any(|word| word.starts_with("--") && word.len() > 2);
        plain && (several && option.is_some() || option.filter(known).is_some())
    })?;
    let message = format!(
        "container {}: {item:?} is one argument with spaces; the program does not know it as an option",
        container.name
    );
    let fix = format!("Write one item for each word: `[{}]`", listed(item));
    // A script in front of the program may split its arguments again.
    let image = scalar(container.value, &["image"]).unwrap_or_default();
    let program = first.and_then(|word| word.rsplit('/').next()).unwrap_or_default();
    let known = is_program(program) || command.is_empty() && is_image(&image, "vllm/vllm-openai");
    Some(Found::error(container.line(&[key]), message, fix).unless_certain(known))
}

fn fault(container: &Container) -> Option<Found> {
    let word = list(container.value, "command").first().copied().and_then(text)?;
    let program = program_of(&word)?;
    let message = format!(
        "container {}: the first item of command is {word:?}; the container looks for a program of that \
         name, \
         not for {program}",
        container.name
    );
    let fix = format!("Write one item for each word: `command: [{}]`", listed(&word));
    Some(Found::error(container.line(&["command"]), message, fix))
}
