//! Several platforms: one build for each, and a list of them in the registry.
//!
//! An engine's own builder makes one platform at a time, and its store keeps one under a name. So each is
//! pushed under a name of its own (`train:1.0-linux-arm64`), and envdoc writes the list `train:1.0` through
//! the registry's API.

use std::time::{Duration, Instant};

use diagnostic::error::{Error, Kind};
use docker::client::Client;
use image::inspect::Reference;
use image::inspect::remote::{self, Member, Question};
use image::report::{BuildReport, PushedEntry};

use crate::build_plan::{BuildPlan, ImageBuild};
use crate::build_request::usage;
use crate::registry;

/// Timeout for pushing an image index.
const PUSH_TIMEOUT: Duration = Duration::from_secs(60);

/// Why `--platform` is rejected.
#[derive(Debug, thiserror::Error)]
enum InvalidPlatform {
    #[error("{0:?} is not a platform; expected linux/amd64 or linux/arm64")]
    Form(String),
    #[error("{0} is given twice")]
    Twice(String),
}

/// The platforms of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Platforms {
    /// None is named.
    Unspecified,
    /// One.
    One(String),
    /// One build each.
    Several(Vec<String>),
}

impl Platforms {
    /// The platform, where there is one.
    pub(crate) fn one(&self) -> Option<String> {
        match self {
            Platforms::One(platform) => Some(platform.clone()),
            _ => None,
        }
    }

    /// The platforms, where there are several.
    pub(crate) fn several(self) -> Vec<String> {
        match self {
            Platforms::Several(platforms) => platforms,
            _ => Vec::new(),
        }
    }
}

/// The platforms of `--platform`. Several must be pushed, and of an image that envdoc does not plan.
pub(crate) fn of(texts: &[String], planned: bool, push: bool) -> Result<Platforms, Error> {
    let all = texts.join(",");
    let rejected = |why: &str| usage("--platform", &all, why);
    let mut platforms = read(texts).map_err(|why| rejected(&why.to_string()))?;
    match platforms.len() {
        0 => Ok(Platforms::Unspecified),
        1 => Ok(Platforms::One(platforms.swap_remove(0))),
        _ if planned => Err(rejected("a request is resolved for one architecture")
            .hint("build once for each --arch, or use --file with your own Dockerfile")),
        _ if !push => Err(rejected("an engine stores one platform per image name")
            .hint("add --push to combine them in the registry, or build each platform on its own")),
        _ => Ok(Platforms::Several(platforms)),
    }
}

fn read(texts: &[String]) -> Result<Vec<String>, InvalidPlatform> {
    let mut platforms: Vec<String> = Vec::new();
    for text in texts.iter().map(|text| text.trim().to_ascii_lowercase()) {
        let parts = text.split('/').count();
        if !(2..=3).contains(&parts) || text.split('/').any(str::is_empty) {
            return Err(InvalidPlatform::Form(text));
        }
        if platforms.contains(&text) {
            return Err(InvalidPlatform::Twice(text));
        }
        platforms.push(text);
    }
    Ok(platforms)
}

/// One image for each platform, with names of its own where there are several.
pub(crate) fn images(plan: &BuildPlan) -> Vec<ImageBuild> {
    let of = |platform: &String| {
        let own = |names: &[String]| names.iter().map(|name| own_name(name, platform)).collect();
        let mut image = plan.image.clone();
        image.build.platform = Some(platform.clone());
        image.build.id = docker::build::new_id();
        image.tags = own(&plan.image.tags);
        image.cache_names = own(&plan.image.cache_names);
        image
    };
    match plan.platforms.is_empty() {
        true => vec![plan.image.clone()],
        false => plan.platforms.iter().map(of).collect(),
    }
}

/// `team/train:1.0-linux-arm64`.
fn own_name(name: &str, platform: &str) -> String {
    let (name, tag) = docker::reference::split(name);
    format!("{name}:{tag}-{}", platform.replace('/', "-"))
}

/// Pushes an image index under each name of the plan, which lists the images of the reports; nothing where there
/// is one platform.
pub(crate) fn push_indexes(plan: &BuildPlan, reports: &[BuildReport]) -> Result<Vec<PushedEntry>, Error> {
    match plan.platforms.is_empty() {
        true => Ok(Vec::new()),
        false => plan.image.tags.iter().map(|name| push_index(plan, name, reports, &plan.client)).collect(),
    }
}

fn push_index(
    plan: &BuildPlan,
    name: &str,
    reports: &[BuildReport],
    client: &Client,
) -> Result<PushedEntry, Error> {
    let reference = Reference::parse(name).map_err(|why| Error::new(Kind::Usage, why.to_string()))?;
    let mut members = Vec::new();
    for (platform, report) in plan.platforms.iter().zip(reports) {
        let own = own_name(name, platform);
        let pushed = report.pushed.iter().find(|pushed| pushed.name == own);
        let pushed = pushed.ok_or_else(|| Error::new(Kind::Engine, format!("{own} was not pushed")))?;
        members.push(Member { platform: platform.clone(), digest: pushed.digest.clone() });
    }
    let question = Question {
        reference: &reference,
        architecture: "x86_64",
        plain_http: false,
        login: registry::login(client, &reference.registry)?,
        certificates: None,
        deadline: Instant::now() + PUSH_TIMEOUT,
    };
    let digest = remote::write_list(&question, &members).map_err(|why| {
        let own: Vec<String> = plan.platforms.iter().map(|platform| own_name(name, platform)).collect();
        Error::new(Kind::Network, format!("cannot push the image index {name}: {why}"))
            .hint(format!("the registry has the single-platform images: {}", own.join(", ")))
    })?;
    Ok(PushedEntry { name: name.to_owned(), digest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms() {
        let read = |texts: &[&str]| read(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert_eq!(read(&["linux/amd64", "linux/ARM64/v8"]).unwrap(), ["linux/amd64", "linux/arm64/v8"]);
        assert!(read(&["arm64"]).is_err() && read(&["linux/"]).is_err());
        assert!(matches!(read(&["linux/amd64", "linux/amd64"]), Err(InvalidPlatform::Twice(_))));
        let of = |texts: &[&str], planned, push| {
            of(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>(), planned, push)
        };
        assert_eq!(of(&[], true, false).unwrap(), Platforms::Unspecified);
        assert!(of(&["linux/amd64"], true, false).unwrap().one().is_some());
        assert!(of(&["linux/amd64", "linux/arm64"], false, true).unwrap().several().len() == 2);
        assert!(
            of(&["linux/amd64", "linux/arm64"], true, true).unwrap_err().message.contains("one architecture")
        );
        assert!(
            of(&["linux/amd64", "linux/arm64"], false, false).unwrap_err().message.contains("one platform")
        );
        assert_eq!(own_name("h:5000/a/b", "linux/arm64/v8"), "h:5000/a/b:latest-linux-arm64-v8");
    }
}
