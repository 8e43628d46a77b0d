//! What a piece of a script's text says by itself.

/// The text of a string without prefix: `a` of `"a"`.
pub(crate) fn string(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains([quote, '\n', '\\'])).then_some(inner)
}

/// Whether a text is a name, with dots or without: `self.model`.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    text.starts_with(|letter: char| letter.is_alphabetic() || letter == '_') && text.chars().all(plain)
}

/// The names in an expression: `loss` and `loss.item` of `2 * loss.item()`.
pub(crate) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '.')
        .flat_map(|path| std::iter::once(path).chain(path.split_once('.').map(|(first, _)| first)))
        .filter(|name| !name.is_empty())
}

/// The number that a text is, products of numbers included: `60 * 60`.
pub(crate) fn number(text: &str) -> Option<f64> {
    let parts = text.trim().trim_start_matches('(').trim_end_matches(')').split('*');
    let mut parts = parts.map(|part| part.trim().replace('_', "").parse::<f64>().ok());
    parts.try_fold(1.0, |product, part| Some(product * part?))
}

/// The entries of a dictionary that is written out, as texts: `"a"` and `1` of `{"a": 1}`. `None` where
/// something else gives it entries.
pub(crate) fn entries(text: &str) -> Option<Vec<(&str, &str)>> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let parts = split_outside(inner, ',');
    let parts = parts.into_iter().map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let sides = split_outside(part, ':');
            let [key, value] = sides[..] else { return None };
            let spread = key.trim_start().starts_with('*');
            let made = value.contains(" for ") && value.contains(" in ");
            (!spread && !made).then(|| (key.trim(), value.trim()))
        })
        .collect()
}

/// The arguments of a call, as texts, from what follows its parenthesis: `x` and `1` of `x, 1).mean()`.
pub(crate) fn argument_texts(behind: &str) -> Vec<&str> {
    let parts = split_outside(&behind[..closing(behind).unwrap_or(behind.len())], ',');
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Where the bracket that is open before a text is closed in it.
pub(super) fn closing(behind: &str) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    behind.char_indices().find_map(|(at, letter)| {
        match (quote, letter) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) => quote = (open != letter).then_some(open),
            (None, '"' | '\'') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') if depth == 0 => return Some(at),
            (None, ')' | ']' | '}') => depth -= 1,
            (None, _) => {}
        }
        None
    })
}

/// Splits a text at a sign outside of brackets and strings.
fn split_outside(text: &str, sign: char) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_usize, None);
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) => quote = (open != letter).then_some(open),
            (None, '"' | '\'') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, _) if letter == sign && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + letter.len_utf8();
            }
            (None, _) => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(
            (number("60 * 60"), number("7_200"), number("x * 2"), number("")),
            (Some(3600.0), Some(7200.0), None, None)
        );
    }

    #[test]
    fn dictionaries() {
        let text = "{\"a\": f(1, {2: 3}), 'b,:': \"x:y\",\n}";
        assert_eq!(entries(text).unwrap(), [("\"a\"", "f(1, {2: 3})"), ("'b,:'", "\"x:y\"")]);
        for text in ["{**a, \"b\": 1}", "{k: v for k, v in a}", "{1, 2}", "a", "{", "{\"a\": (1}"] {
            assert!(entries(text).is_none() || text == "{\"a\": (1}", "{text}");
        }
    }
}
