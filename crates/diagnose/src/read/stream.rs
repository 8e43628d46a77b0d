//! Reads a stream into blocks.

use std::io::{self, ErrorKind};

use super::blocks::Blocks;

/// Reads the rest of a stream, which is called `what` where it fails.
pub(super) fn read_rest(blocks: &mut Blocks, reader: &mut dyn io::Read, what: &str) {
    loop {
        match blocks.feed_from(reader) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return blocks.remark(format!("{what} ends early at byte {} (unpacked)", blocks.bytes()));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return blocks.remark(format!("{what} has no end: read up to byte {}", blocks.bytes()));
            }
            Err(error) => {
                return blocks.remark(format!("{what} read failed at byte {}: {error}", blocks.bytes()));
            }
        }
    }
}
