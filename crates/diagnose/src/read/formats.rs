//! Files that are no plain text and carry a log all the same: what Docker writes of a container, and what
//! elastic writes of an exception. Dumps of PyTorch's flight recorder are pickles or JSON: they have no
//! lines, and what they say is [`Read::recorded`]. Other pickles are named and not read, since reading a
//! pickle the usual way executes it.

use std::io::{self, BufRead, BufReader, Cursor, Read as _};

use serde::Deserialize;

use super::Read;
use super::blocks::{Blocks, LIMITS};
use super::error::DumpError;
use super::ready::Ready;
use super::recorder::Dump;
use super::stream::read_rest;
use catalog::Catalog;

/// The longest error file, and the longest line of Docker's, in bytes; a longer one is read as plain text.
const LINE_LIMIT_BYTES: u64 = 4 << 20;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A container's log as Docker's driver json-file writes it: an object a line.
    JsonFile,
    /// What `TORCHELASTIC_ERROR_FILE` names: one object.
    ErrorFile,
    /// A pickle, and whether it is one of PyTorch's flight recorder.
    Pickle(bool),
    /// A dump of PyTorch's flight recorder in JSON.
    Recorder,
}

/// What a file is, by its start; `None`: a plain log.
pub fn of(first: &[u8]) -> Option<Format> {
    let has = |text: &str| memchr::memmem::find(first, text.as_bytes()).is_some();
    match first {
        [b'{', ..] if first.starts_with(b"{\"log\":") && has("\"stream\":") => Some(Format::JsonFile),
        [b'{', ..] if first.starts_with(b"{\"message\": {\"message\": \"") => Some(Format::ErrorFile),
        [b'{', ..] if has("\"pg_config\"") || has("\"nccl_version\"") || has("\"comm_lib_version\"") => {
            Some(Format::Recorder)
        }
        // Protocol 2 to 5, then a frame, or the start of a dictionary, list, tuple or string.
        [0x80, 2..=5, 0x95 | b'}' | b']' | b'(' | b'X' | b'c' | 0x8c, ..] => {
            Some(Format::Pickle(has("nccl_version") || has("pg_config") || has("comm_lib_version")))
        }
        _ => None,
    }
}

/// Reads such a file.
pub fn read(catalog: &'static Catalog, name: &str, special: Format, reader: Box<dyn io::Read + '_>) -> Read {
    let mut blocks = Blocks::new(catalog, name, LIMITS);
    match special {
        Format::JsonFile => read_rest(&mut blocks, &mut Entries::new(reader), "the log"),
        Format::ErrorFile => error_file(&mut blocks, reader),
        Format::Pickle(true) => return recorder(name, reader, Dump::from_pickle),
        Format::Recorder => return recorder(name, reader, Dump::from_json),
        Format::Pickle(false) => blocks.remark("not read: a Python pickle".into()),
    }
    blocks.end()
}

/// The longest dump, in bytes.
const DUMP: u64 = 8 << 20;

/// What a dump of the flight recorder says of its rank.
fn recorder(name: &str, reader: Box<dyn io::Read + '_>, parse: fn(&[u8]) -> Result<Dump, DumpError>) -> Read {
    let mut bytes = Vec::new();
    let whole = reader.take(DUMP + 1).read_to_end(&mut bytes);
    let dump = match whole {
        Err(error) => Err(error.into()),
        Ok(_) if bytes.len() as u64 > DUMP => Err(DumpError::TooLarge(DUMP >> 20)),
        Ok(_) => parse(&bytes),
    };
    let (recorded, remark) = match dump {
        Ok(dump) => {
            (dump.groups(), "a PyTorch flight recorder dump, shown as one line per process group".to_owned())
        }
        Err(why) => (
            Vec::new(),
            format!(
                "not read: a PyTorch flight recorder dump ({why}); \
                 PyTorch's `torchfrtrace` compares the dumps of all ranks"
            ),
        ),
    };
    Read {
        name: name.to_owned(),
        lines: recorded.len() as u64,
        bytes: bytes.len() as u64,
        recorded,
        remarks: vec![remark],
        ..Read::default()
    }
}

#[derive(Deserialize)]
struct ErrorFile {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    message: String,
    #[serde(default, rename = "extraInfo")]
    extra: Extra,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Extra {
    py_callstack: String,
    timestamp: String,
}

/// The traceback of an error file is what is read of it.
fn error_file(blocks: &mut Blocks, mut reader: Box<dyn io::Read + '_>) {
    let mut bytes = Vec::new();
    let failed = reader.by_ref().take(LINE_LIMIT_BYTES).read_to_end(&mut bytes).err();
    let Ok(ErrorFile { message }) = serde_json::from_slice(&bytes) else {
        blocks.remark("incomplete: it starts like a torchrun error file".into());
        let mut whole = Cursor::new(bytes).chain(reader);
        return read_rest(blocks, &mut whole, "the log");
    };
    if let Some(error) = failed {
        blocks.remark(format!("read failed before the end: {error}"));
    }
    blocks.remark("a torchrun error file, shown as its traceback".into());
    if let Ok(seconds) = message.extra.timestamp.parse::<i64>()
        && let Ok(time) = jiff::Timestamp::from_second(seconds)
    {
        blocks.remark(format!("exception caught at {time}"));
    }
    let text = if message.extra.py_callstack.trim().is_empty() {
        message.message
    } else {
        message.extra.py_callstack
    };
    blocks.feed(text.as_bytes());
}

#[derive(Deserialize)]
struct Entry {
    log: String,
    #[serde(default)]
    time: String,
}

/// The lines of a file of Docker's, each with its time.
struct Entries<'r> {
    source: BufReader<Box<dyn io::Read + 'r>>,
    line: Vec<u8>,
    ready: Ready,
    /// Whether the last entry has ended its line.
    ended: bool,
}

