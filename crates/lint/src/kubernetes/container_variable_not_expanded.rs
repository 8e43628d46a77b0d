//! `$NAME` in the command of a container that no shell runs.

use crate::read::compose::text;
use crate::read::manifest::{Container, Manifest, list, scalar};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "container-variable-not-expanded",
    severity: Severity::Warning,
    summary: "variables in command, args and env are `$(NAME)`, or a shell expands them",
    explain: include_str!("container_variable_not_expanded.md"),
    judge: Judge::Manifest(judge),
    fires: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: \
             vllm/vllm-openai:v0.8.5\n      args: [--model, $MODEL_ID]\n      env: [{name: MODEL_ID, \
             value: a/b}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
             \x20     command: [torchrun, \"--node-rank=${JOB_COMPLETION_INDEX}\", train.py]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
             \x20     env: [{name: LD_LIBRARY_PATH, value: \"/opt/lib:$LD_LIBRARY_PATH\"}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
             \x20     env: [{name: ROOT, value: /data}, {name: HF_HOME, value: \"${ROOT}/hf\"}]\n",
        ),
    ],
    silent: &[
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
             \x20     env: [{name: A, value: x}, {name: B, value: \"$(A)/y\"}, {name: C, value: \"${D}\"}, \
             {name: E, value: \"pa$$A\"}]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
             \x20     command: [torchrun, --node-rank=$(RANK), train.py, \"^a$\", $$X]\n",
        ),
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: b\n\
             \x20     command: [bash, -c]\n      args: [\"torchrun --node-rank=$RANK train.py\"]\n    - \
             name: c\n      \
             image: b\n      command: [timeout, \"9\", /bin/sh, -ec, \"echo $A\"]\n    - name: \
             d\n      image: b\n\
             \x20     args: [\"if true; then echo ${B}; fi\"]\n",
        ),
        // Filled in before kubectl gets it.
        named(
            "pod.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: \
             a\n      image: \
             vllm/vllm-openai:v0.8.5\n      args: [--model, \"${MODEL_ID}\"]\n",
        ),
    ],
};

/// Programs that run a text as a script, or fill in variables themselves.
const SHELLS: &[&str] =
    &["sh", "bash", "zsh", "dash", "ash", "ksh", "busybox", "pwsh", "perl", "awk", "eval", "envsubst"];

fn judge(file: &Manifest) -> Vec<Found> {
    let mut found = file.of_containers(fault);
    found.extend(file.of_containers(in_values));
    found
}

/// Variables whose value is usually extended by their own.
const EXTENDED: &[&str] = &["PATH", "LD_LIBRARY_PATH", "PYTHONPATH"];

/// `$NAME` in the value of a variable.
fn in_values(container: &Container) -> Vec<Found> {
    let names: Vec<String> =
        list(container.value, "env").into_iter().filter_map(|one| scalar(one, &["name"])).collect();
    let mut found = Vec::new();
    for (at, one) in list(container.value, "env").into_iter().enumerate() {
        let (Some(name), Some(value)) = (scalar(one, &["name"]), scalar(one, &["value"])) else { continue };
        let own = |used: &str| EXTENDED.contains(&used) && used == name;
        let earlier = |used: &str| names.iter().take(at).any(|known| known == used);
        // A text with blanks may be a script for a program that reads the variable.
        let plain = !value.contains(['\n', ' ', ';']);
        let Some(used) = variable(&value).filter(|used| plain && (own(used) || earlier(used))) else {
            continue;
        };
        let message = format!(
            "container {}: ${used} in the value of {name} stays as it is written: Kubernetes expands only \
             $({used})",
            container.name
        );
        let fix = match name == used {
            true => format!("Write the whole value, or extend {used} in a shell that starts the program"),
            false => format!("Write `$({used})`"),
        };
        let line = container.line(&["env", &at.to_string(), "value"]);
        found.push(Found::warning(line, message, fix));
    }
    found
}

fn fault(container: &Container) -> Option<Found> {
    let of = |key: &'static str| {
        let items = list(container.value, key).into_iter().filter_map(text).enumerate();
        items.map(move |(at, word)| (key, at, word))
    };
    let words: Vec<(&str, usize, String)> = of("command").chain(of("args")).collect();
    let is_shell = |(_, _, word): &(&str, usize, String)| {
        let base = word.rsplit('/').next().unwrap_or_default();
        SHELLS.contains(&base) || base.ends_with(".sh") || base.contains("entrypoint")
    };
    if words.iter().any(is_shell) {
        return None;
    }
    // A word with blanks is a script for an entrypoint that nobody sees.
    let plain = |word: &str| !word.contains(char::is_whitespace);
    let (key, at, name) = words.iter().filter(|(_, _, word)| plain(word)).find_map(|(key, at, word)| {
        Some((*key, *at, variable(word).filter(|name| is_set(container, name))?))
    })?;
    let message = format!(
        "container {}: ${name} in {key} stays as it is written: Kubernetes expands only $({name}), and no \
         shell \
         runs the command",
        container.name
    );
    Some(Found::warning(container.line(&[key, &at.to_string()]), message, format!("Write `$({name})`")))
}

/// Whether the container gets a variable: else something may fill it in before the manifest is applied.
fn is_set(container: &Container, name: &str) -> bool {
    let env = list(container.value, "env");
    env.iter().any(|one| scalar(one, &["name"]).as_deref() == Some(name))
        || matches!(name, "JOB_COMPLETION_INDEX" | "HOSTNAME" | "HOME")
}

/// The name of `$NAME` or `${NAME}`.
fn variable(word: &str) -> Option<&str> {
    let mut from = 0;
    while let Some(offset) = word[from..].find('$') {
        let at = from + offset;
        let rest = &word[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            from = word.len() - after.len();
            continue;
        }
        let braced = rest.strip_prefix('{');
        let name = braced.unwrap_or(rest);
        let end =
            name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(name.len());
        let begins = name.starts_with(|letter: char| letter.is_ascii_uppercase() || letter == '_');
        let closed = braced.is_none() || name[end..].starts_with('}');
        if begins && closed {
            return Some(&name[..end]);
        }
        from = at + 1;
    }
    None
}
