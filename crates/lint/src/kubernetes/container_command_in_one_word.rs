//! A whole command in one item of `command`.

use crate::compose::command_in_one_word::{listed, program_of};
use crate::read::compose::text;
use crate::read::manifest::{Container, Manifest, list};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "container-command-in-one-word",
    severity: Severity::Error,
    summary: "`command` of a container has one item for each word",
    explain: include_str!("container_command_in_one_word.md"),
    judge: Judge::Manifest(judge),
    fires: &[named(
        "pod.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
         image: b\n\
         \x20     command: [\"python train.py\"]\n",
    )],
    silent: &[named(
        "pod.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
         image: b\n\
         \x20     command: [\"python\", \"train.py\"]\n    - name: c\n      image: b\n      command: \
         [\"bash\", \
         \"-c\", \"python train.py\"]\n",
    )],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(fault)
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
