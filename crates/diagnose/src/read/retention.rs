//! What is kept of what is found: the first and the last lines of each kind, in bounded memory.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::Found;
use crate::scan::{Hit, Line, Scanner};

/// Of lines with the same signature and captures, so many first and last ones are kept.
const FIRST: usize = 32;
const LAST: usize = 4;

/// The same of lines that only look like an error, where lines are alike that differ in digits alone.
const FIRST_ALIKE: usize = 8;
const LAST_ALIKE: usize = 2;

/// Context lines are kept for this many first lines of a kind.
const BESIDE: usize = 2;

/// A signature may have so many different captures before the rest counts as one kind; lines without a
/// signature so many shapes.
const KINDS: usize = 64;
const SHAPES: usize = 512;

/// After this many lines of a signature only its last lines are kept, whatever they capture: a log that
/// repeats the same line a million times must not fill memory.
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
    last: VecDeque<(u64, Vec<u8>)>,
}

/// A line that is kept. What the signatures say of it is asked when all has been read: most lines are let go
/// before.
#[derive(Debug, Clone)]
struct Kept {
    number: u64,
    text: Vec<u8>,
    line: Arc<Line>,
    around: Neighbors,
    after: Vec<String>,
    /// How many kinds want it.
    wanted: usize,
    /// About how much memory it takes, in bytes, with what its signatures will say of it.
    size: usize,
}

/// Context lines of a kept line.
#[derive(Debug, Clone, Default)]
pub struct Neighbors {
    /// Those before it.
    pub before: Vec<String>,
    /// Those after it.
    pub next: Vec<String>,
}

/// What is kept of one source.
#[derive(Debug, Clone, Default)]
pub struct Keeper {
    /// By order of finding.
    kept: HashMap<u64, Kept, RandomState>,
    kinds: HashMap<u64, Kind, RandomState>,
    /// How many different kinds a signature has so far, by its place; the first: lines without one.
    different: Vec<usize>,
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
    /// Adds a line with hits, or one that looks like an error; `kinds` are its [`kinds`]. Its key, by which
    /// lines after it can be added, and whether its neighbours are to be added too: they are taken of the
    /// first lines of a kind alone, as long as there is much room.
    pub fn add(&mut self, number: u64, text: &[u8], line: &Arc<Line>, kinds: &[u64]) -> (u64, bool) {
        let key = self.next;
        self.next += 1;
        let (first, last, most) = match line.is_known() {
            true => (FIRST, LAST, KINDS),
            false => (FIRST_ALIKE, LAST_ALIKE, SHAPES),
        };
        let (full, much_room) = (self.bytes > ENOUGH, self.bytes <= ENOUGH / 2);
        let mut is_new = false;
        let wanted = kinds.len();
        let size = 2 * text.len() + 256 * (1 + wanted);
        let kept = Kept {
            number,
            text: text.to_vec(),
            line: Arc::clone(line),
            around: Neighbors::default(),
            after: Vec::new(),
            wanted,
            size,
        };
        self.bytes += size;
        self.kept.insert(key, kept);
        let mut signatures = line.signatures();
        for kind in kinds {
            let kind = self.kind(signatures.next(), *kind, most);
            let kind = self.kinds.entry(kind).or_default();
            if kind.first < first && !full {
                kind.first += 1;
                is_new |= kind.first <= BESIDE;
                continue;
            }
            kind.last.push_back(key);
            if kind.last.len() > last
                && let Some(oldest) = kind.last.pop_front()
            {
                self.release(oldest);
            }
        }
        (key, is_new && much_room)
    }

    /// Whether there were so many lines of a signature (or of lines without one) that more of them are only
    /// counted.
    pub fn is_flooded(&self, signature: Option<usize>) -> bool {
        self.floods.get(slot(signature)).is_some_and(|flood| flood.lines >= PLENTY)
    }

    /// Counts a line of a signature, or of none. One that is flooded keeps its last lines: for these `text`
    /// is what they say.
    pub fn count(&mut self, signature: Option<usize>, number: u64, text: Option<&[u8]>) {
        let slot = slot(signature);
        if self.floods.len() <= slot {
            self.floods.resize(slot + 1, Flood::default());
        }
        let flood = &mut self.floods[slot];
        flood.lines = flood.lines.saturating_add(1);
        let Some(text) = text else { return };
        // The memory of the oldest is used again.
        let mut oldest = match flood.last.len() < LAST {
            true => Vec::new(),
            false => flood.last.pop_front().map(|(_, oldest)| oldest).unwrap_or_default(),
        };
        oldest.clear();
        oldest.extend_from_slice(text);
        flood.last.push_back((number, oldest));
        match signature {
            Some(_) => self.omitted += 1,
            None => self.alike += 1,
        }
    }

