//! Containers that are started with a terminal, by what has none.

use catalog::Catalog;

use crate::read::docker_run::DockerRun;
use crate::read::dockerfile::command::Command;

/// The verb of a command that asks docker for a terminal and for its input: `run` or `exec`. The client
/// refuses it where its input is no terminal.
pub(crate) fn needs_terminal(catalog: &Catalog, command: &Command) -> Option<&'static str> {
    if command.program() != "docker" {
        return None;
    }
    if let Some(run) = DockerRun::read(catalog, command) {
        let asks = |long: &str, short: char| {
            run.options.iter().any(|(name, value)| {
                name == long || value.is_none() && is_letters(name) && name.contains(short)
            })
        };
        // `-dp 80:80`: letters before the one with a value are not options of their own here.
        let own = &command.words[..command.words.len() - run.behind.len()];
        let group = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('d');
        let detached = asks("detach", 'd') || own.iter().any(|word| group(&word.text));
        return (asks("tty", 't') && asks("interactive", 'i') && !detached).then_some("run");
    }
    let verb = if command.word(1) == "container" { 2 } else { 1 };
    if command.word(verb) != "exec" {
        return None;
    }
    let options: Vec<&str> = command.words[verb + 1..]
        .iter()
        .map(|word| word.text.as_str())
        .take_while(|word| word.starts_with('-'))
        .collect();
    let asks = |long: &str, short: char| options.iter().any(|one| *one == long || in_group(one, short));
    (asks("--tty", 't') && asks("--interactive", 'i') && !asks("--detach", 'd')).then_some("exec")
}

/// `rm` is a name, `it` two letters; of the options of docker only these are letters alone.
fn is_letters(name: &str) -> bool {
    name != "rm" && name.len() <= 3 && name.chars().all(|letter| "ditPq".contains(letter))
}

/// Whether a word is a group of letters without values that has this one: `-it`.
fn in_group(word: &str, short: char) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    !letters.is_empty() && letters.contains(short) && letters.chars().all(|letter| "ditPq".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::script::Script;
    use catalog::testing::catalog;

    fn of(text: &str) -> Option<&'static str> {
        needs_terminal(catalog(), &Script::read(catalog(), text).commands[0])
    }

    #[test]
    fn terminals() {
        assert_eq!(of("docker run -it --rm a\n"), Some("run"));
        assert_eq!(of("sudo docker container run --gpus all -i --tty a b\n"), Some("run"));
        assert_eq!(of("docker exec -ti a bash\n"), Some("exec"));
        assert_eq!(of("docker run -dit a\n"), None);
        assert_eq!(of("docker run -it -d a\n"), None);
        assert_eq!(of("docker run -it -dp 80:80 a\n"), None);
        assert_eq!(of("docker run -i a\n"), None);
        assert_eq!(of("docker run -t a\n"), None);
        assert_eq!(of("docker run --rm a python -it\n"), None);
        assert_eq!(of("docker exec a run -it\n"), None);
        assert_eq!(of("podman run -it a\n"), None);
    }
}
