//! Tips for habits from other programs: `envdoc version`, `-q`, `--json`.

use std::ffi::OsString;

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The error with a tip, where what it refuses is another program's way to ask for something.
pub(super) fn with_tip(mut error: clap::Error, root: &Command, words: &[OsString]) -> clap::Error {
    if let Some(tip) = tip(&error, root, words) {
        let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tip);
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedSubcommand);
    }
    error
}

fn tip(error: &clap::Error, root: &Command, words: &[OsString]) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand if text(ContextKind::InvalidSubcommand) == Some("version") => {
            Some("envdoc --version prints the version".to_owned())
        }
        ErrorKind::UnknownArgument => match text(ContextKind::InvalidArg)? {
            "-q" => Some("the option is --quiet".to_owned()),
            "--json" if has_json(named(root, words)) => Some("the option is --format json".to_owned()),
            _ => None,
        },
        _ => None,
    }
}

/// The innermost command that the words name.
pub(super) fn named<'c>(root: &'c Command, words: &[OsString]) -> &'c Command {
    let inner = |command: &'c Command, word: &OsString| command.find_subcommand(word).unwrap_or(command);
    words.iter().skip(1).fold(root, inner)
}

fn has_json(command: &Command) -> bool {
    let format = command.get_arguments().find(|argument| argument.get_long() == Some("format"));
    format.is_some_and(|format| format.get_possible_values().iter().any(|value| value.get_name() == "json"))
}
