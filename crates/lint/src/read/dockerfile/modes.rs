//! Which instructions change the mode of a file in the image.

use super::Run;
use super::copied::join;
use super::instructions::Instruction;
use crate::recognize::is_below;

/// Whether COPY or ADD puts a file at a path of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Put {
    No,
    Maybe,
    Surely,
}

/// What an instruction does to a program. A whole build context has it only if nothing else may: `elsewhere`.
pub(crate) fn put(instruction: &Instruction, workdir: &str, program: &str, elsewhere: bool) -> Put {
    let words = instruction.words();
    let Some((target, sources)) = words.split_last() else { return Put::No };
    let place = join(workdir, target);
    if place.contains('$') {
        return Put::Maybe;
    }
    if place == program {
        return Put::Surely;
    }
    // A relative path may be anywhere if the working directory of the base image is unknown.
    let below = place.is_empty() || is_below(program, &place) || !place.starts_with('/');
    let top = place.trim_start_matches('/').split('/').next().unwrap_or_default();
    let of_system = matches!(top, "" | "bin" | "etc" | "lib" | "opt" | "sbin" | "usr");
    let of_source = |source: &&str| {
        let base = source.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let name = program.rsplit('/').next();
        let whole = matches!(*source, "." | "./" | "/");
        match () {
            () if !whole && join(&place, base) == program => Put::Surely,
            () if !below => Put::No,
            // The build context need not have the program: the base image or an earlier instruction may.
            () if whole && !elsewhere && !of_system && instruction.flag("from").is_none() => Put::Surely,
            () if whole || source.ends_with('/') || name == Some(base) || !is_file(base) => Put::Maybe,
            () => Put::No,
        }
    };
    sources.iter().map(of_source).max().unwrap_or(Put::No)
}

/// Whether a name is that of a file which COPY and ADD put somewhere as it is, and not of a directory, of
/// several files or of an archive.
fn is_file(name: &str) -> bool {
    let archive = [".tar", ".tgz", ".tbz", ".txz", ".gz", ".bz2", ".xz", ".zst"];
    let plain = !name.contains(['*', '?', '[', '$']) && !archive.iter().any(|end| name.ends_with(end));
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    plain && end.len() > 1 && end.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

/// Whether somebody may execute a file of a mode: `644`, `a-x`, `u+x`; `None` where it does not say.
pub(crate) fn executes(mode: &str) -> Option<bool> {
    let octal = !mode.is_empty() && mode.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    if octal {
        let digits = mode.as_bytes().iter().rev().take(3);
        return Some(digits.into_iter().any(|digit| (digit - b'0') & 1 == 1));
    }
    match mode {
        "-x" | "a-x" | "ugo-x" => Some(false),
        _ => None,
    }
}

/// What a command does to the mode of a file.
pub(crate) enum Change {
    None,
    Unknown,
    To(String),
}

pub(crate) fn changed_mode(run: &Run, program: &str) -> Change {
    let command = &run.command;
    let base = program.rsplit('/').next().unwrap_or_default();
    let words: Vec<&str> = command.words.iter().skip(1).map(|word| word.text.as_str()).collect();
    let given: Vec<&str> =
        words.iter().filter(|word| !word.starts_with('-') || **word == "-x").copied().collect();
    let of = |path: &str| join(&run.state.files.workdir, path);
    let known = command.certain && command.words.iter().all(|word| word.known);
    match command.program() {
        "chmod" => {
            let Some((mode, paths)) = given.split_first() else { return Change::Unknown };
            let named = paths.iter().any(|path| of(path) == program || is_matched(&of(path), program));
            let above = paths.iter().any(|path| program.starts_with(of(path).trim_end_matches('/')));
            match (named, above) {
                (true, _) if known => Change::To((*mode).to_owned()),
                (false, false) if known => Change::None,
                _ => Change::Unknown,
            }
        }
        "install" => {
            let at = words.iter().position(|word| *word == "-m");
            let mode = at.and_then(|at| words.get(at + 1).copied());
            let mode = mode.or_else(|| words.iter().find_map(|word| word.strip_prefix("--mode=")));
            let target = words.last().map(|target| of(target)).unwrap_or_default();
            let source = given.iter().any(|path| path.rsplit('/').next() == Some(base));
            let puts = target == program || source && join(&target, base) == program;
            match mode.filter(|_| known && !words.contains(&"-d")) {
                Some(mode) if puts => Change::To(mode.to_owned()),
                _ if puts => Change::Unknown,
                _ => Change::None,
            }
        }
        // It may be a file with the mode of another one, or a program that changes modes.
        _ if command.text().contains(base) || command.text().contains("chmod") || !known => Change::Unknown,
        _ if command.writes.iter().any(|word| word.text.ends_with(base)) => Change::Unknown,
        _ => Change::None,
    }
}

/// Whether a path with one `*` in its last part is that of a program.
fn is_matched(path: &str, program: &str) -> bool {
    let name = |path: &str| path.rsplit_once('/').map(|(folder, name)| (folder.to_owned(), name.to_owned()));
    let (Some((folder, last)), Some((own, base))) = (name(path), name(program)) else { return false };
    let fits = |(start, end): (&str, &str)| {
        !end.contains('*')
            && base.len() >= start.len() + end.len()
            && base.starts_with(start)
            && base.ends_with(end)
    };
    folder == own && last.split_once('*').is_some_and(fits)
}
