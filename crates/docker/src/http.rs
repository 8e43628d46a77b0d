//! HTTP/1 to an engine: the one place where a connection is opened, and a GET that returns the text as the
//! engine wrote it.
//!
//! Facts keep the engine's own JSON, so that a recorded server is what the engine said and not what some
//! version of a client library understood of it; that is why this does not go through bollard.

use futures_util::future::BoxFuture;
use std::io;
use std::time::Instant;

use http_body_util::{BodyExt, Empty, Full, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{HOST, HeaderValue};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use crate::error::Error;
use crate::parallel::block_on;
use facts::docker::{Endpoint, Target, TcpAddress, Tls};
use host::{Missing, MissingKind, Reading};

/// The most that is taken of one answer, in bytes.
const ANSWER_LIMIT_BYTES: usize = 8 << 20;

/// The most that is taken of the body of an error, in bytes.
const ERROR_LIMIT_BYTES: usize = 64 << 10;

/// Asks a local endpoint (`unix://PATH`, `tcp://HOST:PORT` without TLS) for `path`, until `deadline`.
///
/// `Absent`: there is no such socket. `Failed`: no permission, nobody listens, no answer in time, an HTTP
/// error.
pub fn get(endpoint: &Endpoint, path: &str, deadline: Instant) -> Reading {
    let asked = Instant::now();
    let answer = async { tokio::time::timeout_at(deadline.into(), ask(endpoint, path)).await };
    match block_on(answer) {
        Err(error) => Reading::failed(error.to_string()),
        Ok(Ok(reading)) => reading,
        Ok(Err(_)) => {
            let waited = asked.elapsed();
            let detail = format!(
                "the engine accepted the connection but did not answer within {:.1} s",
                waited.as_secs_f32()
            );
            let milliseconds = u64::try_from(waited.as_millis()).ok();
            Reading::Failed(Missing::new(MissingKind::TimedOut { milliseconds }, detail))
        }
    }
}

/// Either kind of connection to an engine.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Sends one request over a stream, as an HTTP/1 connection of its own; the answer's body is still to be
/// read. A task drives the connection until the answer is read, or dropped.
pub(crate) async fn exchange<S, B>(
    stream: S,
    mut request: hyper::Request<B>,
) -> hyper::Result<hyper::Response<Incoming>>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    request.headers_mut().entry(HOST).or_insert(HeaderValue::from_static("localhost"));
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection.with_upgrades());
    match sender.send_request(request).await {
        // What ended the connection, such as a TLS alert, says more than that nothing could be sent.
        Err(cancelled) if cancelled.is_canceled() => match connection.await {
            Ok(Err(cause)) => Err(cause),
            _ => Err(cancelled),
        },
        answer => answer,
    }
}

/// A connection to a local endpoint.
pub(crate) async fn connect(endpoint: &Endpoint) -> io::Result<Box<dyn Stream>> {
    let unsupported = |why: String| Err(io::Error::new(io::ErrorKind::Unsupported, why));
    match endpoint.target() {
        Ok(Target::Unix(socket)) => Ok(Box::new(UnixStream::connect(socket).await?)),
        Ok(Target::Tcp(TcpAddress { host, port: Some(port), tls: Tls::Never | Tls::IfConfigured })) => {
            Ok(Box::new(TcpStream::connect((host.as_str(), *port)).await?))
        }
        Ok(Target::Tcp(address @ TcpAddress { port: None, .. })) => {
            unsupported(format!("{address} has no port"))
        }
        Ok(_) => unsupported(format!("{endpoint} is not a local endpoint")),
        Err(fault) => unsupported(fault.to_string()),
    }
}

/// Asks, without a deadline of its own.
pub fn ask<'a>(endpoint: &'a Endpoint, path: &'a str) -> BoxFuture<'a, Reading> {
    Box::pin(async move {
        match connect(endpoint).await {
            Err(error) => refused(&error),
            Ok(stream) => match transact(stream, hyper::Request::get(path)).await {
                Ok(text) => Reading::Text(text),
                Err(why) => Reading::Failed(why.about("invalid answer from the engine")),
            },
        }
    })
}

/// POSTs nothing to `path`; the answer's text.
pub(super) async fn post(endpoint: &Endpoint, path: &str) -> Result<String, Missing> {
    let stream = connect(endpoint).await.map_err(|error| Missing::from(error.to_string()))?;
    transact(stream, hyper::Request::post(path)).await
}

