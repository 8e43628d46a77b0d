//! Waiting for futures from code that is not asynchronous, and for many at once. What drives them is compiled
//! once, here: callers only box their futures.

use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::mpsc;

use futures_util::future::join_all;
use tokio::runtime::{Builder, Runtime};

use crate::error::Error;

type Work<'w> = Pin<Box<dyn Future<Output = ()> + 'w>>;

/// The one runtime of the process, made when it is first needed. It is here because this is the lowest crate
/// that waits for futures. A thread of its own drives connections, timers and spawned tasks;
/// [`Runtime::block_on`] runs its future on the calling thread. It ends with the process, so that nothing
/// waits for a credential helper or a resolver that hangs.
pub fn runtime() -> Result<&'static Runtime, Error> {
    static RUNTIME: OnceLock<Result<Runtime, Error>> = OnceLock::new();
    static DRIVER: OnceLock<()> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let built = Builder::new_current_thread().enable_all().build();
        built.map_err(|error| Error::Other(format!("no runtime: {error}")))
    });
    let runtime = runtime.as_ref().map_err(Error::clone)?;
    DRIVER.get_or_init(|| drive_always(runtime));
    Ok(runtime)
}

/// Returns when the thread drives. Without it, whoever waits on the runtime drives it meanwhile.
fn drive_always(runtime: &'static Runtime) {
    let (ready, started) = mpsc::channel();
    let drive = move || {
        runtime.block_on(async {
            let _ = ready.send(());
            std::future::pending::<()>().await;
        });
    };
    if std::thread::Builder::new().name("runtime".into()).spawn(drive).is_ok() {
        let _ = started.recv();
    }
}

/// Runs a future to its end on the calling thread.
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
    use std::time::Duration;

    #[test]
    fn results_are_in_the_order_of_the_futures() {
        let wait = |milliseconds: u64| async move {
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            milliseconds
        };
        assert_eq!(block_on(fan_out([30, 1, 10].map(wait))).unwrap(), [30, 1, 10]);
    }

    #[test]
    fn tasks_run_while_nobody_waits_for_the_runtime() {
        let (done, finished) = mpsc::channel();
        runtime().unwrap().spawn(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let _ = done.send(());
        });
        assert_eq!(finished.recv_timeout(Duration::from_secs(60)), Ok(()));
    }

    #[test]
    fn threads_wait_at_the_same_time() {
        let (send, receive) = tokio::sync::oneshot::channel();
        let waiting = std::thread::spawn(|| block_on(receive));
        block_on(async { send.send(7) }).unwrap().unwrap();
        assert_eq!(waiting.join().unwrap().unwrap(), Ok(7));
    }
}
