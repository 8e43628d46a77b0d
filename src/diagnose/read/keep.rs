//! What is kept of what is found: the first and the last lines of each kind, in bounded memory.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Found;

/// Of lines with the same signature and captures, so many first and last ones are kept.
const FIRST: usize = 32;
const LAST: usize = 4;

/// The same of lines that only look like an error, where lines are alike that differ in digits alone.
const FIRST_ALIKE: usize = 8;
const LAST_ALIKE: usize = 2;

/// A signature may have so many different captures before the rest counts as one kind; lines without a signature so many shapes.
const KINDS: usize = 64;
const SHAPES: usize = 512;

/// After so many lines of a signature its last ones alone are kept, without being told apart by what they capture: a log that says the
/// same a million times is counted faster than it is understood.
const PLENTY: u32 = 1024;

/// Bytes of text kept before only the last lines of each kind go on changing.
const ENOUGH: usize = 6 << 20;

/// Lines of one kind.
#[derive(Debug, Clone, Default)]
struct Kind {
    first: usize,
    last: VecDeque<u64>,
}

/// What a signature's lines are after [`PLENTY`] of them.
#[derive(Debug, Clone, Default)]
struct Flood {
    lines: u32,
    /// Number and text.
    last: VecDeque<(u64, String)>,
}

/// What is kept of one source.
#[derive(Debug, Clone, Default)]
pub struct Keeper {
    /// By order of finding; with how many kinds want it.
    kept: BTreeMap<u64, (Found, usize)>,
    kinds: HashMap<u64, Kind>,
    /// How many different kinds a signature has so far; the empty name: lines without one.
    different: HashMap<&'static str, usize>,
    /// By the place of the signature; the first: lines without one.
    floods: Vec<Flood>,
    next: u64,
    bytes: usize,
    /// Lines with hits that were not kept.
    pub omitted: u64,
    /// Lines without hits that were not kept.
    pub alike: u64,
}

impl Keeper {
    /// Adds a line with hits, or one that looks like an error. Its place, by which lines after it can be added.
    pub fn add(&mut self, found: Found) -> u64 {
        let place = self.next;
        self.next += 1;
        let kinds: Vec<u64> = match found.hits.as_slice() {
            [] => vec![self.kind("", |hasher| shape(&found.text, hasher), SHAPES)],
            hits => hits
                .iter()
                .map(|hit| self.kind(hit.signature.id, |hasher| hit.captures.hash(hasher), KINDS))
                .collect(),
        };
        let (first, last) = if found.hits.is_empty() { (FIRST_ALIKE, LAST_ALIKE) } else { (FIRST, LAST) };
        let full = self.bytes > ENOUGH;
        self.bytes += size(&found);
        let mut wanted = 0;
        let mut unwanted = Vec::new();
        for kind in kinds {
            let kind = self.kinds.entry(kind).or_default();
            wanted += 1;
            if kind.first < first && !full {
                kind.first += 1;
                continue;
            }
            kind.last.push_back(place);
            if kind.last.len() > last {
                unwanted.extend(kind.last.pop_front());
            }
        }
        self.kept.insert(place, (found, wanted));
        for place in unwanted {
            self.release(place);
        }
        place
    }

    /// Whether there were so many lines of a signature (or of lines without one) that more of them are only counted.
    pub fn is_flooded(&self, signature: Option<usize>) -> bool {
        self.floods.get(place(signature)).is_some_and(|flood| flood.lines >= PLENTY)
    }

    /// Counts a line of a signature, or of none. One that is flooded keeps its last lines: for these `text` is what they say.
    pub fn count(&mut self, signature: Option<usize>, number: u64, text: Option<&str>) {
        let place = place(signature);
        if self.floods.len() <= place {
            self.floods.resize(place + 1, Flood::default());
        }
        let flood = &mut self.floods[place];
        flood.lines = flood.lines.saturating_add(1);
        let Some(text) = text else { return };
        // The memory of the oldest is used again.
        let mut oldest = match flood.last.len() < LAST {
            true => String::new(),
            false => flood.last.pop_front().map(|(_, oldest)| oldest).unwrap_or_default(),
        };
        oldest.clear();
        oldest.push_str(text);
        flood.last.push_back((number, oldest));
        match signature {
            Some(_) => self.omitted += 1,
            None => self.alike += 1,
        }
    }

    /// The last lines of what is flooded, which are counted as not kept.
    pub fn last_of_floods(&mut self) -> Vec<(u64, String)> {
        let mut last = Vec::new();
        for (place, flood) in self.floods.iter_mut().enumerate() {
            let count = flood.last.len() as u64;
            match place {
                0 => self.alike -= count,
                _ => self.omitted -= count,
            }
            last.extend(flood.last.drain(..));
        }
        last
    }

    /// The lines that follow the one at a place, if that is still kept.
    pub fn after(&mut self, place: u64, lines: Vec<String>) {
        if let Some((found, _)) = self.kept.get_mut(&place) {
            self.bytes += lines.iter().map(String::len).sum::<usize>();
            found.after = lines;
        }
    }

    /// Whether lines after another one still fit.
    pub fn has_room(&self) -> bool {
        self.bytes <= ENOUGH
    }

    /// What was kept, in order.
    pub fn found(self) -> Vec<Found> {
        let mut found: Vec<Found> = self.kept.into_values().map(|(found, _)| found).collect();
        found.sort_by_key(|found| found.number);
        found
    }

    /// The number of a kind of a signature; of too many different kinds the rest are one.
    fn kind(&mut self, id: &'static str, what: impl Fn(&mut DefaultHasher), most: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let rest = hasher.finish();
        what(&mut hasher);
        let kind = hasher.finish();
        if self.kinds.contains_key(&kind) {
            return kind;
        }
        let different = self.different.entry(id).or_default();
        if *different >= most || self.bytes > ENOUGH {
            return rest;
        }
        *different += 1;
        kind
    }

    fn release(&mut self, place: u64) {
        let Some((found, wanted)) = self.kept.get_mut(&place) else { return };
        *wanted -= 1;
        if *wanted > 0 {
            return;
        }
        self.bytes -= size(found).min(self.bytes);
        if found.hits.is_empty() {
            self.alike += 1;
        } else {
            self.omitted += 1;
        }
        self.kept.remove(&place);
    }
}

/// Where the flood of a signature is, or of lines without one.
fn place(signature: Option<usize>) -> usize {
    signature.map_or(0, |signature| signature + 1)
}

/// A text without its digits.
fn shape(text: &str, hasher: &mut DefaultHasher) {
    let words: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_digit()).collect();
    hasher.write(&words);
}

/// About how much memory a line takes, in bytes.
fn size(found: &Found) -> usize {
    let hits = found.hits.iter().map(|hit| {
        let captures = hit.captures.iter().map(|(_, text)| text.len() + 64).sum::<usize>();
        captures + 128
    });
    let after = found.after.iter().map(|line| line.len() + 24).sum::<usize>();
    found.text.len() + hits.sum::<usize>() + after + 256
}
