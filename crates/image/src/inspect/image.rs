//! An image's own description: what an engine (`/images/NAME/json`, `/images/NAME/history`) or a registry
//! (manifest and configuration of the OCI image specification) says of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ReadFrom, Reference};
use catalog::Catalog;
use docker::image::instruction;
use facts::docker::Endpoint;
use resolve::outcome::Stack;

/// The label in which `envdoc build` keeps the whole stack, as `envdoc resolve --format json` writes it.
const STACK: &str = "envdoc.stack";

/// An image as an engine or a registry describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Image {
    /// The name that was asked for.
    pub name: String,
    /// Whether an engine or a registry described it.
    pub read_from: ReadFrom,
    /// The endpoint of that engine: `ssh://root@gpu1`; null where it was a registry.
    #[schemars(with = "Option<String>")]
    pub engine: Option<Endpoint>,
    /// The digest of its manifest, under which a registry has it: `sha256:…`.
    pub digest: Option<String>,
    /// The digest of its configuration, which engines call the image's id.
    pub id: Option<String>,
    /// Operating system: `linux`.
    pub os: Option<String>,
    /// `x86_64`, `aarch64`, or as the image writes it.
    pub architecture: Option<String>,
    /// The processors for which the name has an image, where it is a list of images.
    pub architectures: Vec<String>,
    /// When it was made, RFC 3339.
    pub created: Option<String>,
    /// All layers together, in bytes: compressed in a registry, unpacked in an engine.
    pub bytes: Option<u64>,
    /// What each instruction added, the first first.
    pub layers: Vec<Layer>,
    /// Environment variables that the image sets, by name.
    pub environment: BTreeMap<String, String>,
    /// Labels of the image, by name.
    pub labels: BTreeMap<String, String>,
    /// What it starts, before the arguments.
    pub entrypoint: Vec<String>,
    /// The arguments, or what it starts.
    pub command: Vec<String>,
    /// User that the container runs as: name or number, maybe with a group; empty: root.
    pub user: String,
    /// The directory in which it starts.
    pub workdir: String,
}

/// What one instruction added to an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Layer {
    /// Its size in bytes; `null` where it is not known which layer belongs to the instruction.
    pub bytes: Option<u64>,
    /// The instruction as the image's history has it: `RUN apt-get update`.
    pub by: String,
}

/// A list of images, one a platform (`application/vnd.oci.image.index.v1+json`, Docker's manifest list).
#[derive(Debug, Deserialize)]
pub struct Index {
    /// Its entries.
    pub manifests: Vec<Entry>,
}

/// One image of a list.
#[derive(Debug, Deserialize)]
pub struct Entry {
    /// The digest of its manifest.
    pub digest: String,
    /// For which machines it is.
    pub platform: Option<Platform>,
}

/// A machine as images name it.
#[derive(Debug, Clone, Deserialize)]
pub struct Platform {
    /// `linux`; `unknown` for attestations.
    pub os: String,
    /// `amd64`.
    pub architecture: String,
}

/// `application/vnd.oci.image.manifest.v1+json`, or Docker's equivalent.
#[derive(Debug, Deserialize)]
pub struct Manifest {
    pub config: Blob,
    /// Its layers, the first first.
    pub layers: Vec<Blob>,
}

/// Something that a registry stores.
#[derive(Debug, Deserialize)]
pub struct Blob {
    /// `sha256:…`.
    pub digest: String,
    /// Its size in bytes; `None` where the descriptor has one that nothing can have.
    #[serde(deserialize_with = "plausible", default)]
    pub size: Option<u64>,
}

/// The largest blob that is believed, in bytes: 64 TiB, more than one object of any object store holds.
const BLOB_LIMIT_BYTES: u64 = 64 << 40;

/// A size of a descriptor: registries do not verify those of layers that nobody has pulled.
fn plausible<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let size = serde_json::Number::deserialize(from)?;
    Ok(size.as_u64().filter(|size| *size <= BLOB_LIMIT_BYTES))
}

