//! What ssh and the other side print before and while a connection is open. It is read from pipes as it
//! comes, and only its start is kept: a peer may print without end.

use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{POLL_INTERVAL, READY_MARK};

/// The most that is kept of an output, in bytes.
const KEPT_LIMIT_BYTES: usize = 64 << 10;
/// The most that the other side may print before the connection is ready, in bytes: messages of the day and
/// what login shells print are far smaller.
pub(super) const FLOOD_LIMIT_BYTES: u64 = 8 << 20;

/// The longest that the pipe of a program that has ended may stay open.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// An output that a thread of its own reads to its end.
#[derive(Debug, Default)]
pub(super) struct Capture(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    kept: Vec<u8>,
    bytes: u64,
    /// The start of the line that has not ended.
    line: Vec<u8>,
    ready: bool,
    ended: bool,
}

impl Capture {
    /// Reads a pipe until its other end is closed.
    pub(super) fn of(mut pipe: impl Read + Send + 'static) -> Capture {
        let capture = Capture::default();
        let state = Arc::clone(&capture.0);
        std::thread::spawn(move || {
            let mut chunk = vec![0; 64 << 10];
            let locked = || state.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                match pipe.read(&mut chunk) {
                    Ok(0) => break,
                    Ok(count) => locked().add(&chunk[..count]),
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            locked().ended = true;
        });
        capture
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a line was [`READY_MARK`].
    pub(super) fn ready(&self) -> bool {
        self.state().ready
    }

    /// Whether more came than any login prints.
    pub(super) fn flooded(&self) -> bool {
        self.state().bytes > FLOOD_LIMIT_BYTES
    }

    /// Ends when more came than any login prints.
    pub(super) async fn flood(&self) {
        while !self.flooded() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// The start of what came, of a program that has ended: its last words may still be in the pipe, and a
    /// child of it may hold the pipe open for ever.
    pub(super) async fn rest(&self) -> String {
        let end = Instant::now() + END_TIMEOUT;
        while !self.state().ended && Instant::now() < end {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        String::from_utf8_lossy(&self.state().kept).into_owned()
    }
}

impl State {
    fn add(&mut self, chunk: &[u8]) {
        self.bytes += chunk.len() as u64;
        let room = KEPT_LIMIT_BYTES - self.kept.len();
        self.kept.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if self.ready {
            return;
        }
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            let (text, ended) = match part.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (part, false),
            };
            // One byte more than the mark tells a longer line.
            let room = (READY_MARK.len() + 2).saturating_sub(self.line.len());
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            if ended {
                self.ready |= self.line.strip_suffix(b"\r").unwrap_or(&self.line) == READY_MARK.as_bytes();
                self.line.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_found_however_it_arrives() {
        let text = format!("motd\n{READY_MARK}x\nx{READY_MARK}\n{}\r\nmore", READY_MARK);
        for size in [1, 3, 7, 1000] {
            let mut state = State::default();
            for chunk in text.as_bytes().chunks(size) {
                state.add(chunk);
            }
            assert!(state.ready, "{size}");
            assert_eq!(state.kept, text.as_bytes());
        }
        let mut state = State::default();
        state.add(format!("{READY_MARK}x\n{READY_MARK}").as_bytes());
        assert!(!state.ready, "a line that has not ended is not ready");
    }

    #[test]
    fn excess_output_is_counted_but_not_kept() {
        let mut state = State::default();
        let chunk = b"AAAA\n".repeat(10_000);
        for _ in 0..1000 {
            state.add(&chunk);
        }
        assert_eq!((state.bytes, state.kept.len()), (50_000_000, KEPT_LIMIT_BYTES));
        assert!(state.kept.capacity() <= 2 * KEPT_LIMIT_BYTES && state.line.len() < 100);
    }
}
