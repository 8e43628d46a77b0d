//! Which builder builds, and what the engine is asked for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bollard::query_parameters::BuildImageOptions;

use super::{Build, Builder, Event, Failure, classic};
use crate::auth::{self, Logins};
use crate::engine::Engine;
use crate::error::Error;

/// Whether to use BuildKit; says why not.
pub(super) fn use_buildkit(
    engine: &Engine,
    build: &Build,
    on: &mut dyn FnMut(Event),
) -> Result<bool, Failure> {
    let without = match build.builder {
        Builder::Classic => Some(String::new()),
        _ => engine.without_buildkit(),
    };
    let Some(why) = without else { return Ok(true) };
    if build.builder == Builder::BuildKit {
        return Err(Failure::Impossible(format!("BuildKit is not available: {why}")));
    }
    if let Some(need) = build.needs_buildkit.as_ref().filter(|_| !engine.podman) {
        let why = if why.is_empty() { "the classic builder was requested" } else { &why };
        return Err(Failure::Impossible(format!("this image requires BuildKit ({need}), but {why}")));
    }
    if build.inline_cache {
        let why = if why.is_empty() { "the classic builder was requested" } else { &why };
        return Err(Failure::Impossible(format!("--cache-to requires BuildKit, but {why}")));
    }
    let instead = if engine.podman { "Podman's builder" } else { "the classic builder" };
    if !build.secrets.is_empty() && !engine.podman {
        let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
        return Err(Failure::Impossible(format!(
            "secrets and --ca-cert require BuildKit; this build uses {instead}{why}"
        )));
    }
    if !build.secrets.is_empty() {
        return Err(Failure::Impossible(format!(
            "{instead} does not accept secrets or --ca-cert through its socket ({why})"
        )));
    }
    if !why.is_empty() {
        on(Event::Note(format!("{why}: using {instead}, which runs one step at a time")));
    }
    Ok(false)
}

/// The request to the engine; `session` is that of BuildKit.
pub(super) fn options(build: &Build, session: Option<String>) -> BuildImageOptions {
    let map = |map: &BTreeMap<String, String>| {
        let map: HashMap<String, String> = map.clone().into_iter().collect();
        (!map.is_empty()).then_some(map)
    };
    BuildImageOptions {
        dockerfile: build.context.dockerfile.clone(),
        nocache: build.no_cache,
        pull: build.pull.then(|| "1".to_owned()),
        rm: true,
        forcerm: true,
        buildargs: map(&build.arguments),
        labels: map(&build.labels),
        cachefrom: (!build.cache_from.is_empty()).then(|| build.cache_from.clone()),
        platform: build.platform.clone().unwrap_or_default(),
        target: build.target.clone().unwrap_or_default(),
        networkmode: build.network.clone(),
        session,
        ..Default::default()
    }
}

/// The logins of the registries that the Dockerfile's FROM lines name.
pub(super) async fn credentials(
    build: &Build,
    logins: Arc<Logins>,
) -> Result<HashMap<String, bollard::auth::DockerCredentials>, Error> {
    let own = build.context.files.iter().find(|(name, _)| *name == build.context.dockerfile);
    let text = match (own, &build.context.folder) {
        (Some((_, bytes)), _) => String::from_utf8_lossy(bytes).into_owned(),
        (None, Some(folder)) => {
            let path = folder.join(&build.context.dockerfile);
            host::file::read(&path).map_err(Error::other)?.unwrap_or_default()
        }
        (None, None) => String::new(),
    };
    let mut registries: Vec<String> = text.lines().filter_map(classic::registry_of_from).collect();
    registries.sort();
    registries.dedup();
    let found = tokio::task::spawn_blocking(move || {
        let login = |registry: String| {
            let login = logins.for_registry(&registry)?;
            Ok::<_, Error>(login.map(|login| {
                let key = auth::key(&registry);
                (key.to_owned(), login.for_engine(key))
            }))
        };
        registries.into_iter().map(login).collect::<Result<Vec<_>, _>>()
    });
    let found = found.await.map_err(Error::other)??;
    Ok(found.into_iter().flatten().collect())
}