/// An image's configuration in a registry (`application/vnd.oci.image.config.v1+json`).
#[derive(Debug, Deserialize)]
pub(super) struct Configuration {
    architecture: Option<String>,
    os: Option<String>,
    created: Option<String>,
    #[serde(default)]
    config: Option<ContainerConfig>,
    #[serde(default)]
    history: Option<Vec<Step>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct ContainerConfig {
    env: Option<Vec<String>>,
    labels: Option<BTreeMap<String, String>>,
    entrypoint: Option<Vec<String>>,
    cmd: Option<Vec<String>>,
    user: Option<String>,
    working_dir: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Step {
    created_by: String,
    empty_layer: bool,
}

/// `/images/NAME/json` of an engine.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ImageInspect {
    id: Option<String>,
    os: Option<String>,
    architecture: Option<String>,
    created: Option<String>,
    size: Option<u64>,
    #[serde(default)]
    repo_digests: Option<Vec<String>>,
    #[serde(default)]
    config: Option<ContainerConfig>,
}

/// One entry of `/images/NAME/history`, the last instruction first.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
struct HistoryEntry {
    created_by: String,
    size: u64,
}

/// The processor's name as Linux writes it.
pub fn processor(name: &str) -> &str {
    match name {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        other => other,
    }
}

/// An image from the manifest and the configuration in a registry.
pub(super) fn from_registry(
    reference: &Reference,
    digest: Option<String>,
    manifest: &Manifest,
    read: Configuration,
) -> Image {
    let mut sizes = manifest.layers.iter().map(|layer| layer.size);
    let history = read.history.unwrap_or_default();
    // Only where there is a layer for each instruction that made one is it known which is whose.
    let whole = history.iter().filter(|step| !step.empty_layer).count() == manifest.layers.len();
    let layers = match whole {
        true => history
            .iter()
            .map(|step| Layer {
                bytes: if step.empty_layer { Some(0) } else { sizes.next().flatten() },
                by: instruction(&step.created_by),
            })
            .collect(),
        false => sizes.map(|bytes| Layer { bytes, by: String::new() }).collect(),
    };
    let mut image = Image {
        name: reference.to_string(),
        read_from: ReadFrom::Registry,
        digest,
        id: Some(manifest.config.digest.clone()),
        os: read.os,
        architecture: read.architecture.as_deref().map(|name| processor(name).to_owned()),
        created: read.created,
        bytes: manifest.layers.iter().map(|layer| layer.size).sum(),
        layers,
        ..Image::default()
    };
    image.start(read.config.unwrap_or_default());
    image
}

/// An image from the answers of an engine.
pub fn from_engine(name: &str, inspected: &str, history: Option<&str>) -> Result<Image, serde_json::Error> {
    let read: ImageInspect = serde_json::from_str(inspected)?;
    let past: Vec<HistoryEntry> = match history {
        Some(text) => serde_json::from_str(text)?,
        None => Vec::new(),
    };
    let digest = read.repo_digests.unwrap_or_default().into_iter().next();
    let mut image = Image {
        name: name.to_owned(),
        read_from: ReadFrom::Engine,
        digest: digest.and_then(|name| Some(name.split_once('@')?.1.to_owned())),
        id: read.id,
        os: read.os,
        architecture: read.architecture.as_deref().map(|name| processor(name).to_owned()),
        created: read.created.filter(|day| !day.starts_with("0001-01-01")),
        bytes: read.size,
        layers: past
            .iter()
            .rev()
            .map(|one| Layer { bytes: Some(one.size), by: instruction(&one.created_by) })
            .collect(),
        ..Image::default()
    };
    image.start(read.config.unwrap_or_default());
    Ok(image)
}

impl Image {
    fn start(&mut self, start: ContainerConfig) {
        let pair = |text: String| {
            let (name, value) = text.split_once('=').unwrap_or((&text, ""));
            (name.to_owned(), value.to_owned())
        };
        self.environment = start.env.unwrap_or_default().into_iter().map(pair).collect();
        self.labels = start.labels.unwrap_or_default();
        self.entrypoint = start.entrypoint.unwrap_or_default();
        self.command = start.cmd.unwrap_or_default();
        self.user = start.user.unwrap_or_default();
        self.workdir = start.working_dir.unwrap_or_default();
    }

    /// A variable that is set to something.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// A label that says something.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// What is in it by its own labels and variables: what it is, and where that stands. A variable tells
    /// what the base was made with; what was installed later it does not tell.
    pub fn contents(&self, catalog: &'static Catalog) -> Vec<(&'static str, String, &'static str)> {
        const LABELS: &[(&str, &str)] = &[
            ("Python", "envdoc.python"),
            ("torch", "envdoc.torch"),
            ("CUDA", "envdoc.cuda"),
            ("DeepSpeed", "envdoc.deepspeed"),
        ];
        let labels =
            LABELS.iter().filter_map(|&(what, name)| Some((what, self.label(name)?.to_owned(), name)));
        let stack = self.label(STACK).and_then(|text| serde_json::from_str::<Stack>(text).ok());
        let (cudnn, nccl) = stack.map_or((None, None), |stack| (stack.cudnn, stack.nccl));
        let stack = [("cuDNN", cudnn), ("NCCL", nccl)];
        let stack = stack.into_iter().filter_map(|(what, version)| Some((what, version?, STACK)));
        let variables = catalog.image_variables().all().iter().filter_map(|row| {
            Some((row.component.as_str(), self.variable(&row.variable)?.to_owned(), row.variable.as_str()))
        });
        let mut contents: Vec<(&'static str, String, &'static str)> = Vec::new();
        for found in labels.chain(stack).chain(variables) {
            if !contents.iter().any(|(known, ..)| *known == found.0) {
                contents.push(found);
            }
        }
        contents
    }

