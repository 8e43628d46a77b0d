//! The copies of a script whose source it removes afterwards: which, and which removal.

use super::dockerfile::command::{Command, Word};

/// What a command copies: the paths, as written, that are the source.
pub(crate) fn sources(command: &Command) -> Vec<String> {
    let words: Vec<&Word> = command.words.iter().skip(1).collect();
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let verbs: usize = match (command.program(), texts.as_slice()) {
        ("rsync" | "cp" | "scp", _) => 0,
        ("rclone", ["copy" | "sync", ..]) | ("azcopy", ["copy" | "sync" | "cp", ..]) => 1,
        ("aws", ["s3", "cp" | "sync", ..]) => 2,
        ("gcloud", ["storage", "cp" | "rsync", ..]) => 2,
        ("gsutil", _) => match texts.iter().position(|word| matches!(*word, "cp" | "rsync")) {
            Some(at) if at < 3 => at + 1,
            _ => return Vec::new(),
        },
        ("tar", [options, ..]) => return of_tar(options, &texts),
        _ => return Vec::new(),
    };
    // These do not copy, or remove the source themselves.
    const OTHERS: &[&str] = &["-n", "--dry-run", "--dryrun", "--remove-source-files", "--list-only"];
    if texts.iter().any(|word| OTHERS.contains(word)) {
        return Vec::new();
    }
    let mut operands = operands(&texts[verbs..]);
    operands.pop();
    operands.iter().map(|path| plain(path)).filter(|path| is_place(path)).collect()
}

/// Options of these programs whose value is a word of its own.
const VALUED: &[&str] = &[
    "-e",
    "-f",
    "-T",
    "-B",
    "-x",
    "-P",
    "-i",
    "-o",
    "-F",
    "-l",
    "--rsh",
    "--filter",
    "--exclude",
    "--include",
    "--exclude-from",
    "--include-from",
    "--files-from",
    "--log-file",
    "--temp-dir",
    "--partial-dir",
    "--bwlimit",
    "--chown",
    "--chmod",
    "--info",
    "--out-format",
    "--profile",
    "--region",
    "--endpoint-url",
    "--storage-class",
    "--transfers",
    "--checkers",
    "--config",
    "--acl",
    "--sse",
];

/// The words that are neither options nor their values.
fn operands<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let is_value = |at: usize| at > 0 && VALUED.contains(&words[at - 1]);
    let all = words.iter().enumerate();
    all.filter(|(at, word)| !word.starts_with('-') && !is_value(*at)).map(|(_, word)| *word).collect()
}

/// The members of the archive that `tar` makes.
fn of_tar(options: &str, words: &[&str]) -> Vec<String> {
    let letters = options.trim_start_matches('-');
    let makes = words.contains(&"--create")
        || !options.starts_with("--") && letters.contains('c') && !letters.contains(['x', 't', 'C']);
    if !makes || words.iter().any(|word| word.starts_with("--remove-files")) {
        return Vec::new();
    }
    let (mut folder, mut found) = (None, Vec::new());
    let mut at = usize::from(!options.starts_with("--"));
    // `f` takes the name of the archive.
    at += usize::from(at == 1 && letters.contains('f'));
    while let Some(word) = words.get(at) {
        match *word {
            "-C" | "--directory" => {
                folder = words.get(at + 1).copied();
                at += 1;
            }
            "-f" | "--file" | "--exclude" | "-X" | "-I" => at += 1,
            option if option.starts_with('-') => {}
            member => found.push(match folder {
                Some(folder) if !member.starts_with(['/', '$']) => plain(&format!("{folder}/{member}")),
                _ => plain(member),
            }),
        }
        at += 1;
    }
    found.retain(|path| is_place(path));
    found
}

