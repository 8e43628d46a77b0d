//! Headers of HTTP that hold a credential, whatever scheme or names it has.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{HIDDEN, listed, pattern};

/// `Authorization: `, `'Proxy-Authorization': '`, `authorization=`
static AUTHORIZATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?i)\b(?:proxy-|x-)?authorization\\*["']?\]?\s?(?:[:=]|=>)[ \t]*(?:(?-i:b)?\\*["'])?"#)
});
/// The schemes that are registered or common, in lower case.
const SCHEMES: &str = "\
    apikey aws4-hmac-sha256 basic bearer digest dpop gnap hawk hmac hoba kerberos key mutual negotiate ntlm \
    oauth privatetoken scram-sha-1 scram-sha-256 sharedkey sharedkeylite signature token vapid";
/// Schemes whose credential is a list of parameters.
const PARAMETERS: &str = "\
    aws4-hmac-sha256 digest dpop gnap hawk hmac hoba mutual oauth scram-sha-1 scram-sha-256 signature vapid";
/// `Cookie: a=1; session=x`, `"Set-Cookie": "session=x; Path=/"`
static COOKIES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)(\b(?:set-)?cookies?2?\\*["']?\]?\s?:[ \t]*(?:(?-i:b)?\\*["'])?)([^\s"'\\\r\n\[{][^"'\r\n]*)"#,
    )
});
/// What a server says about a cookie.
const ATTRIBUTES: &str = "path httponly secure samesite max-age expires partitioned priority version";

/// Headers of one line that are read; what follows them in a line with more is hidden.
const HEADERS_LIMIT: usize = 100;

/// Credentials of the headers that carry them.
pub(super) fn credentials(text: &str) -> String {
    let text = authorization(text);
    COOKIES
        .replace_all(&text, |found: &Captures<'_>| match found[2].ends_with('(') {
            // A constructor, whose text is found by its name.
            true => found[0].to_owned(),
            false => format!("{}{}", &found[1], cookies(&found[2])),
        })
        .into_owned()
}

fn authorization(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut done, mut in_line, mut line_end) = (0, 0, 0);
    while let Some(found) = AUTHORIZATION.find_at(text, done) {
        out.push_str(&text[done..found.end()]);
        let rest = &text[found.end()..];
        if found.end() > line_end {
            line_end = found.end() + rest.find(['\n', '\r']).unwrap_or(rest.len());
            in_line = 0;
        }
        in_line += 1;
        if in_line > HEADERS_LIMIT {
            // Each is looked for to the end of the line.
            out.push_str(HIDDEN);
            done = line_end;
            continue;
        }
        let length = credential(&text[..found.start()], found.as_str(), rest, &mut out);
        done = found.end() + length;
    }
    out + &text[done..]
}

/// Writes what is shown of the value at the start of `rest`; how long the value is.
fn credential(before: &str, header: &str, rest: &str, out: &mut String) -> usize {
    let line = rest.find(['\n', '\r']).unwrap_or(rest.len());
    let inner = header.chars().last().filter(|c| ['"', '\''].contains(c));
    // `-H 'Authorization: …'`: the quote before the header ends its value.
    let outer = before.chars().last().filter(|c| ['"', '\''].contains(c));
    let colon = header.trim_end_matches(['"', '\'', '\\', 'b', ' ', '\t']).ends_with(':');
    let closed = inner.or(outer.filter(|_| colon)).and_then(|quote| rest[..line].find(quote));
    let whole = closed.map_or(line, |end| rest[..end].trim_end_matches('\\').len());
    let value = &rest[..whole];
    let (scheme, after) = value.split_once([' ', '\t']).unwrap_or((value, ""));
    let scheme = scheme.trim_end_matches(':');
    let known = listed(SCHEMES, &scheme.to_ascii_lowercase());
    let list = listed(PARAMETERS, &scheme.to_ascii_lowercase());
    if value.is_empty() || value.starts_with(HIDDEN) || value.starts_with(['[', '{', '$', '<']) {
        return 0;
    }
    let words = value.split_whitespace().count();
    if known && !after.trim().is_empty() {
        let blank = after.len() - after.trim_start().len();
        let start = value.len() - after.len() + blank;
        let end = match list || closed.is_some() || words == 2 {
            true => value.len(),
            false => start + super::values::bare(&value[start..], None),
        };
        // "Authorization: token expired" is a sentence.
        if words == 2 && is_word(value[start..end].trim()) && closed.is_none() {
            out.push_str(value);
            return value.len();
        }
        out.push_str(&value[..start]);
        out.push_str(HIDDEN);
        return end;
    }
    let first = super::values::bare(value, inner);
    let sentence = |word: &str| is_word(word.trim_end_matches([',', '.', ':', ';']));
    let harmless = ["none", "null", "true", "false", "disabled", "enabled", "required", ""];
    if harmless.contains(&value[..first].to_ascii_lowercase().as_str())
        || closed.is_none() && colon && sentence(&value[..first]) && words != 1
        || closed.is_none() && colon && first == value.len() && is_word(value) && value.len() < 12
    {
        return 0;
    }
    out.push_str(HIDDEN);
    match closed.is_some() || words == 2 && colon {
        true => value.len(),
        false => first,
    }
}

/// Letters of one case, as words of sentences are.
fn is_word(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The names of cookies and their attributes.
fn cookies(value: &str) -> String {
    let shown = value.split(';').map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        match name.trim() {
            "" => part.to_owned(),
            name if listed(ATTRIBUTES, &name.to_ascii_lowercase()) => part.to_owned(),
            _ if value.is_empty() && part.trim().starts_with(HIDDEN) => part.to_owned(),
            _ if value.is_empty() => {
                let blank = part.len() - part.trim_start().len();
                format!("{}{HIDDEN}", &part[..blank])
            }
            _ => format!("{name}={HIDDEN}", name = part.split('=').next().unwrap_or_default()),
        }
    });
    shown.collect::<Vec<_>>().join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_of_headers_are_hidden_whatever_their_scheme() {
        for (text, expected) in [
            ("Authorization: Bearer geheim7 x", "Authorization: Bearer *** x"),
            ("authorization: geheim7", "authorization: ***"),
            ("Authorization: Negotiate YIIJvw/x=", "Authorization: Negotiate ***"),
            ("Authorization: Digest username=\"a\", response=\"6629\"", "Authorization: Digest ***"),
            ("-H 'Authorization: Custom a b c' http://h", "-H 'Authorization: ***' http://h"),
            ("{'Authorization': 'Key id:geheim', 'x': 1}", "{'Authorization': 'Key ***', 'x': 1}"),
            ("authorization=geheim7 status=401", "authorization=*** status=401"),
            ("authorization: none", "authorization: none"),
            ("authorization: failed for this user", "authorization: failed for this user"),
            ("Cookie: a=1; sessionid=geheim", "Cookie: a=***; sessionid=***"),
            ("Set-Cookie: s=geheim; Path=/; HttpOnly", "Set-Cookie: s=***; Path=/; HttpOnly"),
            ("{\"Cookie\": \"geheim\", \"x\": 1}", "{\"Cookie\": \"***\", \"x\": 1}"),
        ] {
            assert_eq!(credentials(text), expected);
        }
    }
}
