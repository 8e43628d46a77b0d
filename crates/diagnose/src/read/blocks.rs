//! A stream is searched block by block: line ends are looked for around matches only, and counted.

use memchr::{memchr_iter, memchr2, memrchr, memrchr2};

use super::Read;
use super::clean::Cleaner;
use super::line_cache::LineCache;
use super::lines::{Partial, Tail, Taking, shown, whole};
use super::retention::{Keeper, Neighbors};
use crate::literals::Literals;
use catalog::Catalog;

/// Sizes in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// What is held of the stream at once; at least five times `text`.
    pub block: usize,
    /// The longest text that is held against the signatures.
    pub text: usize,
    /// Of a longer one: how much before the match.
    pub before: usize,
    /// The most NUL bytes of a stream.
    pub nuls: u64,
}

/// As they are used. No log has as many NUL bytes; /proc/self/pagemap has hundreds of gigabytes.
pub const LIMITS: Limits = Limits { block: 1 << 20, text: 4096, before: 1024, nuls: 4 << 30 };

/// Lines kept at the start of a stream, and after a line that starts a block.
const HEAD: usize = 40;
const AFTER: usize = 60;

/// Context lines kept before and after a found line.
const BESIDE: usize = 4;

/// So many blocks of lines may be open at once.
const OPEN: usize = 64;

/// The head is nobody's.
const NOBODY: u64 = u64::MAX;

/// The search through one stream.
#[derive(Debug, Clone)]
pub struct Blocks {
    limits: Limits,
    /// What is held, up to `length`: what has been searched and may be needed as context, then what has not.
    block: Vec<u8>,
    length: usize,
    /// Where the part starts that has not been searched.
    from: usize,
    /// Up to where texts have been held against the signatures.
    covered: usize,
    /// Whether the block starts inside of a line.
    cut: bool,
    /// The number of the line at `from`.
    number: u64,
    /// The line at `from`, as far as it has been searched.
    partial: Partial,
    /// Whether there is such a line.
    unended: bool,
    /// Whether the stream has ended: the last line is whole.
    ended: bool,
    cleaner: Cleaner,
    keeper: Keeper,
    known: LineCache,
    taking: Vec<Taking>,
    tail: Tail,
    read: Read,
}

impl Blocks {
    /// Starts a search.
    pub fn new(catalog: &'static Catalog, name: &str, limits: Limits) -> Blocks {
        let head = Taking { owner: NOBODY, wanted: HEAD, lines: Vec::new(), at: 0, mid_line: false };
        Blocks {
            limits,
            block: vec![0; limits.block],
            length: 0,
            from: 0,
            covered: 0,
            cut: false,
            number: 1,
            partial: Partial::default(),
            unended: false,
            ended: false,
            cleaner: Cleaner::default(),
            keeper: Keeper::default(),
            known: LineCache::new(catalog),
            taking: vec![head],
            tail: Tail::default(),
            read: Read { name: name.to_owned(), ..Read::default() },
        }
    }

