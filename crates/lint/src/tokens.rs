//! Tokens and passwords in texts, told from placeholders.

use host::redact::TOKEN_SHAPES;

use crate::schema::is_placeholder;

/// A whole token of a known service: where it begins, in bytes, and its prefix (`hf_`).
pub(crate) fn shaped(text: &str) -> Option<(usize, &'static str)> {
    TOKEN_SHAPES.iter().flat_map(|shape| shape.whole).find_map(|(start, length)| {
        text.match_indices(start).find_map(|(offset, _)| {
            let before = text[..offset].chars().next_back();
            let body: String = text[offset + start.len()..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || "_-".contains(*c))
                .collect();
            let fits = body.len() >= *length
                && !before.is_some_and(|c| c.is_ascii_alphanumeric())
                && !is_filler(&body)
                && !asks_for_value(&body);
            fits.then_some((offset, *start))
        })
    })
}

/// `scheme://user:password@host`: where its `://` begins, in bytes, and the host.
pub(crate) fn login(text: &str) -> Option<(usize, &str)> {
    text.match_indices("://").find_map(|(place, separator)| {
        let address = &text[place + separator.len()..];
        let authority = address.split(|c: char| c.is_whitespace() || "/?#\"'".contains(c)).next()?;
        let (login, host) = authority.rsplit_once('@')?;
        let (_, password) = login.split_once(':')?;
        is_literal(password).then_some((place, host))
    })
}

/// Whether a value is a password, and neither the name of a variable nor a placeholder.
pub(crate) fn is_literal(value: &str) -> bool {
    let of_windows = value.starts_with('%') && value.ends_with('%');
    let variable = of_windows || value.contains("%(") || value.contains('`');
    !variable && !is_placeholder(value) && !asks_for_value(value) && !is_usual(value)
}

/// Whether a text asks a person to replace it: `enterYourSecret`.
pub(crate) fn asks_for_value(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let asks = ["your", "replace", "enter", "change", "insert", "example", "placeholder", "todo", "base64"];
    asks.iter().any(|word| lower.contains(word))
}

/// Whether a password is a word, its own name or a letter over and over: `PASSWORD123`, `xxxx`.
fn is_usual(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let name = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let named = matches!(name, "password" | "passwd" | "pass" | "secret" | "token" | "key");
    named || letters(value) < 4 || is_word(value)
}

/// Whether a text begins as tokens of the Hub, OpenAI, NVIDIA, GitHub and GitLab do.
pub(crate) fn begins_as_token(text: &str) -> bool {
    ["hf_", "sk-", "nvapi-", "ghp_", "github_pat_", "glpat-"].iter().any(|start| text.starts_with(start))
}

/// One letter over and over, words, or the alphabet.
fn is_filler(text: &str) -> bool {
    /// Letters in a row that a token does not have by chance: `abcdefghijkl`.
    const ALPHABET_LIMIT: usize = 12;
    let next = |two: &[u8]| two[0].is_ascii_alphanumeric() && two[0] + 1 == two[1];
    let mut longest = (0, 1);
    for two in text.as_bytes().windows(2) {
        let row = if next(two) { longest.1 + 1 } else { 1 };
        longest = (longest.0.max(row), row);
    }
    letters(text) < 8 || is_word(text) || longest.0 >= ALPHABET_LIMIT
}

/// How many different letters a text has.
fn letters(text: &str) -> usize {
    let mut letters: Vec<char> = text.to_ascii_lowercase().chars().collect();
    letters.sort_unstable();
    letters.dedup();
    letters.len()
}

fn is_word(text: &str) -> bool {
    !text.chars().any(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
}

/// Whether variables of this name hold secrets: `HF_TOKEN`.
pub(crate) fn secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let ends = ["_TOKEN", "_API_KEY", "_PASSWORD", "_SECRET", "_SECRET_KEY", "_SECRET_ACCESS_KEY", "_APIKEY"];
    ends.iter().any(|end| name.ends_with(end))
}

/// Long, letters and digits mixed, and no sentence.
pub(crate) fn looks_random(value: &str) -> bool {
    let digits = value.chars().filter(char::is_ascii_digit).count();
    value.len() >= 20
        && digits >= 4
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "_-+/=".contains(c))
        && !value.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_what_stands_for_one() {
        for password in ["s3cret9", "gpu2024", "7eiZ2kqv", "k8Tq2vLx9wZb"] {
            assert!(is_literal(password), "{password}");
        }
        for other in [
            "password",
            "PASSWORD123",
            "YOUR_PASSWORD_HERE",
            "TOKEN_FROM_VAULT",
            "CODEARTIFACT_AUTH_TOKEN",
            "REPLACE_ME_PLEASE",
            "changeMe1",
            "XXXXXXXX",
            "${PASSWORD}",
            "%PASSWORD2%",
        ] {
            assert!(!is_literal(other), "{other}");
        }
    }

    #[test]
    fn tokens_and_what_stands_for_one() {
        let token = "HF_TOKEN=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";
        assert_eq!(shaped(token), Some((9, "hf_")));
        for other in [
            "hf_YourHuggingFaceAccessTokenGoesRightHere",
            "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
            "sk-proj-YourOpenAIKeyGoesHerePleaseReplaceItHere1",
        ] {
            assert_eq!(shaped(other), None, "{other}");
        }
    }
}
