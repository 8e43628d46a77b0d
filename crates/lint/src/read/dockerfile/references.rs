//! The variables that an instruction uses: `$X`, `${X}`.

use std::collections::BTreeSet;

use super::instructions::Instruction;
use super::text::Text;

/// One use of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    pub name: String,
    pub line: usize,
    /// Whether it says what holds where the variable has no value: `${X:-y}`, `${X:+y}`, `${X:?}`.
    pub defaulted: bool,
    /// Whether it stands right behind `==`, as the version of a package does.
    pub pins: bool,
}

/// The variables that an instruction uses and that its own script does not set; in RUN those in single
/// quotes are another program's.
pub(crate) fn references(one: &Instruction) -> Vec<Reference> {
    let shell = matches!(one.keyword.as_str(), "RUN" | "CMD" | "ENTRYPOINT" | "HEALTHCHECK");
    if (shell && one.json.is_some()) || matches!(one.keyword.as_str(), "ONBUILD" | "SHELL" | "MAINTAINER") {
        return Vec::new();
    }
    // What a container is started with may be given to it.
    if matches!(one.keyword.as_str(), "CMD" | "ENTRYPOINT" | "HEALTHCHECK") {
        return Vec::new();
    }
    let documents = one.heredocs.iter().filter(|heredoc| shell || heredoc.expands);
    let texts: Vec<&Text> =
        std::iter::once(&one.text).chain(documents.map(|heredoc| &heredoc.text)).collect();
    let set: BTreeSet<&str> = match shell {
        true => texts.iter().flat_map(|text| assigned(&text.text)).collect(),
        false => BTreeSet::new(),
    };
    let mut found: Vec<Reference> = Vec::new();
    for flag in &one.flags {
        found.extend(used(&Text::in_line(flag, one.line)));
    }
    texts.iter().for_each(|text| found.extend(used(text)));
    found.retain(|reference| !set.contains(reference.name.as_str()));
    found
}

fn used(text: &Text) -> Vec<Reference> {
    let (mut found, mut single, mut double) = (Vec::new(), false, false);
    let bytes = text.text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if !single => at += 1,
            b'\'' if !double => single = !single,
            b'"' if !single => double = !double,
            b'$' if !single => {
                let rest = text.text.get(at + 1..).unwrap_or_default();
                let brace = rest.starts_with('{');
                let body = rest.strip_prefix('{').unwrap_or(rest);
                let end = body
                    .find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
                    .unwrap_or(body.len());
                let name = &body[..end];
                if name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
                    let defaulted = brace && body[end..].starts_with([':', '-', '+', '?']);
                    let pins = text.text[..at].ends_with("==");
                    found.push(Reference { name: name.to_owned(), line: text.line_at(at), defaulted, pins });
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Names that a script may give a value itself.
fn assigned(script: &str) -> Vec<&str> {
    let words = script.split(|letter: char| letter.is_whitespace() || ";&|(){}\"'".contains(letter));
    let mut before = "";
    let mut names = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        if let Some((name, _)) = word.split_once('=') {
            names.push(name);
        }
        if matches!(before, "for" | "read" | "-r" | "export" | "-v") {
            names.push(word);
        }
        before = word;
    }
    names
}
