//! `--platform`.

/// Why it is rejected.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidPlatform {
    #[error("{0:?} is not a platform; expected linux/amd64 or linux/arm64")]
    Form(String),
    /// Of an image that envdoc plans.
    #[error("envdoc builds images for linux/amd64 and linux/arm64 only")]
    Unsupported,
    #[error("{0} is given twice")]
    Twice(String),
    /// Several, for an image that envdoc plans.
    #[error("a request is resolved for one architecture")]
    Planned,
    /// Several, which are not pushed.
    #[error("an engine stores one platform per image name")]
    NotPushed,
}

impl InvalidPlatform {
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            InvalidPlatform::Form(_) | InvalidPlatform::Twice(_) => None,
            InvalidPlatform::Unsupported => Some("for other platforms, use --file with your own Dockerfile"),
            InvalidPlatform::Planned => {
                Some("build once for each --arch, or use --file with your own Dockerfile")
            }
            InvalidPlatform::NotPushed => {
                Some("add --push to combine them in the registry, or build each platform on its own")
            }
        }
    }
}

/// The platforms of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Platforms {
    /// None is named.
    Unspecified,
    One(String),
    /// One build each.
    Several(Vec<String>),
}

impl Platforms {
    /// The platforms of `--platform`. Several must be pushed, and of an image that envdoc does not plan.
    pub(crate) fn of(texts: &[String], planned: bool, push: bool) -> Result<Platforms, InvalidPlatform> {
        let mut platforms: Vec<String> = Vec::new();
        for text in texts.iter().map(|text| text.trim().to_ascii_lowercase()) {
            let parts = text.split('/').count();
            if !(2..=3).contains(&parts) || text.split('/').any(str::is_empty) {
                return Err(InvalidPlatform::Form(text));
            }
            if planned && !has_base_images(&text) {
                return Err(InvalidPlatform::Unsupported);
            }
            if platforms.contains(&text) {
                return Err(InvalidPlatform::Twice(text));
            }
            platforms.push(text);
        }
        match platforms.len() {
            0 => Ok(Platforms::Unspecified),
            1 => Ok(Platforms::One(platforms.swap_remove(0))),
            _ if planned => Err(InvalidPlatform::Planned),
            _ if !push => Err(InvalidPlatform::NotPushed),
            _ => Ok(Platforms::Several(platforms)),
        }
    }

    pub(crate) fn one(&self) -> Option<String> {
        match self {
            Platforms::One(platform) => Some(platform.clone()),
            _ => None,
        }
    }

    pub(crate) fn several(self) -> Vec<String> {
        match self {
            Platforms::Several(platforms) => platforms,
            _ => Vec::new(),
        }
    }
}

/// Whether there are base images for it: `linux/arm64/v8` is arm64, which Docker also accepts as aarch64.
fn has_base_images(platform: &str) -> bool {
    let mut parts = platform.split('/');
    parts.next() == Some("linux")
        && parts
            .next()
            .is_some_and(|processor| ["amd64", "x86_64", "x86-64", "arm64", "aarch64"].contains(&processor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str], planned: bool, push: bool) -> Result<Platforms, InvalidPlatform> {
        Platforms::of(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), planned, push)
    }

    #[test]
    fn parses_platforms_and_rejects_invalid_or_duplicate() {
        let both = ["linux/amd64", "linux/ARM64/v8"];
        assert_eq!(of(&both, false, true).unwrap().several(), ["linux/amd64", "linux/arm64/v8"]);
        assert_eq!(of(&[], true, false), Ok(Platforms::Unspecified));
        assert_eq!(of(&["linux/amd64"], true, false).unwrap().one().as_deref(), Some("linux/amd64"));
        assert_eq!(of(&["arm64"], true, false), Err(InvalidPlatform::Form("arm64".into())));
        assert!(of(&["linux/"], true, false).is_err());
        assert_eq!(of(&["linux/foo"], true, false), Err(InvalidPlatform::Unsupported));
        assert_eq!(of(&["windows/amd64"], true, false), Err(InvalidPlatform::Unsupported));
        assert_eq!(of(&["linux/riscv64"], false, false).unwrap().one().as_deref(), Some("linux/riscv64"));
        let twice = Err(InvalidPlatform::Twice("linux/amd64".into()));
        assert_eq!(of(&["linux/amd64", "linux/amd64"], false, true), twice);
    }

    #[test]
    fn multiple_platforms_require_push_and_own_dockerfile() {
        let both = ["linux/amd64", "linux/arm64"];
        assert_eq!(of(&both, true, true), Err(InvalidPlatform::Planned));
        assert_eq!(of(&both, false, false), Err(InvalidPlatform::NotPushed));
        assert!(InvalidPlatform::Planned.hint().unwrap().contains("--arch"));
    }
}