    /// The largest layers, the largest first.
    pub fn largest(&self, count: usize) -> Vec<&Layer> {
        let mut layers: Vec<&Layer> =
            self.layers.iter().filter(|layer| layer.bytes.is_some_and(|bytes| bytes > 0)).collect();
        layers.sort_by_key(|layer| std::cmp::Reverse(layer.bytes));
        layers.truncate(count);
        layers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cut from the configuration of an image that BuildKit made.
    fn configuration() -> Configuration {
        serde_json::from_str(CONFIGURATION).unwrap()
    }

    const CONFIGURATION: &str = r##"{"architecture":"amd64","os":"linux","created":"2026-11-21T10:00:00Z",
        "config":{"Env":["PATH=/usr/bin","CUDA_VERSION=12.1.1","NV_LIBNCCL_PACKAGE_VERSION=2.17.1-1"],
                  "Labels":{"envdoc.torch":"2.5.1"},"Cmd":["/bin/bash"],"WorkingDir":"/workspace"},
        "rootfs":{"type":"layers","diff_ids":["sha256:1","sha256:2"]},
        "history":[{"created_by":"/bin/sh -c #(nop) ADD file:1 in / "},
                   {"created_by":"ENV CUDA_VERSION=12.1.1","empty_layer":true},
                   {"created_by":"RUN /bin/sh -c pip install torch # buildkit"}]}"##;

    fn manifest(layers: &[u64]) -> Manifest {
        let blob = |size: &u64| Blob { digest: format!("sha256:{size}"), size: Some(*size) };
        Manifest { config: blob(&7), layers: layers.iter().map(blob).collect() }
    }

    #[test]
    fn reads_image_from_registry_manifest() {
        let reference = Reference::parse("registry.lan/train:1").unwrap();
        let image = from_registry(&reference, None, &manifest(&[100, 2000]), configuration());
        assert_eq!(image.architecture.as_deref(), Some("x86_64"));
        assert_eq!((image.bytes, image.workdir.as_str()), (Some(2100), "/workspace"));
        let layers: Vec<_> = image.layers.iter().map(|layer| (layer.bytes, layer.by.as_str())).collect();
        assert_eq!(
            layers,
            [
                (Some(100), "ADD file:1 in /"),
                (Some(0), "ENV CUDA_VERSION=12.1.1"),
                (Some(2000), "RUN pip install torch")
            ]
        );
        assert_eq!(image.largest(1)[0].by, "RUN pip install torch");
        assert_eq!(
            image.contents(catalog::testing::catalog()),
            [
                ("torch", "2.5.1".to_owned(), "envdoc.torch"),
                ("CUDA", "12.1.1".to_owned(), "CUDA_VERSION"),
                ("NCCL", "2.17.1-1".to_owned(), "NV_LIBNCCL_PACKAGE_VERSION")
            ]
        );
        // A history that does not fit the layers names none of them.
        let image = from_registry(&reference, None, &manifest(&[100]), configuration());
        assert_eq!(image.layers, [Layer { bytes: Some(100), by: String::new() }]);
    }

    #[test]
    fn sizes_that_nothing_can_have_are_unknown() {
        let size = |text: &str| {
            let blob: Blob = serde_json::from_str(&format!(r#"{{"digest":"x","size":{text}}}"#)).unwrap();
            blob.size
        };
        assert_eq!((size("0"), size("70368744177664")), (Some(0), Some(BLOB_LIMIT_BYTES)));
        for absurd in ["-1", "70368744177665", "9223372036854775807", "18446744073709551616", "1.5", "1e30"] {
            assert_eq!(size(absurd), None, "{absurd}");
        }
        // One unknown layer makes the sum unknown.
        let reference = Reference::parse("registry.lan/train:1").unwrap();
        let mut manifest = manifest(&[100, 2000]);
        manifest.layers[1].size = None;
        let image = from_registry(&reference, None, &manifest, configuration());
        assert_eq!((image.bytes, image.layers[0].bytes, image.layers[2].bytes), (None, Some(100), None));
    }

    #[test]
    fn reads_image_from_docker_inspect() {
        let inspected = r#"{"Id":"sha256:1","RepoDigests":["r/x@sha256:2"],
            "Created":"0001-01-01T00:00:00Z","Size":5,
            "Architecture":"arm64","Os":"linux",
            "Config":{"Env":null,"Labels":null,"Cmd":null,"Entrypoint":["/run"]}}"#;
        let history = r#"[{"CreatedBy":"COPY . /app # buildkit","Size":4},
            {"CreatedBy":"/bin/sh -c apt-get update","Size":1}]"#;
        let image = from_engine("x", inspected, Some(history)).unwrap();
        assert_eq!(image.digest.as_deref(), Some("sha256:2"));
        assert_eq!(image.architecture.as_deref(), Some("aarch64"));
        assert_eq!(image.created, None);
        assert_eq!(image.layers[0], Layer { bytes: Some(1), by: "RUN apt-get update".into() });
        assert_eq!(image.layers[1], Layer { bytes: Some(4), by: "COPY . /app".into() });
        assert_eq!(image.entrypoint, ["/run"]);
    }
}
