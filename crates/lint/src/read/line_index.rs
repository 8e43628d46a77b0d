//! The lines of places in a text.

/// Where the lines of a text begin.
#[derive(Debug)]
pub(crate) struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    pub(crate) fn new(text: &str) -> LineIndex {
        let ends = text.match_indices('\n').map(|(offset, _)| offset + 1);
        LineIndex { starts: std::iter::once(0).chain(ends).collect() }
    }

    /// The line of a place, in bytes, from 0. An end of a line belongs to the line that it ends.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }
}
