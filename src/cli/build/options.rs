//! The options as a request.

use std::path::PathBuf;

use super::{Args, Which};
use crate::cli::image::pairs;
use ::build::{BuildRequest, Source};
use ::config::Settings;
use diagnostic::error::{Error, Kind};
use docker::build::Builder;
use resolve::parse::StackOptions;

impl From<Which> for Builder {
    fn from(which: Which) -> Builder {
        match which {
            Which::Auto => Builder::Best,
            Which::Buildkit => Builder::BuildKit,
            Which::Classic => Builder::Classic,
        }
    }
}

impl Args {
    pub(super) fn request(&self, settings: &Settings) -> Result<BuildRequest, Error> {
        Ok(BuildRequest {
            source: self.source(settings)?,
            context: self.context.clone().unwrap_or_else(|| PathBuf::from(".")),
            tags: self.tag.clone(),
            push: self.push,
            platforms: self.platform.clone(),
            arguments: self.build_arg.clone(),
            secrets: self.secret.clone(),
            target: self.target.clone(),
            network: self.network.clone(),
            builder: self.builder.into(),
            host: self.host.clone(),
            no_cache: self.no_cache,
            pull: self.pull,
            cache_from: self.cache_from.clone(),
            cache_to: self.cache_to.clone(),
            expect: self.expect.clone(),
            verify: !self.no_verify,
            strict: self.strict,
        })
    }

    fn source(&self, settings: &Settings) -> Result<Source, Error> {
        let Some(path) = &self.file else {
            return Ok(Source::Planned(Box::new(self.image.request(settings)?)));
        };
        if self.image.request.is_some() || self.image.stack.stack_options() != StackOptions::default() {
            return Err(Error::new(
                Kind::Usage,
                "--file builds a Dockerfile as it is and cannot be combined with stack options",
            )
            .hint("to verify its contents, use --expect torch==2.6.0"));
        }
        let labels = pairs("--label", &self.image.label, '=', "NAME=VALUE")?;
        Ok(Source::Dockerfile {
            path: path.clone(),
            labels: labels.into_iter().collect(),
            certificates: self.image.ca_cert.clone(),
        })
    }
}