    /// Goes on with the next bytes of the stream.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let count = (self.limits.block - self.length).min(bytes.len());
            self.block[self.length..self.length + count].copy_from_slice(&bytes[..count]);
            self.filled(count);
            bytes = &bytes[count..];
        }
    }

    /// Goes on with the next bytes of a reader, as many as it gives and the block has room for; how many
    /// these were.
    pub fn feed_from(&mut self, reader: &mut dyn std::io::Read) -> std::io::Result<usize> {
        let count = reader.read(&mut self.block[self.length..])?;
        self.filled(count);
        Ok(count)
    }

    /// So many bytes have been put at the end of the block.
    fn filled(&mut self, count: usize) {
        self.read.bytes += count as u64;
        self.length += self.cleaner.clean(&mut self.block[self.length..self.length + count]);
        if self.length == self.limits.block {
            self.search(false);
        }
    }

    /// Searches the lines that are whole: for streams that pause.
    pub fn pause(&mut self) {
        self.search(false);
    }

    /// A remark about the stream.
    pub fn remark(&mut self, remark: String) {
        self.read.remarks.push(remark);
    }

    /// Notes that the source is no text.
    pub fn binary(&mut self) {
        self.read.binary = true;
        self.remark("binary file: only its text was read".into());
    }

    /// Whether more NUL bytes have been read than a log may have.
    pub fn has_too_many_nuls(&self) -> bool {
        self.cleaner.nuls > self.limits.nuls
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// How many bytes have been read.
    pub fn bytes(&self) -> u64 {
        self.read.bytes
    }

    /// The stream has ended: what was found in it.
    pub fn end(mut self) -> Read {
        self.ended = true;
        self.search(true);
        self.read.lines = self.number - 1;
        if self.unended {
            let last = self.partial.text();
            for taking in self.taking.iter_mut().filter(|taking| taking.wanted > 0 && !taking.mid_line) {
                taking.lines.push(last.clone());
            }
            self.tail.push(last);
            self.read.lines += 1;
        }
        for taking in std::mem::take(&mut self.taking) {
            self.taken(taking);
        }
        self.read.tail = self.tail.lines();
        for (number, text) in self.keeper.last_of_floods() {
            let cached = self.known.line(&text);
            self.keeper.add(number, &text, &cached.line, cached.kinds(&text));
        }
        self.read.omitted = self.keeper.omitted;
        if self.cleaner.nuls > 0 {
            self.read.remarks.push(format!("{} NUL bytes", self.cleaner.nuls));
        }
        let alike = self.keeper.alike;
        if alike > 0 {
            self.read.remarks.push(format!("{alike} more lines look like errors, similar to those shown"));
        }
        self.read.found = self.keeper.found(self.known.scanner);
        self.read
    }

    fn taken(&mut self, taking: Taking) {
        if taking.owner == NOBODY {
            self.read.head = taking.lines;
        } else {
            self.keeper.after(taking.owner, taking.lines);
        }
    }

    /// Searches the lines that are whole; and what there is of the last one, where the stream has ended or
    /// the block is full of it.
    fn search(&mut self, last: bool) {
        if let Some(end) = memrchr(b'\n', &self.block[self.from..self.length]) {
            let limit = self.from + end + 1;
            self.matches(limit);
            self.number += count(&self.block[self.from..limit]);
            self.take(limit);
            self.tail.add(&self.block[self.from..limit], &self.partial);
            self.partial = Partial::default();
            (self.unended, self.cut) = (false, false);
            self.forget(limit, limit);
        }
        let limit = match last {
            true => self.length,
            false if self.length == self.limits.block => self.length - self.limits.text,
            false => return,
        };
        if limit > self.from {
            self.matches(limit);
            self.partial.add(&self.block[self.from..limit]);
            self.unended = true;
            let context = limit.saturating_sub(self.limits.text);
            self.cut |= context > 0;
            self.forget(context, limit);
        }
    }

    /// The block starts at `context` now, and goes on at `limit`.
    fn forget(&mut self, context: usize, limit: usize) {
        self.block.copy_within(context..self.length, 0);
        self.length -= context;
        self.from = limit - context;
        self.covered = self.covered.saturating_sub(context);
    }

    /// Hands out lines up to `limit`, where one ends.
    fn take(&mut self, limit: usize) {
        let mut index = 0;
        while index < self.taking.len() {
            let taking = &mut self.taking[index];
            let complete = taking.take(&self.block, self.from, limit, &self.partial);
            taking.at = 0;
            if complete {
                let taking = self.taking.remove(index);
                self.taken(taking);
            } else {
                index += 1;
            }
        }
    }

    /// Holds every text with a literal that starts before `limit` against the signatures.
    fn matches(&mut self, limit: usize) {
        let literals = Literals::get();
        let mut at = self.from.max(self.covered.saturating_sub(literals.longest()));
        let (mut number, mut counted) = (self.number, self.from);
        while let Some(mut occurrence) = literals.any(&self.block[..self.length], at, limit) {
            let (mut first, mut end) = self.text_around(occurrence.start);
            // Any literal leads to a text that is a whole line. Of a longer line texts are taken around the
            // first literal, then the next.
            if !(self.starts_line(first) && self.ends_line(end)) {
                let Some(leading) = literals.next(&self.block[..self.length], at, limit) else { break };
                (first, end) = self.text_around(leading.start);
                occurrence = leading;
            }
            let start = occurrence.start;
            // What the last text has shown already.
            if occurrence.end <= self.covered {
                at = start + 1;
                continue;
            }
            number += count(&self.block[counted.min(start)..start]);
            counted = counted.max(start);
            self.covered = end;
            let line_end = memchr::memchr(b'\n', &self.block[end..limit.max(end)]);
            let next = line_end.map(|length| end + length + 1);
            self.found(number, first, end, next);
            // A text that was cut may end inside of a literal.
            at = match self.ends_line(end) {
                true => end,
                false => end.saturating_sub(literals.longest()).max(start + 1),
            };
        }
    }

    /// Whether a text that starts at a place is not cut there.
    fn starts_line(&self, at: usize) -> bool {
        match at.checked_sub(1) {
            Some(before) => matches!(self.block[before], b'\n' | b'\r'),
            None => !self.cut,
        }
    }

    /// Whether a text that ends at a place is not cut there.
    fn ends_line(&self, at: usize) -> bool {
        matches!(self.block[..self.length].get(at), None | Some(b'\n' | b'\r'))
    }

    /// Where the text around a match starts and ends.
    fn text_around(&self, start: usize) -> (usize, usize) {
        let Limits { text, before, .. } = self.limits;
        let low = start.saturating_sub(text);
        let high = (start + text).min(self.length);
        let first = match memrchr2(b'\n', b'\r', &self.block[low..start]) {
            Some(at) => Some(low + at + 1),
            None => (low == 0 && !self.cut).then_some(0),
        };
        let end = match memchr2(b'\n', b'\r', &self.block[start..high]) {
            Some(at) => Some(start + at),
            None => (high == self.length).then_some(high),
        };
        if let (Some(first), Some(end)) = (first, end)
            && end - first <= text
        {
            return (first, end);
        }
        let earliest = start.saturating_sub(before).max(self.covered.min(start)).max(first.unwrap_or(0));
        // Not inside of a character.
        let continuation_bytes =
            self.block[earliest..start].iter().take_while(|byte| (0x80..0xc0).contains(*byte)).count();
        let first = if first == Some(earliest) { earliest } else { earliest + continuation_bytes.min(3) };
        let longest = (first + text).min(end.unwrap_or(self.length));
        let end = if Some(longest) == end {
            longest
        } else {
            first + whole(&self.block[first..longest], longest - first)
        };
        (first, end)
    }

    /// Keeps a text if it means something. The next line starts at `next`, if that has been read.
    fn found(&mut self, number: u64, start: usize, end: usize, next: Option<usize>) {
        let bytes = &self.block[start..end];
        let cached = self.known.line(bytes);
        let line = &cached.line;
        let first = line.signatures().next();
        if first.is_none() && !line.error_like {
            return;
        }
        // A line that matches nothing but what is flooded is only counted; what it captures need not be
        // known.
        if self.keeper.is_flooded(first) && line.signatures().all(|one| self.keeper.is_flooded(Some(one))) {
            return self.keeper.count(first, number, Some(bytes));
        }
        match first {
            None => self.keeper.count(None, number, None),
            Some(_) => line.signatures().for_each(|one| self.keeper.count(Some(one), number, None)),
        }
        let opens = line.opens && self.taking.len() <= OPEN && self.keeper.has_room();
        let (owner, with_neighbours) = self.keeper.add(number, bytes, line, cached.kinds(bytes));
        if with_neighbours {
            self.keeper.around(owner, self.around(start, next));
        }
        if opens {
            let (at, mid_line) = (next.unwrap_or(0), next.is_none());
            self.taking.push(Taking { owner, wanted: AFTER, lines: Vec::new(), at, mid_line });
        }
    }

    /// The context lines of a text, as far as the block has them completely.
    fn around(&self, start: usize, next: Option<usize>) -> Neighbors {
        let mut first = memrchr(b'\n', &self.block[..start]).map_or(0, |at| at + 1);
        let mut before = Vec::new();
        while before.len() < BESIDE && first > 0 {
            let end = first - 1;
            first = memrchr(b'\n', &self.block[..end]).map_or(0, |at| at + 1);
            if first == 0 && self.cut {
                break;
            }
            before.push(shown(&self.block[first..end]));
        }
        before.reverse();
        let mut rest = &self.block[next.unwrap_or(self.length)..self.length];
        let mut after = Vec::new();
        while after.len() < BESIDE && !rest.is_empty() {
            let end = match memchr::memchr(b'\n', rest) {
                Some(end) => end,
                None if self.ended => rest.len(),
                None => break,
            };
            after.push(shown(&rest[..end]));
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        Neighbors { before, next: after }
    }
}

/// The ends of line in a part.
fn count(part: &[u8]) -> u64 {
    memchr_iter(b'\n', part).count() as u64
}
