//! A source is opened, unpacked where it is packed, and read to its end.
#![expect(
    clippy::disallowed_methods,
    reason = "logs are what is diagnosed, no fact of a machine: they are read as they are"
)]

use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read as _};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::blocks::{Blocks, LIMITS};
use super::{Read, Source};
use crate::error::{Error, Kind};

/// Reads a source to its end.
pub fn read(source: &Source) -> Result<Read, Error> {
    match source {
        Source::File(path) => {
            let file = File::open(path).map_err(|error| unreadable(path, &error))?;
            Ok(stream(&path.display().to_string(), file))
        }
        Source::Standard => Ok(stream("standard input", io::stdin().lock())),
        Source::Bytes { name, bytes } => Ok(stream(name, bytes.as_slice())),
        Source::LeftOut { name, why } => {
            Ok(Read { name: name.clone(), remarks: why.clone(), ..Read::default() })
        }
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::new(Kind::File, format!("cannot read {}: {error}", path.display()))
}

/// Reads a stream to its end. An error on the way ends it with a remark: what was read counts.
pub fn stream<'s>(name: &str, mut raw: impl io::Read + 's) -> Read {
    let mut blocks = Blocks::new(name, LIMITS);
    let mut first = Vec::new();
    if let Err(error) = raw.by_ref().take(4096).read_to_end(&mut first) {
        blocks.remark(format!("cannot be read: {error}"));
        return blocks.end();
    }
    let gzip = first.starts_with(&[0x1f, 0x8b]);
    let whole = Cursor::new(first).chain(raw);
    let mut reader: Box<dyn io::Read + 's> =
        if gzip { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) };
    loop {
        match blocks.feed_from(&mut reader) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                let what = if gzip { "gzip" } else { "reading" };
                blocks.remark(format!("{what} ends early at byte {}: {error}", blocks.bytes()));
                break;
            }
        }
    }
    blocks.end()
}
