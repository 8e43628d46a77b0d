//! Pipelines that build and push the images of several requests.

use serde::Serialize;

use super::{RENDERED_BY, fill};
use crate::valid;
use diagnostic::error::Error;

const GITHUB: &str = include_str!("../../../../templates/github.yml.hbs");
const GITLAB: &str = include_str!("../../../../templates/gitlab.yml.hbs");

/// An image that a pipeline builds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Built {
    /// Its name: `rl`.
    pub name: String,
    /// The directory with its Dockerfile, seen from the repository: `images/rl`.
    pub context: String,
    /// `linux/amd64,linux/arm64`.
    pub platforms: String,
}

#[derive(Debug, Serialize)]
struct Values {
    header: String,
    images: Vec<Row>,
    emulated: bool,
    registry: Registry,
}

/// An image in the pipeline, each value a string of YAML: `1.10` in quotes stays text.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    context: String,
    platforms: String,
}

/// Where the images go, in the words of the pipeline.
#[derive(Debug, Serialize)]
struct Registry {
    host: String,
    /// Prefix of image names, as a shell expression.
    prefix: String,
    /// Whose secrets log in.
    username: String,
    password: String,
}

/// A workflow for GitHub Actions; `registry` (`ghcr.io/me`) is GitHub's own of the repository's owner where
/// it is `None`.
pub fn github(images: &[Built], registry: Option<&str>) -> Result<String, Error> {
    images.iter().try_for_each(|image| valid::pipeline(&image.name, &image.context, registry))?;
    let registry = match registry {
        None => Registry {
            host: "ghcr.io".into(),
            // Names of images have no capitals, names of owners may.
            prefix: "ghcr.io/${GITHUB_REPOSITORY_OWNER,,}".into(),
            username: "${{ github.actor }}".into(),
            password: "${{ secrets.GITHUB_TOKEN }}".into(),
        },
        Some(registry) => named(registry, "${{ secrets.REGISTRY_USER }}", "${{ secrets.REGISTRY_PASSWORD }}"),
    };
    fill("github.yml.hbs", GITHUB, &values(images, registry))
}

/// A pipeline for GitLab; `registry` is the project's own where it is `None`.
pub fn gitlab(images: &[Built], registry: Option<&str>) -> Result<String, Error> {
    images.iter().try_for_each(|image| valid::pipeline(&image.name, &image.context, registry))?;
    let registry = match registry {
        None => Registry {
            host: "$CI_REGISTRY".into(),
            prefix: "$CI_REGISTRY_IMAGE".into(),
            username: "$CI_REGISTRY_USER".into(),
            password: "$CI_REGISTRY_PASSWORD".into(),
        },
        Some(registry) => named(registry, "$REGISTRY_USER", "$REGISTRY_PASSWORD"),
    };
    fill("gitlab.yml.hbs", GITLAB, &values(images, registry))
}

fn named(registry: &str, username: &str, password: &str) -> Registry {
    let registry = registry.trim_end_matches('/');
    Registry {
        host: registry.split('/').next().unwrap_or(registry).to_owned(),
        prefix: registry.to_owned(),
        username: username.to_owned(),
        password: password.to_owned(),
    }
}

/// A string of YAML in double quotes, as JSON writes it.
fn yaml(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn values(images: &[Built], registry: Registry) -> Values {
    let row = |image: &Built| Row {
        name: yaml(&image.name),
        context: yaml(&image.context),
        platforms: yaml(&image.platforms),
    };
    Values {
        header: format!("{RENDERED_BY} {}", env!("CARGO_PKG_VERSION")),
        emulated: images.iter().any(|image| image.platforms.contains("arm64")),
        images: images.iter().map(row).collect(),
        registry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images() -> Vec<Built> {
        let built = |name: &str, platforms: &str| Built {
            name: name.into(),
            context: format!("images/{name}"),
            platforms: platforms.into(),
        };
        vec![built("rl", "linux/amd64"), built("torch", "linux/amd64,linux/arm64")]
    }

    #[test]
    fn a_workflow_is_yaml_with_a_row_for_every_image() {
        let text = github(&images(), None).unwrap();
        let read: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        let rows = read["jobs"]["build"]["strategy"]["matrix"]["include"].as_sequence().unwrap();
        assert_eq!(rows.len(), 2, "{text}");
        assert_eq!(rows[1]["platforms"].as_str(), Some("linux/amd64,linux/arm64"));
        assert!(
            text.contains("context: ${{ matrix.context }}")
                && text.contains("password: ${{ secrets.GITHUB_TOKEN }}"),
            "{text}"
        );
        assert!(
            github(&images(), Some("registry.example/team"))
                .unwrap()
                .contains("PREFIX=registry.example/team")
        );
    }

    #[test]
    fn names_and_directories_stay_text() {
        let names = ["1.10", "null", "true", "0x10", "1e3"].map(|name| (name, "images"));
        let contexts = ["*a", "@a", "~"].map(|context| ("rl", context));
        for (name, context) in names.into_iter().chain(contexts) {
            let built = Built { name: name.into(), context: context.into(), platforms: "linux/amd64".into() };
            let read: serde_yaml::Value =
                serde_yaml::from_str(&github(std::slice::from_ref(&built), Some("1.10")).unwrap()).unwrap();
            let row = &read["jobs"]["build"]["strategy"]["matrix"]["include"][0];
            assert_eq!((row["name"].as_str(), row["context"].as_str()), (Some(name), Some(context)));
            let login = read["jobs"]["build"]["steps"].as_sequence().unwrap();
            let login = login.iter().find(|step| step["with"]["registry"].is_string());
            assert_eq!(login.unwrap()["with"]["registry"].as_str(), Some("1.10"));
            let read: serde_yaml::Value = serde_yaml::from_str(&gitlab(&[built], None).unwrap()).unwrap();
            let row = &read["image"]["parallel"]["matrix"][0];
            assert_eq!((row["NAME"].as_str(), row["CONTEXT"].as_str()), (Some(name), Some(context)));
        }
    }

    #[test]
    fn a_pipeline_is_yaml_with_a_row_for_every_image() {
        let text = gitlab(&images(), None).unwrap();
        let read: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        let rows = read["image"]["parallel"]["matrix"].as_sequence().unwrap();
        assert_eq!(rows[0]["NAME"].as_str(), Some("rl"), "{text}");
        assert!(
            read["image"]["script"].as_sequence().unwrap().iter().all(serde_yaml::Value::is_string),
            "{text}"
        );
        assert!(
            read["image"]["before_script"].as_sequence().unwrap().iter().all(serde_yaml::Value::is_string),
            "{text}"
        );
    }
}
