//! Dollar signs that docker compose cannot substitute, or substitutes although the container was meant.

use serde_yaml::Value;

use super::command_without_shell::is_shell;
use crate::read::compose::{Compose, IsStack, Service, bare, text};
use crate::rule::{Found, Judge, Rule, Severity, compose, stack};

pub(crate) const RULE: Rule = Rule {
    id: "interpolation-invalid",
    severity: Severity::Error,
    summary: "docker compose substitutes only variables that are meant for it",
    explain: include_str!("interpolation_invalid.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose("services:\n  a:\n    image: \"b:${TAG\"\n"),
        compose("services:\n  a:\n    image: b\n    environment: {A: \"${B/c/d}\"}\n"),
        compose(
            "services:\n  a:\n    image: b\n    environment: {NODE_RANK: 0}\n    command: sh -c \"torchrun \
             --node_rank=$NODE_RANK train.py\"\n",
        ),
        compose("services:\n  a:\n    image: b\n    command: sh -c \"for i in 1 2; do echo $i; done\"\n"),
        compose(
            "services:\n  a:\n    image: b\n    command:\n      - bash\n      - -c\n      - \
             |\n        nvidia-smi -L \
             | while read line; do\n          echo ${line}\n        done\n",
        ),
        stack("services:\n  a:\n    image: b\n    command: sh -c \"OMP_NUM_THREADS=$(nproc) exec train\"\n"),
        stack(
            "services:\n  a:\n    image: b\n    deploy:\n      labels:\n        - \
             traefik.http.routers.a.rule=PathRegexp(`/(a|b)($|/)`)\n",
        ),
    ],
    silent: &[
        stack(
            "services:\n  a:\n    image: b:${TAG:-1}\n    environment: {A: \"$B\", C: \"${C?set C}\", D: \
             \"x$$y\"}\n    command: sh -c \"OMP_NUM_THREADS=$$(nproc) exec train --node \
             {{.Task.Slot}}\"\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    command: sh -c \"for i in 1 2; do echo $$i $${i} $index; \
             done\"\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    command: sh -c \"OMP_NUM_THREADS=$(nproc) python \
                train.py\"\n",
        ),
        compose("services:\n  a:\n    image: b\n    environment: {PASSWORD: \"a$1b\", PATTERN: \"^a$\"}\n"),
        compose(
            "services:\n  a:\n    image: b:${TAG:-latest}\n    environment: {A: \"$B\", C: \"${C:?set \
                C}\", D: 1}\n    \
             command: sh -c \"echo $$(nproc) $$D ${E-} ${F:-${G:-x}}\"\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    environment: {RANK: \"${RANK}\"}\n    command: run \
                --rank $RANK\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    if file.broken.is_some() {
        return Vec::new();
    }
    let mut found = Vec::new();
    if file.stack == IsStack::Yes {
        return file.services.iter().flat_map(of_stack).collect();
    }
    for service in &file.services {
        let map = service.value.as_mapping().into_iter().flatten();
        for (key, value) in map.filter_map(|(key, value)| Some((text(key)?, value))) {
            if let Some(part) = first_invalid(value) {
                let message = format!(
                    "service {}: {part:?} in `{key}` is not a valid variable reference; docker compose \
                     refuses the file",
                    service.name
                );
                let fix = "Write `$$` for a dollar sign that is for the container";
                found.push(Found::error(service.line_of(&key), message, fix));
            }
        }
        found.extend(for_container(service));
        found.extend(of_script(service));
    }
    found
}

/// What `docker stack deploy` refuses: it has a substitution of its own, in which every dollar sign begins a
/// variable or is doubled.
fn of_stack(service: &Service) -> Vec<Found> {
    let map = service.value.as_mapping().into_iter().flatten();
    let faults = map.filter_map(|(key, value)| {
        let key = text(key)?;
        let part = first_of(value, &invalid_in_stack)?;
        let message = format!(
            "service {}: {part:?} in `{key}` is not a valid variable reference; `docker stack deploy` \
             refuses the file (`invalid interpolation format`)",
            service.name
        );
        let fix = "Write `$$` for a dollar sign that is for the container";
        Some(Found::error(service.line_of(&key), message, fix))
    });
    faults.collect()
}

/// The first dollar sign that is neither doubled nor begins `$NAME` or `${NAME…}` with one of the operators
/// of `docker stack deploy`: `-`, `:-`, `?`, `:?`.
fn invalid_in_stack(text: &str) -> Option<String> {
    let is_start = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let after = &rest[at + 1..];
        let mut letters = after.chars();
        let length = match letters.next() {
            Some('$') => 1,
            Some('{') => {
                let inner = &after[1..];
                let name = inner.find(|c: char| !is_start(c) && !c.is_ascii_digit()).unwrap_or(inner.len());
                let next = &inner[name..];
                let operator =
                    next.starts_with(['}', '-', '?']) || next.starts_with(":-") || next.starts_with(":?");
                if !inner.starts_with(is_start) || !operator || !next.contains('}') {
                    return Some(shown(&rest[at..]));
                }
                1
            }
            Some(letter) if is_start(letter) => 1,
            _ => return Some(shown(&rest[at..])),
        };
        rest = &after[length..];
    }
    None
}

/// The first part of a value that is no variable.
fn first_invalid(value: &Value) -> Option<String> {
    first_of(value, &invalid)
}

