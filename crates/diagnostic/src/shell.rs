//! Values in commands that people paste into a shell.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::visible::is_hidden;

/// One word for a POSIX shell, in single quotes whatever is in it.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// One word for a command that is shown: bare where a shell reads it as it stands, else quoted. A value with
/// a character that cannot be seen, or with a line end, is written with `printf`, so that what is pasted is
/// what is seen; line ends at its end are lost.
pub fn word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+=:/,@%".contains(c);
    if text.contains(is_hidden) {
        let mut out = String::from("\"$(printf '");
        for (at, c) in text.char_indices() {
            // A `-` at the start would be an option of printf.
            let octal = is_hidden(c) || c == '\'' || (at == 0 && c == '-');
            match c {
                '%' => out.push_str("%%"),
                '\\' => out.push_str(r"\\"),
                _ if octal => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| {
                    let _ = write!(out, r"\{byte:03o}");
                }),
                _ => out.push(c),
            }
        }
        Cow::Owned(out + "')\"")
    } else if !text.is_empty() && text.chars().all(plain) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(quoted(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_values_stay_bare() {
        for (text, expected) in [
            ("/usr/local/cuda-12.4", "/usr/local/cuda-12.4"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("~root", "'~root'"),
            ("a\nb%", r#""$(printf 'a\012b%%')""#),
        ] {
            assert_eq!(word(text), expected);
        }
    }
}
