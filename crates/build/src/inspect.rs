//! An image of an engine or a registry, described without pulling it.

use catalog::Catalog;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::images::Existence;
use diagnostic::error::{Error, Kind};
use docker::client;
use docker::transport::{Endpoint, Transports};
use host::live::Live;
use host::{Host, Missing, MissingKind, Reading};
use image::inspect::Reference;
use image::inspect::image::{self as description, Image, processor};
use image::inspect::remote::{self, ImageQuery, RegistryError};

use crate::registry;

/// The most that an engine gets of the whole time, since the registry may have to answer too.
const ENGINE_TIMEOUT: Duration = Duration::from_secs(5);

/// An image to be described.
#[derive(Debug, Clone)]
pub struct InspectRequest {
    /// Names the images that exist.
    pub catalog: &'static Catalog,
    /// Registry, repository, and tag or digest.
    pub reference: Reference,
    /// The architecture to read of a multi-platform image: `aarch64`.
    pub architecture: String,
    /// The engine; else the one that the docker program would use.
    pub host: Option<String>,
    /// Who is asked.
    pub source: ImageSource,
    /// Whether the registry is asked by plain HTTP.
    pub plain_http: bool,
    /// Certificates to trust besides the system's.
    pub certificates: Option<PathBuf>,
    /// For the engine and the registry together.
    pub timeout: Duration,
}

/// Who describes an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageSource {
    /// The engine on this machine, or the one that the request names: nothing else uses the network.
    Engine,
    /// The engine, and the registry where the engine does not have the image.
    EngineThenRegistry,
    Registry,
}

/// Why there is no description.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The registry does not have the image.
    #[error(transparent)]
    NotFound(RegistryError),
    /// Engine or registry could not be asked.
    #[error(transparent)]
    Other(#[from] Error),
}

/// Asks the engine, then the registry. `note` gets the reason why an engine was skipped.
pub fn inspect(request: &InspectRequest, note: &dyn Fn(&str)) -> Result<Image, InspectError> {
    let client = client::find(request.host.as_deref())?;
    let reference = &request.reference;
    if request.source == ImageSource::Engine {
        return from_engine_only(request, &client.endpoint);
    }
    if request.source == ImageSource::EngineThenRegistry && reference.digest.is_none() {
        let deadline = Instant::now() + request.timeout.min(ENGINE_TIMEOUT);
        match from_engine(&client.endpoint, &reference.familiar(), deadline)? {
            FromEngine::Image(image) => return Ok(*image),
            FromEngine::Skipped(why) => note(&format!("skipped the Docker engine: {why}")),
            FromEngine::None => {}
        }
    }
    let certificates = registry::certificates(request.certificates.as_deref())?;
    let query = ImageQuery {
        reference,
        architecture: processor(&request.architecture),
        plain_http: request.plain_http,
        login: registry::login(&client, &reference.registry)?,
        certificates: certificates.as_deref(),
        deadline: Instant::now() + request.timeout,
    };
    remote::read(&query).map_err(|error| match error.is_not_found() {
        true => InspectError::NotFound(error),
        false => unreadable(request.catalog, reference, &error).into(),
    })
}

/// The hint where the registry did not answer as one does.
const UNREACHABLE: &str = "check the registry's name and port, DNS and the proxy";

/// The error with hints for the usual causes.
fn unreadable(catalog: &Catalog, reference: &Reference, error: &RegistryError) -> Error {
    let mut unreadable =
        Error::new(Kind::Network, format!("cannot read {reference} from the registry: {error}"));
    match error {
        RegistryError::Docker(docker::Error::RegistryLogin(_)) | RegistryError::Denied { .. } => {
            unreadable = unreadable.hint(format!("docker login {}", reference.registry));
        }
        RegistryError::Docker(docker::Error::Certificate(_)) => {
            unreadable = unreadable.hint("to trust a private registry or proxy: --ca-cert FILE");
        }
        RegistryError::Docker(_) => unreadable = unreadable.hint(UNREACHABLE),
        _ => {}
    }
    let name = reference.familiar();
    match catalog.images().exists(&name) {
        Existence::No { why, .. } => {
            let nearest: Vec<String> =
                catalog.images().nearest(&name).iter().map(|image| image.reference()).collect();
            let suggestion = match nearest.is_empty() {
                true => String::new(),
                false => format!("; nearest: {}", nearest.join(", ")),
            };
            unreadable.hint(format!("the catalog has no such image: {why}{suggestion}"))
        }
        Existence::Yes(_) => unreadable
            .hint(format!("the image exists; for what the catalog knows about it: envdoc explain {name}")),
        Existence::Unknown { .. } => unreadable,
    }
}

/// Without a registry, that the engine does not have the image says nothing about whether it exists.
fn from_engine_only(request: &InspectRequest, endpoint: &Endpoint) -> Result<Image, InspectError> {
    if request.host.is_none() && endpoint.socket().is_none() {
        let message = format!("the Docker engine {} is not on this machine", endpoint.as_str());
        return Err(Error::new(Kind::Engine, message).hint("name it as host to ask it").into());
    }
    let name = match &request.reference.digest {
        Some(_) => request.reference.to_string(),
        None => request.reference.familiar(),
    };
    let why = match from_engine(endpoint, &name, Instant::now() + request.timeout)? {
        FromEngine::Image(image) => return Ok(*image),
        FromEngine::Skipped(why) => format!("cannot ask the Docker engine {}: {why}", endpoint.as_str()),
        FromEngine::None => format!("no Docker engine at {} has {name}", endpoint.as_str()),
    };
    Err(Error::new(Kind::Engine, why).hint("its registry was not asked").into())
}

/// What an engine says about an image.
enum FromEngine {
    Image(Box<Image>),
    /// It could not be asked.
    Skipped(Missing),
    /// There is no engine, or it does not have the image.
    None,
}

fn from_engine(endpoint: &Endpoint, name: &str, deadline: Instant) -> Result<FromEngine, Error> {
    let host = Live::new(deadline).with_engines(Arc::new(Transports::default()));
    let inspected = match host.engine(endpoint.as_str(), &format!("/images/{name}/json")) {
        Reading::Text(text) => text,
        Reading::Failed(why) if !matches!(why.kind, MissingKind::Http(404) | MissingKind::Refused) => {
            return Ok(FromEngine::Skipped(why));
        }
        _ => return Ok(FromEngine::None),
    };
    let history = match host.engine(endpoint.as_str(), &format!("/images/{name}/history")) {
        Reading::Text(text) => Some(text),
        _ => None,
    };
    let image = description::from_engine(name, &inspected, history.as_deref()).map_err(|why| {
        Error::new(Kind::Engine, format!("cannot read the engine's answer about {name}: {why}"))
    })?;
    Ok(FromEngine::Image(Box::new(Image { engine: Some(endpoint.clone()), ..image })))
}
