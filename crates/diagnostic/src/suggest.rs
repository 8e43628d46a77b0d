//! "Did you mean …": the nearest of some names to one that was mistyped.

/// How alike two names must be, by Jaro-Winkler similarity (0 to 1).
const ALIKE: f64 = 0.7;

/// The name most like the typed one, if any is alike enough to be meant.
pub fn nearest<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let scored = names.into_iter().map(|name| (strsim::jaro_winkler(typed, name), name));
    scored.filter(|(score, _)| *score > ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// Whether a name is another one with a slip of the pen: one or two letters, or `-`, `_` and `.` only.
pub fn slip(typed: &str, name: &str) -> bool {
    let plain = |name: &str| name.to_ascii_lowercase().replace(['-', '_', '.'], "");
    let (one, other) = (plain(typed), plain(name));
    let limit = if other.len() < 6 { 1 } else { 2 };
    one == other || (other.len() > 2 && strsim::damerau_levenshtein(&one, &other) <= limit)
}
