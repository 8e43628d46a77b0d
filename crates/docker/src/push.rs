//! Pushing a named image to its registry.

use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

use bollard::query_parameters::PushImageOptionsBuilder;
use futures_util::StreamExt;

use super::auth::{self, Logins};
use super::engine::Engine;
use crate::error::{Error, Waited};
use crate::reference::{registry, split};

/// The longest that a push may say nothing.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(300);

/// Pushes; the digest that the registry gave the image.
pub fn push<'a>(
    engine: &'a Engine,
    logins: Arc<Logins>,
    name: &'a str,
) -> BoxFuture<'a, Result<String, Error>> {
    Box::pin(async move {
        let (repo, tag) = split(name);
        let host = registry(repo).to_owned();
        let key = auth::key(&host).to_owned();
        let login =
            tokio::task::spawn_blocking(move || logins.for_registry(&host)).await.map_err(Error::other)??;
        let known = login.is_some();
        let credentials = login.map(|login| login.for_engine(&key));
        let options = PushImageOptionsBuilder::default().tag(tag).build();
        let mut answer = std::pin::pin!(engine.docker.push_image(repo, Some(options), credentials));
        let mut digest = None;
        loop {
            let next = tokio::time::timeout(SILENCE_TIMEOUT, answer.next()).await;
            let info = match next {
                Err(_) => {
                    return Err(Error::TimedOut { what: Waited::EngineProgress, after: SILENCE_TIMEOUT });
                }
                Ok(None) => break,
                Ok(Some(Ok(info))) => info,
                Ok(Some(Err(error))) => return Err(Error::from(error).of_push(known)),
            };
            let status = info.status.unwrap_or_default();
            // `1.0: digest: sha256:… size: 528`
            if let Some((_, rest)) = status.split_once("digest: ") {
                digest = rest.split_whitespace().next().map(str::to_owned);
            }
        }
        digest.ok_or_else(|| Error::other("the engine reported no digest for the push"))
    })
}
