//! A cache of classified lines: the log of a failure repeats the same lines, word for word.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use foldhash::quality::RandomState;

use super::retention;
use crate::scan::{Line, Scanner};
use catalog::Catalog;

/// Lines in the cache.
const LINES: usize = 1 << 15;

/// What a line is.
#[derive(Debug, Clone)]
pub struct CachedLine {
    /// What the signatures say of it.
    pub line: Arc<Line>,
    kinds: OnceCell<Box<[u64]>>,
    scanner: Scanner,
}

impl CachedLine {
    /// The kinds that a line is of, as [`retention::kinds`] numbers them; `bytes` is the line that this was
    /// made of.
    pub fn kinds(&self, bytes: &[u8]) -> &[u64] {
        let text = || String::from_utf8_lossy(bytes);
        self.kinds.get_or_init(|| retention::kinds(self.scanner, &self.line, &text()))
    }
}

/// Classified lines by a 128-bit hash with the random seeds of this run.
#[derive(Debug, Clone)]
pub struct LineCache {
    /// What classifies a line.
    pub scanner: Scanner,
    /// Where in `seen` a line is.
    indices: HashMap<u128, usize, RandomState>,
    cached: Vec<CachedLine>,
    other: RandomState,
}

impl LineCache {
    /// An empty cache, for the signatures of this catalog.
    pub fn new(catalog: &'static Catalog) -> LineCache {
        LineCache {
            scanner: Scanner::new(catalog),
            indices: HashMap::default(),
            cached: Vec::new(),
            other: RandomState::default(),
        }
    }

    /// Classifies a line. A full cache is cleared: frequent lines come again.
    pub fn line(&mut self, line: &[u8]) -> &CachedLine {
        let key = [self.indices.hasher(), &self.other].map(|hasher| u128::from(hasher.hash_one(line)));
        let key = key[0] << 64 | key[1];
        let index = match self.indices.get(&key) {
            Some(index) => *index,
            None => self.learn(line, key),
        };
        &self.cached[index]
    }

    fn learn(&mut self, line: &[u8], key: u128) -> usize {
        if self.cached.len() == LINES {
            self.indices.clear();
            self.cached.clear();
        }
        let index = self.cached.len();
        let known = self.scanner.line(&String::from_utf8_lossy(line));
        self.cached.push(CachedLine { line: Arc::new(known), kinds: OnceCell::new(), scanner: self.scanner });
        self.indices.insert(key, index);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_line_has_the_same_signatures_and_kinds() {
        let mut known = LineCache::new(catalog::testing::catalog());
        let scanner = known.scanner;
        let halves = [known.indices.hasher(), &known.other].map(|hasher| hasher.hash_one("a line"));
        assert_ne!(halves[0], halves[1], "64 bits and not 128");
        // More than are kept in mind, so that it begins again; errors among them.
        for number in 0..LINES + 9 {
            let line = format!("line {number}");
            assert!(!known.line(line.as_bytes()).line.is_known(), "{line}");
            if number % 1000 == 0 {
                let line = "RuntimeError: CUDA error: an illegal memory access was encountered";
                let wanted: Vec<usize> = scanner.line(line).signatures().collect();
                let cached = known.line(line.as_bytes());
                assert!(!wanted.is_empty() && cached.line.signatures().eq(wanted));
                assert_eq!(cached.kinds(line.as_bytes()), &*retention::kinds(scanner, &cached.line, line));
            }
        }
        assert!(known.cached.len() < LINES && known.indices.len() == known.cached.len());
    }
}
