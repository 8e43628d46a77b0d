//! A source is opened, unpacked where it is packed, and read to its end.

use std::io::{self, Cursor, Read as _};

use super::blocks::{Blocks, LIMITS};
use super::compression::Packing;
use super::stream::{Limit, read_rest};
use super::utf16::{Order, Utf8};
use super::{Read, Source, formats};
use catalog::Catalog;
use diagnostic::error::{Error, Kind};
use diagnostic::units::memory;

/// So much of the start of a stream tells what it is, in bytes.
const START: u64 = 4096;

/// Reads a source to its end.
pub fn read(catalog: &'static Catalog, source: &Source) -> Result<Read, Error> {
    read_among(catalog, source, false)
}

/// Reads a source to its end. One that cannot be opened is [`Read::unread`] with `others`.
pub(super) fn read_among(catalog: &'static Catalog, source: &Source, others: bool) -> Result<Read, Error> {
    match source {
        Source::File(path) => match host::file::open_ending(path) {
            Ok(file) => Ok(of_file(catalog, &path.display().to_string(), file, FILE_LIMIT_BYTES)),
            Err(error) if others => {
                Ok(Read::missing(path.display().to_string(), &host::file::why_unreadable(&error)))
            }
            Err(error) => Err(host::file::unreadable(path, &error)),
        },
        Source::Standard => match host::file::standard_ending() {
            Ok(input) => Ok(stream(catalog, "standard input", input)),
            Err(error) => Err(Error::new(Kind::File, format!("cannot read standard input: {error}"))),
        },
        Source::Bytes { name, bytes } => Ok(stream(catalog, name, bytes.as_slice())),
        Source::Unreadable { name, why } => Ok(Read::missing(name.clone(), why)),
        Source::LeftOut { name, why } => {
            Ok(Read { name: name.clone(), remarks: why.clone(), ..Read::default() })
        }
    }
}

/// The first bytes of a stream, and the whole stream. An error on the way counts as its end: reading it again
/// gives the same.
fn start<'s>(mut stream: Box<dyn io::Read + 's>) -> (Vec<u8>, Box<dyn io::Read + 's>) {
    let mut first = Vec::new();
    let failed = stream.by_ref().take(START).read_to_end(&mut first).err();
    let rest: Box<dyn io::Read + 's> = match failed {
        Some(error) => Box::new(Failed(Some(error))),
        None => stream,
    };
    (first.clone(), Box::new(Cursor::new(first).chain(rest)))
}

/// The most that is read of a file, in bytes; files of the kernel may have no end.
const FILE_LIMIT_BYTES: u64 = 64 << 30;

/// Reads a file, without its holes, up to a limit.
fn of_file(catalog: &'static Catalog, name: &str, file: host::file::File, limit: u64) -> Read {
    let (file, skipped) = host::file::without_holes(file);
    let mut read = stream(catalog, name, Limited::new(file, limit, Limit::Bytes));
    let skipped = skipped.get();
    if skipped > 0 {
        read.remarks.push(format!("{} of holes in the file were skipped", memory(skipped)));
    }
    read
}

/// The most that is read of what a packed log unpacks to, in bytes: a few megabytes may unpack to terabytes.
const UNPACKED_LIMIT_BYTES: u64 = 2 << 30;

/// A stream that ends with an error behind so many bytes.
struct Limited<R> {
    stream: R,
    left: u64,
    limit: u64,
    error: fn(u64) -> Limit,
}

impl<R: io::Read> Limited<R> {
    fn new(stream: R, limit: u64, error: fn(u64) -> Limit) -> Limited<R> {
        Limited { stream, left: limit, limit, error }
    }
}

impl<R: io::Read> io::Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return match self.stream.read(&mut [0])? {
                0 => Ok(0),
                _ => Err((self.error)(self.limit).into()),
            };
        }
        let room = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = self.stream.read(&mut buffer[..room])?;
        self.left -= count as u64;
        Ok(count)
    }
}

/// An error that came when the start was read, handed out in its place.
struct Failed(Option<io::Error>);

impl io::Read for Failed {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Reads a stream to its end. An error on the way ends it with a remark: what was read counts.
pub fn stream<'s>(catalog: &'static Catalog, name: &str, raw: impl io::Read + 's) -> Read {
    let mut blocks = Blocks::new(catalog, name, LIMITS);
    let (first, raw) = start(Box::new(raw));
    let packing = Packing::of(&first);
    if let Packing::Other(program) = packing {
        blocks.remark(format!(
            "compressed and not read: decompress it with {program}, then diagnose the result"
        ));
        return blocks.end();
    }
    let (first, mut reader) = match packing {
        Packing::Plain => (first, raw),
        _ => start(Box::new(Limited::new(packing.undone(raw), UNPACKED_LIMIT_BYTES, Limit::Unpacked))),
    };
    if let Some(format) = formats::of(&first) {
        return formats::read(catalog, name, format, reader);
    }
    if let Some(order) = Order::of(&first) {
        reader = Box::new(Utf8::new(reader, order));
    } else if first.starts_with("\u{feff}".as_bytes()) {
        let _ = reader.read_exact(&mut [0; 3]);
    } else if is_binary(&first) {
        blocks.binary();
    }
    read_rest(&mut blocks, &mut *reader, packing.name());
    blocks.end()
}

