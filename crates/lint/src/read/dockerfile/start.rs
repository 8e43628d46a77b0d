//! What a container of the image runs: ENTRYPOINT, with CMD behind it.

use super::command::{Command, Word};
use super::instructions::Instruction;
use super::stage::{Dockerfile, script};

/// The commands that a container of the image starts.
pub(crate) fn started(file: &Dockerfile) -> Vec<Command> {
    let Some(last) = file.stages.last() else { return Vec::new() };
    let variables = &last.end.variables;
    let commands = match (entrypoint(file), command(file)) {
        (Some(entry), cmd) if entry.json.is_some() => {
            let mut words = words(entry);
            words.extend(cmd.map(self::words).unwrap_or_default());
            let json = words.iter().map(|word| word.text.clone()).collect();
            let whole = Instruction { json: Some(json), ..entry.clone() };
            let mut commands = script(&whole, variables);
            if let [command] = &mut commands[..]
                && command.words.len() == words.len()
            {
                command.words = words;
            }
            commands
        }
        (Some(entry), _) => script(entry, variables),
        (None, Some(cmd)) => script(cmd, variables),
        (None, None) => Vec::new(),
    };
    commands.into_iter().map(without_init).collect()
}

/// Directories of PATH that images put scripts into.
const SEARCHED: &[&str] = &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The paths in the image of what may be such scripts: the program, and what a shell is given.
pub(crate) fn script_paths(file: &Dockerfile) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for command in started(file) {
        let shell = matches!(command.program(), "bash" | "sh" | "dash" | "source" | ".");
        let words = command.words.iter().enumerate().take(3);
        let paths = words.filter(|(at, word)| {
            let plain = word.known && !word.text.contains(['$', '*', '=', ' ']);
            let program = *at == 0 && word.text.contains('/');
            let last = word.text.rsplit('/').next().unwrap_or_default();
            plain && (program && !last.contains('.') || word.text.ends_with(".sh") || shell && *at == 1)
        });
        for (at, word) in paths {
            // A program without a directory is searched for.
            if at == 0 && !word.text.contains('/') {
                let searched = SEARCHED.iter().map(|folder| format!("{folder}/{}", word.text));
                found.extend(searched.map(|path| (command.line, path)));
                continue;
            }
            found.push((command.line, word.text.clone()));
        }
    }
    found
}

/// The ENTRYPOINT of the image, as far as the file sets it.
pub(crate) fn entrypoint(file: &Dockerfile) -> Option<&Instruction> {
    last(file, "ENTRYPOINT")
}

/// The CMD of the image, as far as the file sets it.
pub(crate) fn command(file: &Dockerfile) -> Option<&Instruction> {
    last(file, "CMD")
}

fn last<'f>(file: &'f Dockerfile, keyword: &str) -> Option<&'f Instruction> {
    let stages = file.shipped();
    stages.into_iter().find_map(|stage| stage.instructions.iter().rev().find(|one| one.keyword == keyword))
}

/// The words of a JSON form, on the line of their instruction.
fn words(one: &Instruction) -> Vec<Word> {
    let word = |text: &String| Word {
        text: text.clone(),
        known: true,
        quoted: true,
        line: one.line,
        ..Word::default()
    };
    one.json.iter().flatten().map(word).collect()
}

/// A command without the init process or the change of user before it: `tini --`, `gosu user`.
fn without_init(mut command: Command) -> Command {
    let skip = match command.program() {
        "tini" | "dumb-init" | "catatonit" => {
            command.words.iter().position(|word| word.text == "--").map_or(1, |at| at + 1)
        }
        "gosu" | "su-exec" => 2,
        _ => 0,
    };
    if skip < command.words.len() {
        command.words.drain(..skip);
    }
    command
}
