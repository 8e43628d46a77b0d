//! Foreign text on a terminal: what a file, an image, an engine or another machine says may hold characters
//! that move the cursor, set the title, write to the clipboard, or show other text than there is. They are
//! shown as escapes: `\x1b`, `\u202e`.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

use crate::links;

/// Whether a terminal acts on the character or shows nothing for it, so that a reader sees other text than
/// there is: control characters (C0, DEL, C1), marks of writing direction (Unicode Annex 9), characters
/// without width, line and paragraph separators, tags, and code points that are no characters.
pub fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0d}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{fffe}'..='\u{ffff}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The text as one line: a line end in a name would begin a line that only looks like envdoc's.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |c| !is_hidden(c))
}

/// A path as one line.
pub fn path(path: &Path) -> String {
    line(&path.display().to_string()).into_owned()
}

/// The text with its lines and tabs.
pub fn block(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t') || !is_hidden(c))
}

/// How much of a long text is shown, in characters: its beginning and its end, where parsers say the place.
const SHOWN: (usize, usize) = (1000, 200);

/// A message or a line of one without its middle, where it quotes a value of a file whole: such a value may
/// have megabytes.
pub fn shortened(line: &str) -> Cow<'_, str> {
    let (first, last) = SHOWN;
    let count = line.chars().count();
    if count <= first + last {
        return Cow::Borrowed(line);
    }
    let head: String = line.chars().take(first).collect();
    let tail: String = line.chars().skip(count - last).collect();
    Cow::Owned(format!("{head} … ({} characters left out) … {tail}", count - first - last))
}

/// What goes to a terminal: lines, tabs, the colours of [`crate::terminal`] and the links of
/// [`crate::links`]; nothing else that a terminal acts on.
pub(crate) fn screen(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        let (before, after) = rest.split_at(at);
        out.push_str(&block(before));
        let length = colour(after).max(links::length(after));
        out.push_str(if length > 0 { &after[..length] } else { r"\x1b" });
        rest = &after[length.max(1)..];
    }
    out.push_str(&block(rest));
    Cow::Owned(out)
}

/// Length of the colour with which the text begins; 0: another sequence. Only those of styles: bold, dimmed,
/// italic, underlined, the 16 colours but black, and their end.
fn colour(text: &str) -> usize {
    let Some(codes) = text.strip_prefix("\x1b[") else { return 0 };
    let Some(end) = codes.find(|c: char| !c.is_ascii_digit() && c != ';') else { return 0 };
    let known = |code: &str| matches!(code.parse(), Ok(0..=4 | 31..=37 | 39 | 90..=97));
    if codes[end..].starts_with('m') && codes[..end].split(';').all(|code| code.is_empty() || known(code)) {
        "\x1b[".len() + end + 1
    } else {
        0
    }
}

fn escaped(text: &str, shown: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().all(&shown) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            _ if shown(c) => out.push(c),
            '\n' => out.push_str(r"\n"),
            '\r' => out.push_str(r"\r"),
            '\t' => out.push_str(r"\t"),
            '\0'..='\x1f' => {
                let _ = write!(out, r"\x{:02x}", u32::from(c));
            }
            // As JSON writes it, so that JSON stays the same JSON.
            _ => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                let _ = write!(out, r"\u{unit:04x}");
            }),
        }
    }
    Cow::Owned(out)
}

/// A text whose length is bounded, whatever it quotes.
pub(crate) fn short(text: impl Into<String>) -> String {
    let text = text.into();
    let short = shortened(&text);
    if let Cow::Owned(short) = short { short } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_in_names_are_escaped() {
        for (text, expected) in [
            ("plain Größe 文字", "plain Größe 文字"),
            ("a\nerror: b\r", r"a\nerror: b\r"),
            ("x\x1b]0;t\x07", r"x\x1b]0;t\x07"),
            ("\u{9b}2J\u{202e}txt", r"\u009b2J\u202etxt"),
        ] {
            assert_eq!(line(text), expected);
            assert_eq!(path(Path::new(text)), expected);
        }
        assert_eq!(block("a\n\tb\x08"), "a\n\tb\\x08");
    }

    #[test]
    fn only_colours_reach_the_screen() {
        let own = "\x1b[1m\x1b[31mx\x1b[0m";
        assert_eq!(screen(own), own);
        for (text, expected) in [
            ("\x1b[2Jx", r"\x1b[2Jx"),
            ("\x1b[8mhidden", r"\x1b[8mhidden"),
            ("\x1b[30m", r"\x1b[30m"),
            ("\x1b[38;5;0m", r"\x1b[38;5;0m"),
            ("\x1b[", r"\x1b["),
            ("\x1b", r"\x1b"),
            ("\x1b\x1b[1m", "\\x1b\x1b[1m"),
            ("a\rb", r"a\rb"),
        ] {
            assert_eq!(screen(text), expected);
        }
    }
}
