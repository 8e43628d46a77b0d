//! Where in a block a line may mean something: every literal of the signatures and every word of error-looking lines, searched at once.
//!
//! Of a text only every fourth place is looked at, as a word of four bytes. Each literal is longer than that, so that at least one such word
//! lies in it wherever it stands: these words, at four successive places of each literal, are in a bitmap that fits into the processor's first
//! cache. What passes is compared with the literals that have the word. That finds every occurrence. It is several
//! times faster than aho-corasick's automata or its packed searcher on parts of the literals: docs/measurements/diagnose.md.

use std::sync::OnceLock;

use super::read::error_like::WORDS;
use crate::catalog::signatures;

/// Bytes looked at together, and from one place that is looked at to the next.
const WORD: usize = 4;

/// A literal must be so long; see [`Literals::places`].
pub const SHORTEST: usize = 6;

/// The bitmap has two to the power of so many bits: 32 KiB. With fewer, more words that no literal has pass; with more it leaves the first cache.
const BITS: u32 = 18;

/// Slots of the table of words, by the same hash.
const SLOTS: u32 = 14;

/// What healthy logs are full of: words out of these are poor signs of a literal.
const COMMON: &[&str] = &[
    " loss", "token", " memory", " step", " time", "time\":", " train", "default", " epoch", " batch",
    " rank", " node", " INFO ", "tensor", " model", "ample", "tion ", "ing ", "able ", " for ", " from ",
    " to ", " the ", " with", "docker", " state", " stat", ": st", "port", "http", "version", "nvidia",
    "cuda", "NCCL ", "torch", "python", ".py:", ".py\"", ".py'", "lib/", "packages", "level=", "exit",
    "med ", "led ", "ted ", " pro", "proc", "name\":", "size", "enter", "data", "file", "/usr/", "2026",
    "channel", "via ", "worker", "cess", "group", "grad", "in: ", "back", "erro", "ror: ", "stall", "ibut",
];

/// A word of a literal: which literal, and where in it; -1: the first byte of the word stands before it and may be any. Its length and its
/// ends tell most texts from it before its own bytes are fetched.
#[derive(Debug, Clone, Copy)]
struct Entry {
    word: u32,
    literal: u16,
    offset: i16,
    length: u16,
    first: u8,
    last: u8,
}

/// Where a literal stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its number.
    pub literal: usize,
    /// Where it starts.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// All literals.
#[derive(Debug)]
pub struct Literals {
    texts: Vec<&'static str>,
    /// By literal: the signatures that have it.
    owners: Vec<Vec<usize>>,
    /// By literal: whether it makes a line look like an error.
    words: Vec<bool>,
    longest: usize,
    bitmap: Box<[u64; 1 << (BITS - 6)]>,
    /// Where in `entries` those of a word start; found by its hash, else in the slot after it.
    slots: Vec<Option<u16>>,
    /// Ordered by word.
    entries: Vec<Entry>,
}

