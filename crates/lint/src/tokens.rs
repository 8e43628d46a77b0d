//! Tokens and passwords in texts, told from placeholders.

use host::redact::TOKEN_SHAPES;

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
                && !placeholder(&body);
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
    let variable = of_windows || value.contains("%(") || value.contains(['$', '<', '{', '`']);
    !variable && !placeholder(value)
}

/// Whether a text begins as tokens of the Hub, OpenAI, NVIDIA, GitHub and GitLab do.
pub(crate) fn begins_as_token(text: &str) -> bool {
    ["hf_", "sk-", "nvapi-", "ghp_", "github_pat_", "glpat-"].iter().any(|start| text.starts_with(start))
}

/// One letter over and over, or words.
fn placeholder(text: &str) -> bool {
    let mut letters: Vec<char> = text.to_ascii_lowercase().chars().collect();
    letters.sort_unstable();
    letters.dedup();
    letters.len() < 8 || !text.chars().any(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
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
