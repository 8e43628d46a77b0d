//! A command of a shell script and its words.

/// A word of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// Its text without quotes, variables of the Dockerfile substituted.
    pub text: String,
    /// False where part of it is only known to the shell that runs it, or to who builds.
    pub known: bool,
    /// True where the default of an ARG is in it.
    pub default: bool,
    /// Whether any of it was quoted.
    pub quoted: bool,
    /// The line of the file, from 1.
    pub line: usize,
}

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Command {
    /// The line of the file on which it begins, from 1.
    pub line: usize,
    /// Variables that are set for it alone, or for the rest of the script where there is no word.
    pub sets: Vec<(String, Word)>,
    pub words: Vec<Word>,
    /// Names that it hands on to every later program (`export A`, `export A=b`, `declare -x A`).
    pub exports: Vec<String>,
    /// Files that its output goes to.
    pub writes: Vec<Word>,
    /// Redirections right behind a word, without a blank: `numpy<2`.
    pub glued: Vec<Glued>,
    /// Its input, where it is a here-document: its place among those of the instruction.
    pub heredoc: Option<usize>,
    /// False where it may not run, or where the script goes on when it fails.
    pub certain: bool,
    /// True where its input is the output of the command before it.
    pub piped: bool,
    /// Whether `sudo` runs it.
    pub sudo: bool,
    /// The options of that `sudo`: `-E`.
    pub sudo_options: Vec<String>,
    /// The names that it is given as `NAME=value`, also by `env` behind it.
    pub sudo_sets: Vec<String>,
    /// Whether its answer decides what runs next: behind `if`, `while`, `until` and `!`.
    pub condition: bool,
    /// Inside of how many loops.
    pub loops: usize,
    /// Where it is no command: the array whose words these are (`ARGS=( … )`), and all of them as written.
    pub array: Option<(String, Vec<Word>)>,
    /// The operator behind it: `;` also for a new line; empty at the end.
    pub after: &'static str,
}

/// A redirection right behind a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Glued {
    /// The word before it: `numpy` of `numpy<2`.
    pub word: String,
    /// `<` or `>`.
    pub sign: char,
    /// The file that the shell opens: `2`.
    pub file: Word,
}

impl Command {
    /// The first word without its directory: `pip3` of `/usr/bin/pip3`; empty where it is not known.
    pub(crate) fn program(&self) -> &str {
        match self.words.first() {
            Some(word) if word.known => word.text.rsplit('/').next().unwrap_or_default(),
            _ => "",
        }
    }

    /// The word at a place, empty where there is none or it is not known.
    pub(crate) fn word(&self, index: usize) -> &str {
        self.words.get(index).filter(|word| word.known).map_or("", |word| word.text.as_str())
    }

    /// Whether one of the words is this text.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.words.iter().any(|word| word.known && word.text == text)
    }

    /// The value of an option, behind `=` or in the next word.
    pub(crate) fn value(&self, names: &[&str]) -> Option<Word> {
        option_value(&self.words, names)
    }

    /// The texts of its words, separated by spaces.
    pub(crate) fn text(&self) -> String {
        self.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    }
}

/// The value of an option among words, behind `=` or in the next word.
pub(crate) fn option_value(words: &[Word], names: &[&str]) -> Option<Word> {
    words.iter().enumerate().find_map(|(at, word)| match word.text.split_once('=') {
        Some((name, value)) if names.contains(&name) => Some(Word { text: value.to_owned(), ..word.clone() }),
        _ if names.contains(&word.text.as_str()) => words.get(at + 1).cloned(),
        _ => None,
    })
}

/// `NAME=value` before a command.
pub(crate) fn assignment(word: &Word) -> Option<(String, Word)> {
    let (name, value) = word.text.split_once('=')?;
    let fits = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    fits.then(|| (name.to_owned(), Word { text: value.to_owned(), ..word.clone() }))
}