/// Whether what starts like this is hardly text: by control characters that no log has. Zeros alone are a
/// hole, as `copytruncate` of logrotate leaves it.
fn is_binary(first: &[u8]) -> bool {
    let odd = |byte: &&u8| matches!(byte, 1..=6 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    first.iter().filter(odd).count() * 20 > first.len()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::read::blocks::Limits;
    use catalog::testing::catalog;

    fn of(bytes: &[u8]) -> Read {
        read(catalog(), &Source::Bytes { name: "log".into(), bytes: bytes.to_vec() }).unwrap()
    }

    const LOG: &str = "step 1\nRuntimeError: CUDA error: out of memory\n训练失败\n";

    #[test]
    fn a_limited_stream_ends_with_an_error_where_more_would_come() {
        let read = |bytes: &[u8], limit| {
            let mut text = Vec::new();
            let result = Limited::new(bytes, limit, Limit::Unpacked).read_to_end(&mut text);
            (text.len(), result.err().map(|error| error.to_string()))
        };
        assert_eq!(read(&[b'a'; 100], 100), (100, None));
        let (count, error) = read(&vec![b'a'; 3 << 20], 2 << 20);
        assert_eq!(count, 2 << 20);
        assert_eq!(error.as_deref(), Some("only the first 2 MiB of what it unpacks to were read"));
    }

    #[test]
    fn what_is_not_read_to_its_end_says_so() {
        let cut = stream(catalog(), "log", Limited::new(LOG.as_bytes(), 10, Limit::Bytes));
        assert_eq!(cut.remarks, ["only the first 10 bytes were read; the file is larger"]);
        assert_eq!(cut.lines, 2);
        let limits = Limits { nuls: 1 << 20, ..LIMITS };
        let mut blocks = Blocks::new(catalog(), "pagemap", limits);
        read_rest(&mut blocks, &mut io::repeat(0), "the log");
        let read = blocks.end();
        assert_eq!(read.remarks[0], "only the first 2 MiB were read: more than 1 MiB are NUL");
    }

    #[test]
    fn reads_plain_compressed_and_utf16_logs() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(LOG.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        let utf16: Vec<u8> = LOG.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&utf16).unwrap();
        let cases = [
            LOG.as_bytes().to_vec(),
            ["\u{feff}", LOG].concat().into_bytes(),
            gzip.clone(),
            ruzstd::encoding::compress_to_vec(LOG.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest),
            utf16,
            packed.finish().unwrap(),
        ];
        for bytes in cases {
            let read = of(&bytes);
            assert_eq!((read.lines, read.found.len(), read.remarks.len()), (3, 1, 0), "{bytes:?}");
            assert_eq!((read.found[0].number, read.tail[2].as_str()), (2, "训练失败"));
            assert_eq!(read.head[0], "step 1");
        }
        let cut = of(&gzip[..gzip.len() - 9]);
        assert_eq!((cut.lines, cut.found.len()), (3, 1), "{cut:?}");
        assert!(cut.remarks[0].starts_with("gzip ends early at byte "), "{:?}", cut.remarks);
        let joined = of(&[&gzip[..], b"plain text, which is no gzip"].concat());
        assert!(joined.remarks[0].starts_with("gzip read failed at byte "), "{:?}", joined.remarks);
    }

    #[test]
    fn reports_binary_and_unsupported_files() {
        assert!(
            of(&(0..=255).collect::<Vec<u8>>().repeat(20))
                .remarks
                .iter()
                .any(|remark| remark.starts_with("binary"))
        );
        assert!(of(b"\xfd7zXZ\0rest").remarks[0].contains("decompress it with xz"));
        let hole = of(&[&[0; 5000], LOG.as_bytes()].concat());
        assert_eq!((hole.remarks.as_slice(), hole.found.len()), (&["5000 NUL bytes".to_owned()][..], 1));
        let none = of(b"");
        assert_eq!((none.lines, none.found.len(), none.head.len()), (0, 0, 0));
    }

    #[test]
    fn what_cannot_be_opened_is_an_error() {
        let error = read(catalog(), &Source::File("/nowhere/train.log".into())).unwrap_err();
        assert_eq!(error.message, "cannot read /nowhere/train.log: no such file");
        assert!(read(catalog(), &Source::File("/".into())).is_err());
        let error = read(catalog(), &Source::File("/dev/zero".into())).unwrap_err();
        assert_eq!(error.message, "cannot read /dev/zero: it is a device, not a file");
        assert!(read(catalog(), &Source::File("/dev/null".into())).is_ok());
    }

    #[test]
    fn device_among_several_sources_is_reported_as_unread() {
        let sources =
            [Source::File("/dev/zero".into()), Source::Bytes { name: "log".into(), bytes: vec![b'x'] }];
        let reads = crate::read::read_all(catalog(), &sources).unwrap();
        assert_eq!(reads[0].unread.as_deref(), Some("it is a device, not a file"));
        assert_eq!((reads[1].unread.as_ref(), reads[1].lines), (None, 1));
        let missing = [Source::File("/nowhere/train.log".into()), sources[1].clone()];
        let reads = crate::read::read_all(catalog(), &missing).unwrap();
        assert_eq!((reads[0].unread.as_deref(), reads[1].lines), (Some("no such file"), 1));
    }
}
