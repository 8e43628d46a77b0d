//! What the engine knows of a finished image, and giving it names.

use futures_util::future::BoxFuture;
use std::collections::BTreeMap;

use bollard::query_parameters::{RemoveImageOptions, TagImageOptions};
use serde::{Deserialize, Serialize};

use super::engine::{Engine, answered, optional};
use crate::error::Error;
use crate::reference::{Reference, split};

/// An image as the engine has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image {
    /// `sha256:…`.
    pub id: String,
    /// All layers together, in bytes.
    pub bytes: u64,
    /// From the last to the first, as the engine's history tells them.
    pub layers: Vec<Layer>,
    /// `amd64`.
    pub architecture: Option<String>,
    /// Digests under which registries have it: `registry/name@sha256:…`.
    pub digests: Vec<String>,
}

/// What one instruction of the Dockerfile added to an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Layer {
    /// The instruction as the image's history has it: `RUN apt-get update`.
    pub by: String,
    /// Size in bytes, as the engine reports it.
    pub bytes: u64,
}

/// Asks for an image by name or id.
pub fn inspect<'a>(engine: &'a Engine, image: &'a str) -> BoxFuture<'a, Result<Image, Error>> {
    Box::pin(async move {
        let found = answered(engine.docker.inspect_image(image)).await?;
        let history = answered(engine.docker.image_history(image)).await?;
        let size = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
        let layer = |item: bollard::models::ImageHistoryResponseItem| Layer {
            by: instruction(&item.created_by),
            bytes: size(item.size),
        };
        Ok(Image {
            id: found.id.unwrap_or_else(|| image.to_owned()),
            bytes: size(found.size.unwrap_or(0)),
            layers: history.into_iter().map(layer).collect(),
            architecture: found.architecture,
            digests: found.repo_digests.unwrap_or_default(),
        })
    })
}

/// Identifies an image across engines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// `sha256:…`: of its configuration, or of its manifest where the engine keeps images in containerd's
    /// store.
    pub id: String,
    /// Digests under which registries have it.
    pub digests: Vec<String>,
    /// The digests of its layers, unpacked.
    pub layers: Vec<String>,
    /// `amd64`.
    pub architecture: Option<String>,
    /// All layers together, in bytes.
    pub bytes: u64,
    /// `NAME=VALUE` that it brings.
    pub environment: Vec<String>,
    pub labels: BTreeMap<String, String>,
}

impl Identity {
    /// Whether it is the same image: the same id, a common digest of a registry, or the same layers where two
    /// engines count ids differently.
    pub fn same(&self, other: &Identity) -> bool {
        self.id == other.id
            || self.digests.iter().any(|digest| other.digests.contains(digest))
            || (!self.layers.is_empty()
                && self.layers == other.layers
                && self.environment == other.environment)
    }
}

/// Which image has this name; `None` where the engine has none.
pub fn identity<'a>(engine: &'a Engine, name: &'a str) -> BoxFuture<'a, Result<Option<Identity>, Error>> {
    Box::pin(async move {
        let image = optional(engine.docker.inspect_image(name)).await?;
        Ok(image.map(|image| Identity {
            id: image.id.unwrap_or_default(),
            digests: image.repo_digests.unwrap_or_default(),
            layers: image.root_fs.and_then(|root| root.layers).unwrap_or_default(),
            architecture: image.architecture,
            bytes: image.size.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0),
            labels: image
                .config
                .as_ref()
                .and_then(|config| config.labels.clone())
                .unwrap_or_default()
                .into_iter()
                .collect(),
            environment: image.config.and_then(|config| config.env).unwrap_or_default(),
        }))
    })
}

/// Names an image. Where one name cannot be given, those given before are taken away again.
pub fn tag<'a>(engine: &'a Engine, image: &'a str, tags: &'a [String]) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        for (number, name) in tags.iter().enumerate() {
            let (repo, tag) = split(name);
            let options = TagImageOptions { repo: Some(repo.to_owned()), tag: Some(tag.to_owned()) };
            if let Err(error) = answered(engine.docker.tag_image(image, Some(options))).await {
                for name in &tags[..number] {
                    let options = RemoveImageOptions { noprune: true, ..Default::default() };
                    let _ = engine.docker.remove_image(name, Some(options), None).await;
                }
                return Err(Error::NotTagged { name: name.clone(), source: Box::new(error) });
            }
        }
        Ok(())
    })
}

/// Whether an image can be given this name; says what is wrong with it.
pub fn check_name(name: &str) -> Result<(), Error> {
    if name.contains('@') {
        return Err(Error::Invalid {
            text: name.to_owned(),
            expected: "a tag: registry/name:tag without a digest",
        });
    }
    Reference::parse(name).map(drop)
}

/// An instruction without what builders put around it: `RUN /bin/sh -c pip install x # buildkit`.
pub fn instruction(text: &str) -> String {
    let text = text.strip_suffix("# buildkit").unwrap_or(text).trim();
    let text = match text.split_once("#(nop)") {
        Some((_, rest)) => rest.trim(),
        None => text,
    };
    // `RUN |1 WHO=me /bin/sh -c …`: the values of ARG stand before the command.
    // So does what SHELL names.
    let shell = |text: &str| {
        let (before, command) = text.split_once(" -c ")?;
        let before = before.strip_prefix("RUN ").unwrap_or(before);
        let (values, shell) = before.rsplit_once("/bin/")?;
        let ours = values.is_empty() || values.starts_with('|');
        (ours && shell.split(' ').next()?.ends_with("sh")).then(|| format!("RUN {command}"))
    };
    let text = shell(text).unwrap_or_else(|| text.to_owned());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images() {
        for good in ["a", "team/train:1.0", "localhost:5000/a/b", "registry.example.org/x:v_1-2.3"] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        for bad in ["", "Team/x", "a:", "a b", "a@sha256:00", "-a", "a/:x", "a:-x", "localhost:5000/"] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn instructions_as_they_were_written() {
        assert_eq!(instruction("RUN /bin/sh -c pip install  x # buildkit"), "RUN pip install x");
        assert_eq!(instruction("/bin/sh -c #(nop)  ENV A=b"), "ENV A=b");
        assert_eq!(instruction("RUN |1 A=b c /bin/sh -c make # buildkit"), "RUN make");
        assert_eq!(instruction("/bin/sh -c make"), "RUN make");
        assert_eq!(instruction("RUN /bin/bash -o pipefail -c a | b # buildkit"), "RUN a | b");
        assert_eq!(instruction("CMD [\"/bin/sh\" \"-c\" \"x\"]"), "CMD [\"/bin/sh\" \"-c\" \"x\"]");
        assert_eq!(instruction("COPY . /app # buildkit"), "COPY . /app");
    }
}