impl<'r> Entries<'r> {
    fn new(source: Box<dyn io::Read + 'r>) -> Entries<'r> {
        Entries {
            source: BufReader::with_capacity(1 << 16, source),
            line: Vec::new(),
            ready: Ready::default(),
            ended: true,
        }
    }

    /// Reads the next entry; `false` at the end. What is no entry is handed out as it is.
    fn next(&mut self) -> io::Result<bool> {
        self.line.clear();
        let ready = self.ready.refill();
        if self.source.by_ref().take(LINE_LIMIT_BYTES).read_until(b'\n', &mut self.line)? == 0 {
            return Ok(false);
        }
        match serde_json::from_slice::<Entry>(&self.line) {
            Ok(entry) => {
                if self.ended && !entry.time.is_empty() {
                    ready.extend_from_slice(entry.time.as_bytes());
                    ready.push(b' ');
                }
                ready.extend_from_slice(entry.log.as_bytes());
                self.ended = entry.log.ends_with('\n');
            }
            Err(_) => {
                ready.extend_from_slice(&self.line);
                self.ended = true;
            }
        }
        Ok(true)
    }
}

impl io::Read for Entries<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.ready.is_empty() {
            if !self.next()? {
                return Ok(0);
            }
        }
        Ok(self.ready.hand(buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Source, read};
    use super::*;

    fn of_bytes(bytes: &[u8]) -> Read {
        let source = Source::Bytes { name: "log".into(), bytes: bytes.to_vec() };
        read(catalog::testing::catalog(), &source).unwrap()
    }

    #[test]
    fn reads_docker_json_file_logs() {
        let log = concat!(
            r#"{"log":"step 1\n","stream":"stdout","time":"2026-03-01T10:00:00.5Z"}"#,
            "\n",
            concat!(
                r#"{"log":"could not select device driver \"nvidia\" with ","stream":"stderr","#,
                r#""time":"2026-03-01T10:00:01Z"}"#,
            ),
            "\n",
            r#"{"log":"capabilities: [[gpu]]\n","stream":"stderr","time":"2026-03-01T10:00:01Z"}"#,
            "\n",
            r#"{"log":"half an entr"#,
        );
        let read = of_bytes(log.as_bytes());
        assert_eq!(
            read.found[0].text,
            "2026-03-01T10:00:01Z could not select device driver \"nvidia\" with capabilities: [[gpu]]"
        );
        assert_eq!(read.found[0].hits[0].captured("driver"), Some("nvidia"));
        assert_eq!((read.lines, read.head[0].as_str()), (3, "2026-03-01T10:00:00.5Z step 1"));
        assert_eq!(read.tail[2], r#"{"log":"half an entr"#);
    }

    #[test]
    fn reads_torch_elastic_error_files() {
        let file = concat!(
            r#"{"message": {"message": "ValueError: no", "extraInfo": {"py_callstack": "Traceback "#,
            r#"(most recent call last):\n  File \"train.py\", line 3, in main\nValueError: no\n","#,
            r#" "timestamp": "1795219200"}}}"#,
        );
        let read = of_bytes(file.as_bytes());
        assert_eq!((read.lines, read.found.len(), read.found[0].after.len()), (3, 2, 2));
        assert!(read.remarks.iter().any(|remark| remark.contains("2026-11-21")), "{:?}", read.remarks);
        let cut = of_bytes(&file.as_bytes()[..80]);
        assert!(cut.remarks[0].starts_with("incomplete"));
        assert_eq!((cut.lines, cut.found.len()), (1, 1));
    }

    #[test]
    fn pickles_are_named() {
        let dump = [
            &[0x80, 2, b'}', b'q', 0, b'(', b'X', 12, 0, 0, 0][..],
            b"nccl_version",
            b"q\x01X\x06\0\0\x002.21.5",
        ]
        .concat();
        assert!(of_bytes(&dump).remarks[0].contains("flight recorder dump (truncated)"));
        assert!(of_bytes(&[0x80, 4, 0x95, 3, 0, 0, 0]).remarks[0].ends_with("a Python pickle"));
        assert_eq!(of_bytes(&dump).lines, 0);
    }
}
