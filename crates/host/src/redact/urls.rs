//! Tokens within addresses: in parameters that are not known to be harmless, and as parts of a path.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::names::is_public;
use super::sentences::pieces;
use super::{HIDDEN, listed, pattern};

static URL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?i)\b((?:[a-z][a-z0-9+.-]*)://)([^\s"'<>`|\\(){}\[\],;/?#]*)(/[^\s"'<>`|\\(){}\[\],;?#]*)"#)
});
/// `?a=1&b=2`, in an address or behind a path; a quote, a blank or a `#` ends it.
static QUERY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r#"(?i)(\?|&(?:amp;)?)([a-z][a-z0-9_.%~\[\]-]*)=((?:[^&\s"'`#<>\\:]|:[^/])+)"#,
        r#"|(\w/?\?)([\w.~+/-]{16,})"#
    ))
});
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)^(?:\d{4}-\d\d-\d\d(?:T[\d:.%A-F]+Z?)?|\d{8}T\d{6}Z|v?\d+(?:\.\d+){1,3}(?:\.?[a-z]+\d*)?)$")
});

/// Parameters whose values are choices, names of columns or states.
const HARMLESS: &str = "\
    page limit offset per_page page_size sort order orderby order_by format version api-version apiversion \
    ref branch tag rev revision arch os lang locale platform type mode action view tab ssl sslmode usessl \
    encoding charset encrypt retrywrites w readpreference sv ss srt sp sr spr st se ske skt sks skv \
    x-amz-algorithm x-amz-signedheaders x-amz-expires x-amz-date x-goog-algorithm x-goog-date \
    x-goog-expires x-goog-signedheaders list-type delimiter all stream follow tail stdout stderr fromimage \
    repo driver signal force level dtype device backend rank world_size split download recursive expand \
    grant_type response_type expires egg subdirectory sha256 sha512 md5 digest";
/// Parts of paths that precede a token.
const BEFORE_TOKEN: &str = "\
    t token tokens key keys apikey api-key auth priv private secret access-token access_token signed share \
    shared invite reset webhook webhooks hook hooks";
/// Parts of paths that precede the hash of a commit or of a file.
const BEFORE_HASH: &str = "\
    commit commits tree blob blobs raw archive compare sha256 sha512 revision revisions rev resolve \
    manifests \
    packages objects object digest diff pull merge-base files file cas";
/// Ends of names of files.
const FILES: &[&str] = &[
    ".whl",
    ".gz",
    ".json",
    ".txt",
    ".html",
    ".zip",
    ".conda",
    ".deb",
    ".rpm",
    ".pt",
    ".safetensors",
    ".bin",
    ".git",
    ".py",
    ".bz2",
    ".xz",
    ".zst",
    ".yaml",
    ".yml",
    ".md",
    ".run",
    ".so",
    ".log",
    ".tgz",
    ".tar",
    ".metadata",
];

/// Addresses without the tokens in their paths and parameters.
pub(super) fn without_tokens(text: &str) -> String {
    if !text.contains("://") && !text.contains('?') {
        return text.to_owned();
    }
    let text = URL.replace_all(text, |found: &Captures<'_>| {
        let host = found[2].rsplit('@').next().unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default();
        format!("{}{}{}", &found[1], &found[2], path(&found[3], is_public(host)))
    });
    QUERY
        .replace_all(&text, |found: &Captures<'_>| match (found.get(2), found.get(4)) {
            (Some(key), _) if found[3].split(',').all(|value| is_harmless(key.as_str(), value)) => {
                found[0].to_owned()
            }
            (Some(key), _) => format!("{}{}={HIDDEN}", &found[1], key.as_str()),
            (None, Some(start)) if pieces(&found[5], 3) => format!("{}{HIDDEN}", start.as_str()),
            _ => found[0].to_owned(),
        })
        .into_owned()
}

fn path(path: &str, public: bool) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let shown = parts.iter().enumerate().map(|(at, part)| {
        let before = at.checked_sub(1).map_or("", |before| parts[before]);
        match is_path_token(before, part, public) {
            true => HIDDEN,
            false => part,
        }
    });
    shown.collect::<Vec<_>>().join("/")
}

/// Whether a part of a path is a token. On servers of publishers random parts are hashes and ids.
fn is_path_token(before: &str, part: &str, public: bool) -> bool {
    let before = before.to_ascii_lowercase();
    let digit = part.bytes().any(|byte| byte.is_ascii_digit());
    let letter = part.bytes().any(|byte| byte.is_ascii_alphabetic());
    if part.contains(HIDDEN) || part.starts_with(['$', '%', '<']) || part.len() < 6 {
        return false;
    }
    if listed(BEFORE_TOKEN, &before) && digit && (letter || part.len() > 7) && !TIME.is_match(part) {
        return true;
    }
    let file = FILES.iter().any(|end| part.ends_with(end));
    let hash = listed(BEFORE_HASH, &before) || before.len() == 2 && is_hexadecimal(&before);
    if public || file || hash || part.contains([':', '@']) || super::identifiers::UUID.is_match(part) {
        return false;
    }
    part.split(|c: char| !c.is_ascii_alphanumeric()).any(|piece| {
        let mixed = piece.len() > 9 && pieces(piece, 4) || piece.len() > 15 && pieces(piece, 3);
        let hexadecimal = piece.len() > 19 && is_hexadecimal(piece);
        mixed || hexadecimal
    })
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        && text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether the value of a parameter opens nothing: a number, a switch, a date, a version, a choice.
fn is_harmless(key: &str, value: &str) -> bool {
    let short = value.len() <= 2 || value.len() < 9 && value.bytes().all(|byte| byte.is_ascii_digit());
    let reference = value.starts_with(['$', '{', '%']) || value == HIDDEN || value.starts_with("***");
    let switch = ["true", "false", "yes", "no", "on", "off", "none", "null"];
    let known = listed(HARMLESS, &key.to_ascii_lowercase());
    let choice = value.len() < 80 && !pieces(value, 3);
    let secret = crate::secret_names::is_secret(key);
    !secret
        && (short
            || reference
            || switch.contains(&value.to_ascii_lowercase().as_str())
            || TIME.is_match(value)
            || known && choice
            || known && value.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_in_addresses_are_hidden() {
        for (text, expected) in [
            ("https://h/aBcD1234eFgH/team/simple/", "https://h/***/team/simple/"),
            ("https://h.example/priv/00ff00ff00ff00ff00ff00ff/x", "https://h.example/priv/***/x"),
            ("https://h/token/geheim7/simple", "https://h/token/***/simple"),
            ("https://h/simple?x=geheim", "https://h/simple?x=***"),
            ("https://h/simple?a=1&access=geheim&page=2", "https://h/simple?a=1&access=***&page=2"),
            ("GET /v1/x?q=geheim&version=1.2", "GET /v1/x?q=***&version=1.2"),
            ("https://h/whl/cu124/torch-2.6.0", "https://h/whl/cu124/torch-2.6.0"),
            ("https://h/api/pypi/team-2/simple", "https://h/api/pypi/team-2/simple"),
            ("https://h/models/Meta-Llama-3.1-8B-Instruct", "https://h/models/Meta-Llama-3.1-8B-Instruct"),
            (
                "https://github.com/a/b/8f14e45fceea167a5a36dedd4bea2543",
                "https://github.com/a/b/8f14e45fceea167a5a36dedd4bea2543",
            ),
            ("https://h/x.whl#sha256=00ff00ff", "https://h/x.whl#sha256=00ff00ff"),
            ("is that so? x=1", "is that so? x=1"),
        ] {
            assert_eq!(without_tokens(text), expected);
        }
    }
}
