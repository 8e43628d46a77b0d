//! Matches one line against all signatures: first all literals at once, then the patterns of those whose
//! literal is in the line.

use std::cmp::Reverse;

use super::error_like;
use super::literals::Literals;
use super::message;
use catalog::Catalog;
use catalog::severity::Severity;
use catalog::signatures::{Role, Signature, Signatures};

/// A signature that a line matches.
#[derive(Debug, Clone)]
pub struct Hit {
    pub signature: &'static Signature,
    /// Its groups that matched in the line: name and text.
    pub captures: Vec<(&'static str, String)>,
}

impl Hit {
    /// Its sentence, with the values of the line.
    pub fn message(&self) -> String {
        let template = &self.signature.message;
        message::fill(template, &|name| self.captured(name)).unwrap_or_else(|| message::general(template))
    }

    /// What a group matched in the line.
    pub fn captured(&self, name: &str) -> Option<&str> {
        self.captures.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }

    /// Roots first, then symptoms, then context; of the same role the worse first, then by id.
    fn rank(&self) -> (Role, Reverse<Severity>, &'static str) {
        (self.signature.role, Reverse(self.signature.severity), self.signature.id)
    }
}

/// What a line is.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// The signatures that it matches, by their places in [`Signatures::all`], ascending.
    signatures: Box<[u16]>,
    /// Whether it looks like an error.
    pub error_like: bool,
    /// Whether the lines after it belong to it.
    pub opens: bool,
}

impl Line {
    /// The signatures that it matches, by their places in [`Signatures::all`], ascending.
    pub fn signatures(&self) -> impl Iterator<Item = usize> {
        self.signatures.iter().map(|number| usize::from(*number))
    }

    /// Whether it matches any.
    pub fn is_known(&self) -> bool {
        !self.signatures.is_empty()
    }
}

/// Matches lines against the signatures of a catalog.
#[derive(Debug, Clone, Copy)]
pub struct Scanner {
    signatures: &'static Signatures,
}

impl Scanner {
    /// For the signatures of this catalog.
    pub fn new(catalog: &'static Catalog) -> Scanner {
        Scanner { signatures: catalog.signatures() }
    }

    /// The signatures that a line matches, the one that explains most first.
    pub fn scan(self, text: &str) -> Vec<Hit> {
        self.hits(&self.line(text), text)
    }

    /// Where in a line the words are that tell most, in bytes from its start.
    pub fn offset(self, line: &str) -> Option<usize> {
        let hits = self.line(line);
        let hits = hits.signatures().filter_map(|number| Some((number, self.hit(number, line)?)));
        let (strongest, _) = hits.min_by_key(|(_, hit)| hit.rank())?;
        let start = self.signatures.expression(strongest)?.start(line)?;
        // Not inside of a character.
        (0..=start).rev().find(|at| line.is_char_boundary(*at))
    }

    /// What a line is: all literals are looked for at once, then the expressions of those that are there.
    pub fn line(self, line: &str) -> Line {
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
        let matches = |number: &u16| self.signatures.expression((*number).into());
        signatures.retain(|number| matches(number).is_some_and(|expression| expression.is_match(line)));
        Line {
            signatures: signatures.into(),
            error_like: !words.is_empty() && error_like::any_counts(line, &words),
            opens: error_like::starts_block(line),
        }
    }

    /// What a line says to each signature that it matches, as [`Scanner::scan`] orders them; `line` was made
    /// of `text`.
    pub fn hits(self, line: &Line, text: &str) -> Vec<Hit> {
        let mut hits: Vec<Hit> = line.signatures().filter_map(|number| self.hit(number, text)).collect();
        hits.sort_by_key(Hit::rank);
        hits
    }

    /// What a line says to a signature, by its place in [`Signatures::all`]; `None` where it does not match.
    pub fn hit(self, number: usize, line: &str) -> Option<Hit> {
        let signature = &self.signatures.all()[number];
        let expression = self.signatures.expression(number)?;
        if signature.captures.is_empty() {
            return expression.is_match(line).then(|| Hit { signature, captures: Vec::new() });
        }
        let groups = expression.captures(line)?;
        let captured = |name: &&'static str| {
            // A group of so many bytes may end inside of a character.
            let text = String::from_utf8_lossy(&line.as_bytes()[groups.get_group_by_name(name)?.range()]);
            Some((*name, text.trim_matches(|c: char| c.is_whitespace() || c == '\u{fffd}').to_owned()))
        };
        Some(Hit { signature, captures: signature.captures.iter().filter_map(captured).collect() })
    }
}
