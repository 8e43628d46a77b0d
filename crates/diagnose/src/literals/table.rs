//! The form of the table of words: the program searches with it, and `build/literals.rs` fills it when the
//! program is built.

/// Bytes looked at together, and from one place that is looked at to the next.
pub(crate) const WORD: usize = 4;

/// A literal must be so long; see `places` in `build/literals.rs`.
#[allow(dead_code, reason = "for the build script and tests")]
pub(crate) const SHORTEST: usize = 6;

/// Each bitmap has two to the power of so many bits: 32 KiB. With fewer, more words that no literal has pass;
/// with more the first leaves the processor's first cache.
pub(crate) const BITS: u32 = 18;

/// Slots of the table of words, by the same hash.
pub(crate) const SLOTS: u32 = 15;

/// A slot of no word.
pub(crate) const NONE: u16 = u16::MAX;

/// A word of a literal: which literal, and where in it; -1: the first byte of the word stands before it and
/// may be any. Its length and its ends tell most texts from it before its own bytes are fetched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub word: u32,
    /// The literal's number.
    pub literal: u16,
    /// Where in the literal the word stands.
    pub offset: i16,
    /// The literal's length in bytes.
    pub length: u16,
    /// Its first byte.
    pub first: u8,
    /// Its last byte.
    pub last: u8,
}

/// The first four bytes.
#[inline]
pub(crate) fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[inline]
fn hash(word: u32) -> u32 {
    word.wrapping_mul(0x9e37_79b1)
}

/// Where in the bitmap a word is.
#[inline]
pub(crate) fn bit(word: u32) -> (usize, u32) {
    position(hash(word))
}

/// Where in the second bitmap a word is. Of words that no literal has one in twenty passes the first, and one
/// in twenty of these the second.
#[inline]
pub(crate) fn other_bit(word: u32) -> (usize, u32) {
    position(word.wrapping_mul(0x85eb_ca6b))
}

#[inline]
fn position(hash: u32) -> (usize, u32) {
    let bit = hash >> (32 - BITS);
    ((bit >> 6) as usize, bit & 63)
}

/// The slot that a word is looked for in first.
#[inline]
pub(crate) fn slot(word: u32) -> usize {
    (hash(word) >> (32 - SLOTS)) as usize
}