impl Literals {
    /// Those of the catalog.
    pub fn get() -> &'static Literals {
        static LITERALS: OnceLock<Literals> = OnceLock::new();
        LITERALS.get_or_init(|| {
            let of_signatures = signatures::all()
                .iter()
                .enumerate()
                .flat_map(|(number, one)| one.literals.iter().map(move |text| (*text, Some(number))));
            Literals::new(of_signatures.chain(WORDS.iter().map(|word| (*word, None))).collect())
        })
    }

    /// Literals with the signatures that have them; without one: a word of an error.
    fn new(mut of: Vec<(&'static str, Option<usize>)>) -> Literals {
        of.sort_unstable();
        let mut literals = Literals {
            texts: Vec::new(),
            owners: Vec::new(),
            words: Vec::new(),
            longest: 0,
            bitmap: Box::new([0; 1 << (BITS - 6)]),
            slots: vec![None; 1 << SLOTS],
            entries: Vec::new(),
        };
        for (text, owner) in of {
            if literals.texts.last() != Some(&text) {
                literals.texts.push(text);
                literals.owners.push(Vec::new());
                literals.words.push(false);
            }
            match owner {
                Some(number) => literals.owners.last_mut().into_iter().for_each(|owners| owners.push(number)),
                None => literals.words.last_mut().into_iter().for_each(|word| *word = true),
            }
        }
        literals.longest = literals.texts.iter().map(|text| text.len()).max().unwrap_or(0);
        literals.index();
        literals
    }

    /// Fills the bitmap and the table.
    fn index(&mut self) {
        let mut common: Vec<u32> =
            COMMON.iter().flat_map(|common| common.as_bytes().windows(WORD)).map(word).collect();
        common.sort_unstable();
        for (number, text) in self.texts.iter().enumerate() {
            self.entries.extend(places(number as u16, text.as_bytes(), &common));
        }
        self.entries.sort_unstable_by_key(|entry| (entry.word, entry.literal, entry.offset));
        for (place, entry) in self.entries.iter().enumerate() {
            if place > 0 && self.entries[place - 1].word == entry.word {
                continue;
            }
            let (at, bit) = bit(entry.word);
            self.bitmap[at] |= 1 << bit;
            let mut slot = slot(entry.word);
            while self.slots[slot].is_some() {
                slot = (slot + 1) % self.slots.len();
            }
            self.slots[slot] = Some(place as u16);
        }
    }

    /// The length of the longest, in bytes.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// The signatures that have a literal, by their place in [`signatures::all`].
    pub fn owners(&self, literal: usize) -> &[usize] {
        &self.owners[literal]
    }

    /// Whether a literal makes a line look like an error.
    pub fn is_word(&self, literal: usize) -> bool {
        self.words[literal]
    }

    /// Every place of a text where a literal stands, not in order.
    pub fn each(&self, text: &[u8], mut found: impl FnMut(Place)) {
        let mut at = 0;
        while let Some(word) = self.next_word(text, at) {
            self.literals_at(text, word, &mut found);
            at = word + WORD;
        }
    }

    /// The first literal that starts at or after `from` and before `limit`, of several there the longest.
    pub fn next(&self, block: &[u8], from: usize, limit: usize) -> Option<Place> {
        let block = &block[..block.len().min(limit + self.longest)];
        let mut first: Option<Place> = None;
        let mut at = from.saturating_sub(1) / WORD * WORD;
        while let Some(word) = self.next_word(block, at) {
            // One that starts before another may have its word behind it, though not farther than its length.
            if first.is_some_and(|first| word > first.start + self.longest) {
                break;
            }
            self.literals_at(block, word, &mut |place| {
                let sooner = |first: Place| {
                    place.start < first.start || place.start == first.start && place.end > first.end
                };
                if (from..limit).contains(&place.start) && first.is_none_or(sooner) {
                    first = Some(place);
                }
            });
            at = word + WORD;
        }
        first
    }

    /// The next place from `from` on, which is a multiple of four, whose word is in the bitmap.
    fn next_word(&self, text: &[u8], from: usize) -> Option<usize> {
        const TOGETHER: usize = 8;
        let passes = |bytes: &[u8]| {
            let (at, bit) = bit(word(bytes));
            self.bitmap[at] >> bit & 1
        };
        let mut at = from;
        let groups = text.get(from..)?.chunks_exact(TOGETHER * WORD);
        let rest = groups.remainder();
        for group in groups {
            let mut bits = 0;
            for (place, word) in group.chunks_exact(WORD).enumerate() {
                bits |= passes(word) << place;
            }
            if bits != 0 {
                return Some(at + bits.trailing_zeros() as usize * WORD);
            }
            at += TOGETHER * WORD;
        }
        rest.chunks_exact(WORD).position(|word| passes(word) == 1).map(|place| at + place * WORD)
    }

    /// The literals that have the word at a place, and stand there.
    fn literals_at(&self, text: &[u8], at: usize, found: &mut impl FnMut(Place)) {
        let word = word(&text[at..]);
        let mut slot = slot(word);
        let first = loop {
            let Some(place) = self.slots[slot] else { return };
            if self.entries[usize::from(place)].word == word {
                break usize::from(place);
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
                found(Place { literal: entry.literal.into(), start, end });
            }
        }
    }
}

/// The first four bytes.
fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn hash(word: u32) -> u32 {
    word.wrapping_mul(0x9e37_79b1)
}