fn first_of(value: &Value, invalid: &impl Fn(&str) -> Option<String>) -> Option<String> {
    match bare(value) {
        Value::String(text) => invalid(text),
        Value::Sequence(items) => items.iter().find_map(|one| first_of(one, invalid)),
        Value::Mapping(map) => map.iter().find_map(|(_, value)| first_of(value, invalid)),
        _ => None,
    }
}

/// The first `${` that begins no `${NAME…}`, with what follows it. compose keeps other dollar signs as
/// they are.
fn invalid(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let after = &rest[at + 1..];
        let length = match after.chars().next() {
            Some('$') => 1,
            Some('{') => {
                let inner = &after[1..];
                let name =
                    inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
                let starts = inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
                let next = &inner[name..];
                let operator = next.starts_with(['}', '-', '?', '+'])
                    || [":-", ":?", ":+"].iter().any(|one| next.starts_with(one));
                if !starts || !operator || !inner.contains('}') {
                    return Some(shown(&rest[at..]));
                }
                1
            }
            Some(letter) => letter.len_utf8(),
            None => 0,
        };
        rest = &after[length..];
    }
    None
}

fn shown(text: &str) -> String {
    let end = text
        .char_indices()
        .skip(1)
        .find(|(_, letter)| letter.is_whitespace())
        .map_or(text.len(), |(at, _)| at);
    text[..end].chars().take(20).collect()
}

/// A variable that the script of a command sets itself: substituted before the script runs.
fn of_script(service: &Service) -> Option<Found> {
    let mut texts = vec![("command", service.command())];
    texts.push(("healthcheck", service.list(&["healthcheck", "test"]).join(" ")));
    texts.into_iter().find_map(|(key, text)| {
        let names = set_by_script(&text);
        let name = names.iter().find(|name| uses(&text, name))?;
        let message = format!(
            "service {}: docker compose substitutes ${name} before the shell sets it; the script gets an \
             empty \
             text",
            service.name
        );
        Some(Found::error(service.line_of(key), message, format!("Write `$${name}`")).about(name))
    })
}

/// The names that a script sets: `for NAME in`, `read NAME`, `NAME=$(…)`.
fn set_by_script(text: &str) -> Vec<String> {
    let is_name = |name: &str| {
        name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    let words: Vec<&str> =
        text.split(|letter: char| letter.is_whitespace() || "\"'`(;".contains(letter)).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let mut names = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied().unwrap_or_default();
        let name = match *word {
            "for" if words.get(at + 2) == Some(&"in") => next,
            "read" if next != "-r" => next,
            "read" => words.get(at + 2).copied().unwrap_or_default(),
            _ => continue,
        };
        if is_name(name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Whether a text has `$NAME` or `${NAME}` that docker compose substitutes.
fn uses(text: &str, name: &str) -> bool {
    let braced = format!("${{{name}}}");
    let plain = format!("${name}");
    let own = |at: usize| !text[..at].ends_with('$');
    let ends = |at: usize| {
        let next = text[at + plain.len()..].chars().next();
        next.is_none_or(|letter| !letter.is_ascii_alphanumeric() && letter != '_')
    };
    text.match_indices(&braced).any(|(at, _)| own(at))
        || text.match_indices(&plain).any(|(at, _)| own(at) && ends(at))
}

/// A variable of the service's own environment in its command: substituted before it is set.
fn for_container(service: &Service) -> Option<Found> {
    let environment = service.environment();
    let command = service.command();
    let own =
        environment.iter().filter(|(_, value)| value.as_deref().is_some_and(|value| !value.contains('$')));
    own.into_iter().find_map(|(name, value)| {
        let plain = command.match_indices(&format!("${name}")).any(|(at, found)| {
            let next = command[at + found.len()..].chars().next();
            let whole = next.is_none_or(|letter| !letter.is_ascii_alphanumeric() && letter != '_');
            whole && !command[..at].ends_with('$')
        });
        let braced =
            command.match_indices(&format!("${{{name}}}")).any(|(at, _)| !command[..at].ends_with('$'));
        let message = format!(
            "service {}: docker compose substitutes ${name} in the command from its own environment, \
                not from \
             `environment` ({name}={})",
            service.name,
            value.as_deref().unwrap_or_default()
        );
        let fix = match in_a_shell(service) {
            true => format!("Write `$${name}`"),
            false => format!("Write `$${name}`, and run the command in a shell"),
        };
        (plain || braced).then(|| Found::warning(service.line_of("command"), message, fix))
    })
}

/// Whether a shell reads the command, and so replaces `$NAME`.
fn in_a_shell(service: &Service) -> bool {
    let words = [service.list(&["entrypoint"]), service.list(&["command"])].concat();
    let is_option = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    words.first().is_some_and(|word| is_shell(word)) && words.iter().skip(1).any(is_option)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{File, Kind, lint};

    #[test]
    fn a_command_of_a_shell_needs_no_second_shell() {
        for (command, shell) in [("[bash, -c, \"echo $A\"]", false), ("[echo, $A]", true)] {
            let text =
                format!("services:\n  a:\n    image: b\n    environment: {{A: x}}\n    command: {command}\n");
            let file = File::new(catalog::testing::catalog(), "compose.yaml", &text, Kind::Compose);
            let found = lint(&[&RULE], &[], &file);
            let fix = &found[0].found.fixes;
            assert_eq!(format!("{fix:?}").contains("in a shell"), shell, "{fix:?}");
        }
    }
}
