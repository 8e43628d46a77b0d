//! The connection that bollard speaks over: each answer of the engine has a limit in bytes. bollard itself
//! collects whatever comes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bollard::{BollardRequest, Docker};
use hyper::Response;
use hyper::body::Incoming;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::error::{AnswerTooLarge, Error};
use crate::http::{self, Stream};
use facts::docker::Endpoint;

/// The most that is taken of one answer, in bytes: lists of all images of a large server have a few MiB.
const ANSWER_LIMIT_BYTES: u64 = 32 << 20;
/// The same for what an engine reports while it builds, pulls, pushes or loads an image.
const PROGRESS_LIMIT_BYTES: u64 = 512 << 20;
/// Requests of which the engine reports the progress: how their paths end.
const PROGRESS: &[&str] = &["/build", "/images/create", "/push", "/images/load"];

/// bollard over a local endpoint (`unix://…`, `tcp://…`) with limits on answers.
pub(crate) fn open(endpoint: &Endpoint, seconds: u64) -> Result<Docker, Error> {
    let endpoint = endpoint.clone();
    let transport = move |request: BollardRequest| send(endpoint.clone(), request);
    let version = bollard::API_DEFAULT_VERSION;
    Docker::connect_with_custom_transport(transport, Some("http://localhost"), seconds, version)
        .map_err(Error::from)
}

async fn send(
    endpoint: Endpoint,
    mut request: BollardRequest,
) -> Result<Response<Incoming>, bollard::errors::Error> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let stream = http::connect(&endpoint).await?;
    let stream = Limited::new(stream, limit(request.uri().path()), request.method(), &path);
    *request.uri_mut() = path.parse().map_err(io::Error::other)?;
    Ok(http::exchange(stream, request).await?)
}

/// The most that is taken of the answer to a request for this path; `None` where bollard hands on the bytes
/// as they come.
fn limit(path: &str) -> Option<u64> {
    if path.contains("/images/") && path.ends_with("/get") {
        return None;
    }
    let progress = PROGRESS.iter().any(|end| path.ends_with(end));
    Some(if progress { PROGRESS_LIMIT_BYTES } else { ANSWER_LIMIT_BYTES })
}

/// A connection that fails once more than the limit was read.
struct Limited {
    stream: Box<dyn Stream>,
    /// Bytes that may still be read.
    left: Option<u64>,
    error: AnswerTooLarge,
}

impl Limited {
    fn new(stream: Box<dyn Stream>, limit: Option<u64>, method: &hyper::Method, path: &str) -> Limited {
        let path = path.split('?').next().unwrap_or(path);
        let error =
            AnswerTooLarge { request: format!("{method} {path}"), limit_mib: limit.unwrap_or(0) >> 20 };
        Limited { stream, left: limit, error }
    }
}

impl AsyncRead for Limited {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == Some(0) {
            return Poll::Ready(Err(io::Error::other(self.error.clone())));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let count = (buffer.filled().len() - before) as u64;
        self.left = self.left.map(|left| left.saturating_sub(count));
        read
    }
}

impl AsyncWrite for Limited {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;

    #[test]
    fn every_response_except_image_export_has_a_size_limit() {
        let cases = [
            ("/v1.41/version", Some(ANSWER_LIMIT_BYTES)),
            ("/v1.41/images/json", Some(ANSWER_LIMIT_BYTES)),
            ("/v1.41/images/create", Some(PROGRESS_LIMIT_BYTES)),
            ("/v1.41/images/team/train/push", Some(PROGRESS_LIMIT_BYTES)),
            ("/v1.41/build", Some(PROGRESS_LIMIT_BYTES)),
            ("/v1.41/images/team/train:1/get", None),
            ("/v1.41/containers/get/json", Some(ANSWER_LIMIT_BYTES)),
        ];
        for (path, expected) in cases {
            assert_eq!(limit(path), expected, "{path}");
        }
    }

    /// An engine whose every answer has a body that never ends.
    fn endless() -> (tempfile::TempDir, Endpoint) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("engine.sock");
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    let _ = stream.read(&mut [0; 4096]);
                    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
                    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
                    let mut sent = stream.write_all(head.as_bytes());
                    while sent.is_ok() {
                        sent = stream.write_all(chunk.as_bytes());
                    }
                });
            }
        });
        (dir, Endpoint::unix(path.display()))
    }

    #[test]
    fn an_answer_without_end_is_refused_by_name() {
        let (_dir, endpoint) = endless();
        let error = crate::block_on(async {
            let docker = open(&endpoint, 60)?;
            docker.version().await.map_err(Error::from)
        });
        let error = error.unwrap().unwrap_err();
        let Error::AnswerTooLarge(AnswerTooLarge { request, limit_mib: 32 }) = &error else {
            panic!("{error:?}")
        };
        assert_eq!(request, "GET /version");
    }
}
