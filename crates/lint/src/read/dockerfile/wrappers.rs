//! Programs that only run another one: `sudo`, `env`, `timeout`.

use super::command::{Command, assignment};

/// Programs that only run what follows them, with the options that take a value.
const WRAPPERS: &[(&str, &[&str])] = &[
    ("sudo", &["-u", "-g", "--user", "--group"]),
    ("env", &["-u", "-C"]),
    ("time", &[]),
    ("exec", &[]),
    ("nice", &["-n"]),
    ("nohup", &[]),
    ("eatmydata", &[]),
    ("timeout", &["-s", "-k"]),
];

pub(super) fn strip_wrappers(command: &mut Command) {
    loop {
        let program = command.program().to_owned();
        if matches!(program.as_str(), "export" | "declare") && command.words.len() > 1 {
            let exported = program == "export" || command.has("-x");
            let names = command.words[1..].iter().filter(|word| !word.text.starts_with('-'));
            let names = names.map(|word| word.text.split('=').next().unwrap_or_default().to_owned());
            command.exports = if exported { names.collect() } else { Vec::new() };
            let sets = command.words.drain(1..).filter_map(|word| assignment(&word)).collect::<Vec<_>>();
            command.sets.extend(sets);
            command.words.clear();
            return;
        }
        let Some((_, valued)) = WRAPPERS.iter().find(|(name, _)| *name == program) else { return };
        command.sudo |= program == "sudo";
        let mut at = 1;
        while let Some(word) = command.words.get(at) {
            if word.text.starts_with('-') {
                if program == "sudo" {
                    command.sudo_options.push(word.text.clone());
                }
                at += if valued.contains(&word.text.as_str()) { 2 } else { 1 };
            } else if let Some(set) = assignment(word) {
                if command.sudo {
                    command.sudo_sets.push(set.0.clone());
                }
                command.sets.push(set);
                at += 1;
            } else {
                break;
            }
        }
        if program == "timeout" {
            at += 1;
        }
        command.words.drain(..at.min(command.words.len()));
        if command.words.is_empty() {
            return;
        }
    }
}
