//! An image for several platforms: one image each, and an image index of them in the registry.
//!
//! An engine's own builder makes one platform at a time, and its store keeps one under a name. So each is
//! pushed under a name of its own (`train:1.0-linux-arm64`), and envdoc writes the index `train:1.0` through
//! the registry's API.

use std::time::{Duration, Instant};

use diagnostic::error::{Error, Kind};
use docker::client::Client;
use image::inspect::Reference;
use image::inspect::remote::{self, ImageQuery, Member};
use image::report::{BuildReport, PushedEntry};

use crate::build_plan::{BuildPlan, ImageBuild};
use crate::registry;

/// Timeout for pushing an image index.
const PUSH_TIMEOUT: Duration = Duration::from_secs(60);

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

/// Pushes an image index under each name of the plan, which lists the images of the reports; nothing where
/// there is one platform.
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
    let query = ImageQuery {
        reference: &reference,
        architecture: "x86_64",
        plain_http: false,
        login: registry::login(client, &reference.registry)?,
        certificates: None,
        deadline: Instant::now() + PUSH_TIMEOUT,
    };
    let digest = remote::write_list(&query, &members).map_err(|why| {
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
    fn each_platform_has_a_name_of_its_own() {
        assert_eq!(own_name("h:5000/a/b", "linux/arm64/v8"), "h:5000/a/b:latest-linux-arm64-v8");
    }
}