    /// The last lines of what is flooded, which are counted as not kept.
    pub fn last_of_floods(&mut self) -> Vec<(u64, Vec<u8>)> {
        let mut last = Vec::new();
        for (slot, flood) in self.floods.iter_mut().enumerate() {
            let count = flood.last.len() as u64;
            match slot {
                0 => self.alike -= count,
                _ => self.omitted -= count,
            }
            last.extend(flood.last.drain(..));
        }
        last
    }

    /// The context lines of the line at an index, if that is still kept.
    pub fn around(&mut self, key: u64, around: Neighbors) {
        if let Some(kept) = self.kept.get_mut(&key) {
            let lines = around.before.iter().chain(&around.next);
            let size = lines.map(|line| line.len() + 24).sum::<usize>();
            self.bytes += size;
            kept.size += size;
            kept.around = around;
        }
    }

    /// The lines that follow the one of this key, if that is still kept.
    pub fn after(&mut self, key: u64, lines: Vec<String>) {
        if let Some(kept) = self.kept.get_mut(&key) {
            let size = lines.iter().map(|line| line.len() + 24).sum::<usize>();
            self.bytes += size;
            kept.size += size;
            kept.after = lines;
        }
    }

    /// Whether lines after another one still fit.
    pub fn has_room(&self) -> bool {
        self.bytes <= ENOUGH
    }

    /// What was kept, in order.
    pub fn found(self, scanner: Scanner) -> Vec<Found> {
        // The same line is in it many times.
        let mut hits: HashMap<String, Vec<Hit>> = HashMap::new();
        let mut found = |kept: Kept| {
            let text = String::from_utf8_lossy(&kept.text).into_owned();
            let error_like = !kept.line.is_known();
            let hits = match hits.get(&text) {
                _ if error_like => Vec::new(),
                Some(hits) => hits.clone(),
                None => hits.entry(text.clone()).or_insert_with(|| scanner.hits(&kept.line, &text)).clone(),
            };
            let Neighbors { before, next } = kept.around;
            Found { number: kept.number, text, hits, error_like, before, next, after: kept.after }
        };
        let mut kept: Vec<(u64, Kept)> = self.kept.into_iter().collect();
        kept.sort_unstable_by_key(|(key, kept)| (kept.number, *key));
        kept.into_iter().map(|(_, kept)| found(kept)).collect()
    }

    /// The number of a kind of a signature; of too many different kinds the rest are one.
    fn kind(&mut self, signature: Option<usize>, kind: u64, most: usize) -> u64 {
        if self.kinds.contains_key(&kind) {
            return kind;
        }
        let slot = slot(signature);
        if self.different.len() <= slot {
            self.different.resize(slot + 1, 0);
        }
        if self.different[slot] >= most || self.bytes > ENOUGH {
            return slot as u64;
        }
        self.different[slot] += 1;
        kind
    }

    fn release(&mut self, key: u64) {
        let Some(kept) = self.kept.get_mut(&key) else { return };
        kept.wanted -= 1;
        if kept.wanted > 0 {
            return;
        }
        self.bytes -= kept.size;
        if !kept.line.is_known() {
            self.alike += 1;
        } else {
            self.omitted += 1;
        }
        self.kept.remove(&key);
    }
}

/// Where the flood of a signature is, or of lines without one.
fn slot(signature: Option<usize>) -> usize {
    signature.map_or(0, |signature| signature + 1)
}

/// What distinguishes lines: for each signature of a line what it captures; where there is none the text
/// without its digits.
pub fn kinds(scanner: Scanner, line: &Line, text: &str) -> Box<[u64]> {
    let number = |signature: Option<usize>, what: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        slot(signature).hash(&mut hasher);
        what(&mut hasher);
        hasher.finish()
    };
    if !line.is_known() {
        let words: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_digit()).collect();
        return [number(None, &|hasher| hasher.write(&words))].into();
    }
    let kind = |signature: usize| {
        let hit = scanner.hit(signature, text);
        number(Some(signature), &|hasher| hit.as_ref().map(|hit| &hit.captures).hash(hasher))
    };
    line.signatures().map(kind).collect()
}
