//! Lines of a text that comes in pieces, in bounded memory.

/// The longest line that is held, in bytes; more of it is a line of its own.
const LINE_LIMIT_BYTES: usize = 64 << 10;

/// A line whose end has not come yet.
#[derive(Debug, Default)]
pub(super) struct OpenLine(String);

impl OpenLine {
    /// Adds a piece of the text, and hands out the lines that are whole now, with their ends.
    pub(super) fn add(&mut self, text: &str) -> Vec<String> {
        let mut whole = Vec::new();
        for part in text.split_inclusive('\n') {
            self.0.push_str(part);
            if part.ends_with('\n') || self.0.len() >= LINE_LIMIT_BYTES {
                whole.push(std::mem::take(&mut self.0));
            }
        }
        whole
    }

    /// What has no end yet.
    pub(super) fn take(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.0);
        (!line.is_empty()).then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_however_they_come() {
        let mut open = OpenLine::default();
        assert_eq!(open.add("a\nb"), ["a\n"]);
        assert_eq!(open.add("c\n\nd"), ["bc\n", "\n"]);
        assert_eq!(open.take().as_deref(), Some("d"));
        assert_eq!(open.take(), None);
    }

    #[test]
    fn a_line_without_end_is_not_held() {
        let mut open = OpenLine::default();
        let piece = "x".repeat(1000);
        let handed: usize = (0..1000).flat_map(|_| open.add(&piece)).map(|line| line.len()).sum();
        let held = open.take().unwrap_or_default().len();
        assert_eq!(handed + held, 1_000_000);
        assert!(held < LINE_LIMIT_BYTES, "{held}");
    }
}
