//! Where in a block a line may mean something: every literal of the signatures and every word of
//! error-looking lines, searched at once.
//!
//! Of a text only every fourth place is looked at, as a word of four bytes. Each literal is longer than that,
//! so that at least one such word lies in it wherever it stands: these words, at four successive places of
//! each literal, are in a bitmap that fits into the processor's first cache; and in a second one, which only
//! those that pass the first are looked up in. What passes is compared with the literals that have the word.
//! That finds every occurrence. It is several times faster than aho-corasick's automata or its packed
//! searcher on parts of the literals: docs/measurements/diagnose.md.

mod table;

#[cfg(test)]
pub(crate) use table::SHORTEST;
use table::{BITS, Entry, NONE, SLOTS, WORD, bit, other_bit, slot, word};

/// Where a literal is in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occurrence {
    /// Position in the list of literals, from 0.
    pub literal: usize,
    /// Where it starts.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// All literals, and where to look for them.
#[derive(Debug)]
pub struct Literals {
    texts: &'static [&'static str],
    /// By literal: the signatures that have it.
    owners: &'static [&'static [u16]],
    /// By literal: whether it makes a line look like an error.
    words: &'static [bool],
    longest: usize,
    bitmap: &'static [u64; 1 << (BITS - 6)],
    /// The same words by another hash: what passes the first by chance is stopped here, before the table is
    /// fetched.
    again: &'static [u64; 1 << (BITS - 6)],
    /// Where in `entries` those of a word start; found by its hash, else in the slot after it.
    slots: &'static [u16; 1 << SLOTS],
    /// Ordered by word.
    entries: &'static [Entry],
}

/// A constant that the build script makes of the signatures that are embedded, and of the words of
/// error-looking lines.
static ALL: Literals = include!(concat!(env!("OUT_DIR"), "/literals.rs"));

