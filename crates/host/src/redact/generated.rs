//! Words that a program made: random keys, encoded logins.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Whether the first word has letters and digits, as what was generated has and words of a sentence do not.
pub(super) fn looks_generated(text: &str) -> bool {
    let word = text.split(char::is_whitespace).next().unwrap_or_default();
    word.len() >= 12
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether it is `user:password` in base64, as headers of HTTP and logins of registries have it.
pub(super) fn is_login(word: &str) -> bool {
    let Ok(bytes) = STANDARD.decode(word) else { return false };
    let Ok(text) = std::str::from_utf8(&bytes) else { return false };
    let name = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    text.split_once(':').is_some_and(|(user, password)| name(user) && name(password))
}

/// Whether a word is made of letters of both cases and digits in no order, as keys are, and names of
/// functions, files and hashes in hexadecimal are not: its characters change their kind at least every 2.5
/// characters.
pub(super) fn is_random(word: &str) -> bool {
    let word = word.trim_end_matches('=');
    let kind = |c: char| match c {
        'a'..='z' => 0,
        'A'..='Z' => 1,
        '0'..='9' => 2,
        _ => 3,
    };
    let mut count = [0_usize; 4];
    word.chars().for_each(|c| count[kind(c)] += 1);
    let kinds: Vec<usize> = word.chars().map(kind).collect();
    let changes = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let parts = count[3] * 8 > word.len();
    !word.starts_with("_Z")
        && !parts
        && count[..3].iter().all(|count| *count >= 2)
        && changes * 5 >= kinds.len() * 2
        && entropy(word) >= 3.9
}

/// Shannon's entropy in bits a character.
fn entropy(word: &str) -> f64 {
    let mut counts = std::collections::HashMap::new();
    word.chars().for_each(|c| *counts.entry(c).or_insert(0_u32) += 1);
    let length = word.chars().count() as f64;
    counts.values().map(|count| f64::from(*count) / length).map(|part| -part * part.log2()).sum()
}
