//! Containers: create, start, inspect, upload to, stop, remove. [`request`] has what each kind of container
//! is created with.

mod confined;
mod found;
pub(crate) mod request;

use futures_util::future::BoxFuture;
use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::time::Duration;

use bollard::Docker;
use bollard::models::ContainerCreateBody;
use bollard::query_parameters::{
    CreateContainerOptionsBuilder, InspectContainerOptions, ListContainersOptionsBuilder,
    RemoveContainerOptionsBuilder, StartContainerOptions, StopContainerOptionsBuilder,
    UploadToContainerOptionsBuilder,
};
use futures_util::Stream;

use super::engine::{Engine, answered, optional, within};
use crate::error::{ANSWER_TIMEOUT, Error};
use crate::printed::{self, Log};
use crate::spec::Container;

pub use crate::printed::Printed;
pub use found::{Found, Health, Status};

/// What a container may take to end by itself before it is killed, in seconds.
const STOP_GRACE_SECONDS: i32 = 10;
/// The longest that starting may take: the engine may have to unpack, to mount shares, to set up GPUs.
const START_TIMEOUT: Duration = Duration::from_secs(180);

/// A container by name; `None` where there is none.
pub fn inspect<'a>(engine: &'a Engine, name: &'a str) -> BoxFuture<'a, Result<Option<Found>, Error>> {
    Box::pin(async move {
        Ok(optional(engine.docker.inspect_container(name, None::<InspectContainerOptions>))
            .await?
            .map(Found::from_inspect))
    })
}

/// The names of the containers with a label, running or not.
pub fn labelled<'a>(
    engine: &'a Engine,
    label: &'a str,
    value: &'a str,
) -> BoxFuture<'a, Result<Vec<String>, Error>> {
    Box::pin(async move {
        let filters = HashMap::from([("label", vec![format!("{label}={value}")])]);
        let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
        let containers = answered(engine.docker.list_containers(Some(options))).await?;
        let names = containers.into_iter().filter_map(|container| container.names?.into_iter().next());
        Ok(names.map(|name| name.trim_start_matches('/').to_owned()).collect())
    })
}

/// The labels of all containers, running or not.
pub fn all<'a>(engine: &'a Engine) -> BoxFuture<'a, Result<Vec<BTreeMap<String, String>>, Error>> {
    Box::pin(async move {
        let options = ListContainersOptionsBuilder::default().all(true).build();
        let containers = answered(engine.docker.list_containers(Some(options))).await?;
        Ok(containers.into_iter().map(|one| one.labels.unwrap_or_default().into_iter().collect()).collect())
    })
}

/// Creates a container; `limit`: how long the engine may take.
pub(crate) async fn create(
    docker: &Docker,
    name: &str,
    body: ContainerCreateBody,
    limit: Duration,
) -> Result<(), Error> {
    let options = CreateContainerOptionsBuilder::default().name(name).build();
    within(limit, docker.create_container(Some(options), body)).await.map(drop)
}

/// Creates the container of a cluster's node.
pub fn create_node<'a>(engine: &'a Engine, container: &'a Container) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        create(&engine.docker, &container.name, request::node(container), ANSWER_TIMEOUT).await
    })
}

/// Starts a container that was created.
pub fn start<'a>(engine: &'a Engine, name: &'a str) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        let docker = engine.docker.clone().with_timeout(START_TIMEOUT);
        start_within(&docker, name, START_TIMEOUT).await.map_err(|error| error.after(START_TIMEOUT))
    })
}

pub(crate) async fn start_within(docker: &Docker, name: &str, limit: Duration) -> Result<(), Error> {
    within(limit, docker.start_container(name, None::<StartContainerOptions>)).await
}

/// Kills and removes a container, with its anonymous volumes if `volumes`; whether there was one.
pub(crate) async fn delete(
    docker: &Docker,
    name: &str,
    volumes: bool,
    limit: Duration,
) -> Result<bool, Error> {
    let options = RemoveContainerOptionsBuilder::default().force(true).v(volumes).build();
    match within(limit, docker.remove_container(name, Some(options))).await {
        Ok(()) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Ends a container and keeps it.
pub fn stop<'a>(engine: &'a Engine, name: &'a str) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        let stop = StopContainerOptionsBuilder::default().t(STOP_GRACE_SECONDS).build();
        optional(engine.docker.stop_container(name, Some(stop))).await.map(drop)
    })
}

/// Ends a container and removes it; whether there was one.
pub fn remove<'a>(engine: &'a Engine, name: &'a str) -> BoxFuture<'a, Result<bool, Error>> {
    Box::pin(async move {
        let stop = StopContainerOptionsBuilder::default().t(STOP_GRACE_SECONDS).build();
        // One that cannot be stopped is removed by force.
        let _ = optional(engine.docker.stop_container(name, Some(stop))).await;
        delete(&engine.docker, name, true, ANSWER_TIMEOUT).await
    })
}

/// Puts an archive into a directory of a container, which need not run.
pub fn upload<'a>(
    engine: &'a Engine,
    name: &'a str,
    directory: &'a str,
    archive: Vec<u8>,
) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        let options = UploadToContainerOptionsBuilder::default().path(directory).build();
        answered(engine.docker.upload_to_container(name, Some(options), bollard::body_full(archive.into())))
            .await
    })
}

/// A container that is never started: a way into a volume, which it has at a directory.
pub fn create_volume_holder<'a>(
    engine: &'a Engine,
    name: &'a str,
    image: &'a str,
    volume: &'a str,
    at: &'a str,
    labels: &'a BTreeMap<String, String>,
) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        let body = request::volume_holder(image, volume, at, labels);
        create(&engine.docker, name, body, ANSWER_TIMEOUT).await
    })
}

/// A container with a program that waits on its input for ever, in a network (`host`, or one's name).
pub fn create_waiting<'a>(
    engine: &'a Engine,
    name: &'a str,
    image: &'a str,
    network: &'a str,
    program: Vec<String>,
    labels: &'a BTreeMap<String, String>,
) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        let body = request::waiting(image, network, program, labels);
        create(&engine.docker, name, body, ANSWER_TIMEOUT).await
    })
}

/// Removes a container that never ran, and leaves its volumes.
pub fn remove_keeping_volumes<'a>(engine: &'a Engine, name: &'a str) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move { delete(&engine.docker, name, false, ANSWER_TIMEOUT).await.map(drop) })
}

/// Removes a container at once; whether there was one.
pub fn remove_now<'a>(engine: &'a Engine, name: &'a str) -> BoxFuture<'a, Result<bool, Error>> {
    Box::pin(async move { delete(&engine.docker, name, true, ANSWER_TIMEOUT).await })
}

/// What a container printed: the last so many lines of it, and with `follow` what it prints from now on.
pub fn logs<'engine>(
    engine: &'engine Engine,
    name: &str,
    tail: Option<u32>,
    follow: bool,
) -> Pin<Box<dyn Stream<Item = Result<Printed, Error>> + Send + 'engine>> {
    printed::log(engine.transport.local(), Log { name: name.to_owned(), tail, times: false, follow })
}

/// All that a container printed, each entry after its time and a space; with `follow` what it prints from now
/// on too.
pub fn timed_logs<'engine>(
    engine: &'engine Engine,
    name: &str,
    follow: bool,
) -> Pin<Box<dyn Stream<Item = Result<Printed, Error>> + Send + 'engine>> {
    printed::log(engine.transport.local(), Log { name: name.to_owned(), tail: None, times: true, follow })
}
