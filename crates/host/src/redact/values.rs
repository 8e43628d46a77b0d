//! Where a value ends, and what is shown of it: formats, programs and shells quote in their own ways.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{HIDDEN, pattern};

/// How far a list or an object may reach, in bytes: behind that its end is not looked for.
const GROUP_LIMIT_BYTES: usize = 4096;

/// What may precede a quote and belongs to the value: `b'…'` and `f"…"` of Python, `$'…'` of bash,
/// `@"…"` of C#, `Secret("…")`, `Some(b"…")`.
static PREFIX: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"^(?:&?[A-Za-z_][\w.:]*[!?]?\( ?){0,3}(?:[bBrRuUfFcL]{1,2}#{0,2}|\$|@)?(\\*["'`])"#,
        r"|^(?:Some|Ok|Just|Secret\w*|Sensitive\w*|Redacted|Optional|NewSecret)\("
    ))
});
/// A quote as HTML, JSON within JSON and addresses write it.
macro_rules! encoded_quote {
    () => {
        r"&quot;|&#0?3[49];|\\+u002[27]|%2[27]"
    };
}
pub(super) use encoded_quote;
/// One at the start of a value.
static ENCODED_QUOTE: LazyLock<Regex> = LazyLock::new(|| pattern(concat!("^(?:", encoded_quote!(), ")")));
/// The name, the sign and the value of another setting: `,retries=3`. Base64 ends with `=`.
static OTHER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^["']?[A-Za-z_][\w.-]{0,40}["']?(?:\s?=[^=\s]|\s?:\s?[^:\s])"#));
static OTHER_PARAMETER: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:amp;)?[A-Za-z_][\w.\[\]%-]*="));
/// A tag of XML or HTML, also where `<` was replaced.
static TAG: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:<|&lt;)(?:/|[A-Za-z!][^<>]*(?:>|&gt;))"));
/// `{{ vault_password }}`: a template, not a value.
static TEMPLATE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\{\{-?\s*[\w.$]+\s*-?\}\}"));
/// A word within a list or an object, and what follows a key.
static LEAF: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"((?:[bru]{0,2})(?:\\*"(?:[^"\\\n]|\\.)*\\*"|'(?:[^'\\\n]|\\.)*')|[^\s"'\[\](){},;=:]+)"#,
        r"(\s*(?:=>|:=|[:=]))?"
    ))
});

/// A value: how many bytes of the text it takes, and what is shown instead.
pub(super) struct Value {
    pub(super) length: usize,
    pub(super) shown: String,
}

/// The value at the start of `text`. `outer`: the quote in front of the name, which the value cannot hold.
/// `harmless` says which words within a list or an object stay.
pub(super) fn at_start(text: &str, outer: Option<char>, harmless: &dyn Fn(&str) -> bool) -> Option<Value> {
    if let Some(found) = TEMPLATE.find(text) {
        return Some(Value { length: found.len(), shown: found.as_str().to_owned() });
    }
    let hidden = |before: &str, length: usize, after: &str| {
        Some(Value { length, shown: format!("{before}{HIDDEN}{after}") })
    };
    if let Some(quote) = ENCODED_QUOTE.find(text) {
        let inner = &text[quote.len()..];
        let line = inner.find('\n').unwrap_or(inner.len());
        let close = inner[..line].find(quote.as_str()).unwrap_or(line);
        return (close > 0).then(|| hidden(quote.as_str(), quote.len() + close, "")).flatten();
    }
    if let Some(found) = PREFIX.captures(text)
        // The quote that closes what the name is in is no value.
        && !(outer.is_some() && text.chars().next() == outer)
    {
        let prefix = &found[0];
        let Some(quote) = found.get(1).map(|quote| quote.as_str()) else {
            let end = prefix.len() + bare(&text[prefix.len()..], outer);
            return hidden(prefix, end, "");
        };
        let start = prefix.len() - quote.len();
        let inner = &text[prefix.len()..];
        let quote = match inner.starts_with(&quote.repeat(2)) {
            true => quote.repeat(3),
            false => quote.to_owned(),
        };
        let from = start + quote.len();
        let Some(close) = closing(&text[from..], &quote) else {
            // Somebody cut it off, or it is no quote: everything up to the end of the line may belong to it.
            let rest = &text[from..];
            let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
            return (end > 0)
                .then(|| hidden(&format!("{}{quote}", &text[..start]), from + end, ""))
                .flatten();
        };
        if close == 0 && quote == "'" && inner[1..].starts_with(|c: char| c.is_alphanumeric()) {
            // A quote within quotes is doubled in settings of databases.
            let end = inner[1..].find("''").map_or(bare(&inner[1..], outer), |end| end);
            return hidden(&text[..from + 1], from + 1 + end, "");
        }
        if close == 0 {
            return Some(Value { length: from + quote.len(), shown: text[..from + quote.len()].to_owned() });
        }
        let mut end = from + close + quote.len();
        let plain = !quote.contains('\\');
        // A shell joins what touches: `'it'\''s'`.
        while plain && continues(&text[end..]) {
            let joined = &text[end..];
            if joined.starts_with("\\'") {
                end += 2;
                continue;
            }
            let mut chars = joined.chars();
            let Some(next) = chars.next() else { break };
            end += match next {
                '"' | '\'' => closing(chars.as_str(), &next.to_string()).map_or(1, |close| close + 2),
                _ => bare(joined, outer).max(next.len_utf8()),
            };
        }
        return hidden(&text[..from], end, &quote);
    }
    if text.starts_with(['[', '{', '('])
        && let Some(end) = group_end(text)
        && !text[end..].starts_with(|c: char| c.is_alphanumeric())
    {
        return Some(Value { length: end, shown: leaves(&text[..end], harmless) });
    }
    let length = bare(text, outer);
    (length > 0).then(|| hidden("", length, "")).flatten()
}