/// A connection that the engine hands over after a POST to `path` that asks for another `protocol`, with
/// these headers.
pub(super) async fn upgrade(
    endpoint: &Endpoint,
    path: &str,
    protocol: &str,
    headers: &[(&str, &str)],
) -> Result<hyper::upgrade::Upgraded, Error> {
    let mut request = hyper::Request::post(path).header("Connection", "Upgrade").header("Upgrade", protocol);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(Error::other)?;
    let response = exchange(connect(endpoint).await?, request).await?;
    if response.status() != hyper::StatusCode::SWITCHING_PROTOCOLS {
        let status = response.status().as_u16();
        return Err(Error::Http { status, path: Some(path.to_owned()) });
    }
    hyper::upgrade::on(response).await.map_err(Error::from)
}

/// Sends a request over a connection of its own; the answer's body is still to be read. An error where the
/// engine rejects the request.
pub(crate) async fn send(
    endpoint: &Endpoint,
    request: hyper::Request<Full<Bytes>>,
) -> Result<hyper::Response<Incoming>, Error> {
    let response = exchange(connect(endpoint).await?, request).await?;
    let status = response.status();
    if status.is_success() || status == hyper::StatusCode::SWITCHING_PROTOCOLS {
        return Ok(response);
    }
    let body = Limited::new(response.into_body(), ERROR_LIMIT_BYTES).collect().await;
    let text = body.map(|body| String::from_utf8_lossy(&body.to_bytes()).into_owned()).unwrap_or_default();
    let message = serde_json::from_str(&text).map_or(text, |Rejection { message }| message);
    Err(Error::engine(Some(status.as_u16()), &message))
}

/// How an engine words an error.
#[derive(serde::Deserialize)]
struct Rejection {
    message: String,
}

fn refused(error: &std::io::Error) -> Reading {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => Reading::Absent,
        ErrorKind::PermissionDenied => Reading::Failed(Missing::denied()),
        ErrorKind::ConnectionRefused => Reading::Failed(Missing::new(MissingKind::Refused, REFUSED)),
        _ => Reading::failed(format!("no connection: {error}")),
    }
}

/// The reason when a socket is there but no engine listens on it.
pub const REFUSED: &str = "connection refused: the socket is there but no engine listens on it";

async fn transact(
    stream: Box<dyn Stream>,
    request: hyper::http::request::Builder,
) -> Result<String, Missing> {
    let request = request.body(Empty::<Bytes>::new()).map_err(|e| Missing::from(e.to_string()))?;
    let response = exchange(stream, request).await.map_err(|e| Missing::from(e.to_string()))?;
    let status = response.status();
    let body = Limited::new(response.into_body(), ANSWER_LIMIT_BYTES)
        .collect()
        .await
        .map_err(|e| Missing::from(e.to_string()))?;
    let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    match status.is_success() {
        true => Ok(text),
        false => Err(Missing::new(
            MissingKind::Http(status.as_u16()),
            format!("HTTP status {status}: {}", text.trim()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    fn serve(answer: &'static [u8]) -> (tempfile::TempDir, Endpoint) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("engine.sock");
        let listener = UnixListener::bind(&path).unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer);
            if answer.is_empty() {
                std::thread::sleep(Duration::from_secs(10));
            }
        });
        (dir, Endpoint::unix(path.display()))
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(300)
    }

    #[test]
    fn chunked_answers_are_put_together() {
        let (_dir, endpoint) = serve(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n",
        );
        assert_eq!(get(&endpoint, "/info", soon()), Reading::Text("{\"a\":1}".into()));
    }

    #[test]
    fn a_socket_that_never_answers_fails_in_time() {
        let (_dir, endpoint) = serve(b"");
        let started = Instant::now();
        let reading = get(&endpoint, "/info", soon());
        assert!(
            matches!(&reading, Reading::Failed(why) if why.detail.contains("did not answer within")),
            "{reading:?}"
        );
        assert!(started.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn garbage_and_errors_fail() {
        let (_dir, endpoint) = serve(b"SSH-2.0-OpenSSH_9.2\r\n");
        assert!(matches!(get(&endpoint, "/info", soon()), Reading::Failed(_)));
        let (_dir, endpoint) = serve(b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\nbad\n");
        let reading = get(&endpoint, "/info", soon());
        assert!(
            matches!(&reading, Reading::Failed(why)
                if why.detail.contains("500") && why.detail.contains("bad")),
            "{reading:?}"
        );
    }

    #[test]
    fn distinguishes_missing_socket_from_refused_connection() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("engine.sock");
        let endpoint = Endpoint::unix(path.display());
        assert_eq!(get(&endpoint, "/info", soon()), Reading::Absent);
        drop(UnixListener::bind(&path).unwrap());
        assert_eq!(
            get(&endpoint, "/info", soon()),
            Reading::Failed(Missing::new(MissingKind::Refused, REFUSED))
        );
    }
}
