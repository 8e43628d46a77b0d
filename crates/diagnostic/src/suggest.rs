//! "Did you mean …": the name that was most likely meant by one that was mistyped. Every guess is made here.

use std::cmp::Reverse;

/// The name that was most likely meant by one that certainly is wrong: one that differs by a slip
/// ([`typo_of`]), or else one that begins like it (`ubuntu22` for `ubuntu22.04`, `flash-attention` for
/// `flash-attn`). A wrong guess next to an error costs little.
pub fn nearest<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let typed = folded(typed);
    best(names.into_iter().filter_map(|name| {
        let folded = folded(name);
        match slip(&typed, &folded) {
            Some(edits) => Some((false, edits, Reverse(alike(&typed, &folded)), name)),
            None => begins_alike(&typed, &folded).then(|| (true, 0, Reverse(alike(&typed, &folded)), name)),
        }
    }))
}

/// The name that differs from the typed one only by a slip: letters that are wrong, missing, doubled or
/// exchanged, another separator, other case. For names that may be right and only unknown to envdoc (a
/// variable of a newer release, a package of an index): there the guess is the whole finding, and a common
/// beginning says nothing (`torchmetrics` is not `torch`).
///
/// One letter may differ in a short name, two from 10 letters on, three from 17: with more, the other names
/// of the same family (`NCCL_PROTO` and `NCCL_PORT`) would be guessed. The fewest letters win; of several
/// names with as few, the one that is the same for longer from the beginning, where people mistype least
/// (`h1000` means `h100` rather than `p1000`); then the first of the list.
pub fn typo_of<'n>(typed: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let (typed, contained) = (folded(typed), letters(typed));
    let limit = limit(typed.chars().count());
    // A file may have 100,000 unknown names, and each is compared with hundreds.
    let possible = |name: &&str| may_be_slip(contained, letters(name), limit);
    best(names.into_iter().filter(possible).filter_map(|name| {
        let folded = folded(name);
        slip(&typed, &folded).map(|edits| (false, edits, Reverse(alike(&typed, &folded)), name))
    }))
}

/// Whether one name differs from the other only by a slip ([`typo_of`]).
pub fn is_typo(typed: &str, name: &str) -> bool {
    slip(&folded(typed), &folded(name)).is_some()
}

/// Letters to insert, remove, replace or exchange until one name is the other, without case and separators.
pub fn edits(one: &str, other: &str) -> usize {
    strsim::damerau_levenshtein(&folded(one), &folded(other))
}

type Scored<'n> = (bool, usize, Reverse<usize>, &'n str);

fn best<'n>(scored: impl Iterator<Item = Scored<'n>>) -> Option<&'n str> {
    scored.min_by_key(|(begins, edits, alike, _)| (*begins, *edits, *alike)).map(|(.., name)| name)
}

/// How many letters a slip changes at most in a name of so many.
fn limit(letters: usize) -> usize {
    match letters {
        0..=2 => 0,
        3..=9 => 1,
        10..=16 => 2,
        _ => 3,
    }
}

/// Letters that differ, where they are few enough for a slip.
fn slip(typed: &str, name: &str) -> Option<usize> {
    let limit = limit(typed.chars().count());
    if typed.len().abs_diff(name.len()) > 4 * limit {
        return None;
    }
    Some(strsim::damerau_levenshtein(typed, name)).filter(|edits| *edits <= limit)
}

/// Which letters and digits a name contains, one bit each, whatever their case; `None` where it has others.
fn letters(name: &str) -> Option<u64> {
    name.is_ascii().then(|| {
        name.trim().bytes().filter(|byte| !matches!(byte, b'-' | b'_' | b' ')).fold(0, |all, byte| {
            all | match byte {
                b'0'..=b'9' => 1 << (byte - b'0'),
                b'a'..=b'z' | b'A'..=b'Z' => 1 << (10 + (byte | 0x20) - b'a'),
                _ => 1 << 36,
            }
        })
    })
}

/// Whether so few edits may lead from one name to the other: each adds and removes one letter at most.
fn may_be_slip(one: Option<u64>, other: Option<u64>, limit: usize) -> bool {
    let more = |one: u64, other: u64| (one & !other).count_ones() as usize > limit;
    one.zip(other).is_none_or(|(one, other)| !more(one, other) && !more(other, one))
}

/// Letters that are the same from the beginning.
fn alike(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}

/// Whether the shorter name is the beginning of the longer one, but for a slip at its end.
fn begins_alike(typed: &str, name: &str) -> bool {
    let shorter = typed.chars().count().min(name.chars().count());
    alike(typed, name) >= 3.max(shorter - limit(shorter).min(shorter))
}

/// Lower case, without the separators that people exchange: `-`, `_` and spaces.
fn folded(name: &str) -> String {
    let kept = name.trim().chars().filter(|letter| !matches!(letter, '-' | '_' | ' '));
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &[
        "torch",
        "torchvision",
        "transformers",
        "flash-attn",
        "default-runtime",
        "overlap_comm",
        "h100",
        "p1000",
    ];

    #[test]
    fn slips_are_found() {
        for (typed, meant) in [
            ("trasnformers", "transformers"),
            ("transfromers", "transformers"),
            ("tranformers", "transformers"),
            ("transformerss", "transformers"),
            ("trensformers", "transformers"),
            ("Transformers", "transformers"),
            ("default_runtime", "default-runtime"),
            ("DEFAULT RUNTIME", "default-runtime"),
            ("overlap-com", "overlap_comm"),
            ("flashattn", "flash-attn"),
            ("torhc", "torch"),
            ("h1000", "h100"),
        ] {
            assert_eq!(typo_of(typed, NAMES.iter().copied()), Some(meant), "{typed}");
            assert_eq!(nearest(typed, NAMES.iter().copied()), Some(meant), "{typed}");
        }
    }

    #[test]
    fn a_beginning_is_a_guess_but_no_slip() {
        for (typed, meant) in [
            ("flash-attention", "flash-attn"),
            ("default-runt", "default-runtime"),
            ("transformer-engine", "transformers"),
            ("torchmetrics", "torch"),
        ] {
            assert_eq!(typo_of(typed, NAMES.iter().copied()), None, "{typed}");
            assert_eq!(nearest(typed, NAMES.iter().copied()), Some(meant), "{typed}");
        }
        assert_eq!(nearest("torchvis", NAMES.iter().copied()), Some("torchvision"), "the longest beginning");
    }

    #[test]
    fn other_names_are_not_guessed() {
        for typed in ["", "x", "to", "something else", "numpy", "sm_90", "mi300x", "größe", "日本"] {
            assert_eq!(nearest(typed, NAMES.iter().copied()), None, "{typed}");
            assert_eq!(typo_of(typed, NAMES.iter().copied()), None, "{typed}");
        }
        // A family's other members are not slips of each other.
        assert_eq!(typo_of("NCCL_PORT", ["NCCL_PROTO", "NCCL_ALGO"]), None);
    }

    #[test]
    fn the_fewest_letters_win_then_the_longest_beginning_then_the_first() {
        assert_eq!(typo_of("gb20", ["gb10", "gb200"]), Some("gb200"));
        assert_eq!(typo_of("abcdefghij", ["abcdefghxy", "abcdefghix"]), Some("abcdefghix"));
        assert_eq!(typo_of("name1", ["name2", "name3"]), Some("name2"));
        assert_eq!(nearest("runtime", ["run", "runtimes"]), Some("runtimes"));
    }
}
