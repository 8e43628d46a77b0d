//! "Did you mean …": the nearest of some names to one that was mistyped.

/// How alike two names must be, by Jaro-Winkler similarity (0 to 1).
const ALIKE: f64 = 0.7;

/// The name most like the typed one, if any is alike enough to be meant.
pub fn nearest<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let scored = names.into_iter().map(|name| (strsim::jaro_winkler(typed, name), name));
    scored.filter(|(score, _)| *score > ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}
