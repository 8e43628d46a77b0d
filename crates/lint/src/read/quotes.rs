//! Quotes as a shell reads them.

/// The words of a text, without the quotes around them. With `comments`, up to a `#` that begins a word.
pub(crate) fn split(text: &str, comments: bool) -> Vec<String> {
    let (mut words, mut word, mut open, mut quote) = (Vec::new(), String::new(), false, None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', None | Some('"')) => word.extend(letters.next()),
            (_, Some(end)) if letter == end => quote = None,
            ('"' | '\'', None) => (quote, open) = (Some(letter), true),
            ('#', None) if comments && word.is_empty() && !open => break,
            (_, None) if letter.is_whitespace() => {
                if open || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                open = false;
            }
            _ => word.push(letter),
        }
    }
    if open || !word.is_empty() {
        words.push(word);
    }
    words
}

/// The part of a command that the shell itself expands: what is outside single quotes.
pub(crate) fn expanded(command: &str) -> String {
    scan(command).0
}

/// The quote that is open at the end of a text.
pub(crate) fn open_quote(text: &str) -> Option<char> {
    scan(text).1
}

fn scan(text: &str) -> (String, Option<char>) {
    let (mut kept, mut quote) = (String::new(), None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', None | Some('"')) => {
                letters.next();
            }
            (_, Some(end)) if letter == end => quote = None,
            ('"' | '\'', None) => quote = Some(letter),
            (_, Some('\'')) => {}
            _ => kept.push(letter),
        }
    }
    (kept, quote)
}
