//! Text in HTML and SVG.

use crate::visible;

/// Text of anywhere in an element or an attribute in double quotes. What a reader would not see, or would see
/// as other text than it is, is written as an escape, as on a terminal.
pub fn escape(text: &str) -> String {
    let text = visible::block(text);
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// A name as an anchor: what is no letter, digit or dot becomes a hyphen.
pub fn anchor(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escapes_and_anchors_are_plain() {
        assert_eq!(escape("a\u{202e}b\x07 'c'"), r"a\u202eb\x07 &#39;c&#39;");
        assert_eq!(anchor("2.6.0+cu124 x"), "2.6.0-cu124-x");
    }
}
