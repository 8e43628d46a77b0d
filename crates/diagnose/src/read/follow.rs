//! A log that grows while it is read.

use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt, stream};

use super::Read;
use super::blocks::{Blocks, LIMITS};
use super::container::{self, ContainerError};
use catalog::Catalog;
use diagnostic::error::{Error, Kind};
use docker::client;
use docker::engine::Engine;

/// Polling interval of a file; silence after which the findings so far are reported.
const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// Longest time between two reports of a log that never pauses.
const REPORT_INTERVAL: Duration = Duration::from_secs(2);
/// Read at once from standard input, in bytes.
const PIECE_BYTES: usize = 1 << 16;
/// Pieces of standard input that may wait to be searched.
const PIECES_QUEUED: usize = 4;

/// What is followed.
#[derive(Debug, Clone, Copy)]
pub enum Followed<'a> {
    /// A file that grows.
    File(&'a Path),
    /// Standard input, until it ends.
    Standard,
    /// The output of a container, until it ends.
    Container(&'a str),
}

/// Reports what has been read so far; returns whether it shows a failure.
pub type OnPause<'a> = &'a mut dyn FnMut(Read) -> Result<bool, Error>;

/// Why a piece of a log is missing.
#[derive(Debug, thiserror::Error)]
enum PieceError {
    #[error("reading stopped: {0}")]
    Standard(std::io::Error),
    #[error(transparent)]
    Container(#[from] ContainerError),
}

/// Reads existing and new lines until Ctrl-C or the end, and reports at every pause; the last answer is the
/// result. A file that becomes shorter is read again from the start.
pub fn follow(
    catalog: &'static Catalog,
    followed: Followed<'_>,
    on_pause: OnPause<'_>,
) -> Result<bool, Error> {
    let runtime = docker::runtime()?;
    let mut failed = false;
    runtime.block_on(async {
        let work = async {
            match followed {
                Followed::File(path) => file(catalog, path, on_pause, &mut failed).await,
                Followed::Standard => standard_input(catalog, on_pause, &mut failed).await,
                Followed::Container(name) => of_container(catalog, name, on_pause, &mut failed).await,
            }
        };
        tokio::select! {
            result = work => result,
            () = docker::interrupted() => Ok(()),
        }
    })?;
    Ok(failed)
}

async fn standard_input(
    catalog: &'static Catalog,
    on_pause: OnPause<'_>,
    failed: &mut bool,
) -> Result<(), Error> {
    let unreadable =
        |error: std::io::Error| Error::new(Kind::File, format!("cannot read standard input: {error}"));
    host::file::standard_ending().map(drop).map_err(unreadable)?;
    let (send, mut pieces) = tokio::sync::mpsc::channel(PIECES_QUEUED);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            let piece = match input.read(&mut buffer) {
                Ok(0) => return,
                Ok(length) => Ok(buffer[..length].to_vec()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => Err(PieceError::Standard(error)),
            };
            if send.blocking_send(piece).is_err() {
                return;
            }
        }
    });
    let mut blocks = Blocks::new(catalog, "standard input", LIMITS);
    let pieces = stream::poll_fn(move |context| pieces.poll_recv(context));
    until_end(&mut blocks, pieces, on_pause, failed).await?;
    *failed = on_pause(blocks.end())?;
    Ok(())
}

async fn of_container(
    catalog: &'static Catalog,
    name: &str,
    on_pause: OnPause<'_>,
    failed: &mut bool,
) -> Result<(), Error> {
    let engine = Engine::connect(&client::find(None)?.endpoint).await?;
    let lines = container::lines(&engine, name, None, true).await?;
    let mut blocks = Blocks::new(catalog, &format!("container {name}"), LIMITS);
    let lines = lines.map(|line| line.map_err(PieceError::from));
    until_end(&mut blocks, lines, on_pause, failed).await?;
    container::ended(&engine, name).await.into_iter().for_each(|remark| blocks.remark(remark));
    *failed = on_pause(blocks.end())?;
    Ok(())
}

/// Reads until the end; reports after [`POLL_INTERVAL`] of silence, and at least every [`REPORT_INTERVAL`].
async fn until_end(
    blocks: &mut Blocks,
    pieces: impl Stream<Item = Result<Vec<u8>, PieceError>>,
    on_pause: OnPause<'_>,
    failed: &mut bool,
) -> Result<(), Error> {
    let mut pieces = std::pin::pin!(pieces);
    let (mut reported_bytes, mut last) = (0, Instant::now());
    loop {
        match tokio::time::timeout(POLL_INTERVAL, pieces.next()).await {
            Ok(None) => return Ok(()),
            Ok(Some(Err(why))) => blocks.remark(why.to_string()),
            Ok(Some(Ok(piece))) => {
                blocks.feed(&piece);
                if last.elapsed() < REPORT_INTERVAL {
                    continue;
                }
            }
            Err(_) => {}
        }
        if blocks.bytes() > reported_bytes {
            reported_bytes = blocks.bytes();
            blocks.pause();
            *failed = on_pause(blocks.clone().end())?;
        }
        last = Instant::now();
    }
}

async fn file(
    catalog: &'static Catalog,
    path: &Path,
    on_pause: OnPause<'_>,
    failed: &mut bool,
) -> Result<(), Error> {
    let unreadable = |error: std::io::Error| host::file::unreadable(path, &error);
    let name = path.display().to_string();
    loop {
        let mut file = host::file::open_ending(path).map_err(unreadable)?;
        let mut blocks = Blocks::new(catalog, &name, LIMITS);
        let mut reported_bytes = 0;
        while file.metadata().map_err(unreadable)?.len() >= blocks.bytes() {
            if blocks.feed_from(&mut file).map_err(unreadable)? > 0 {
                tokio::task::yield_now().await;
                continue;
            }
            if blocks.bytes() > reported_bytes {
                reported_bytes = blocks.bytes();
                blocks.pause();
                *failed = on_pause(blocks.clone().end())?;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}