/// Where in the bitmap a word is.
fn bit(word: u32) -> (usize, u32) {
    let hash = hash(word) >> (32 - BITS);
    ((hash >> 6) as usize, hash & 63)
}

fn slot(word: u32) -> usize {
    (hash(word) >> (32 - SLOTS)) as usize
}

/// Words of a literal at four successive places, so that one of them is looked at wherever the literal starts: the rarest four. A literal
/// of six bytes has three such places; there the fourth is the one before it, with any byte before the first three of the literal.
fn places(literal: u16, text: &[u8], common: &[u32]) -> Vec<Entry> {
    let entry = |word: u32, offset: i16| Entry {
        word,
        literal,
        offset,
        length: text.len() as u16,
        first: text[0],
        last: text[text.len() - 1],
    };
    let at = |offset: usize| entry(word(&text[offset..]), offset as i16);
    let costs: Vec<u64> = text.windows(WORD).map(|word| commonness(word, common)).collect();
    if costs.len() >= WORD {
        let cost = |start: &usize| costs[*start..start + WORD].iter().sum::<u64>();
        let start = (0..=costs.len() - WORD).min_by_key(cost).unwrap_or(0);
        return (start..start + WORD).map(at).collect();
    }
    let before = (0..=u8::MAX).map(|any| entry(u32::from_le_bytes([any, text[0], text[1], text[2]]), -1));
    (0..SHORTEST - WORD + 1).map(at).chain(before).collect()
}

/// How often a word is to be expected in a log; the numbers matter relative to each other alone. `common`: words of healthy logs, sorted.
fn commonness(bytes: &[u8], common: &[u32]) -> u64 {
    let listed = common.binary_search(&word(bytes)).is_ok();
    // The product of how often each byte is, of 256 at most.
    let bytes = bytes.iter().map(|byte| match byte {
        b' ' | b'e' => 20,
        b'0'..=b'9' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 11,
        b'l' | b'd' | b'c' | b'm' | b'p' | b'u' => 6,
        b'a'..=b'z' => 3,
        b'.' | b'/' | b':' | b'-' | b'_' | b'=' | b',' => 4,
        b'A'..=b'Z' => 2,
        _ => 1,
    });
    bytes.product::<u64>() + if listed { 1 << 20 } else { 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every place, by looking at each.
    fn slowly(literals: &Literals, text: &[u8]) -> Vec<(usize, usize)> {
        let mut places = Vec::new();
        for start in 0..text.len() {
            for (number, literal) in literals.texts.iter().enumerate() {
                if text[start..].starts_with(literal.as_bytes()) {
                    places.push((start, number));
                }
            }
        }
        places
    }

    fn quickly(literals: &Literals, text: &[u8]) -> Vec<(usize, usize)> {
        let mut places = Vec::new();
        literals.each(text, |place| places.push((place.start, place.literal)));
        places.sort_unstable();
        places
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
        let literals = &Literals::get().texts;
        let piece = prop_oneof![
            2 => proptest::sample::select(literals.clone()).prop_map(|text| text.as_bytes().to_vec()),
            1 => (proptest::sample::select(literals.clone()), 1_usize..8)
                .prop_map(|(text, cut)| text.as_bytes()[cut.min(text.len())..].to_vec()),
            2 => proptest::collection::vec(any::<u8>(), 0..9),
            1 => "[a-zA-Z :]{0,20}".prop_map(String::into_bytes),
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        #[test]
        fn as_if_every_place_were_looked_at(text in text(), from in 0_usize..60, limit in 0_usize..200) {
            let literals = Literals::get();
            let places = slowly(literals, &text);
            prop_assert_eq!(&quickly(literals, &text), &places);
            let (from, limit) = (from.min(text.len()), limit.min(text.len()));
            let first = places.iter().filter(|(start, _)| (from..limit).contains(start)).map(|(start, _)| *start).min();
            let next = literals.next(&text, from, limit);
            prop_assert_eq!(next.map(|place| place.start), first);
            if let Some(next) = next {
                let longest = places.iter().filter(|(start, _)| *start == next.start).map(|(_, number)| literals.texts[*number].len()).max();
                prop_assert_eq!(Some(next.end - next.start), longest);
            }
        }
    }
}
