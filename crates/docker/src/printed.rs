//! What programs in containers print, as the engine sends it: frames of both outputs, or with a terminal the
//! bytes as they are. Memory does not grow with what an engine sends or announces.
//!
//! bollard reads a whole frame before it hands it on, and a frame may be 4 GiB.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{Stream, stream};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::error::{ANSWER_TIMEOUT, AnswerTooLarge, Error, Waited};
use crate::http;
use facts::docker::Endpoint;

/// The longest piece that is handed on, in bytes. Docker splits lines after 16 KiB.
pub(crate) const PIECE_LIMIT_BYTES: usize = 64 << 10;
/// The most that is read of one log that is not followed, in bytes.
const LOG_LIMIT_BYTES: u64 = 64 << 30;
/// The longest that an engine may send nothing of a log that is not followed.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);

/// A line's piece of what a container prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// Whether on standard error.
    pub error: bool,
    pub bytes: Vec<u8>,
}

/// Pieces as they come.
pub(crate) type Pieces<'a> = Pin<Box<dyn Stream<Item = Result<Printed, Error>> + Send + 'a>>;

/// A log that is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    pub name: String,
    /// So many lines from its end; all where none is given.
    pub tail: Option<u32>,
    /// Whether each entry begins with its time and a space.
    pub times: bool,
    /// Whether it goes on with what the container prints from now on.
    pub follow: bool,
}

impl Log {
    fn path(&self) -> String {
        let tail = self.tail.map_or("all".to_owned(), |lines| lines.to_string());
        format!(
            "/containers/{}/logs?stdout=true&stderr=true&follow={}&timestamps={}&tail={tail}",
            encoded(&self.name),
            self.follow,
            self.times
        )
    }
}

/// A name as a part of a path.
pub(crate) fn encoded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") })
        .collect()
}

/// The log of a container of the engine at a local endpoint.
pub(crate) fn log(endpoint: &Endpoint, log: Log) -> Pieces<'_> {
    let limit = if log.follow { u64::MAX } else { LOG_LIMIT_BYTES };
    let silence = (!log.follow).then_some(SILENCE_TIMEOUT);
    pieces(Box::pin(async move {
        let path = log.path();
        let request = hyper::Request::get(&path).body(Full::<Bytes>::default());
        let asked = http::send(endpoint, request.map_err(Error::other)?);
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, asked).await;
        let answer = answer.map_err(|_| Error::answer_timeout(ANSWER_TIMEOUT))??;
        let request = format!("GET {}", path.split('?').next().unwrap_or(&path));
        let too_large = AnswerTooLarge { request, limit_mib: limit >> 20 };
        Ok(Source { bytes: Box::new(Body(answer.into_body())), left: limit, too_large, silence })
    }))
}

/// What comes over a connection that the engine has handed over.
pub(crate) fn attached(reader: impl AsyncRead + Send + Unpin + 'static) -> Pieces<'static> {
    pieces(Box::pin(async move {
        let too_large = AnswerTooLarge { request: "the command".into(), limit_mib: u64::MAX >> 20 };
        Ok(Source { bytes: Box::new(Raw(reader)), left: u64::MAX, too_large, silence: None })
    }))
}

/// The next bytes of a stream; none at its end.
trait Chunks: Send {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Error>>;
}

struct Body(Incoming);

impl Chunks for Body {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Error>> {
        Box::pin(async {
            while let Some(frame) = self.0.frame().await {
                if let Ok(bytes) = frame?.into_data() {
                    return Ok(Some(bytes));
                }
            }
            Ok(None)
        })
    }
}

struct Raw<R>(R);

impl<R: AsyncRead + Send + Unpin> Chunks for Raw<R> {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Error>> {
        Box::pin(async {
            let mut buffer = vec![0; PIECE_LIMIT_BYTES];
            let count = self.0.read(&mut buffer).await?;
            buffer.truncate(count);
            Ok((count > 0).then(|| buffer.into()))
        })
    }
}

struct Source {
    bytes: Box<dyn Chunks>,
    left: u64,
    too_large: AnswerTooLarge,
    silence: Option<Duration>,
}

impl Source {
    async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let bytes = match self.silence {
            None => self.bytes.next().await?,
            Some(limit) => tokio::time::timeout(limit, self.bytes.next())
                .await
                .map_err(|_| Error::TimedOut { what: Waited::EngineData, after: limit })??,
        };
        let count = bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        match self.left.checked_sub(count) {
            Some(left) => self.left = left,
            None => return Err(Error::AnswerTooLarge(self.too_large.clone())),
        }
        Ok(bytes)
    }
}

/// The pieces of a source that is opened first.
fn pieces<'a>(opening: BoxFuture<'a, Result<Source, Error>>) -> Pieces<'a> {
    enum State<'a> {
        Opening(BoxFuture<'a, Result<Source, Error>>),
        Open(Source, Frames),
        Ended(Frames),
    }
    Box::pin(stream::unfold(State::Opening(opening), |mut state| async move {
        loop {
            state = match state {
                State::Opening(opening) => match opening.await {
                    Ok(source) => State::Open(source, Frames::default()),
                    Err(error) => return Some((Err(error), State::Ended(Frames::default()))),
                },
                State::Open(mut source, mut frames) => {
                    if let Some(piece) = frames.ready.pop_front() {
                        return Some((Ok(piece), State::Open(source, frames)));
                    }
                    match source.next().await {
                        Ok(Some(bytes)) => {
                            frames.feed(&bytes);
                            State::Open(source, frames)
                        }
                        Ok(None) => {
                            frames.end();
                            State::Ended(frames)
                        }
                        Err(error) => return Some((Err(error), State::Ended(Frames::default()))),
                    }
                }
                State::Ended(mut frames) => {
                    let piece = frames.ready.pop_front()?;
                    return Some((Ok(piece), State::Ended(frames)));
                }
            }
        }
    }))
}