/// Whether a word goes on behind a closing quote.
fn continues(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || "\"'".contains(c)) || text.starts_with("\\'")
}

/// Where `quote` closes, on the same line unless it is a triple one.
fn closing(text: &str, quote: &str) -> Option<usize> {
    if quote.len() == 3 && !quote.contains('\\') {
        return text.find(quote).filter(|end| *end <= GROUP_LIMIT_BYTES);
    }
    if quote.contains('\\') {
        let line = text.find('\n').unwrap_or(text.len());
        return text[..line].find(quote);
    }
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if quote.starts_with(c) => return Some(at),
            _ => {}
        }
    }
    None
}

/// The end of a list or an object, brackets included.
pub(super) fn group_end(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices().take_while(|(at, _)| *at < GROUP_LIMIT_BYTES) {
        if escaped {
            escaped = false;
            continue;
        }
        match (quote, c) {
            // JSON within a text has its quotes behind backslashes.
            (None, '\\') => {}
            (_, '\\') => escaped = true,
            (Some(mark), c) if c == mark => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[') => open.push(']'),
            (None, '{') => open.push('}'),
            (None, '(') => open.push(')'),
            (None, ']' | '}' | ')') => {
                if open.pop() != Some(c) {
                    return None;
                }
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// A list or an object whose words are hidden; keys stay.
pub(super) fn leaves(text: &str, harmless: &dyn Fn(&str) -> bool) -> String {
    LEAF.replace_all(text, |found: &Captures<'_>| {
        let word = &found[1];
        let bare = word.trim_start_matches(['b', 'r', 'u']).trim_matches(['\\', '"', '\'']);
        if found.get(2).is_some() || bare.is_empty() || word.contains(HIDDEN) || harmless(word) {
            return found[0].to_owned();
        }
        let quote: String = word.chars().take_while(|c| ['\\', '"', '\''].contains(c)).collect();
        format!("{quote}{HIDDEN}{quote}")
    })
    .into_owned()
}

/// How long a word without quotes is. Commas, semicolons and the like end it only where something else
/// follows: passwords hold them, too.
pub(super) fn bare(text: &str, outer: Option<char>) -> usize {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        let next = &text[at + c.len_utf8()..];
        let word = next.starts_with(|c: char| c.is_alphanumeric());
        let nothing = next.is_empty() || next.starts_with(char::is_whitespace);
        let ends = match c {
            '\0' => true,
            _ if c.is_whitespace() => true,
            '&' => {
                nothing
                    || next.starts_with('&')
                    || OTHER_PARAMETER.is_match(next)
                    || TAG.is_match(&text[at..])
            }
            ',' | ';' => nothing || next.starts_with(['"', '\'', ')', ']', '}']) || OTHER.is_match(next),
            '<' => TAG.is_match(&text[at..]),
            '>' => nothing || next.starts_with('<'),
            '"' | '\'' | '`' => outer == Some(c) || !word,
            '\\' => next.trim_start_matches('\\').starts_with(['"', '\'']),
            '[' | '{' | '(' => {
                open += 1;
                false
            }
            ']' | '}' | ')' if open > 0 => {
                open -= 1;
                false
            }
            ']' | '}' | ')' => !word,
            _ => false,
        };
        if ends {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_their_format_says() {
        for (text, outer, expected) in [
            ("b'geheim', 1", None, "b'***', 1"),
            ("$'ge heim' x", None, "$'***' x"),
            ("Secret(\"geheim\") }", None, "Secret(\"***\") }"),
            ("'''ge\nheim''' x", None, "'''***''' x"),
            ("\"ge heim\nx", None, "\"***\nx"),
            ("'it'\\''s x'", None, "'***'"),
            ("[\"one\", \"two\"] x", None, "[\"***\", \"***\"] x"),
            ("{\"type\": \"one\", \"port\": 80}", None, "{\"type\": \"***\", \"port\": 80}"),
            ("{geheim", None, "***"),
            ("[geheim x", None, "*** x"),
            ("\\geheim x", None, "*** x"),
            ("ab,geheim x", None, "*** x"),
            ("geheim,retries=3", None, "***,retries=3"),
            ("ab&geheim x", None, "*** x"),
            ("geheim&page=2", None, "***&page=2"),
            ("ab<geheim x", None, "*** x"),
            ("geheim</td>", None, "***</td>"),
            ("geheim\\\"}", None, "***\\\"}"),
            ("it's x", None, "*** x"),
            ("geheim'b", Some('\''), "***'b"),
            ("geheim) x", None, "***) x"),
            ("{{ vault_password }} x", None, "{{ vault_password }} x"),
        ] {
            let value = at_start(text, outer, &|word| word == "80").unwrap();
            assert_eq!(format!("{}{}", value.shown, &text[value.length..]), expected, "{text}");
        }
    }
}
