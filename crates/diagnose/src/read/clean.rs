//! Terminal codes and NUL bytes are taken out of a stream, in place.

use memchr::memchr2;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// A code longer than this is none, and its rest is text; in bytes.
const SEQUENCE_LIMIT_BYTES: usize = 256;

/// NUL bytes that are compared at once.
const NULS: [u8; 4096] = [0; 4096];

/// Where in a code the stream stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    /// After ESC.
    Escape,
    /// Inside `ESC [ … letter`, with its length so far.
    Control(usize),
    /// Inside `ESC ] … BEL`, which sets titles and links.
    Title(usize),
    /// After an ESC inside of the latter, where a backslash ends it.
    TitleEscape(usize),
}

/// Takes the codes out of one stream, which comes in pieces.
#[derive(Debug, Clone)]
pub struct Cleaner {
    state: State,
    /// NUL bytes so far.
    pub nuls: u64,
}

impl Default for Cleaner {
    fn default() -> Self {
        Cleaner { state: State::Text, nuls: 0 }
    }
}

impl Cleaner {
    /// Cleans the next piece of the stream in place; its length without the codes. Ends of line are never
    /// taken out.
    pub fn clean(&mut self, bytes: &mut [u8]) -> usize {
        let (mut read, mut written) = (0, 0);
        while read < bytes.len() {
            // Files with holes have gigabytes of them.
            if bytes[read..].starts_with(&NULS) {
                read += NULS.len();
                self.nuls += NULS.len() as u64;
                continue;
            }
            if self.state == State::Text {
                let plain = memchr2(ESCAPE, 0, &bytes[read..]).unwrap_or(bytes.len() - read);
                if read != written {
                    bytes.copy_within(read..read + plain, written);
                }
                read += plain;
                written += plain;
                if read == bytes.len() {
                    break;
                }
            }
            let byte = bytes[read];
            read += 1;
            if self.keeps(byte) {
                bytes[written] = byte;
                written += 1;
            }
        }
        written
    }

    /// Takes the next byte of a code, or a NUL; whether it is text after all.
    fn keeps(&mut self, byte: u8) -> bool {
        if byte == 0 {
            self.nuls += 1;
            return false;
        }
        if matches!(byte, b'\n' | b'\r') {
            self.state = State::Text;
            return true;
        }
        self.state = match (self.state, byte) {
            (State::Title(length), ESCAPE) => State::TitleEscape(length + 1),
            (_, ESCAPE) | (State::Escape, 0x20..=0x2f) => State::Escape,
            (State::Text, _) => return true,
            (State::Escape, b'[') => State::Control(0),
            (State::Escape, b']') => State::Title(0),
            (State::Escape, 0x30..=0x7e) => State::Text,
            (State::Control(_), 0x40..=0x7e) | (State::Title(_), BELL) | (State::TitleEscape(_), b'\\') => {
                State::Text
            }
            (State::Control(length), 0x20..=0x3f) if length < SEQUENCE_LIMIT_BYTES => {
                State::Control(length + 1)
            }
            (State::Title(length) | State::TitleEscape(length), _) if length < SEQUENCE_LIMIT_BYTES => {
                State::Title(length + 1)
            }
            _ => {
                self.state = State::Text;
                return true;
            }
        };
        false
    }
}

#[cfg(test)]
mod tests {
    use super::Cleaner;

    fn clean(bytes: &[u8], piece: usize) -> String {
        let mut cleaner = Cleaner::default();
        let mut text = Vec::new();
        for piece in bytes.chunks(piece) {
            let mut piece = piece.to_vec();
            let length = cleaner.clean(&mut piece);
            text.extend_from_slice(&piece[..length]);
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    #[test]
    fn strips_escape_sequences_across_chunk_boundaries() {
        let cases: &[(&[u8], &str)] = &[
            (b"\x1b[31mRuntimeError\x1b[0m: CUDA", "RuntimeError: CUDA"),
            (b"\x1b[1;38;5;196mred\x1b[K\x1b[A up", "red up"),
            (b"\x1b]0;title\x07text \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "text link"),
            (b"\x1b(Bplain\x1b=", "plain"),
            (b"a\0\0b\x1b", "ab"),
            (b"\x1b[31\nnext", "\nnext"),
            (b"\x1b]never ended\r\nnext", "\r\nnext"),
            ("\u{1b}[32m训练\u{1b}[0m失败".as_bytes(), "训练失败"),
            (b"\x1b[\xe8\xae\xad", "训"),
            (b"", ""),
        ];
        for (bytes, wanted) in cases {
            for piece in 1..=bytes.len().max(1) {
                assert_eq!(&clean(bytes, piece), wanted, "{bytes:?} in pieces of {piece}");
            }
        }
        let long = [b"\x1b]".as_slice(), &[b'x'; 1000]].concat();
        assert!(clean(&long, 7).len() > 700, "a title without an end swallows no text");
    }
}
