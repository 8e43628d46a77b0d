//! Names of images: `nvidia/cuda:12.1.1-base-ubuntu22.04`, `registry.example.org:5000/team/train@sha256:…`.
//!
//! The rules are those of the docker program (distribution/reference): the first part is a registry if it has
//! a dot or a colon in it or is `localhost`; without one it is Docker Hub, where names of one part belong to
//! `library`.

use std::fmt;

use crate::error::Error;

/// A name, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// `docker.io`, `nvcr.io`, `localhost:5000`.
    pub registry: String,
    /// `library/python`, `nvidia/cuda`.
    pub repository: String,
    /// `12.1.1-base-ubuntu22.04`; `latest` where neither tag nor digest stands.
    pub tag: String,
    /// `sha256:…`, which then decides.
    pub digest: Option<String>,
}

/// The registry of a name: its first part, if that can be a host.
pub fn registry(name: &str) -> &str {
    match name.split_once('/') {
        Some((first, _)) if first.contains(['.', ':']) || first == "localhost" => first,
        _ => "docker.io",
    }
}

/// `registry:5000/name:tag` as name and tag; `latest` where there is none.
pub fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (name, "latest"),
    }
}

/// Whether a text is a host, with a port or without: `nvcr.io`, `127.0.0.1:5000`, `[::1]:5000`.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let name = || {
        host.split('.').all(|label| {
            label.starts_with(|c: char| c.is_ascii_alphanumeric())
                && label.ends_with(|c: char| c.is_ascii_alphanumeric())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        })
    };
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    address.map_or_else(name, |address| address.parse::<std::net::Ipv6Addr>().is_ok())
        && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0) && !port.starts_with('+'))
}

/// The longest name, its registry included: RepositoryNameTotalLengthMax of distribution/reference.
const NAME_LIMIT_BYTES: usize = 255;

/// Whether a text is a part of a repository's name: letters and digits with separators between them, which
/// are `.`, `_`, `__` or dashes (distribution/reference:reference.go@v0.5.0).
fn is_component(part: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let separator = |text: &str| matches!(text, "." | "_" | "__") || text.bytes().all(|byte| byte == b'-');
    part.starts_with(plain) && part.ends_with(plain) && part.split(plain).all(separator)
}

fn invalid(text: &str, expected: &'static str) -> Error {
    Error::Invalid { text: text.to_owned(), expected }
}

impl Reference {
    /// Reads a name; an error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Reference, Error> {
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(digest)),
            None => (text, None),
        };
        if let Some(digest) = digest {
            let hex = digest.strip_prefix("sha256:").unwrap_or_default();
            if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(invalid(digest, "a digest: sha256: and 64 hexadecimal digits"));
            }
        }
        let (path, tag) = split(name);
        if tag.is_empty()
            || tag.len() > 128
            || tag.starts_with(['.', '-'])
            || !tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        {
            return Err(invalid(tag, "a tag: letters, digits, '.', '_' and '-', at most 128"));
        }
        let host = registry(path);
        if !is_host(host) {
            return Err(invalid(host, "a registry: a host name or address, with a port or without"));
        }
        let repository = path.strip_prefix(host).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path);
        let registry = if host == "index.docker.io" { "docker.io" } else { host };
        let repository = match registry {
            "docker.io" if !repository.contains('/') => format!("library/{repository}"),
            _ => repository.to_owned(),
        };
        if path.is_empty() || !repository.split('/').all(is_component) {
            return Err(invalid(text, "an image name: name:tag or registry/name:tag in lower case"));
        }
        if path.len() > NAME_LIMIT_BYTES {
            return Err(invalid(text, "an image name of at most 255 characters without its tag"));
        }
        Ok(Reference {
            registry: registry.to_owned(),
            repository,
            tag: tag.to_owned(),
            digest: digest.map(str::to_owned),
        })
    }

    /// Where its registry answers. Registries on this machine speak plain HTTP, as the docker program takes
    /// them to.
    pub fn registry_url(&self, plain_http: bool) -> String {
        let host = match self.registry.as_str() {
            "docker.io" => "registry-1.docker.io",
            other => other,
        };
        let name = host.split(':').next().unwrap_or(host);
        let here = name == "localhost" || name.starts_with("127.") || host.starts_with("[::1]");
        format!("{}://{host}", if plain_http || here { "http" } else { "https" })
    }

    /// What a registry is asked for: the digest, else the tag.
    pub fn wanted(&self) -> &str {
        self.digest.as_deref().unwrap_or(&self.tag)
    }

    /// The name as the catalog writes it: `python`, `nvidia/cuda`, `nvcr.io/nvidia/pytorch`, with its tag.
    pub fn familiar(&self) -> String {
        let name = match self.registry.as_str() {
            "docker.io" => {
                self.repository.strip_prefix("library/").map_or(self.repository.clone(), str::to_owned)
            }
            registry => format!("{registry}/{}", self.repository),
        };
        format!("{name}:{}", self.tag)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.familiar())?;
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_image_references() {
        let cases = [
            ("python", "docker.io", "library/python", "latest"),
            ("python:3.12-slim", "docker.io", "library/python", "3.12-slim"),
            ("docker.io/python:3", "docker.io", "library/python", "3"),
            ("nvidia/cuda:12.1.1-base-ubuntu22.04", "docker.io", "nvidia/cuda", "12.1.1-base-ubuntu22.04"),
            ("nvcr.io/nvidia/pytorch:25.01-py3", "nvcr.io", "nvidia/pytorch", "25.01-py3"),
            ("localhost/a", "localhost", "a", "latest"),
            ("127.0.0.1:5000/a/b:v1", "127.0.0.1:5000", "a/b", "v1"),
            ("[::1]:5000/a:v1", "[::1]:5000", "a", "v1"),
        ];
        for (text, registry, repository, tag) in cases {
            let read = Reference::parse(text).unwrap();
            assert_eq!(
                (&*read.registry, &*read.repository, &*read.tag),
                (registry, repository, tag),
                "{text}"
            );
        }
        let digest = format!("nvidia/cuda@sha256:{}", "0a".repeat(32));
        let read = Reference::parse(&digest).unwrap();
        assert_eq!(read.wanted(), &digest[12..]);
        assert_eq!(read.to_string(), format!("nvidia/cuda:latest@sha256:{}", "0a".repeat(32)));
    }

    #[test]
    fn names_and_tags() {
        assert_eq!(split("localhost:5000/a"), ("localhost:5000/a", "latest"));
        assert_eq!(split("localhost:5000/a:1"), ("localhost:5000/a", "1"));
    }

    #[test]
    fn rejects_invalid_image_references() {
        for text in [
            "",
            "Python",
            "a b",
            "a:",
            "a/",
            "/a",
            "a@sha256:12",
            "a:-x",
            "https://nvcr.io/a",
            "bob:password/a",
            "r.example:99999/a",
            "r..example/a",
            "r.example/../a",
        ] {
            assert!(Reference::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn builds_registry_urls() {
        let url = |text: &str, plain| Reference::parse(text).unwrap().registry_url(plain);
        assert_eq!(url("python", false), "https://registry-1.docker.io");
        assert_eq!(url("localhost:5000/a", false), "http://localhost:5000");
        assert_eq!(url("registry.lan/a", false), "https://registry.lan");
        assert_eq!(url("registry.lan/a", true), "http://registry.lan");
    }
}
