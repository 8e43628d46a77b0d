//! How a verb waits for what goes on elsewhere: engines, registries, other machines.

use tokio::runtime::Runtime;

use diagnostic::error::{Error, Kind};

/// A runtime of one thread.
pub(super) fn runtime() -> Result<Runtime, Error> {
    docker::runtime().map_err(|error| Error::new(Kind::Engine, error.to_string()))
}

/// Waits for Ctrl-C or SIGTERM.
pub(super) async fn interrupted() {
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
