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
    let mut quotes = OpenQuote::default();
    command.chars().filter(|letter| quotes.next(*letter)).collect()
}

/// The quote that is open at the end of a text.
pub(crate) fn open_quote(text: &str) -> Option<char> {
    let mut open = OpenQuote::default();
    open.add(text);
    open.quote
}

/// The quote that is open at the end of a text that comes in parts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OpenQuote {
    pub quote: Option<char>,
    /// Whether a backslash stands before what comes next.
    escaped: bool,
}

impl OpenQuote {
    /// Goes on with the next part.
    pub(crate) fn add(&mut self, text: &str) {
        for letter in text.chars() {
            self.next(letter);
        }
    }

    /// Whether the shell itself expands the letter that comes next.
    fn next(&mut self, letter: char) -> bool {
        if std::mem::take(&mut self.escaped) {
            return false;
        }
        match (letter, self.quote) {
            ('\\', None | Some('"')) => self.escaped = true,
            (_, Some(end)) if letter == end => self.quote = None,
            ('"' | '\'', None) => self.quote = Some(letter),
            (_, Some('\'')) => {}
            _ => return true,
        }
        false
    }
}
