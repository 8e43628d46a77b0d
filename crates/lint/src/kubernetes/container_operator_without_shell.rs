//! Operators of a shell as items of a command that no shell runs.

use crate::read::compose::text;
use crate::read::manifest::{Container, Manifest, list};
use crate::rule::{Found, Judge, Rule, Severity, named};

macro_rules! pod_of {
    ($keys:literal) => {
        named(
            "pod.yaml",
            concat!(
                "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n      \
                 image: b\n",
                $keys
            ),
        )
    };
}

pub(crate) const RULE: Rule = Rule {
    id: "container-operator-without-shell",
    severity: Severity::Error,
    summary: "commands with operators of a shell are run by one",
    explain: include_str!("container_operator_without_shell.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        pod_of!("      command: [pip, install, x, \"&&\", python, train.py]\n"),
        pod_of!("      command: [sh, -c, \"cd /w\", \"&&\", \"python train.py\"]\n"),
        pod_of!("      command: [python]\n      args: [train.py, \">\", /out/log, \"2>&1\"]\n"),
    ],
    silent: &[
        pod_of!("      command: [sh, -c, \"cd /w && python train.py > /out/log\"]\n"),
        pod_of!("      command: [find, /data, -name, \"*.tmp\", -exec, rm, \"{}\", \";\"]\n"),
        pod_of!("      command: [python, -c, \"print(1)\"]\n      args: [\"a|b\"]\n"),
    ],
};

fn judge(file: &Manifest) -> Vec<Found> {
    file.of_containers(fault)
}

fn fault(container: &Container) -> Option<Found> {
    let of = |key| list(container.value, key).into_iter().filter_map(text);
    let words: Vec<(&str, String)> =
        of("command").map(|word| ("command", word)).chain(of("args").map(|word| ("args", word))).collect();
    let program = words.first().map(|(_, word)| word.rsplit('/').next().unwrap_or_default().to_owned())?;
    // These take such words as arguments of their own.
    if ["find", "expr", "test", "[", "xargs", "jq", "awk"].contains(&program.as_str()) {
        return None;
    }
    let is_operator = |word: &str| matches!(word, "&&" | "||" | "|" | ">" | ">>" | "2>&1" | ";" | "<");
    let (key, operator) = words.iter().skip(1).find(|(_, word)| is_operator(word))?;
    let shell = ["sh", "bash", "dash", "ash", "zsh"].contains(&program.as_str());
    // Without a command the entrypoint of the image runs.
    let by_image = list(container.value, "command").is_empty();
    let effect = match (shell, by_image) {
        (true, _) => "the shell takes only the item after -c as its script".to_owned(),
        (false, true) => "it is passed to the program of the image as an argument".to_owned(),
        (false, false) => format!("it is passed to {program} as an argument"),
    };
    let message = format!("container {}: no shell reads {operator:?}; {effect}", container.name);
    let fix = "Write `[bash, -c, \"…\"]` with the whole script as one item";
    // Some programs ignore an argument that they do not know.
    let redirects = matches!(operator.as_str(), ">" | ">>" | "2>&1" | "<");
    Some(Found::error(container.line(&[key]), message, fix).unless_certain(!redirects && !by_image))
}
