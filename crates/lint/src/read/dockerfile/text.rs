//! Text that was put together from several lines, and remembers which.

/// A logical line: continuation lines joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text {
    /// The joined text.
    pub text: String,
    /// Where in `text` each line of the file begins: offset in bytes, and the line's number from 1.
    starts: Vec<(usize, usize)>,
}

impl Text {
    /// A text of whole lines that begins at a line.
    pub(crate) fn lines(text: &str, first: usize) -> Text {
        let ends = text.match_indices('\n').map(|(offset, _)| offset + 1);
        let starts =
            std::iter::once(0).chain(ends).enumerate().map(|(count, offset)| (offset, first + count));
        Text { text: text.to_owned(), starts: starts.collect() }
    }

    /// A text on one line.
    pub(crate) fn in_line(text: &str, line: usize) -> Text {
        Text { text: text.to_owned(), starts: vec![(0, line)] }
    }

    /// Adds the text of a line.
    pub(crate) fn push(&mut self, line: usize, text: &str) {
        self.starts.push((self.text.len(), line));
        self.text.push_str(text);
    }

    /// The line of the file that a place in the text comes from.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        let after = self.starts.partition_point(|(start, _)| *start <= offset);
        after.checked_sub(1).and_then(|index| self.starts.get(index)).map_or(0, |(_, line)| *line)
    }

    /// Where the lines of the file begin in the text, with their numbers.
    pub(crate) fn starts(&self) -> &[(usize, usize)] {
        &self.starts
    }

    /// What follows a place.
    pub(crate) fn after(&self, offset: usize) -> Text {
        let first = self.line_at(offset);
        let rest = self.starts.iter().filter(|(start, _)| *start > offset);
        let starts = std::iter::once((0, first)).chain(rest.map(|(start, line)| (start - offset, *line)));
        Text { text: self.text.get(offset..).unwrap_or_default().to_owned(), starts: starts.collect() }
    }
}
