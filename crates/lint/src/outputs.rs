//! The directories to which a command writes its results.

use diagnostic::suggest;

use crate::read::quotes::split;

/// A path that a program writes to, and what sets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    /// `--save-dir /data/ckpt`, `OUTPUT_DIR=/out`.
    pub set_by: String,
    pub path: String,
}

/// Names of options whose value is always written to, with `-` for `_`.
const RESULTS: &[&str] = &[
    "default-root-dir",
    "export-dir",
    "logging-dir",
    "out",
    "out-dir",
    "outdir",
    "output",
    "output-dir",
    "output-file",
    "output-path",
    "result-dir",
    "results-dir",
    "save",
    "save-dir",
    "save-path",
    "save-to",
];

/// Names of options that a training writes to, and that a server or an evaluation reads from.
const OF_TRAINING: &[&str] = &["checkpoint-dir", "checkpoints-dir", "ckpt-dir", "log-dir", "logdir"];

/// Variables that training scripts take their output directory from.
const VARIABLES: &[&str] = &["OUTPUT_DIR", "OUT_DIR", "SAVE_DIR", "RESULTS_DIR"];
const VARIABLES_OF_TRAINING: &[&str] = &["CHECKPOINT_DIR", "CKPT_DIR", "LOG_DIR"];

/// What the words of a command and its variables name as places for results.
pub(crate) fn outputs(words: &[String], variables: &[(String, String)]) -> Vec<Output> {
    // The text behind `bash -c` has words of its own.
    let words: Vec<String> = words.iter().flat_map(|word| inner(word)).collect();
    let trains = words.iter().any(|word| is_training(word));
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None if word.starts_with("--") => (word.as_str(), words.get(at + 1).map(String::as_str)),
            None => continue,
        };
        let Some((value, path)) = value.and_then(|value| Some((value, known_path(value)?))) else { continue };
        if names_output(name, trains) {
            let mark = if word.contains('=') { '=' } else { ' ' };
            found.push(Output { set_by: format!("{name}{mark}{value}"), path: path.to_owned() });
        }
    }
    for (name, value) in variables.iter().filter(|(_, value)| is_path(value)) {
        let of = |names: &[&str]| names.contains(&name.as_str());
        if of(VARIABLES) || trains && of(VARIABLES_OF_TRAINING) {
            found.push(Output { set_by: format!("{name}={value}"), path: value.clone() });
        }
    }
    found
}

fn inner(word: &str) -> Vec<String> {
    match word.contains(char::is_whitespace) {
        true => split(word, false),
        false => vec![word.to_owned()],
    }
}

/// `--save-dir`, `output_dir` and `trainer.output_dir` of Hydra.
fn names_output(written: &str, trains: bool) -> bool {
    let bare = written.trim_start_matches('-');
    let option = bare.len() < written.len();
    let last = bare.rsplit('.').next().unwrap_or(bare).to_ascii_lowercase().replace('_', "-");
    // Without dashes `out=/x` may be a variable of a shell.
    let known = RESULTS.contains(&last.as_str()) && (option || last.contains('-'));
    known || trains && option && OF_TRAINING.contains(&last.as_str())
}

/// An absolute path without anything that a shell fills in.
fn is_path(value: &str) -> bool {
    value.starts_with('/') && !value.contains(['$', '`', '*', '{', '(']) && !value.starts_with("/dev/")
}

/// The directories of an absolute path that nothing fills in: `/a/b` of `/a/b/${NAME}`.
fn known_path(value: &str) -> Option<&str> {
    let Some(at) = value.find("/$") else { return Some(value).filter(|value| is_path(value)) };
    let known = &value[..at];
    (known.len() > 1 && is_path(known)).then_some(known)
}

/// Whether a word is a training script. Launchers also start programs that only read a checkpoint.
fn is_training(word: &str) -> bool {
    let base = word.rsplit('/').next().unwrap_or(word);
    base.ends_with(".py") && ["train", "finetune", "sft"].iter().any(|part| base.contains(part))
}

/// The first of these mounted directories that has almost the name of an output's, and that none of these
/// texts names: what something else uses is there for that.
pub(crate) fn meant<'m>(
    output: &Output,
    targets: impl IntoIterator<Item = &'m str>,
    texts: &[&str],
) -> Option<&'m str> {
    let used = |target: &str| texts.iter().any(|text| names_path(text, target));
    targets.into_iter().find(|target| is_next_to(&output.path, target) && !used(target))
}

/// Whether a text has a path, or one below it: `--dir=/a/b` has `/a`.
fn names_path(text: &str, path: &str) -> bool {
    text.match_indices(path).any(|(at, _)| {
        let next = text[at + path.len()..].chars().next();
        next.is_none_or(|next| !next.is_alphanumeric() && !"_-.".contains(next))
    })
}

/// Whether a path has the parents of a target, and then almost its name: `/a/models/x` and `/a/model`.
fn is_next_to(path: &str, target: &str) -> bool {
    let Some((parent, name)) = target.rsplit_once('/') else { return false };
    let rest = path.strip_prefix(parent).and_then(|rest| rest.strip_prefix('/'));
    let Some(own) = rest.and_then(|rest| rest.split('/').next()) else { return false };
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    own != name
        && digits(own) == digits(name)
        && (suggest::edits(own, name) == 1 && suggest::is_typo(own, name) || is_same_word(own, name))
}

/// Words for one thing.
const WORDS: &[&[&str]] = &[
    &["checkpoint", "checkpoints", "ckpt", "ckpts"],
    &["out", "output", "outputs"],
    &["result", "results", "res"],
];

/// Whether two names are words for one thing.
fn is_same_word(one: &str, other: &str) -> bool {
    WORDS.iter().any(|words| words.contains(&one) && words.contains(&other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str) -> Vec<String> {
        outputs(&split(command, false), &[]).into_iter().map(|one| one.path).collect()
    }

    #[test]
    fn where_results_go() {
        assert_eq!(of("torchrun t.py --data /data --save-dir /data/ckpt"), ["/data/ckpt"]);
        assert_eq!(
            of("bash -c \"cd /app && python t.py --output_dir=/out trainer.save_dir=/s\""),
            ["/out", "/s"]
        );
        assert_eq!(of("python train.py --ckpt_dir /c"), ["/c"]);
        assert_eq!(of("python serve.py --ckpt_dir /c"), [""; 0]);
        assert_eq!(of("tensorboard --logdir /runs"), [""; 0]);
        assert_eq!(of("python t.py --output-dir $OUT --out results"), [""; 0]);
        let variables = [("OUTPUT_DIR".to_owned(), "/out".to_owned())];
        assert_eq!(outputs(&[], &variables)[0].set_by, "OUTPUT_DIR=/out");
    }
}
