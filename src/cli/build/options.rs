//! The options as a request.

use std::path::{Path, PathBuf};

use super::{Args, Which};
use crate::cli::image::pairs;
use ::build::{BuildRequest, ProjectRequest, Source};
use ::config::Settings;
use ::project::has_project_files;
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

    /// That the files of this directory are not read, where a user may expect it.
    pub(super) fn not_read(&self) -> Option<&'static str> {
        let named = self.context.is_some() || self.no_project || self.image.project.is_given();
        let other = self.file.is_some() || self.image.request.is_some();
        (!named && !other && has_project_files(Path::new(".")))
            .then_some("requirements in this directory are ignored; to use them: `envdoc build .`")
    }

    /// The project that is named, else the context, where that is named and nothing else is.
    fn project(&self, named: Option<ProjectRequest>) -> Option<ProjectRequest> {
        let of_context = self.context.clone().filter(|_| !self.no_project && self.image.request.is_none());
        let args = &self.image.project;
        match of_context.filter(|_| !args.is_named()) {
            Some(context) => Some(ProjectRequest { optional: !args.is_given(), ..args.request_in(context) }),
            None => named,
        }
    }

    fn source(&self, settings: &Settings) -> Result<Source, Error> {
        let Some(path) = &self.file else {
            let mut request = self.image.request(settings)?;
            request.project = self.project(request.project);
            return Ok(Source::Planned(Box::new(request)));
        };
        if self.image.project.is_given()
            || self.image.request.is_some()
            || self.image.stack.stack_options() != StackOptions::default()
        {
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
