//! Reads a stream into blocks.

use std::io::{self, ErrorKind};

use super::blocks::Blocks;
use diagnostic::units::memory;

/// Why a stream was not read to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Limit {
    #[error("only the first {} were read; the file is larger", memory(*.0))]
    Bytes(u64),
    #[error("only the first {} of what it unpacks to were read", memory(*.0))]
    Unpacked(u64),
}

impl From<Limit> for io::Error {
    fn from(limit: Limit) -> io::Error {
        io::Error::new(ErrorKind::FileTooLarge, limit)
    }
}

/// Reads the rest of a stream, which is called `what` where it fails.
pub(super) fn read_rest(blocks: &mut Blocks, reader: &mut dyn io::Read, what: &str) {
    loop {
        match blocks.feed_from(reader) {
            Ok(0) => return,
            Ok(_) if blocks.has_too_many_nuls() => {
                let (read, limit) = (memory(blocks.bytes()), memory(blocks.limits().nuls));
                return blocks.remark(format!("only the first {read} were read: more than {limit} are NUL"));
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return blocks.remark(format!("{what} ends early at byte {} (unpacked)", blocks.bytes()));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return blocks.remark(format!("{what} has no end: read up to byte {}", blocks.bytes()));
            }
            Err(error) if error.kind() == ErrorKind::FileTooLarge => return blocks.remark(error.to_string()),
            Err(error) => {
                return blocks.remark(format!("{what} read failed at byte {}: {error}", blocks.bytes()));
            }
        }
    }
}
