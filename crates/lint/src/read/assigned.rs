//! The variables to which a script gives a value.

use std::collections::BTreeSet;

use super::dockerfile::command::{Command, assignment};
use super::script::Script;

/// A variable that a script sets for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assigned {
    pub name: String,
    /// Where, from 1.
    pub line: usize,
    /// Its value as written, without quotes; nothing for what a loop or `read` sets.
    pub value: Option<String>,
    /// Whether programs that the script starts get it.
    pub exported: bool,
}

/// The variables that a script sets, in order.
pub(crate) fn of_script(script: &Script) -> Vec<Assigned> {
    let all = script.commands.iter().any(|one| {
        one.program() == "set" && (one.has("-a") || one.has("allexport") || one.has("-o allexport"))
    });
    let exports: BTreeSet<&String> = script.commands.iter().flat_map(|command| &command.exports).collect();
    let mut found = of_commands(&script.commands);
    for one in &mut found {
        one.exported = all || exports.contains(&one.name);
    }
    found
}

/// The variables that commands set in their shell; none of them is exported.
pub(crate) fn of_commands(commands: &[Command]) -> Vec<Assigned> {
    let mut found = Vec::new();
    for command in commands {
        let mut add = |name: &str, value: Option<String>| {
            let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            if !name.is_empty() && name.chars().all(fits) {
                let line = command.line;
                found.push(Assigned { name: name.to_owned(), line, value, exported: false });
            }
        };
        if command.words.is_empty() {
            command.sets.iter().for_each(|(name, word)| add(name, Some(word.text.clone())));
            continue;
        }
        let rest = || command.words[1..].iter().filter(|word| !word.text.starts_with('-'));
        match command.words[0].text.as_str() {
            "for" | "select" => rest().take(1).for_each(|word| add(&word.text, None)),
            "read" | "mapfile" | "readarray" => rest().for_each(|word| add(&word.text, None)),
            "printf" if command.word(1) == "-v" => rest().take(1).for_each(|word| add(&word.text, None)),
            "local" | "readonly" | "typeset" | "declare" => {
                rest().filter_map(assignment).for_each(|(name, word)| add(&name, Some(word.text)));
            }
            _ => {}
        }
    }
    found
}

/// The names that a text uses as `$NAME` or `${NAME…}` without a default of its own, where its shell would
/// replace them: outside of single quotes, without a backslash.
pub(crate) fn used(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let (mut single, mut double) = (false, false);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if !single => at += 1,
            b'\'' if !double => single = !single,
            b'"' if !single => double = !double,
            b'$' if !single => {
                let rest = &text[at + 1..];
                let (braces, rest) = rest.strip_prefix('{').map_or((false, rest), |inner| (true, inner));
                let rest = rest.trim_start_matches(['#', '!']);
                let end = rest
                    .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
                    .unwrap_or(rest.len());
                let name = &rest[..end];
                let behind = &rest[end..];
                let own =
                    braces && [":-", "-", ":=", "=", ":+", "+"].iter().any(|sign| behind.starts_with(sign));
                if !own && name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
                    found.insert(name.to_owned());
                }
                // `${A:+:$A}`: what is inside counts only where it is set.
                if own && behind.trim_start_matches(':').starts_with('+') {
                    at += closing(&text[at..]);
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// How long a text is up to the brace that closes its first one.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth <= 1 => return at,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::testing::catalog;

    #[test]
    fn names_and_values() {
        let text =
            "A=1\nexport B=$A\nfor h in a b; do c; done\nwhile read -r x y; do d; done\nC=2 e\nlocal D=4\n";
        let found = of_script(&Script::read(catalog(), text));
        let shown: Vec<_> =
            found.iter().map(|one| (one.name.as_str(), one.value.as_deref(), one.exported)).collect();
        assert_eq!(
            shown,
            [
                ("A", Some("1"), false),
                ("B", Some("$A"), true),
                ("h", None, false),
                ("x", None, false),
                ("y", None, false),
                ("D", Some("4"), false),
            ]
        );
    }

    #[test]
    fn uses() {
        let names = |text: &str| used(text).into_iter().collect::<Vec<_>>();
        assert_eq!(
            names("a $B ${C} ${D:-1} ${X:+:$X}$Z '$E' \"$F '$G'\" \\$H ${#I[@]} $1 é$J"),
            ["B", "C", "F", "G", "I", "J", "Z"]
        );
    }
}
