//! Bytes that are made in pieces and handed out as a reader asks for them.

/// Bytes that are ready, and how many of them have been handed out.
#[derive(Debug, Default)]
pub struct Ready {
    bytes: Vec<u8>,
    handed: usize,
}

impl Ready {
    /// Whether all have been handed out.
    pub fn is_empty(&self) -> bool {
        self.handed == self.bytes.len()
    }

    /// Starts the next piece: the buffer, empty.
    pub fn refill(&mut self) -> &mut Vec<u8> {
        self.bytes.clear();
        self.handed = 0;
        &mut self.bytes
    }

    /// Hands out as many as there is room for; how many these were.
    pub fn hand(&mut self, buffer: &mut [u8]) -> usize {
        let count = buffer.len().min(self.bytes.len() - self.handed);
        buffer[..count].copy_from_slice(&self.bytes[self.handed..self.handed + count]);
        self.handed += count;
        count
    }
}
