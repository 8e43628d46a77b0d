//! Where in a block a line may mean something: every literal of the signatures and every word of error-looking lines, searched at once.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, Anchored, Input, MatchKind};

use super::read::error_like::WORDS;
use crate::catalog::signatures;

/// All literals.
#[derive(Debug)]
pub struct Literals {
    /// `None` only if they could not be compiled, which a test rules out.
    automaton: Option<AhoCorasick>,
    longest: usize,
}

impl Literals {
    /// Those of the catalog.
    pub fn get() -> &'static Literals {
        static LITERALS: OnceLock<Literals> = OnceLock::new();
        LITERALS.get_or_init(|| {
            let of_signatures = signatures::all().iter().flat_map(|one| &one.literals).map(String::as_str);
            let mut texts: Vec<&str> = of_signatures.chain(WORDS.iter().copied()).collect();
            texts.sort_unstable();
            texts.dedup();
            let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
            let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&texts).ok();
            Literals { automaton, longest }
        })
    }

    /// The length of the longest, in bytes.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Where the first literal that starts at or after `from` and before `limit` starts and ends.
    pub fn next(&self, block: &[u8], from: usize, limit: usize) -> Option<(usize, usize)> {
        let end = block.len().min(limit + self.longest);
        let input = Input::new(block).span(from.min(end)..end).anchored(Anchored::No);
        let found = self.automaton.as_ref()?.find(input)?;
        (found.start() < limit).then(|| (found.start(), found.end()))
    }
}
