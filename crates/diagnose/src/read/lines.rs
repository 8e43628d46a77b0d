//! Whole lines as people see them: the first, the last, and those after a found one.

use std::collections::VecDeque;

use memchr::{memchr, memrchr};

/// A line is cut after so many bytes.
pub const CUT: usize = 1024;

/// The beginning of a line whose end has not been read: what of it could be shown.
#[derive(Debug, Default, Clone)]
pub struct Partial {
    /// The text after the last carriage return so far, cut.
    current: Vec<u8>,
    /// The last text that was not empty before it, cut.
    before: Vec<u8>,
}

impl Partial {
    /// Goes on with the line.
    pub fn add(&mut self, mut bytes: &[u8]) {
        if let Some(last) = memrchr(b'\r', bytes) {
            let (ended, rest) = bytes.split_at(last);
            self.ended(ended);
            self.current.clear();
            bytes = &rest[1..];
        }
        let room = CUT - self.current.len();
        self.current.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Texts that a carriage return has ended; the first of them goes on with `current`.
    fn ended(&mut self, mut bytes: &[u8]) {
        loop {
            let start = memrchr(b'\r', bytes);
            let text = &bytes[start.map_or(0, |at| at + 1)..];
            let Some(start) = start else {
                let room = CUT - self.current.len();
                self.current.extend_from_slice(&text[..text.len().min(room)]);
                if !self.current.is_empty() {
                    std::mem::swap(&mut self.before, &mut self.current);
                }
                return;
            };
            if !text.is_empty() {
                self.before.clear();
                self.before.extend_from_slice(&text[..text.len().min(CUT)]);
                return;
            }
            bytes = &bytes[..start];
        }
    }

    pub fn text(&self) -> String {
        cut(if self.current.is_empty() { &self.before } else { &self.current })
    }

    /// Whether nothing of a line has been read.
    pub fn is_empty(&self) -> bool {
        self.current.is_empty() && self.before.is_empty()
    }
}

/// What a terminal shows last of a line without its end, cut.
pub fn shown(line: &[u8]) -> String {
    let mut rest = line;
    loop {
        let Some(start) = memrchr(b'\r', rest) else { return cut(rest) };
        if start + 1 < rest.len() {
            return cut(&rest[start + 1..]);
        }
        rest = &rest[..start];
    }
}

/// The first bytes of a text, up to a whole character.
fn cut(text: &[u8]) -> String {
    let text = if text.len() < CUT { text } else { &text[..whole(text, CUT)] };
    String::from_utf8_lossy(text).into_owned()
}

/// The largest length up to `length` at which no UTF-8 character is cut in two.
pub fn whole(text: &[u8], length: usize) -> usize {
    let mut end = length.min(text.len());
    if end == text.len() && end < length {
        return end;
    }
    // The start of the last character is at most three bytes back.
    for back in 1..=end.min(3) {
        let byte = text[end - back];
        if byte < 0x80 {
            break;
        }
        if byte >= 0xc0 {
            let size = if byte >= 0xf0 {
                4
            } else if byte >= 0xe0 {
                3
            } else {
                2
            };
            if size > back {
                end -= back;
            }
            break;
        }
    }
    end
}

/// Takes the lines of the stream that follow a place.
#[derive(Debug, Clone)]
pub struct Taking {
    /// Who wants them.
    pub owner: u64,
    /// How many more.
    pub wanted: usize,
    /// What was taken.
    pub lines: Vec<String>,
    /// Where in the block the next line starts, if that is beyond the part that comes next.
    pub at: usize,
    /// Whether the end of the line before it has yet to come.
    pub mid_line: bool,
}

impl Taking {
    /// Takes what it can from the part of a block between `from` and `limit`, which ends with an end of line.
    /// `first` is the beginning of its first line. Whether it has all that is wanted.
    pub fn take(&mut self, block: &[u8], from: usize, limit: usize, first: &Partial) -> bool {
        self.at = self.at.max(from);
        while self.wanted > 0 && self.at < limit {
            let Some(length) = memchr(b'\n', &block[self.at..limit]) else { break };
            if self.mid_line {
                self.mid_line = false;
            } else {
                self.lines.push(text(&block[self.at..self.at + length], self.at == from, first));
                self.wanted -= 1;
            }
            self.at += length + 1;
        }
        self.wanted == 0
    }
}

/// A line whose beginning may have been read earlier.
fn text(line: &[u8], is_first: bool, first: &Partial) -> String {
    if !is_first || first.is_empty() {
        return shown(line);
    }
    let mut whole = first.clone();
    whole.add(line);
    whole.text()
}

/// The last lines of a stream.
#[derive(Debug, Clone, Default)]
pub struct Tail {
    lines: VecDeque<String>,
}

impl Tail {
    /// How many lines are kept.
    pub const KEPT: usize = 40;

    /// Takes the last lines of a part of a block that ends with an end of line.
    pub fn add(&mut self, part: &[u8], first: &Partial) {
        let mut new = Vec::with_capacity(Self::KEPT);
        let mut end = part.len().saturating_sub(1);
        while new.len() < Self::KEPT {
            let start = memrchr(b'\n', &part[..end]).map_or(0, |at| at + 1);
            new.push(text(&part[start..end], start == 0, first));
            if start == 0 {
                break;
            }
            end = start - 1;
        }
        let surplus = (self.lines.len() + new.len()).saturating_sub(Self::KEPT);
        self.lines.drain(..surplus.min(self.lines.len()));
        self.lines.extend(new.into_iter().rev());
    }

    pub fn push(&mut self, line: String) {
        if self.lines.len() == Self::KEPT {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    pub fn lines(self) -> Vec<String> {
        self.lines.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_text_after_last_carriage_return_and_truncates() {
        let long = "x".repeat(3 * CUT);
        let cases = [
            ("plain", "plain"),
            ("windows\r", "windows"),
            ("1%\r2%\r3%", "3%"),
            ("1%\r2%\r\r", "2%"),
            ("", ""),
            ("\r\r", ""),
            (long.as_str(), &long[..CUT]),
        ];
        for (line, wanted) in cases {
            assert_eq!(shown(line.as_bytes()), wanted);
            for piece in [1, 2, 3, 5, 1000] {
                let mut partial = Partial::default();
                line.as_bytes().chunks(piece).for_each(|piece| partial.add(piece));
                assert_eq!(partial.text(), wanted, "{line:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn characters_stay_whole() {
        let text = "训".repeat(CUT);
        let shown = shown(text.as_bytes());
        assert!(shown.len() > CUT - 3 && shown.chars().all(|one| one == '训'));
        assert_eq!(whole(b"abc", 2), 2);
        assert_eq!(whole("a训".as_bytes(), 4), 4);
        assert_eq!(whole("a训".as_bytes(), 3), 1);
        assert_eq!(whole("a训b".as_bytes(), 4), 4);
        assert_eq!(whole(b"\x80\x80\x80\x80\x80", 4), 4);
    }
}
