//! Descriptions of images in a registry: manifests and configurations, some kilobytes, without pulling.

use std::time::Instant;

use serde_json::{Value, json};

use crate::inspect::image::{Image, Index, Manifest, from_registry, processor};
use docker::auth::Login;
use docker::digest;
use docker::reference::Reference;
use docker::registry::{Access, Answer, Client};

/// Of a manifest or a configuration; registries reject manifests above 4 MiB.
const SIZE_LIMIT_BYTES: u64 = 8 << 20;

/// Manifests of one image and lists of them, of both families.
const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.oci.image.manifest.v1+json, \
                         application/vnd.docker.distribution.manifest.list.v2+json, \
                         application/vnd.docker.distribution.manifest.v2+json";

/// Where and how to ask.
pub struct ImageQuery<'q> {
    /// Registry, repository, and tag or digest.
    pub reference: &'q Reference,
    /// The processor, as Linux names it: `x86_64`. Of a list of images the one for it is read.
    pub architecture: &'q str,
    /// Use plain HTTP; registries on this machine always use it.
    pub plain_http: bool,
    /// User and password, or an identity token.
    pub login: Option<Login>,
    /// Certificates to trust besides the system's, PEM.
    pub certificates: Option<&'q str>,
    /// Of all requests together.
    pub deadline: Instant,
}

/// Why a registry gave no description of an image.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The registry does not have it, or hides it from this reader.
    #[error("{registry} has no {reference}")]
    NotFound {
        /// `registry-1.docker.io`.
        registry: String,
        /// `library/ubuntu:26.04`.
        reference: String,
    },
    /// Only images for other operating systems.
    #[error("{0} has no image for Linux")]
    NotForLinux(String),
    /// HTTP status 403, which Docker Hub also sends for repositories that do not exist.
    #[error("{registry} denies access to {reference} (HTTP status 403)")]
    Denied {
        /// `registry-1.docker.io`.
        registry: String,
        /// `library/ubuntu:26.04`.
        reference: String,
    },
    /// Any other unexpected status.
    #[error("{registry} answered with HTTP status {status} {body}")]
    Status {
        /// `registry-1.docker.io`.
        registry: String,
        /// 503.
        status: u16,
        /// The beginning of the answer.
        body: String,
    },
    /// The connection, the login or a certificate.
    #[error(transparent)]
    Docker(#[from] docker::Error),
    /// A manifest or configuration that is not what the OCI image specification describes.
    #[error("cannot read {what}: {source}")]
    Malformed {
        /// `the manifest of nginx:1`.
        what: String,
        /// The first mistake.
        source: serde_json::Error,
    },
    /// A descriptor with a digest that cannot be verified.
    #[error("{manifest} names content by {digest:?}, which is not a digest that envdoc can verify")]
    NoDigest {
        /// `the manifest of nginx:1`.
        manifest: String,
        /// What it names, cut.
        digest: String,
    },
    /// An image index needs images.
    #[error("an image index without images")]
    NoMembers,
}

impl RegistryError {
    /// Whether the registry answered that there is no such image.
    pub fn is_not_found(&self) -> bool {
        matches!(self, RegistryError::NotFound { .. } | RegistryError::NotForLinux(_))
    }
}

fn malformed(what: String) -> impl FnOnce(serde_json::Error) -> RegistryError {
    move |source| RegistryError::Malformed { what, source }
}

/// A session with a registry, about one image.
struct Registry<'q> {
    reference: &'q Reference,
    client: Client,
    access: Access,
}

