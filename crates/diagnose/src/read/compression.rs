//! Packed streams: gzip of several members, zstd of several frames.

use std::io::{self, ErrorKind, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The largest window of a zstd frame, in bytes: so much is held of what was unpacked. `zstd -19` uses 8 MiB,
/// `--long` 128 MiB.
const WINDOW: u64 = 16 << 20;

/// How a stream is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    Plain,
    Gzip,
    Zstd,
    /// By a program of this name, which is not undone.
    Other(&'static str),
}

impl Packing {
    /// How a stream that starts like this is packed.
    pub fn of(first: &[u8]) -> Packing {
        match first {
            [0x1f, 0x8b, ..] => Packing::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Packing::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..] => Packing::Other("bzip2"),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Packing::Other("xz"),
            [b'P', b'K', 3, 4, ..] => Packing::Other("unzip"),
            [0x04, 0x22, 0x4d, 0x18, ..] => Packing::Other("lz4"),
            _ => Packing::Plain,
        }
    }

    /// The stream unpacked.
    pub fn undone<'s>(self, packed: impl Read + 's) -> Box<dyn Read + 's> {
        match self {
            Packing::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Packing::Zstd => Box::new(Frames::new(packed)),
            Packing::Plain | Packing::Other(_) => Box::new(packed),
        }
    }

    /// As a message names the format: `gzip`.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Plain => "the log",
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
            Packing::Other(name) => name,
        }
    }
}

/// All frames of a zstd stream.
struct Frames<S> {
    source: io::BufReader<S>,
    decoder: FrameDecoder,
    /// Whether a frame is being read.
    in_frame: bool,
    /// Whether one has been read.
    any: bool,
}

impl<S: Read> Frames<S> {
    fn new(source: S) -> Frames<S> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW);
        Frames { source: io::BufReader::with_capacity(1 << 16, source), decoder, in_frame: false, any: false }
    }

    /// Starts the next frame; `false` where there is none.
    fn start(&mut self) -> io::Result<bool> {
        loop {
            let error = match self.decoder.init(&mut self.source) {
                Ok(()) => {
                    (self.in_frame, self.any) = (true, true);
                    return Ok(true);
                }
                Err(error) => error,
            };
            match error {
                FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length, ..
                }) => {
                    self.any = true;
                    let mut skipped = (&mut self.source).take(length.into());
                    if io::copy(&mut skipped, &mut io::sink())? < u64::from(length) {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::MagicNumberReadError(_))
                    if self.any =>
                {
                    return Ok(false);
                }
                FrameDecoderError::WindowSizeTooBig { requested, .. } => {
                    let message = format!(
                        "its window of {} MiB is too large: unpack it with `zstd -dc --long=31`",
                        requested >> 20
                    );
                    return Err(io::Error::other(message));
                }
                other => return Err(io::Error::other(other.to_string())),
            }
        }
    }
}

impl<S: Read> Read for Frames<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame && !self.start()? {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(|error| io::Error::other(error.to_string()))?;
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            self.in_frame = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn unpacked(bytes: &[u8]) -> (Vec<u8>, Option<String>) {
        let mut text = Vec::new();
        let result = Packing::of(bytes).undone(bytes).read_to_end(&mut text);
        (text, result.err().map(|error| error.to_string()))
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text).unwrap();
        packer.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn reads_concatenated_gzip_members_and_zstd_frames() {
        for pack in [gzip, zstd] {
            let packed = [pack(b"one\n"), pack(b""), pack(&b"two\n".repeat(100_000))].concat();
            assert_eq!(unpacked(&packed), ([b"one\n".to_vec(), b"two\n".repeat(100_000)].concat(), None));
        }
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &zstd(b"one")].concat();
        assert_eq!(unpacked(&skipped), (b"one".to_vec(), None));
    }

    #[test]
    fn truncated_files_are_read_up_to_the_end_and_reported() {
        let text: Vec<u8> = (0..200_000_u32)
            .flat_map(|number| format!("{}\n", number.wrapping_mul(2_654_435_761)).into_bytes())
            .collect();
        for pack in [gzip, zstd] {
            let packed = pack(&text);
            let (part, error) = unpacked(&packed[..packed.len() / 2]);
            assert!(text.starts_with(&part) && part.len() > text.len() / 4, "{}", part.len());
            assert!(error.is_some());
        }
    }

    #[test]
    fn rejects_zstd_frames_with_large_windows() {
        // A frame with a window of 128 MiB: exponent 17, no mantissa.
        let (_, error) = unpacked(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3, 0x01, 0x00, 0x00]);
        assert!(error.is_some_and(|error| error.contains("128 MiB")));
    }
}
