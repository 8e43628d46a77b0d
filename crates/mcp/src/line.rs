//! Lines of a pipe, of which none takes more memory than the limit.

use std::io::{self, BufRead};

/// The longest message that is read, in bytes; a call of a tool has some hundred.
pub const LINE_LIMIT_BYTES: usize = 256 << 10;

/// What was read up to a line end, or to the end of the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Without its line end.
    Whole(Vec<u8>),
    /// Longer than the limit; this many bytes were skipped.
    TooLong(u64),
}

/// The next line; `None` at the end of the input.
pub(crate) fn next(input: &mut impl BufRead, limit_bytes: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut length: u64 = 0;
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok((length > 0).then(|| ended(line, length, limit_bytes)));
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        length += part.len() as u64;
        if length <= limit_bytes as u64 {
            line.extend_from_slice(part);
        } else {
            line = Vec::new();
        }
        let consumed = part.len() + usize::from(end.is_some());
        input.consume(consumed);
        if end.is_some() {
            return Ok(Some(ended(line, length, limit_bytes)));
        }
    }
}

fn ended(mut line: Vec<u8>, length: u64, limit_bytes: usize) -> Line {
    if length > limit_bytes as u64 {
        return Line::TooLong(length);
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Line::Whole(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_skipped_and_the_next_one_is_read() {
        let text = b"ab\r\n\nabcdefgh\nabcd\nxy";
        let mut input = io::BufReader::with_capacity(3, &text[..]);
        let mut next = || next(&mut input, 4).unwrap();
        assert_eq!(next(), Some(Line::Whole(b"ab".to_vec())));
        assert_eq!(next(), Some(Line::Whole(Vec::new())));
        assert_eq!(next(), Some(Line::TooLong(8)));
        assert_eq!(next(), Some(Line::Whole(b"abcd".to_vec())));
        assert_eq!(next(), Some(Line::Whole(b"xy".to_vec())));
        assert_eq!(next(), None);
    }
}
