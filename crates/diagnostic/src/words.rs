//! Lists, ranges and counts in words.

/// `a`, `a and b`, `a, b and c`.
pub fn and<S: AsRef<str>>(words: &[S]) -> String {
    joined(words, "and")
}

/// `a`, `a or b`, `a, b or c`.
pub fn or<S: AsRef<str>>(words: &[S]) -> String {
    joined(words, "or")
}

fn joined<S: AsRef<str>>(words: &[S], last: &str) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match &words[..] {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., one] => format!("{} {last} {one}", most.join(", ")),
    }
}

/// `1 file`, `2 files`.
pub fn plural(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Up to this many names are listed in full.
const FEW: usize = 4;

/// `node1, node2, node3 and 60 more`; up to four are listed in full.
pub fn few<S: AsRef<str>>(names: &[S]) -> String {
    let all: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match all.len() {
        0..=FEW => all.join(", "),
        count => format!("{} and {} more", all[..FEW - 1].join(", "), count + 1 - FEW),
    }
}

/// The first and the last of an ordered list: `2.2.0`, `2.2.0 and 2.2.1`, `2.2.0 to 2.5.1`.
pub fn span<S: AsRef<str>>(versions: &[S]) -> String {
    match versions {
        [] => "none".to_owned(),
        [one] => one.as_ref().to_owned(),
        [one, two] => format!("{} and {}", one.as_ref(), two.as_ref()),
        [first, .., last] => format!("{} to {}", first.as_ref(), last.as_ref()),
    }
}

/// A sentence or clause with a capital in front.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_lists_with_and_or_and_ranges() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(and(&words("")), "");
        assert_eq!(and(&words("a")), "a");
        assert_eq!(and(&words("a b")), "a and b");
        assert_eq!(or(&words("a b c")), "a, b or c");
        assert_eq!(span(&words("2.0 2.1 2.2")), "2.0 to 2.2");
        assert_eq!(span(&words("2.0 2.1")), "2.0 and 2.1");
        assert_eq!(span(&words("2.0")), "2.0");
        assert_eq!(capital("no"), "No");
    }

    #[test]
    fn counts_and_shortens() {
        assert_eq!((plural(1, "node"), plural(2, "node")), ("1 node".to_owned(), "2 nodes".to_owned()));
        assert_eq!(few(&["a", "b", "c", "d"]), "a, b, c, d");
        assert_eq!(few(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
    }
}
