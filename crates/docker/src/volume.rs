//! Named volumes of an engine.

use futures_util::future::BoxFuture;
use std::collections::{BTreeMap, HashMap};

use bollard::models::VolumeCreateRequest;
use bollard::query_parameters::{ListVolumesOptionsBuilder, RemoveVolumeOptions};

use super::engine::{Engine, answered, optional};
use crate::error::Error;

/// The labels of a volume; `None` where the engine has none of this name.
pub fn labels<'a>(
    engine: &'a Engine,
    name: &'a str,
) -> BoxFuture<'a, Result<Option<BTreeMap<String, String>>, Error>> {
    Box::pin(async move {
        let volume = optional(engine.docker.inspect_volume(name)).await?;
        Ok(volume.map(|volume| volume.labels.into_iter().collect()))
    })
}

/// Makes a local volume. `options` are the driver's: `type=nfs`, `o=addr=…`, `device=:/export`; empty for a
/// directory of the engine's.
pub fn create<'a>(
    engine: &'a Engine,
    name: &'a str,
    labels: &'a BTreeMap<String, String>,
    options: &'a BTreeMap<String, String>,
) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        let request = VolumeCreateRequest {
            name: Some(name.to_owned()),
            driver: Some("local".into()),
            driver_opts: Some(options.clone().into_iter().collect::<HashMap<_, _>>()),
            labels: Some(labels.clone().into_iter().collect()),
            ..Default::default()
        };
        answered(engine.docker.create_volume(request)).await.map(drop)
    })
}

/// Removes a volume; whether there was one.
pub fn remove<'a>(engine: &'a Engine, name: &'a str) -> BoxFuture<'a, Result<bool, Error>> {
    Box::pin(async move {
        Ok(optional(engine.docker.remove_volume(name, None::<RemoveVolumeOptions>)).await?.is_some())
    })
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// As `docker volume ls` shows it.
    pub name: String,
    pub labels: BTreeMap<String, String>,
    /// When it was created, by the engine's clock, in seconds since 1970-01-01 UTC.
    pub created: Option<i64>,
}

pub fn list<'a>(
    engine: &'a Engine,
    label: &'a str,
    value: &'a str,
) -> BoxFuture<'a, Result<Vec<Listed>, Error>> {
    Box::pin(async move {
        let filters = HashMap::from([("label", vec![format!("{label}={value}")])]);
        let options = ListVolumesOptionsBuilder::default().filters(&filters).build();
        let volumes = answered(engine.docker.list_volumes(Some(options))).await?.volumes.unwrap_or_default();
        let listed = |one: bollard::models::Volume| Listed {
            name: one.name,
            labels: one.labels.into_iter().collect(),
            created: one.created_at.map(|time| time.unix_timestamp()),
        };
        Ok(volumes.into_iter().map(listed).collect())
    })
}

/// The names of the volumes with a label.
pub fn labelled<'a>(
    engine: &'a Engine,
    label: &'a str,
    value: &'a str,
) -> BoxFuture<'a, Result<Vec<String>, Error>> {
    Box::pin(async move { Ok(list(engine, label, value).await?.into_iter().map(|one| one.name).collect()) })
}
