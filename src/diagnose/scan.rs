//! One line against all signatures: first all their literals at once, then the expressions of those whose literal is there.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::Regex;

use super::expression::compiled;
use super::literals::Literals;
use super::read::error_like;
use super::says;
use crate::catalog::signatures::{self, Signature};

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
    pub fn says(&self) -> String {
        let template = &self.signature.says;
        says::fill(template, &|name| self.captured(name)).unwrap_or_else(|| says::general(template))
    }

    /// What the line told for a group.
    pub fn captured(&self, name: &str) -> Option<&str> {
        self.captures.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }
}

/// What a line is.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// The signatures that it matches, as [`scan`] orders them.
    pub hits: Vec<Hit>,
    /// Their places in [`signatures::all`], ascending.
    pub signatures: Vec<usize>,
    /// Whether it looks like an error.
    pub error_like: bool,
    /// Whether the lines after it belong to it.
    pub opens: bool,
}

/// The expression of a signature, compiled when its literal is first met; `None` only if it is wrong, which a test rules out.
fn pattern(number: usize) -> Option<&'static Regex> {
    static PATTERNS: OnceLock<Vec<OnceLock<Option<Regex>>>> = OnceLock::new();
    let patterns = PATTERNS.get_or_init(|| signatures::all().iter().map(|_| OnceLock::new()).collect());
    patterns[number].get_or_init(|| compiled(signatures::all()[number].pattern).ok()).as_ref()
}

/// The signatures that a line matches: roots first, then symptoms, then context; of the same role the worse first, then by
/// id.
pub fn scan(line: &str) -> Vec<Hit> {
    self::line(line).hits
}

/// Where in a line the words stand that tell most, in bytes from its start.
pub fn place(line: &str) -> Option<usize> {
    let told = scan(line).first()?.signature;
    let number = signatures::all().iter().position(|one| std::ptr::eq(one, told))?;
    let start = pattern(number)?.find(line.as_bytes())?.start();
    // Not inside of a character.
    (0..=start).rev().find(|at| line.is_char_boundary(*at))
}

/// What a line is.
pub fn line(line: &str) -> Line {
    candidates(line).line(line)
}

/// What a line may be, by the literals in it.
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    /// Places in [`signatures::all`], ascending.
    pub signatures: Vec<usize>,
    /// Where words stand that make a line look like an error.
    words: Vec<Range<usize>>,
}

/// What a line may be: all literals are looked for at once.
pub fn candidates(line: &str) -> Candidates {
    let literals = Literals::get();
    let (mut signatures, mut words) = (Vec::new(), Vec::new());
    literals.each(line.as_bytes(), |place| {
        signatures.extend(literals.owners(place.literal));
        if literals.is_word(place.literal) {
            words.push(place.start..place.end);
        }
    });
    signatures.sort_unstable();
    signatures.dedup();
    Candidates { signatures, words }
}

impl Candidates {
    /// What the line is.
    pub fn line(&self, line: &str) -> Line {
        let matched = self.signatures.iter().filter_map(|number| Some((*number, hit(*number, line)?)));
        let (signatures, mut hits): (Vec<usize>, Vec<Hit>) = matched.unzip();
        hits.sort_by(|one, other| {
            let key = |hit: &Hit| (hit.signature.role, std::cmp::Reverse(hit.signature.severity));
            key(one).cmp(&key(other)).then_with(|| one.signature.id.cmp(other.signature.id))
        });
        let error_like = !self.words.is_empty() && error_like::any_counts(line, &self.words);
        Line { hits, signatures, error_like, opens: error_like::starts_block(line) }
    }

    /// The first of them, among those that are asked for, that the line matches.
    pub fn first(&self, line: &str, asked: impl Fn(usize) -> bool) -> Option<usize> {
        let matches = |number: &usize| {
            asked(*number) && pattern(*number).is_some_and(|pattern| pattern.is_match(line.as_bytes()))
        };
        self.signatures.iter().copied().find(matches)
    }
}

fn hit(number: usize, line: &str) -> Option<Hit> {
    let signature = &signatures::all()[number];
    let pattern = pattern(number)?;
    if signature.captures.is_empty() {
        return pattern.is_match(line.as_bytes()).then(|| Hit { signature, captures: Vec::new() });
    }
    let groups = pattern.captures(line.as_bytes())?;
    let told = |name: &&'static str| {
        // A group of so many bytes may end inside of a character.
        let text = String::from_utf8_lossy(groups.name(name)?.as_bytes());
        Some((*name, text.trim_matches(|c: char| c.is_whitespace() || c == '\u{fffd}').to_owned()))
    };
    Some(Hit { signature, captures: signature.captures.iter().filter_map(told).collect() })
}
