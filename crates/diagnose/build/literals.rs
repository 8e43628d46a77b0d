//! Fills the table of words by which `src/diagnose/literals` finds every literal of the signatures and every
//! word of error-looking lines.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;

use crate::table::{BITS, Entry, NONE, SHORTEST, SLOTS, WORD, bit, other_bit, slot, word};

/// Words of four bytes that logs are full of, and how often each is in a MiB of them: poor signs of a
/// literal. `frequent_words.py` counts them.
const FREQUENT: &str = include_str!("frequent_words.txt");

/// The table as an expression of Rust, of literals with the number of the signature that has each; without
/// one: a word of an error.
pub(crate) fn literals(mut of: Vec<(String, Option<usize>)>) -> Result<String, Box<dyn Error>> {
    of.sort_unstable();
    let mut texts: Vec<&str> = Vec::new();
    let (mut owners, mut words): (Vec<Vec<usize>>, Vec<bool>) = (Vec::new(), Vec::new());
    for (text, owner) in &of {
        if text.len() < SHORTEST {
            return Err(format!("the literal {text:?} is shorter than {SHORTEST} bytes").into());
        }
        if texts.last() != Some(&text.as_str()) {
            texts.push(text);
            owners.push(Vec::new());
            words.push(false);
        }
        match owner {
            Some(number) => owners.last_mut().into_iter().for_each(|owners| owners.push(*number)),
            None => words.last_mut().into_iter().for_each(|word| *word = true),
        }
    }
    let frequent = frequent()?;
    let mut entries: Vec<Entry> = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let number = u16::try_from(number).map_err(|_| "there are too many literals")?;
        entries.extend(places(number, text.as_bytes(), &frequent));
    }
    entries.sort_unstable_by_key(|entry| (entry.word, entry.literal, entry.offset));
    if entries.len() >= usize::from(NONE) || entries.len() >= (1 << SLOTS) * 3 / 4 {
        let count = entries.len();
        return Err(format!("{count} words of literals are too many for the table: raise SLOTS").into());
    }
    let (mut bitmap, mut again) = (vec![0_u64; 1 << (BITS - 6)], vec![0_u64; 1 << (BITS - 6)]);
    let mut slots = vec![NONE; 1 << SLOTS];
    for (index, entry) in entries.iter().enumerate() {
        if index > 0 && entries[index - 1].word == entry.word {
            continue;
        }
        let (at, bit) = bit(entry.word);
        bitmap[at] |= 1 << bit;
        let (at, bit) = other_bit(entry.word);
        again[at] |= 1 << bit;
        let mut slot = slot(entry.word);
        while slots[slot] != NONE {
            slot = (slot + 1) % slots.len();
        }
        slots[slot] = index as u16;
    }
    let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
    let owners: Vec<String> = owners.iter().map(|owners| format!("&{owners:?}")).collect();
    let mut text = format!(
        "Literals {{ texts: &{texts:?}, owners: &[{}], words: &{words:?}, longest: {longest}, bitmap: \
            &{bitmap:?}, again: &{again:?}, slots: &{slots:?}, entries: &[",
        owners.join(", ")
    );
    for entry in entries {
        write!(text, "{entry:?}, ").map_err(|error| error.to_string())?;
    }
    text.push_str("] }\n");
    Ok(text)
}

/// Words of a literal at four successive places, so that one of them is looked at wherever the literal
/// starts: the rarest four. A literal of six bytes has three such places; there the fourth is the one before
/// it, with any byte before the first three of the literal.
fn places(literal: u16, text: &[u8], frequent: &HashMap<u32, u64>) -> Vec<Entry> {
    let entry = |word: u32, offset: i16| Entry {
        word,
        literal,
        offset,
        length: text.len() as u16,
        first: text[0],
        last: text[text.len() - 1],
    };
    let at = |offset: usize| entry(word(&text[offset..]), offset as i16);
    let costs: Vec<u64> = text.windows(WORD).map(|bytes| commonness(bytes, frequent)).collect();
    if costs.len() >= WORD {
        let cost = |start: &usize| costs[*start..start + WORD].iter().sum::<u64>();
        let start = (0..=costs.len() - WORD).min_by_key(cost).unwrap_or(0);
        return (start..start + WORD).map(at).collect();
    }
    let before = (0..=u8::MAX).map(|any| entry(u32::from_le_bytes([any, text[0], text[1], text[2]]), -1));
    (0..SHORTEST - WORD + 1).map(at).chain(before).collect()
}

/// The frequent words and how often each is.
fn frequent() -> Result<HashMap<u32, u64>, Box<dyn Error>> {
    let row = |line: &str| {
        let (often, text) =
            line.strip_suffix('"')?.split_once(" \"").filter(|(_, text)| text.len() == WORD)?;
        Some((word(text.as_bytes()), often.parse().ok()?))
    };
    let rows =
        FREQUENT.lines().map(|line| row(line).ok_or_else(|| format!("frequent_words.txt: {line:?}").into()));
    rows.collect()
}

/// How often a word is to be expected in a log; the numbers matter relative to each other alone.
fn commonness(bytes: &[u8], frequent: &HashMap<u32, u64>) -> u64 {
    let known = frequent.get(&word(bytes)).copied().unwrap_or(0);
    // Of the others the product of how often each byte is, of 256 at most.
    let bytes = bytes.iter().map(|byte| match byte {
        b' ' | b'e' => 20,
        b'0'..=b'9' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 11,
        b'l' | b'd' | b'c' | b'm' | b'p' | b'u' => 6,
        b'a'..=b'z' => 3,
        b'.' | b'/' | b':' | b'-' | b'_' | b'=' | b',' => 4,
        b'A'..=b'Z' => 2,
        _ => 1,
    });
    (known << 20) + bytes.product::<u64>()
}
