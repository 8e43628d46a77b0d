//! Matches one line against all signatures: first all literals at once, then the patterns of those whose
//! literal is in the line.

use std::sync::OnceLock;

use super::error_like;
use super::expression::Expression;
use super::literals::Literals;
use super::message;
use catalog::signatures::{self, Signature};

/// A signature that a line matches.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The signature.
    pub signature: &'static Signature,
    /// Its groups that the line told: name and text.
    pub captures: Vec<(&'static str, String)>,
}

impl Hit {
    /// Its sentence, with what the line told.
    pub fn message(&self) -> String {
        let template = &self.signature.message;
        message::fill(template, &|name| self.captured(name)).unwrap_or_else(|| message::general(template))
    }

    /// What the line told for a group.
    pub fn captured(&self, name: &str) -> Option<&str> {
        self.captures.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }
}

/// What a line is.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// The signatures that it matches, by their places in [`signatures::all`], ascending.
    signatures: Box<[u16]>,
    /// Whether it looks like an error.
    pub error_like: bool,
    /// Whether the lines after it belong to it.
    pub opens: bool,
}

impl Line {
    /// The signatures that it matches, by their places in [`signatures::all`], ascending.
    pub fn signatures(&self) -> impl Iterator<Item = usize> {
        self.signatures.iter().map(|number| usize::from(*number))
    }

    /// Whether it matches any.
    pub fn is_known(&self) -> bool {
        !self.signatures.is_empty()
    }

    /// What it says to each of these, as [`scan`] orders them; `line` is the line that this was made of.
    pub fn hits(&self, line: &str) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self.signatures().filter_map(|number| hit(number, line)).collect();
        hits.sort_by(|one, other| {
            let key = |hit: &Hit| (hit.signature.role, std::cmp::Reverse(hit.signature.severity));
            key(one).cmp(&key(other)).then_with(|| one.signature.id.cmp(other.signature.id))
        });
        hits
    }
}

/// The expression of a signature, compiled when its literal is first met; `None` only if it is wrong, which a
/// test rules out.
fn pattern(number: usize) -> Option<&'static Expression> {
    static PATTERNS: OnceLock<Vec<OnceLock<Option<Expression>>>> = OnceLock::new();
    let patterns = PATTERNS.get_or_init(|| signatures::all().iter().map(|_| OnceLock::new()).collect());
    patterns[number].get_or_init(|| Expression::compiled(signatures::all()[number].pattern).ok()).as_ref()
}

/// The signatures that a line matches: roots first, then symptoms, then context; of the same role the worse
/// first, then by id.
pub fn scan(text: &str) -> Vec<Hit> {
    line(text).hits(text)
}

/// Where in a line the words stand that tell most, in bytes from its start.
pub fn offset(line: &str) -> Option<usize> {
    let strongest = scan(line).first()?.signature;
    let number = signatures::all().iter().position(|one| std::ptr::eq(one, strongest))?;
    let start = pattern(number)?.start(line)?;
    // Not inside of a character.
    (0..=start).rev().find(|at| line.is_char_boundary(*at))
}

/// What a line is: all literals are looked for at once, then the expressions of those that are there.
pub fn line(line: &str) -> Line {
    let literals = Literals::get();
    let (mut signatures, mut words) = (Vec::new(), Vec::new());
    literals.each(line.as_bytes(), |occurrence| {
        signatures.extend_from_slice(literals.owners(occurrence.literal));
        if literals.is_word(occurrence.literal) {
            words.push(occurrence.start..occurrence.end);
        }
    });
    signatures.sort_unstable();
    signatures.dedup();
    signatures.retain(|number| pattern(usize::from(*number)).is_some_and(|pattern| pattern.is_match(line)));
    Line {
        signatures: signatures.into(),
        error_like: !words.is_empty() && error_like::any_counts(line, &words),
        opens: error_like::starts_block(line),
    }
}

/// What a line says to a signature, by its place in [`signatures::all`]; `None` where it does not match.
pub fn hit(number: usize, line: &str) -> Option<Hit> {
    let signature = &signatures::all()[number];
    let pattern = pattern(number)?;
    if signature.captures.is_empty() {
        return pattern.is_match(line).then(|| Hit { signature, captures: Vec::new() });
    }
    let groups = pattern.captures(line)?;
    let captured = |name: &&'static str| {
        // A group of so many bytes may end inside of a character.
        let text = String::from_utf8_lossy(&line.as_bytes()[groups.get_group_by_name(name)?.range()]);
        Some((*name, text.trim_matches(|c: char| c.is_whitespace() || c == '\u{fffd}').to_owned()))
    };
    Some(Hit { signature, captures: signature.captures.iter().filter_map(captured).collect() })
}