impl<'q> Registry<'q> {
    fn new(query: &ImageQuery<'q>) -> Result<Registry<'q>, RegistryError> {
        let client = Client::new(query.certificates, query.deadline)?;
        let url = query.reference.registry_url(query.plain_http);
        let access = Access::new(&url, query.login.clone());
        Ok(Registry { reference: query.reference, client, access })
    }

    fn ask(&mut self, kind: &str, name: &str, accept: &str) -> Result<Answer, RegistryError> {
        let path = format!("/v2/{}/{kind}/{name}", self.reference.repository);
        Ok(self.client.ask(&mut self.access, &path, accept, SIZE_LIMIT_BYTES)?)
    }

    /// A manifest by the name that was asked for, verified where that is a digest; its digest.
    fn wanted(&mut self) -> Result<(Answer, String), RegistryError> {
        match &self.reference.digest {
            Some(digest) => Ok((self.manifest_of(digest)?, digest.clone())),
            None => {
                let answer = self.manifest(&self.reference.tag)?;
                let digest = answer.digest(&self.manifest_name())?;
                Ok((answer, digest))
            }
        }
    }

    /// A manifest by its digest, which is verified.
    fn manifest_of(&mut self, digest: &str) -> Result<Answer, RegistryError> {
        self.must_be_digest(digest)?;
        let answer = self.manifest(digest)?;
        let name = self.manifest_name();
        digest::verify(&name, &answer.body, digest)?;
        answer.verify_header(&name, &answer.body)?;
        Ok(answer)
    }

    /// A blob by its digest, which is verified.
    fn blob(&mut self, what: &str, digest: &str) -> Result<Vec<u8>, RegistryError> {
        self.must_be_digest(digest)?;
        let answer = self.ask("blobs", digest, "application/octet-stream")?;
        if answer.status != 200 {
            return Err(self.status(&answer));
        }
        digest::verify(what, &answer.body, digest)?;
        Ok(answer.body)
    }

    /// Descriptors are foreign text: one that is no digest could ask for anything.
    fn must_be_digest(&self, digest: &str) -> Result<(), RegistryError> {
        match digest::is_digest(digest) {
            true => Ok(()),
            false => Err(RegistryError::NoDigest {
                manifest: self.manifest_name(),
                digest: digest.chars().take(200).collect(),
            }),
        }
    }

    fn manifest_name(&self) -> String {
        format!("the manifest of {}", self.reference)
    }

    fn manifest(&mut self, name: &str) -> Result<Answer, RegistryError> {
        let answer = self.ask("manifests", name, MANIFESTS)?;
        let registry = self.reference.registry.clone();
        let reference = self.reference.to_string();
        match answer.status {
            200 => Ok(answer),
            404 => Err(RegistryError::NotFound { registry, reference }),
            403 => Err(RegistryError::Denied { registry, reference }),
            _ => Err(self.status(&answer)),
        }
    }

    fn status(&self, answer: &Answer) -> RegistryError {
        let body = String::from_utf8_lossy(&answer.body).chars().take(300).collect();
        RegistryError::Status { registry: self.reference.registry.clone(), status: answer.status, body }
    }
}

/// The current digest of an image; of the image index if the name is a multi-platform image.
pub fn digest(query: &ImageQuery) -> Result<String, RegistryError> {
    Registry::new(query)?.wanted().map(|(_, digest)| digest)
}

#[derive(Debug, Clone)]
pub struct Member {
    /// `linux/arm64`.
    pub platform: String,
    /// Its digest in the registry.
    pub digest: String,
}

/// Makes a name stand for several images that its registry has; the digest of the list.
pub fn write_list(query: &ImageQuery, members: &[Member]) -> Result<String, RegistryError> {
    if members.is_empty() {
        return Err(RegistryError::NoMembers);
    }
    let mut registry = Registry::new(query)?;
    let mut entries = Vec::new();
    for member in members {
        let answer = registry.manifest_of(&member.digest)?;
        entries.extend(listed(member, &answer)?);
    }
    let (kind, body) = list(entries);
    // A token for readers does not write.
    let mut access = Access::new(&query.reference.registry_url(query.plain_http), query.login.clone());
    let path = format!("/v2/{}/manifests/{}", query.reference.repository, query.reference.tag);
    let answer = registry.client.put(&mut access, &path, kind, &body)?;
    if answer.status != 201 {
        return Err(registry.status(&answer));
    }
    answer.verify_header(&format!("the image index {}", query.reference), &body)?;
    Ok(digest::sha256(&body))
}

const OCI_LIST: &str = "application/vnd.oci.image.index.v1+json";
const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
const DOCKER_IMAGE: &str = "application/vnd.docker.distribution.manifest.v2+json";

/// The entries of a member: itself, or the images of its platform where it is a list of its own.
fn listed(member: &Member, answer: &Answer) -> Result<Vec<Value>, RegistryError> {
    let mut parts = member.platform.split('/');
    let (os, architecture, variant) = (parts.next(), parts.next(), parts.next());
    let manifest: Value = serde_json::from_slice(&answer.body)
        .map_err(malformed(format!("the manifest of {}", member.digest)))?;
    if let Some(inner) = manifest["manifests"].as_array() {
        // Attestations are listed for a platform "unknown".
        let own = inner.iter().filter(|entry| entry["platform"]["architecture"].as_str() == architecture);
        return Ok(own.cloned().collect());
    }
    let mut platform = json!({"os": os, "architecture": architecture});
    if let Some(variant) = variant {
        platform["variant"] = variant.into();
    }
    let kind = answer.content_type().split(';').next().unwrap_or_default();
    Ok(vec![json!({
        "mediaType": kind,
        "size": answer.body.len(),
        "digest": member.digest,
        "platform": platform,
    })])
}

/// A list of these entries, and its kind: Docker's where all of them are Docker's.
fn list(entries: Vec<Value>) -> (&'static str, Vec<u8>) {
    let docker = entries.iter().all(|entry| entry["mediaType"] == DOCKER_IMAGE);
    let kind = if docker { DOCKER_LIST } else { OCI_LIST };
    let list = json!({"schemaVersion": 2, "mediaType": kind, "manifests": entries});
    (kind, list.to_string().into_bytes())
}

pub fn read(query: &ImageQuery) -> Result<Image, RegistryError> {
    let reference = query.reference;
    let mut registry = Registry::new(query)?;
    let (mut answer, mut digest) = registry.wanted()?;
    let mut architectures = Vec::new();
    if let Ok(index) = serde_json::from_slice::<Index>(&answer.body) {
        let of_linux = |entry: &&crate::inspect::image::Entry| {
            entry.platform.as_ref().is_some_and(|platform| platform.os == "linux")
        };
        let platforms = index.manifests.iter().filter(of_linux);
        architectures = platforms
            .clone()
            .filter_map(|one| Some(processor(&one.platform.as_ref()?.architecture).to_owned()))
            .collect();
        architectures.sort_unstable();
        architectures.dedup();
        let is = |entry: &&crate::inspect::image::Entry| {
            let platform = entry.platform.as_ref();
            platform.is_some_and(|platform| processor(&platform.architecture) == query.architecture)
        };
        let entry = platforms.clone().find(is).or_else(|| platforms.clone().next());
        let Some(entry) = entry else {
            return Err(RegistryError::NotForLinux(reference.to_string()));
        };
        answer = registry.manifest_of(&entry.digest)?;
        digest.clone_from(&entry.digest);
    }
    let manifest: Manifest =
        serde_json::from_slice(&answer.body).map_err(malformed(format!("the manifest of {reference}")))?;
    let what = format!("the configuration of {reference}");
    let configuration = registry.blob(&what, &manifest.config.digest)?;
    let configuration = serde_json::from_slice(&configuration).map_err(malformed(what))?;
    let mut image = from_registry(reference, Some(digest), &manifest, configuration);
    image.architectures = architectures;
    Ok(image)
}
