//! `apt-get install`.

use catalog::Catalog;

use super::command::{Command, Word};

/// The packages that a command installs with apt, apt-get or aptitude: words without their version; empty
/// where it is another command.
pub(crate) fn packages<'c>(catalog: &Catalog, command: &'c Command) -> Vec<&'c Word> {
    if !is_apt(command) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let (mut installs, mut skip) = (false, false);
    for word in &command.words[1..] {
        match word.text.as_str() {
            _ if skip => skip = false,
            text if catalog.apt_options().takes_value(text) => skip = true,
            text if text.starts_with('-') => {}
            "install" | "reinstall" if !installs => installs = true,
            _ if !installs => return Vec::new(),
            _ => found.push(word),
        }
    }
    found
}

/// Whether a command is apt's.
pub(crate) fn is_apt(command: &Command) -> bool {
    matches!(command.program(), "apt-get" | "apt" | "aptitude")
}

/// Whether a command is apt's with this verb: `update`.
pub(crate) fn verb(command: &Command, verb: &str) -> bool {
    is_apt(command)
        && command.words[1..]
            .iter()
            .find(|word| !word.text.starts_with('-'))
            .is_some_and(|word| word.text == verb)
}

/// The name of a package without version, release or architecture: `python3.12` of
/// `python3.12=3.12.3-1/noble`.
pub(crate) fn name(word: &Word) -> &str {
    word.text.split(['=', '/', ':']).next().unwrap_or_default()
}
