//! An image in a registry, without pulling it: its manifest and its configuration, some kilobytes.

use std::time::Instant;

use serde_json::{Value, json};

use crate::inspect::image::{Image, Index, Manifest, from_registry, processor};
use docker::auth::Login;
use docker::reference::Reference;
use docker::registry::{Access, Answer, Client};

/// The most that is taken of a manifest or a configuration, in bytes; registries refuse larger manifests than
/// 4 MiB.
const MOST: u64 = 8 << 20;

/// Manifests of one image and lists of them, of both families.
const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.oci.image.manifest.v1+json, \
                         application/vnd.docker.distribution.manifest.list.v2+json, \
                         application/vnd.docker.distribution.manifest.v2+json";

/// Where and how to ask.
pub struct Question<'q> {
    /// The image.
    pub reference: &'q Reference,
    /// The processor, as Linux names it: `x86_64`. Of a list of images the one for it is read.
    pub architecture: &'q str,
    /// Plain HTTP where it is not this machine that is asked.
    pub plain_http: bool,
    /// User and password, or an identity token.
    pub login: Option<Login>,
    /// Certificates to trust besides the system's, PEM.
    pub certificates: Option<&'q str>,
    /// When to give up.
    pub deadline: Instant,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Missing {
    /// The registry answers, and does not have it (or does not show it to this reader).
    NotThere(String),
    /// The registry could not be asked.
    Registry(docker::Error),
    /// It is not known whether it exists.
    Unknown(String),
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Missing::NotThere(why) | Missing::Unknown(why) => f.write_str(why),
            Missing::Registry(error) => error.fmt(f),
        }
    }
}

/// A registry that is asked for one image.
struct Registry<'q> {
    reference: &'q Reference,
    client: Client,
    access: Access,
}

impl<'q> Registry<'q> {
    fn new(question: &Question<'q>) -> Result<Registry<'q>, Missing> {
        let client = Client::new(question.certificates, question.deadline).map_err(Missing::Registry)?;
        let url = question.reference.registry_url(question.plain_http);
        let access = Access::new(&url, question.login.clone());
        Ok(Registry { reference: question.reference, client, access })
    }

    fn ask(&mut self, kind: &str, name: &str, accept: &str) -> Result<Answer, Missing> {
        let path = format!("/v2/{}/{kind}/{name}", self.reference.repository);
        self.client.ask(&mut self.access, &path, accept, MOST).map_err(Missing::Registry)
    }

    /// A manifest by tag or digest.
    fn manifest(&mut self, name: &str) -> Result<Answer, Missing> {
        let Reference { registry, .. } = self.reference;
        let reference = self.reference;
        let answer = self.ask("manifests", name, MANIFESTS)?;
        match answer.status {
            200 => Ok(answer),
            404 => Err(Missing::NotThere(format!("{registry} has no {reference}"))),
            // Docker Hub says so of repositories that do not exist, too.
            403 => Err(Missing::Unknown(format!("{registry} denies access to {reference}: HTTP status 403"))),
            status => Err(Missing::Unknown(format!("{registry} answers with HTTP status {status}"))),
        }
    }
}

/// The digest by which the registry has an image now: of the whole list, where the name stands for several.
pub fn digest(question: &Question) -> Result<String, Missing> {
    let answer = Registry::new(question)?.manifest(question.reference.wanted())?;
    answer.digest().ok_or_else(|| Missing::Unknown("the registry returns no digest".into()))
}

/// An image of a list.
#[derive(Debug, Clone)]
pub struct Member {
    /// `linux/arm64`.
    pub platform: String,
    /// Its digest in the registry.
    pub digest: String,
}

/// Makes a name stand for several images that its registry has; the digest of the list.
pub fn write_list(question: &Question, members: &[Member]) -> Result<String, Missing> {
    if members.is_empty() {
        return Err(Missing::Unknown("a list of no images".into()));
    }
    let mut registry = Registry::new(question)?;
    let mut entries = Vec::new();
    for member in members {
        let answer = registry.manifest(&member.digest)?;
        entries.extend(listed(member, &answer).map_err(Missing::Unknown)?);
    }
    let (kind, body) = list(entries);
    // A token for readers does not write.
    let mut access =
        Access::new(&question.reference.registry_url(question.plain_http), question.login.clone());
    let path = format!("/v2/{}/manifests/{}", question.reference.repository, question.reference.tag);
    let answer = registry.client.put(&mut access, &path, kind, &body).map_err(Missing::Registry)?;
    match (answer.status, answer.digest()) {
        (201, Some(digest)) => Ok(digest),
        (201, None) => Err(Missing::Unknown(
            "the registry accepted the image index but returned no \
             digest"
                .into(),
        )),
        (status, _) => {
            let says = String::from_utf8_lossy(&answer.body).chars().take(300).collect::<String>();
            Err(Missing::Unknown(format!("HTTP status {status} {says}")))
        }
    }
}

const OCI_LIST: &str = "application/vnd.oci.image.index.v1+json";
const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
const DOCKER_IMAGE: &str = "application/vnd.docker.distribution.manifest.v2+json";

/// The entries of a member: itself, or the images of its platform where it is a list of its own.
fn listed(member: &Member, answer: &Answer) -> Result<Vec<Value>, String> {
    let mut parts = member.platform.split('/');
    let (os, architecture, variant) = (parts.next(), parts.next(), parts.next());
    let manifest: Value = serde_json::from_slice(&answer.body)
        .map_err(|error| format!("the manifest of {}: {error}", member.digest))?;
    if let Some(inner) = manifest["manifests"].as_array() {
        // Beside the image stand what was attested of it, for a platform "unknown".
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

/// Reads an image's description.
pub fn read(question: &Question) -> Result<Image, Missing> {
    let unknown = Missing::Unknown;
    let reference = question.reference;
    let mut registry = Registry::new(question)?;
    let mut answer = registry.manifest(reference.wanted())?;
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
            platform.is_some_and(|platform| processor(&platform.architecture) == question.architecture)
        };
        let entry = platforms.clone().find(is).or_else(|| platforms.clone().next());
        let Some(entry) = entry else {
            return Err(Missing::NotThere(format!("{reference} has no image for Linux")));
        };
        answer = registry.manifest(&entry.digest)?;
    }
    let digest = answer.digest();
    let manifest: Manifest = serde_json::from_slice(&answer.body)
        .map_err(|error| unknown(format!("the manifest of {reference}: {error}")))?;
    let configuration = registry.ask("blobs", &manifest.config.digest, "application/octet-stream")?;
    if configuration.status != 200 {
        return Err(unknown(format!("its configuration: HTTP status {}", configuration.status)));
    }
    let text = String::from_utf8(configuration.body).map_err(|error| unknown(error.to_string()))?;
    let mut image = from_registry(reference, digest, &manifest, &text).map_err(unknown)?;
    image.architectures = architectures;
    Ok(image)
}
