//! Commands that an instruction of a Dockerfile joins: what would change the ones behind it.

/// Whether a text stays one command when ` && ` and others follow it: BuildKit joins lines that end with a
/// backslash, reads a here-document from the lines below (`<<WORD`), and a shell ignores what stands behind
/// `#`.
pub(super) fn is_single(text: &str) -> bool {
    let backslashes = text.len() - text.trim_end_matches('\\').len();
    !text.is_empty()
        && backslashes.is_multiple_of(2)
        && !text.chars().any(|letter| letter.is_control() && letter != '\t')
        && !text.split_whitespace().any(begins_here_document)
        && !has_comment(text)
}

/// Whether BuildKit takes a word for the beginning of a here-document (frontend/dockerfile/parser:
/// reHeredoc). `<<<` is a here-string of bash, and `<<` alone an operator.
fn begins_here_document(word: &str) -> bool {
    let rest = word.trim_start_matches(|letter: char| letter.is_ascii_digit());
    rest.strip_prefix("<<").is_some_and(|name| !name.is_empty() && !name.starts_with('<'))
}

/// Whether a `#` begins a comment: at the beginning of a word, outside of quotes.
fn has_comment(text: &str) -> bool {
    let (mut quote, mut escaped, mut begins) = (None, false, true);
    for letter in text.chars() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, '#') if begins => return true,
            _ => {}
        }
        begins = quote.is_none() && !escaped && (letter.is_whitespace() || ";&|(".contains(letter));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_stay_one() {
        for text in [
            "make",
            "echo '# no comment' && echo a#b ${x#y}",
            r"printf 'a\\'",
            r"echo \# end",
            "test $((1 << 2)) -eq 4",
            "cat <<< here",
            "a\tb",
        ] {
            assert!(is_single(text), "{text}");
        }
        for text in [
            "",
            "a\nb",
            "a\rb",
            r"echo a \",
            r"echo \\\",
            "cat <<EOF",
            "cat 3<<-'EOF'",
            "# all of it",
            "make; # why",
            "echo \"a\" # why",
        ] {
            assert!(!is_single(text), "{text}");
        }
    }
}
