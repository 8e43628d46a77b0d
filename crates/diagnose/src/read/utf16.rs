//! UTF-16, as Windows writes logs, read as UTF-8.

use std::io::{self, Read};

use super::ready::Ready;

/// The order of the two bytes of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The low byte first.
    Little,
    /// The high byte first.
    Big,
}

impl Order {
    /// The order of a text that starts like this; `None`: it is no UTF-16. Without a mark it is known by the
    /// zeros of Latin letters, digits and spaces, which stand at every other place.
    pub fn of(first: &[u8]) -> Option<Order> {
        match first {
            [0xff, 0xfe, ..] => return Some(Order::Little),
            [0xfe, 0xff, ..] => return Some(Order::Big),
            _ if first.len() < 16 => return None,
            _ => {}
        }
        let zeros = |offset: usize| first.iter().skip(offset).step_by(2).filter(|byte| **byte == 0).count();
        let (high, low, units) = (zeros(0), zeros(1), first.len() / 2);
        if low * 4 > units && high * 50 <= units {
            Some(Order::Little)
        } else if high * 4 > units && low * 50 <= units {
            Some(Order::Big)
        } else {
            None
        }
    }
}

/// A stream of UTF-16 as one of UTF-8. What is no character becomes U+FFFD.
pub struct Utf8<S> {
    source: S,
    order: Order,
    /// Bytes read that are not yet decoded: an odd one, half a pair.
    held: Vec<u8>,
    ready: Ready,
    ended: bool,
}

impl<S: Read> Utf8<S> {
    /// Reads a stream of UTF-16.
    pub fn new(source: S, order: Order) -> Utf8<S> {
        Utf8 { source, order, held: Vec::new(), ready: Ready::default(), ended: false }
    }

    fn more(&mut self) -> io::Result<()> {
        let start = self.held.len();
        self.held.resize(start + (1 << 16), 0);
        let result = self.source.read(&mut self.held[start..]);
        self.held.truncate(start + result.as_ref().copied().unwrap_or(0));
        self.ended = result? == 0;
        let mut units: Vec<u16> = self.held.chunks_exact(2).map(|unit| self.unit(unit)).collect();
        // The first half of a pair waits for the second.
        if !self.ended && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            units.pop();
        }
        self.held.drain(..units.len() * 2);
        let ready = self.ready.refill();
        for one in char::decode_utf16(units) {
            let one = one.unwrap_or(char::REPLACEMENT_CHARACTER);
            // Marks of order, wherever files were put together.
            if one != '\u{feff}' {
                ready.extend_from_slice(one.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        if self.ended && !self.held.is_empty() {
            ready.extend_from_slice(char::REPLACEMENT_CHARACTER.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Ok(())
    }

    fn unit(&self, bytes: &[u8]) -> u16 {
        match self.order {
            Order::Little => u16::from_le_bytes([bytes[0], bytes[1]]),
            Order::Big => u16::from_be_bytes([bytes[0], bytes[1]]),
        }
    }
}

impl<S: Read> Read for Utf8<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.ready.is_empty() && !self.ended {
            self.more()?;
        }
        Ok(self.ready.hand(buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out a few bytes at a time.
    struct Slow<'b>(&'b [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn decodes_both_byte_orders_with_and_without_bom() {
        let text = "训练失败 🙂: CUDA error\r\nrank 3 of 8 exits with code 1\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let cases = [
            ([&[0xff, 0xfe], &little[..]].concat(), Order::Little),
            ([&[0xfe, 0xff], &big[..]].concat(), Order::Big),
            (little, Order::Little),
            (big, Order::Big),
        ];
        for (bytes, order) in cases {
            assert_eq!(Order::of(&bytes), Some(order));
            for step in [1, 2, 3, 5, 1000] {
                let mut read = String::new();
                Utf8::new(Slow(&bytes, step), order).read_to_string(&mut read).unwrap();
                assert_eq!(read, text, "{step} bytes at a time");
            }
            let mut cut = String::new();
            Utf8::new(&bytes[..bytes.len() - 1], order).read_to_string(&mut cut).unwrap();
            assert!(cut.ends_with('\u{fffd}'));
        }
    }

    #[test]
    fn does_not_detect_utf16_in_other_data() {
        for bytes in [
            &b"plain text, quite long"[..],
            &[0; 64],
            "训练失败训练失败训练失败".as_bytes(),
            b"",
            &[0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0],
        ] {
            assert_eq!(Order::of(bytes), None, "{bytes:?}");
        }
    }
}
