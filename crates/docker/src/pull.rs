//! Pulling an image from its registry.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bollard::query_parameters::CreateImageOptionsBuilder;
use futures_util::StreamExt;

use super::auth::{self, Logins};
use super::engine::Engine;
use crate::error::{Error, Waited};
use crate::reference::{registry, split};

/// The longest that a pull may say nothing.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(300);

/// Pulls. `progress` gets the bytes received so far and the total, as far as the engine knows it.
pub async fn pull(
    engine: &Engine,
    logins: Arc<Logins>,
    name: &str,
    mut progress: impl FnMut(u64, u64),
) -> Result<(), Error> {
    let (repo, tag) = split(name);
    let host = registry(repo).to_owned();
    let key = auth::key(&host).to_owned();
    let login =
        tokio::task::spawn_blocking(move || logins.for_registry(&host)).await.map_err(Error::other)??;
    let credentials = login.map(|login| login.for_engine(&key));
    // A name with a digest goes as it is: the engine takes no tag with it.
    let options = match name.contains('@') {
        true => CreateImageOptionsBuilder::default().from_image(name).build(),
        false => CreateImageOptionsBuilder::default().from_image(repo).tag(tag).build(),
    };
    let mut answer = std::pin::pin!(engine.docker.create_image(Some(options), None, credentials));
    let mut layers: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    loop {
        let info = match tokio::time::timeout(SILENCE_TIMEOUT, answer.next()).await {
            Err(_) => return Err(Error::TimedOut { what: Waited::EngineProgress, after: SILENCE_TIMEOUT }),
            Ok(None) => return Ok(()),
            Ok(Some(info)) => info.map_err(Error::from)?,
        };
        let (Some(layer), Some(detail)) = (info.id, info.progress_detail) else { continue };
        let bytes = |bytes: Option<i64>| bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
        if info.status.as_deref() == Some("Downloading") {
            layers.insert(layer, (bytes(detail.current), bytes(detail.total)));
            progress(layers.values().map(|(here, _)| here).sum(), layers.values().map(|(_, all)| all).sum());
        }
    }
}
