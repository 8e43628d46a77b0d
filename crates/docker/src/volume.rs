//! Named volumes of an engine.

use std::collections::{BTreeMap, HashMap};

use bollard::models::VolumeCreateRequest;
use bollard::query_parameters::{ListVolumesOptionsBuilder, RemoveVolumeOptions};

use super::engine::{Engine, answered, optional};
use crate::error::Error;

/// The labels of a volume; `None` where the engine has none of this name.
pub async fn labels(engine: &Engine, name: &str) -> Result<Option<BTreeMap<String, String>>, Error> {
    let volume = optional(engine.docker.inspect_volume(name)).await?;
    Ok(volume.map(|volume| volume.labels.into_iter().collect()))
}

/// Makes a local volume. `options` are the driver's: `type=nfs`, `o=addr=…`, `device=:/export`; empty for a
/// directory of the engine's.
pub async fn create(
    engine: &Engine,
    name: &str,
    labels: &BTreeMap<String, String>,
    options: &BTreeMap<String, String>,
) -> Result<(), Error> {
    let request = VolumeCreateRequest {
        name: Some(name.to_owned()),
        driver: Some("local".into()),
        driver_opts: Some(options.clone().into_iter().collect::<HashMap<_, _>>()),
        labels: Some(labels.clone().into_iter().collect()),
        ..Default::default()
    };
    answered(engine.docker.create_volume(request)).await.map(drop)
}

/// Removes a volume; whether there was one.
pub async fn remove(engine: &Engine, name: &str) -> Result<bool, Error> {
    Ok(optional(engine.docker.remove_volume(name, None::<RemoveVolumeOptions>)).await?.is_some())
}

/// The names of the volumes with a label.
pub async fn labelled(engine: &Engine, label: &str, value: &str) -> Result<Vec<String>, Error> {
    let filters = HashMap::from([("label", vec![format!("{label}={value}")])]);
    let options = ListVolumesOptionsBuilder::default().filters(&filters).build();
    let volumes = answered(engine.docker.list_volumes(Some(options))).await?.volumes.unwrap_or_default();
    Ok(volumes.into_iter().map(|volume| volume.name).collect())
}