/// The pieces of a stream that came in these chunks.
pub(crate) fn of_chunks<'b>(chunks: impl Iterator<Item = &'b [u8]>) -> Vec<Printed> {
    let mut frames = Frames::default();
    chunks.for_each(|chunk| frames.feed(chunk));
    frames.end();
    frames.ready.into()
}

/// Takes frames apart: a byte for the output (1, 2: standard error), three zeros, the length in four bytes,
/// the payload. A container with a terminal sends no frames: its lines are handed on.
#[derive(Debug, Default)]
struct Frames {
    header: Vec<u8>,
    /// Of the frame that is open: whether on standard error, and how much is still to come.
    open: Option<(bool, u32)>,
    raw: bool,
    held: Vec<u8>,
    ready: VecDeque<Printed>,
}

/// The longest header of a frame, in bytes.
const HEADER_BYTES: usize = 8;
/// The highest number of an output; text begins with a higher byte.
const OUTPUT_MAX: u8 = 2;

impl Frames {
    fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.raw {
                return self.lines(bytes);
            }
            let Some((error, left)) = self.open else {
                let taken = bytes.len().min(HEADER_BYTES - self.header.len());
                if self.header.is_empty() && bytes[0] > OUTPUT_MAX {
                    self.raw = true;
                    continue;
                }
                self.header.extend_from_slice(&bytes[..taken]);
                bytes = &bytes[taken..];
                if let [output, _, _, _, a, b, c, d] = self.header[..] {
                    self.header.clear();
                    self.open = Some((output == OUTPUT_MAX, u32::from_be_bytes([a, b, c, d])));
                    self.close_empty();
                }
                continue;
            };
            let room = PIECE_LIMIT_BYTES - self.held.len();
            let taken = bytes.len().min(left as usize).min(room);
            self.held.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            let left = left - taken as u32;
            self.open = Some((error, left));
            if left == 0 || self.held.len() == PIECE_LIMIT_BYTES {
                self.hand_on(error);
            }
            self.close_empty();
        }
    }

    fn close_empty(&mut self) {
        self.open = self.open.filter(|(_, left)| *left > 0);
    }

    fn lines(&mut self, bytes: &[u8]) {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            for part in line.chunks(PIECE_LIMIT_BYTES) {
                if self.held.len() + part.len() > PIECE_LIMIT_BYTES {
                    self.hand_on(false);
                }
                self.held.extend_from_slice(part);
            }
            if line.ends_with(b"\n") {
                self.hand_on(false);
            }
        }
    }

    fn hand_on(&mut self, error: bool) {
        if !self.held.is_empty() {
            self.ready.push_back(Printed { error, bytes: std::mem::take(&mut self.held) });
        }
    }

    /// The stream has ended, perhaps within a frame.
    fn end(&mut self) {
        let error = self.open.is_some_and(|(error, _)| error);
        self.hand_on(error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(output: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![output, 0, 0, 0];
        bytes.extend_from_slice(&u32::try_from(payload.len()).unwrap().to_be_bytes());
        bytes.extend_from_slice(payload);
        bytes
    }

    fn all(chunks: &[&[u8]]) -> Vec<(bool, String)> {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        of_chunks(chunks.iter().copied()).into_iter().map(|piece| (piece.error, text(piece.bytes))).collect()
    }

    #[test]
    fn frames_are_the_same_however_they_are_cut() {
        let bytes =
            [frame(1, b"one\n"), frame(2, b"two\n"), frame(1, b""), frame(1, b"half"), frame(2, b"e")]
                .concat();
        let expected = [(false, "one\n"), (true, "two\n"), (false, "half"), (true, "e")];
        let expected: Vec<(bool, String)> =
            expected.into_iter().map(|(error, text)| (error, text.to_owned())).collect();
        for size in 1..bytes.len() {
            assert_eq!(all(&bytes.chunks(size).collect::<Vec<_>>()), expected, "{size}");
        }
        // Cut off within a frame: what came counts.
        assert_eq!(all(&[&bytes[..11]]), [(false, "one".to_owned())]);
    }

    #[test]
    fn a_terminal_sends_lines_without_frames() {
        let expected = [(false, "a\r\n".to_owned()), (false, "b".to_owned())];
        assert_eq!(all(&[b"a\r", b"\nb"]), expected);
    }

    #[test]
    fn a_frame_or_a_line_of_gigabytes_is_handed_on_in_pieces() {
        let announced = [1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
        for start in [&announced[..], b"x"] {
            let mut frames = Frames::default();
            frames.feed(start);
            let (mut came, chunk) = (0, vec![b'x'; 100_000]);
            for _ in 0..100 {
                frames.feed(&chunk);
                for piece in frames.ready.drain(..) {
                    assert!(piece.bytes.len() <= PIECE_LIMIT_BYTES);
                    came += piece.bytes.len();
                }
                assert!(frames.held.len() <= PIECE_LIMIT_BYTES);
            }
            assert!(came > 9_900_000, "{came}");
        }
    }

    #[test]
    fn container_name_is_percent_encoded_in_the_path() {
        let log = Log { name: "../a b?c".into(), tail: Some(3), times: true, follow: false };
        let expected =
            "/containers/..%2Fa%20b%3Fc/logs?stdout=true&stderr=true&follow=false&timestamps=true&tail=3";
        assert_eq!(log.path(), expected);
    }
}
