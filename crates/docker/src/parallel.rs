//! Waiting for futures from code that is not asynchronous, and for many at once. What drives them is compiled
//! once, here: callers only box their futures.

use std::pin::Pin;

use futures_util::future::join_all;
use tokio::runtime::{Builder, Runtime};

use crate::error::Error;

type Work<'w> = Pin<Box<dyn Future<Output = ()> + 'w>>;

/// A runtime that runs on the calling thread.
pub fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Other(format!("no runtime: {error}")))
}

/// Runs a future to its end on a runtime of its own.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Error> {
    let mut result = None;
    drive(Box::pin(async { result = Some(future.await) }))?;
    result.ok_or_else(|| Error::other("the runtime stopped before the work was done"))
}

fn drive(work: Work<'_>) -> Result<(), Error> {
    runtime()?.block_on(work);
    Ok(())
}

/// Waits for Ctrl-C or SIGTERM.
pub async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}

/// Runs all futures at once; the results are in the order of the futures.
pub async fn fan_out<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let futures: Vec<F> = futures.into_iter().collect();
    let mut results: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    let work = futures
        .into_iter()
        .zip(&mut results)
        .map(|(future, slot)| -> Work<'_> { Box::pin(async move { *slot = Some(future.await) }) });
    finish(work.collect()).await;
    results.into_iter().flatten().collect()
}

async fn finish(work: Vec<Work<'_>>) {
    join_all(work).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_futures() {
        let wait = |milliseconds: u64| async move {
            tokio::time::sleep(std::time::Duration::from_millis(milliseconds)).await;
            milliseconds
        };
        assert_eq!(block_on(fan_out([30, 1, 10].map(wait))).unwrap(), [30, 1, 10]);
    }
}