impl Literals {
    /// Those of the catalog.
    pub fn get() -> &'static Literals {
        &ALL
    }

    /// The length of the longest, in bytes.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The signatures that have a literal, by their place in `Signatures::all`.
    pub fn owners(&self, literal: usize) -> &'static [u16] {
        self.owners[literal]
    }

    /// Whether a literal makes a line look like an error.
    pub fn is_word(&self, literal: usize) -> bool {
        self.words[literal]
    }

    /// Every place of a text where a literal stands, not in order.
    pub fn each(&self, text: &[u8], mut found: impl FnMut(Occurrence)) {
        let mut at = 0;
        while let Some(word) = self.next_word(text, at) {
            self.literals_at(text, word, &mut found);
            at = word + WORD;
        }
    }

    /// A literal that starts at or after `from` and before `limit`, not always the first; none is in a
    /// line before its line.
    pub fn any(&self, block: &[u8], from: usize, limit: usize) -> Option<Occurrence> {
        let block = &block[..block.len().min(limit + self.longest)];
        let mut at = from.saturating_sub(1) / WORD * WORD;
        while let Some(word) = self.next_word(block, at) {
            let mut any = None;
            self.literals_at(block, word, &mut |occurrence| {
                if (from..limit).contains(&occurrence.start) {
                    any = Some(occurrence);
                }
            });
            if any.is_some() {
                return any;
            }
            at = word + WORD;
        }
        None
    }

    /// The first literal that starts at or after `from` and before `limit`, of several there the longest.
    pub fn next(&self, block: &[u8], from: usize, limit: usize) -> Option<Occurrence> {
        let block = &block[..block.len().min(limit + self.longest)];
        let mut first: Option<Occurrence> = None;
        let mut at = from.saturating_sub(1) / WORD * WORD;
        while let Some(word) = self.next_word(block, at) {
            // One that starts before another may have its word behind it, though not farther than its length.
            if first.is_some_and(|first| word > first.start + self.longest) {
                break;
            }
            self.literals_at(block, word, &mut |occurrence| {
                let sooner = |first: Occurrence| {
                    occurrence.start < first.start
                        || occurrence.start == first.start && occurrence.end > first.end
                };
                if (from..limit).contains(&occurrence.start) && first.is_none_or(sooner) {
                    first = Some(occurrence);
                }
            });
            at = word + WORD;
        }
        first
    }

    /// The next place from `from` on, which is a multiple of four, whose word is in both bitmaps.
    fn next_word(&self, text: &[u8], from: usize) -> Option<usize> {
        const TOGETHER: usize = 8;
        let passes = |bytes: &[u8]| {
            let (at, bit) = bit(word(bytes));
            self.bitmap[at] >> bit & 1
        };
        let passes_again = |bytes: &[u8]| {
            let (at, bit) = other_bit(word(bytes));
            self.again[at] >> bit & 1 == 1
        };
        let mut at = from;
        let groups = text.get(from..)?.chunks_exact(TOGETHER * WORD);
        let rest = groups.remainder();
        for group in groups {
            let mut bits = 0;
            for (index, word) in group.chunks_exact(WORD).enumerate() {
                bits |= passes(word) << index;
            }
            while bits != 0 {
                let index = bits.trailing_zeros() as usize * WORD;
                if passes_again(&group[index..]) {
                    return Some(at + index);
                }
                bits &= bits - 1;
            }
            at += TOGETHER * WORD;
        }
        rest.chunks_exact(WORD)
            .position(|word| passes(word) == 1 && passes_again(word))
            .map(|index| at + index * WORD)
    }

    /// The literals with this word that match at a position.
    fn literals_at(&self, text: &[u8], at: usize, found: &mut impl FnMut(Occurrence)) {
        let word = word(&text[at..]);
        let mut slot = slot(word);
        let first = loop {
            let index = self.slots[slot];
            if index == NONE {
                return;
            }
            if self.entries[usize::from(index)].word == word {
                break usize::from(index);
            }
            slot = (slot + 1) % self.slots.len();
        };
        for entry in self.entries[first..].iter().take_while(|entry| entry.word == word) {
            let Some(start) = at.checked_add_signed(-isize::from(entry.offset)) else { continue };
            let end = start + usize::from(entry.length);
            let Some(here) = text.get(start..end) else { continue };
            if (here[0], here[here.len() - 1]) == (entry.first, entry.last)
                && here == self.texts[usize::from(entry.literal)].as_bytes()
            {
                found(Occurrence { literal: entry.literal.into(), start, end });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every place, by looking at each.
    fn slowly(literals: &Literals, text: &[u8]) -> Vec<(usize, usize)> {
        let mut occurrences = Vec::new();
        for start in 0..text.len() {
            for (number, literal) in literals.texts.iter().enumerate() {
                if text[start..].starts_with(literal.as_bytes()) {
                    occurrences.push((start, number));
                }
            }
        }
        occurrences
    }

    fn quickly(literals: &Literals, text: &[u8]) -> Vec<(usize, usize)> {
        let mut occurrences = Vec::new();
        literals.each(text, |occurrence| occurrences.push((occurrence.start, occurrence.literal)));
        occurrences.sort_unstable();
        occurrences
    }

    #[test]
    fn every_literal_is_found_wherever_it_stands() {
        let literals = Literals::get();
        assert!(
            literals.entries.len() < usize::from(u16::MAX) && literals.entries.len() < (1 << SLOTS) * 3 / 4
        );
        for (number, literal) in literals.texts.iter().enumerate() {
            assert!(
                literal.len() >= SHORTEST && !literal.contains(['\n', '\r', '\0', '\u{1b}']),
                "{literal:?}"
            );
            for before in 0..9 {
                for after in [0, 1, 2, 3, 40] {
                    let text = format!("{}{literal}{}", "~".repeat(before), "~".repeat(after));
                    assert!(quickly(literals, text.as_bytes()).contains(&(before, number)), "{text}");
                    let next = literals.next(text.as_bytes(), 0, text.len()).unwrap();
                    assert_eq!((next.start, next.end), (before, before + literal.len()), "{text}");
                }
            }
        }
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let literals = Literals::get().texts;
        let piece = prop_oneof![
            2 => proptest::sample::select(literals).prop_map(|text| text.as_bytes().to_vec()),
            1 => (proptest::sample::select(literals), 1_usize..8)
                .prop_map(|(text, cut)| text.as_bytes()[cut.min(text.len())..].to_vec()),
            2 => proptest::collection::vec(any::<u8>(), 0..9),
            1 => "[a-zA-Z :]{0,20}".prop_map(String::into_bytes),
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        #[test]
        fn search_agrees_with_brute_force(text in text(), from in 0_usize..60, limit in 0_usize..200) {
            let literals = Literals::get();
            let occurrences = slowly(literals, &text);
            prop_assert_eq!(&quickly(literals, &text), &occurrences);
            let (from, limit) = (from.min(text.len()), limit.min(text.len()));
            let starts = occurrences.iter().map(|(start, _)| *start);
            let first = starts.filter(|start| (from..limit).contains(start)).min();
            let next = literals.next(&text, from, limit);
            prop_assert_eq!(next.map(|occurrence| occurrence.start), first);
            if let Some(next) = next {
                let here = occurrences.iter().filter(|(start, _)| *start == next.start);
                let longest = here.map(|(_, number)| literals.texts[*number].len()).max();
                prop_assert_eq!(Some(next.end - next.start), longest);
            }
            let any = literals.any(&text, from, limit);
            prop_assert_eq!(any.is_some(), first.is_some());
            if let (Some(any), Some(first)) = (any, first) {
                prop_assert!(occurrences.contains(&(any.start, any.literal)));
                prop_assert!((from..limit).contains(&any.start));
                prop_assert!(any.start <= first || !text[first..any.start].contains(&b'\n'));
            }
        }
    }
}
