//! Ids as links to their pages in the documentation (OSC 8), where standard output is a terminal that shows
//! links.

use std::borrow::Cow;
use std::sync::OnceLock;

/// The address of the documentation; unset where ids are no links.
static BASE: OnceLock<String> = OnceLock::new();

const START: &str = "\x1b]8;;";
const END: &str = "\x1b\\";

/// An address that links may begin with, with a `/` at its end. `Err`: what it has to be.
pub fn base(address: &str) -> Result<String, &'static str> {
    let host = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/%[]@".contains(c);
    match host {
        Some(host) if host.starts_with(|c: char| c != '/') && host.chars().all(plain) => {
            Ok(format!("{}/", address.trim_end_matches('/')))
        }
        _ => Err("it must be a URL such as https://docs.example.com/envdoc/"),
    }
}

/// From now on ids link to pages below the address, if this terminal shows links.
pub fn to(base: String) {
    if supports_hyperlinks::on(supports_hyperlinks::Stream::Stdout) {
        BASE.get_or_init(|| base);
    }
}

/// An id as a report shows it.
pub fn id(id: &str) -> Cow<'_, str> {
    linked(id, BASE.get().map(String::as_str))
}

/// Length of the start or the end of such a link with which the text begins; 0: another sequence.
pub(crate) fn length(text: &str) -> usize {
    sequence(text, BASE.get().map(String::as_str))
}

/// Only ids of envdoc have pages: not those of own checks (`own:NAME`).
fn linked<'i>(id: &'i str, base: Option<&str>) -> Cow<'i, str> {
    match base {
        Some(base) if is_id(id) => format!("{START}{base}explain/{id}.html{END}{id}{START}{END}").into(),
        _ => id.into(),
    }
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn sequence(text: &str, base: Option<&str>) -> usize {
    let (Some(base), Some(rest)) = (base, text.strip_prefix(START)) else { return 0 };
    let Some(end) = rest.find(END) else { return 0 };
    let address = &rest[..end];
    let page = address.strip_prefix(base).and_then(|page| page.strip_prefix("explain/"));
    if address.is_empty() || page.and_then(|page| page.strip_suffix(".html")).is_some_and(is_id) {
        START.len() + end + END.len()
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::{base, linked, sequence};

    #[test]
    fn ids_link_to_their_pages() {
        let docs = Some("https://docs.example/e/");
        let link = "\x1b]8;;https://docs.example/e/explain/a-b.html\x1b\\a-b\x1b]8;;\x1b\\";
        assert_eq!(linked("a-b", docs), link);
        assert_eq!(linked("a-b", None), "a-b");
        assert_eq!(linked("own:a", docs), "own:a");
    }

    #[test]
    fn no_other_link_reaches_the_terminal() {
        let docs = Some("https://docs.example/");
        let link = linked("a-b", docs);
        assert_eq!(&link[sequence(&link, docs)..], "a-b\x1b]8;;\x1b\\");
        assert_eq!(sequence("\x1b]8;;\x1b\\ x", docs), 7);
        for other in [
            "\x1b]8;;https://evil.example/explain/a-b.html\x1b\\",
            "\x1b]8;;https://docs.example/../a.html\x1b\\",
            "\x1b]8;;https://docs.example/explain/\x1b[2Ja.html\x1b\\",
            "\x1b]8;id=1;https://docs.example/explain/a-b.html\x1b\\",
            "\x1b]8;;https://docs.example/explain/a-b.html",
            "\x1b]0;title\x07",
        ] {
            assert_eq!(sequence(other, docs), 0, "{other:?}");
        }
        assert_eq!(sequence(&link, None), 0);
    }

    #[test]
    fn addresses_are_those_of_a_web_server() {
        assert_eq!(base("https://docs.example/envdoc"), Ok("https://docs.example/envdoc/".to_owned()));
        assert_eq!(base("http://10.0.0.1:8000/"), Ok("http://10.0.0.1:8000/".to_owned()));
        for wrong in [
            "",
            "docs.example",
            "file:///usr/share",
            "https://",
            "https:///x",
            "https://a b/",
            "https://a/\x07",
        ] {
            assert!(base(wrong).is_err(), "{wrong:?}");
        }
    }
}
