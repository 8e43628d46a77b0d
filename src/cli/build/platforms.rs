//! Several platforms: one build for each, and a list of them in the registry.
//!
//! An engine's own builder makes one platform at a time, and its store keeps one under a name. So each is
//! pushed under a name of its own (`train:1.0-linux-arm64`), and envdoc writes the list `train:1.0` through
//! the registry's API.

use std::time::{Duration, Instant};

use super::options::Order;
use crate::cli::registry;
use ::image::inspect::Reference;
use ::image::inspect::remote::{self, Member, Question};
use ::image::report::{BuildReport, PushedEntry};
use diagnostic::error::{Error, Kind};
use docker::client::Client;

/// Timeout for pushing an image index.
const PUSH_TIMEOUT: Duration = Duration::from_secs(60);

/// Why `--platform` is rejected.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidPlatform {
    #[error("{0:?} is not a platform; expected linux/amd64 or linux/arm64")]
    Form(String),
    #[error("{0} is given twice")]
    Twice(String),
}

/// The platforms of `--platform`.
pub(super) fn read(texts: &[String]) -> Result<Vec<String>, InvalidPlatform> {
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

/// One order a platform, each with names of its own.
pub(super) fn each(order: &Order) -> Vec<Order> {
    let of = |platform: &String| {
        let mut one = order.clone();
        one.build.platform = Some(platform.clone());
        one.build.id = docker::build::new_id();
        one.tags = order.tags.iter().map(|name| own_name(name, platform)).collect();
        one.cache_names = order.cache_names.iter().map(|name| own_name(name, platform)).collect();
        one
    };
    match order.platforms.is_empty() {
        true => vec![order.clone()],
        false => order.platforms.iter().map(of).collect(),
    }
}

/// `team/train:1.0-linux-arm64`.
fn own_name(name: &str, platform: &str) -> String {
    let (name, tag) = docker::reference::split(name);
    format!("{name}:{tag}-{}", platform.replace('/', "-"))
}

/// Writes the lists: each name of the order stands for the images that the reports pushed.
pub(super) fn join(
    order: &Order,
    reports: &[BuildReport],
    client: &Client,
) -> Result<Vec<PushedEntry>, Error> {
    order.tags.iter().map(|name| list(order, name, reports, client)).collect()
}

fn list(order: &Order, name: &str, reports: &[BuildReport], client: &Client) -> Result<PushedEntry, Error> {
    let reference = Reference::parse(name).map_err(|why| Error::new(Kind::Usage, why.to_string()))?;
    let mut members = Vec::new();
    for (platform, report) in order.platforms.iter().zip(reports) {
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
        Error::new(Kind::Network, format!("cannot push the image index {name}: {why}")).hint(format!(
            "the registry has the single-platform images: {}",
            order.platforms.iter().map(|platform| own_name(name, platform)).collect::<Vec<_>>().join(", ")
        ))
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
        assert_eq!(own_name("h:5000/a/b", "linux/arm64/v8"), "h:5000/a/b:latest-linux-arm64-v8");
    }
}
