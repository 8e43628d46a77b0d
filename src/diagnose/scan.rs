//! One line against all signatures: first all their literals at once, then the expressions of those whose literal is there.

use std::collections::HashMap;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::says;
use crate::catalog::signatures::{self, Signature};

/// A signature that a line matches.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The signature.
    pub signature: &'static Signature,
    /// Its groups that the line told: name and text.
    pub captures: Vec<(&'static str, String)>,
    /// Its sentence, with what the line told.
    pub says: String,
}

impl Hit {
    /// What the line told for a group.
    pub fn captured(&self, name: &str) -> Option<&str> {
        self.captures.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }
}

/// Every literal of every signature in one automaton, and the expressions, each compiled when its literal is first met.
struct Scanner {
    /// `None` only if the literals could not be compiled, which a test rules out.
    literals: Option<AhoCorasick>,
    /// By literal: the places of the signatures that have it.
    owners: Vec<Vec<usize>>,
    /// By signature.
    patterns: Vec<OnceLock<Option<Regex>>>,
}

impl Scanner {
    fn get() -> &'static Scanner {
        static SCANNER: OnceLock<Scanner> = OnceLock::new();
        SCANNER.get_or_init(|| {
            let mut owners: Vec<Vec<usize>> = Vec::new();
            let mut texts: Vec<&str> = Vec::new();
            let mut places = HashMap::new();
            for (number, signature) in signatures::all().iter().enumerate() {
                for literal in &signature.literals {
                    let place = *places.entry(literal.as_str()).or_insert_with(|| {
                        texts.push(literal);
                        owners.push(Vec::new());
                        texts.len() - 1
                    });
                    owners[place].push(number);
                }
            }
            let patterns = signatures::all().iter().map(|_| OnceLock::new()).collect();
            Scanner { literals: AhoCorasick::new(&texts).ok(), owners, patterns }
        })
    }

    fn pattern(&self, number: usize) -> Option<&Regex> {
        self.patterns[number].get_or_init(|| Regex::new(&signatures::all()[number].pattern).ok()).as_ref()
    }
}

/// The signatures that a line matches: roots first, then symptoms, then context; of the same role the worse first, then by
/// id.
pub fn scan(line: &str) -> Vec<Hit> {
    let scanner = Scanner::get();
    let Some(literals) = &scanner.literals else { return Vec::new() };
    let mut candidates: Vec<usize> = literals
        .find_overlapping_iter(line)
        .flat_map(|found| &scanner.owners[found.pattern().as_usize()])
        .copied()
        .collect();
    candidates.sort_unstable();
    candidates.dedup();
    let mut hits: Vec<Hit> = candidates.into_iter().filter_map(|number| hit(scanner, number, line)).collect();
    hits.sort_by(|one, other| {
        let key = |hit: &Hit| (hit.signature.role, std::cmp::Reverse(hit.signature.severity));
        key(one).cmp(&key(other)).then_with(|| one.signature.id.cmp(&other.signature.id))
    });
    hits
}

fn hit(scanner: &Scanner, number: usize, line: &str) -> Option<Hit> {
    let signature = &signatures::all()[number];
    let groups = scanner.pattern(number)?.captures(line)?;
    let told = |name: &&'static String| Some((name.as_str(), groups.name(name)?.as_str().trim().to_owned()));
    let captures: Vec<(&'static str, String)> =
        signature.captures.iter().filter_map(|name| told(&name)).collect();
    let value = |name: &str| captures.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str());
    let says = says::fill(&signature.says, &value).unwrap_or_else(|| says::general(&signature.says));
    Some(Hit { signature, captures, says })
}
