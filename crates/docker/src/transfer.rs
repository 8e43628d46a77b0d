//! An image from one engine to others, through this program and never through its disk.

use std::time::Duration;

use bollard::query_parameters::ImportImageOptions;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use hyper::body::Bytes;
use tokio::sync::mpsc;

use super::engine::Engine;
use crate::error::{Error, Waited};

/// The longest that the engine which has the image may send nothing.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(300);
/// The longest that an engine may take for a whole image. It answers only when it has all of it.
const LOAD_TIMEOUT: Duration = Duration::from_secs(6 * 3600);
/// Pieces that are on their way to one engine.
const PIECES_QUEUED: usize = 16;

type Piece = Result<Bytes, std::io::Error>;

/// Sends an image as one engine has it to others: it is read once and sent to all at the pace of the slowest.
/// `sent` receives the bytes so far. Returns, for each target, whether it has the image now.
pub async fn stream(
    from: &Engine,
    image: &str,
    to: &[&Engine],
    mut sent: impl FnMut(u64),
) -> Vec<Result<(), Error>> {
    let (senders, receivers): (Vec<_>, Vec<_>) =
        to.iter().map(|_| mpsc::channel::<Piece>(PIECES_QUEUED)).unzip();
    let loads = to.iter().zip(receivers).map(|(engine, pieces)| load(engine, pieces));
    let (read, loaded) = tokio::join!(read(from, image, senders, &mut sent), join_all(loads));
    match read {
        Ok(()) => loaded,
        Err(why) => {
            let why = Error::NotSent { engine: from.name.clone(), source: Box::new(why) };
            loaded.into_iter().map(|_| Err(why.clone())).collect()
        }
    }
}

async fn read(
    from: &Engine,
    image: &str,
    senders: Vec<mpsc::Sender<Piece>>,
    sent: &mut impl FnMut(u64),
) -> Result<(), Error> {
    let mut pieces = std::pin::pin!(from.docker.export_image(image));
    let mut open: Vec<_> = senders.into_iter().map(Some).collect();
    let mut bytes = 0;
    loop {
        let piece = match tokio::time::timeout(SILENCE_TIMEOUT, pieces.next()).await {
            Ok(Some(Ok(piece))) => piece,
            Ok(None) => return Ok(()),
            Ok(Some(Err(error))) => return broken(&open, error.into()).await,
            Err(_) => {
                let silent = Error::TimedOut { what: Waited::EngineData, after: SILENCE_TIMEOUT };
                return broken(&open, silent).await;
            }
        };
        bytes += piece.len() as u64;
        for slot in &mut open {
            // One that takes no more reports why itself; the others continue.
            if let Some(sender) = slot
                && sender.send(Ok(piece.clone())).await.is_err()
            {
                *slot = None;
            }
        }
        if open.iter().all(Option::is_none) {
            return Ok(());
        }
        sent(bytes);
    }
}

/// Half an archive must not look like a whole one.
async fn broken(open: &[Option<mpsc::Sender<Piece>>], why: Error) -> Result<(), Error> {
    for sender in open.iter().flatten() {
        let _ = sender.send(Err(std::io::Error::other("the image was not sent completely"))).await;
    }
    Err(why)
}

async fn load(engine: &Engine, pieces: mpsc::Receiver<Piece>) -> Result<(), Error> {
    let docker = engine.docker.clone().with_timeout(LOAD_TIMEOUT);
    let pieces =
        stream::unfold(pieces, |mut pieces| async { pieces.recv().await.map(|piece| (piece, pieces)) });
    let options = ImportImageOptions { quiet: true, ..Default::default() };
    let mut answer = std::pin::pin!(docker.import_image_stream(options, pieces, None));
    while let Some(said) = answer.next().await {
        said.map_err(Error::from)?;
    }
    Ok(())
}
