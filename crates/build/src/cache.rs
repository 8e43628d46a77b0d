//! Cache sources and targets that an engine's own builder supports; others are rejected before the build.
//!
//! `/build` of the engine's API takes images to read a cache from, and one way to write one: into the image
//! itself (moby/moby:daemon/internal/builder-next/builder.go@b985e231). A cache under a name of its own is
//! therefore the image pushed under that name.

/// Why a cache is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnsupportedCache {
    #[error("the engine's builder reads caches only from images: type=registry,ref=NAME; {}", BUILDX)]
    Source,
    #[error(
        "the engine's builder caches only the layers of the image (mode=min), not mode={0}; {buildx}",
        buildx = BUILDX
    )]
    Mode(String),
    #[error(
        "the engine's builder writes its cache as an image and does not support {0:?}; {buildx}",
        buildx = BUILDX
    )]
    Option(String),
    #[error("type=registry requires ref=NAME")]
    NoName,
    #[error(
        "the engine's builder writes its cache only into the image: type=inline, or type=registry,ref=NAME \
             to push it under that name; {}",
        BUILDX
    )]
    Target,
}

const BUILDX: &str = "for other caches, `docker buildx create --driver docker-container` and build the \
                      output of `envdoc render dockerfile`";

/// Where the cache goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Into the image.
    Image,
    /// Into the image, which is pushed under this name too.
    Name(String),
}

/// `NAME` or `type=registry,ref=NAME`.
pub(crate) fn source(text: &str) -> Result<String, UnsupportedCache> {
    if !text.contains('=') {
        return Ok(text.to_owned());
    }
    let field = |name: &str| text.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    match (field("type"), field("ref")) {
        (None | Some("registry"), Some(name)) => Ok(name.to_owned()),
        _ => Err(UnsupportedCache::Source),
    }
}

/// `type=inline`, `NAME`, `type=registry,ref=NAME[,mode=min]`.
pub(crate) fn target(text: &str) -> Result<Target, UnsupportedCache> {
    if text == "inline" {
        return Ok(Target::Image);
    }
    if !text.contains('=') {
        return Ok(Target::Name(text.to_owned()));
    }
    let (mut kind, mut name) = (None, None);
    for part in text.split(',') {
        match part.split_once('=') {
            Some(("type", value)) => kind = Some(value),
            Some(("ref", value)) => name = Some(value),
            Some(("mode", "min")) => {}
            Some(("mode", mode)) => return Err(UnsupportedCache::Mode(mode.to_owned())),
            _ => return Err(UnsupportedCache::Option(part.to_owned())),
        }
    }
    match (kind, name) {
        (Some("inline"), None) => Ok(Target::Image),
        (Some("registry"), Some(name)) if !name.is_empty() => Ok(Target::Name(name.to_owned())),
        (Some("registry"), _) => Err(UnsupportedCache::NoName),
        _ => Err(UnsupportedCache::Target),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_cache_targets_and_rejects_unsupported_types() {
        assert_eq!(target("type=inline"), Ok(Target::Image));
        assert_eq!(target("inline"), Ok(Target::Image));
        let name = || Ok(Target::Name("r.example/team/train:cache".to_owned()));
        assert_eq!(target("r.example/team/train:cache"), name());
        assert_eq!(target("type=registry,ref=r.example/team/train:cache"), name());
        assert_eq!(target("type=registry,mode=min,ref=r.example/team/train:cache"), name());
        for (text, why) in [
            ("type=registry,ref=a,mode=max", "mode=min"),
            ("type=registry", "requires ref=NAME"),
            ("type=local,dest=/tmp/c", "\"dest=/tmp/c\""),
            ("type=local", "type=inline"),
            ("type=gha", "type=inline"),
            ("type=registry,ref=a,compression=zstd", "compression"),
        ] {
            let error = target(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn accepts_only_registry_cache_sources() {
        assert_eq!(source("a:b").as_deref(), Ok("a:b"));
        assert_eq!(source("type=registry,ref=a:b").as_deref(), Ok("a:b"));
        assert!(source("type=local,src=/c").is_err());
    }
}