/// The paths that a command removes with all that is in them.
fn removed(command: &Command) -> Vec<String> {
    let texts: Vec<&str> = command.words.iter().skip(1).map(|word| word.text.as_str()).collect();
    let recursive = |word: &str| {
        word == "--recursive" || word.starts_with('-') && !word.starts_with("--") && word.contains(['r', 'R'])
    };
    match command.program() {
        "rm" => {
            let all = texts.iter().any(|word| recursive(word));
            let paths = texts.iter().filter(|word| !word.starts_with('-'));
            paths.filter(|path| all || path.ends_with("/*")).map(|path| plain(path)).collect()
        }
        "find" if texts.contains(&"-delete") => {
            // A test may spare what was not copied.
            const TESTS: &[&str] = &["-mindepth", "-type", "-depth"];
            let tests = texts.iter().filter(|word| word.starts_with('-') && **word != "-delete");
            let paths = texts.iter().take_while(|word| !word.starts_with('-'));
            let whole = tests.into_iter().all(|word| TESTS.contains(word));
            paths.filter(|_| whole).map(|path| plain(path)).collect()
        }
        _ => Vec::new(),
    }
}

/// The first removal behind a copy of a source, or of a directory above it; `rest` are the commands behind
/// the copy, up to where it is not clear whether they run.
pub(crate) fn removal<'c>(sources: &[String], rest: &'c [Command]) -> Option<(&'c Command, String)> {
    const CHECKS: &[&str] =
        &["test", "[", "[[", "diff", "cmp", "sha256sum", "md5sum", "sha1sum", "rsync", "du", "rclone", "aws"];
    for command in rest {
        let removed = removed(command);
        let hits = |path: &String| {
            sources.iter().any(|source| {
                source == path || source.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'))
            })
        };
        if let Some(path) = removed.into_iter().filter(|path| !path.is_empty()).find(hits) {
            return Some((command, path));
        }
        let sets = command.sets.iter().map(|(name, _)| name).chain(&command.exports);
        let changes =
            |name: &String| !name.is_empty() && sources.iter().any(|source| source.contains(name.as_str()));
        let ends = command.program() == "exit";
        let checks = CHECKS.contains(&command.program()) || (command.condition && !ends);
        if checks && command.after != "|" || sets.into_iter().any(changes) {
            return None;
        }
        // Nothing behind it runs.
        if ends && command.certain {
            return None;
        }
    }
    None
}

/// A path without what does not change its place: `$A/x/` and `$A/x/*` are `$A/x`, `${A}` is `$A`.
fn plain(path: &str) -> String {
    let mut path = path.replace("${", "$").replace('}', "");
    for end in ["/*", "/.", "/"] {
        while let Some(rest) = path.strip_suffix(end).filter(|rest| !rest.is_empty()) {
            path = rest.to_owned();
        }
    }
    path.strip_prefix("./").map_or(path.clone(), str::to_owned)
}

/// Whether a word is a place of this machine that a text alone names.
fn is_place(path: &str) -> bool {
    !path.is_empty()
        && !path.contains("://")
        && !path.contains(['`', '(', '*', '?', '[', '%', '#'])
        && !path.split('/').next().unwrap_or_default().contains(':')
        && !matches!(path, "." | ".." | "/" | "-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::script::Script;

    fn of(text: &str) -> (Vec<String>, Option<String>) {
        let script = Script::read(catalog::testing::catalog(), text);
        let sources = sources(&script.commands[0]);
        let removed = removal(&sources, &script.commands[1..]).map(|(_, path)| path);
        (sources, removed)
    }

    #[test]
    fn what_is_copied_and_removed() {
        let one = |path: &str| vec![path.to_owned()];
        assert_eq!(
            of("rsync -a --exclude /x \"$A/ckpt/\" h:/d\nrm -rf \"${A}\"\n"),
            (one("$A/ckpt"), Some("$A".into()))
        );
        assert_eq!(
            of("aws s3 sync --region x out/ s3://b/o\nrm -r out/*\n"),
            (one("out"), Some("out".into()))
        );
        assert_eq!(
            of("tar czf a.tgz -C /scratch run1\nrm -rf /scratch/run1\n").1.as_deref(),
            Some("/scratch/run1")
        );
        assert_eq!(of("cp -r a b c\nfind a -type f -delete\n").1.as_deref(), Some("a"));
        assert_eq!(of("cp -r a b\nfind a -mtime +3 -delete\n").1, None);
        assert_eq!(of("cp -r a b\ndiff -r a b\nrm -rf a\n").1, None);
        assert_eq!(of("rsync -a a b\nrm -rf ab b\n").1, None);
        assert_eq!(of("rsync -a --remove-source-files a b\nrm -rf a\n"), (Vec::new(), None));
        assert_eq!(of("cp -r $A b\nA=c\nrm -rf $A\n").1, None);
    }
}
