//! A build as it is asked for, and everything in it that can be checked without an engine.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use diagnostic::error::{Error, Kind};
use docker::build::Builder;
use docker::image::check_name;
use docker::reference::Reference;
use host::{file, variables};
use image::valid;
use image::verify::Expectations;
use resolve::universe::Universe;

use crate::cache::{self, Target};
use crate::context;
use crate::plan::{CheckedPlan, PlanRequest};
use crate::platforms::Platforms;

/// The secret under which certificates are given.
const CA_SECRET: &str = "ca";

/// A build, as the options name it.
#[derive(Debug, Clone, Default)]
pub struct BuildRequest {
    pub source: Source,
    /// The directory that the image copies from.
    pub context: PathBuf,
    /// The names of the image; those of the request, where there are none.
    pub tags: Vec<String>,
    pub push: bool,
    /// `linux/amd64`.
    pub platforms: Vec<String>,
    /// `NAME=VALUE`; without a value, that of the environment variable.
    pub arguments: Vec<String>,
    /// `id=ID,src=FILE` or `id=ID,env=NAME`.
    pub secrets: Vec<String>,
    /// The stage to stop at.
    pub target: Option<String>,
    /// The network of RUN instructions.
    pub network: Option<String>,
    /// BuildKit or the classic builder; by default BuildKit if the engine has it.
    pub builder: Builder,
    /// The engine: `ssh://user@host`.
    pub host: Option<String>,
    /// Whether the build cache is not used.
    pub no_cache: bool,
    /// Whether the registry is asked for newer base images.
    pub pull: bool,
    /// `NAME` or `type=registry,ref=NAME`.
    pub cache_from: Vec<String>,
    /// `type=inline`, `NAME` or `type=registry,ref=NAME`.
    pub cache_to: Vec<String>,
    /// `torch==2.6.0`, `import:deepspeed`: verified in addition to what the plan expects.
    pub expect: Vec<String>,
    pub verify: bool,
    /// Whether an expectation that could not be checked keeps the image from its tags.
    pub strict: bool,
}

#[derive(Debug, Clone)]
pub enum Source {
    Planned(Box<PlanRequest>),
    /// A Dockerfile of the user's own, as it is.
    Dockerfile {
        /// The Dockerfile.
        path: PathBuf,
        /// `NAME=VALUE`.
        labels: BTreeMap<String, String>,
        /// Certificates that the build is given as a secret.
        certificates: Option<PathBuf>,
    },
}

impl Default for Source {
    fn default() -> Source {
        Source::Planned(Box::default())
    }
}

/// What is built, with its request file read.
#[derive(Debug)]
pub(crate) enum CheckedSource<'r> {
    Planned(&'r PlanRequest, Box<CheckedPlan>),
    Dockerfile { path: &'r Path, labels: &'r BTreeMap<String, String> },
}

/// The checked options of a build.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) expect: Expectations,
    pub(crate) arguments: BTreeMap<String, String>,
    pub(crate) secrets: BTreeMap<String, Vec<u8>>,
    pub(crate) cache_from: Vec<String>,
    /// Names under which the image is pushed for its cache.
    pub(crate) cache_names: Vec<String>,
    pub(crate) platforms: Platforms,
}

impl BuildRequest {
    /// Finds every usage error that can be found without an engine or a registry.
    pub(crate) fn check(&self, universe: &Universe) -> Result<(CheckedSource<'_>, Checked), Error> {
        for name in &self.tags {
            check_name(name).map_err(|why| usage("--tag", name, why))?;
        }
        let source = match &self.source {
            Source::Planned(request) => CheckedSource::Planned(request, Box::new(request.checked(universe)?)),
            Source::Dockerfile { path, labels, .. } => CheckedSource::Dockerfile { path, labels },
        };
        let planned = matches!(source, CheckedSource::Planned(..));
        let platforms = self.platforms(planned)?;
        if self.push && self.tags.is_empty() && !source.has_name() {
            return Err(Error::new(Kind::Usage, "--push requires --tag").hint("add --tag REGISTRY/NAME:TAG"));
        }
        let mut expect = Expectations::default();
        for text in &self.expect {
            expect.add(text).map_err(|why| usage("--expect", text, why))?;
        }
        let cache_from = self
            .cache_from
            .iter()
            .map(|text| cache::source(text).map_err(|why| usage("--cache-from", text, why)));
        let cache_from: Vec<String> = cache_from.collect::<Result<_, _>>()?;
        for name in &cache_from {
            Reference::parse(name).map_err(|why| usage("--cache-from", name, why))?;
        }
        let (arguments, secrets) = (self.arguments()?, self.secrets()?);
        let none = BTreeMap::new();
        let labels = match &self.source {
            Source::Dockerfile { labels, .. } => labels,
            Source::Planned(_) => &none,
        };
        let (ids, names): (Vec<_>, Vec<_>) = (secrets.keys().collect(), arguments.keys().collect());
        valid::build(labels, self.target.as_ref(), &ids, &names)?;
        let checked =
            Checked { platforms, cache_from, expect, arguments, secrets, cache_names: self.cache_names()? };
        // Also where nothing is copied from it: a mistyped name must not pass.
        context::absolute(&self.context)?;
        if let CheckedSource::Dockerfile { path, .. } = &source {
            context::absolute_dockerfile(path)?;
        }
        Ok((source, checked))
    }

    fn platforms(&self, planned: bool) -> Result<Platforms, Error> {
        Platforms::of(&self.platforms, planned, self.push).map_err(|why| {
            let error = usage("--platform", &self.platforms.join(","), &why);
            why.hint().into_iter().fold(error, Error::hint)
        })
    }

    fn cache_names(&self) -> Result<Vec<String>, Error> {
        let mut names = Vec::new();
        for text in &self.cache_to {
            match cache::target(text).map_err(|why| usage("--cache-to", text, why))? {
                Target::Image => {}
                Target::Name(name) => {
                    check_name(&name).map_err(|why| usage("--cache-to", text, why))?;
                    names.push(name);
                }
            }
        }
        Ok(names)
    }

    fn arguments(&self) -> Result<BTreeMap<String, String>, Error> {
        let mut arguments = BTreeMap::new();
        for text in &self.arguments {
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (text.as_str(), variables::text(text)),
            };
            if name.is_empty() {
                return Err(usage("--build-arg", text, "expected NAME=VALUE"));
            }
            let Some(value) = value else {
                return Err(usage("--build-arg", text, "no such environment variable"));
            };
            arguments.insert(name.to_owned(), value);
        }
        Ok(arguments)
    }

    fn secrets(&self) -> Result<BTreeMap<String, Vec<u8>>, Error> {
        let mut secrets: BTreeMap<_, _> =
            self.secrets.iter().map(|text| secret(text)).collect::<Result<_, _>>()?;
        // A plan carries its certificates itself.
        if let Source::Dockerfile { certificates: Some(path), .. } = &self.source {
            secrets.insert(CA_SECRET.to_owned(), certificates(path)?);
        }
        Ok(secrets)
    }
}

impl CheckedSource<'_> {
    /// Whether a person has named the image.
    fn has_name(&self) -> bool {
        match self {
            CheckedSource::Planned(_, checked) => checked.has_name(),
            CheckedSource::Dockerfile { .. } => false,
        }
    }
}

fn secret(text: &str) -> Result<(String, Vec<u8>), Error> {
    let field = |name: &str| text.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    let form = || usage("--secret", text, "expected id=ID,src=FILE or id=ID,env=NAME");
    let id = field("id").filter(|id| !id.is_empty()).ok_or_else(form)?;
    let value = match (field("src").or_else(|| field("source")), field("env")) {
        (Some(path), _) => file::read_bytes(Path::new(path))?,
        (None, Some(name)) => {
            let value = variables::text(name);
            value.ok_or_else(|| usage("--secret", text, "no such environment variable"))?.into_bytes()
        }
        (None, None) => return Err(form()),
    };
    Ok((id.to_owned(), value))
}

fn certificates(path: &Path) -> Result<Vec<u8>, Error> {
    let bytes = file::read_bytes(path)?;
    if !String::from_utf8_lossy(&bytes).contains("-----BEGIN CERTIFICATE-----") {
        let what = format!("--ca-cert {}: no certificate found", path.display());
        return Err(Error::new(Kind::File, what).hint("expected PEM format: -----BEGIN CERTIFICATE-----"));
    }
    Ok(bytes)
}

/// An option with a value that cannot be used.
fn usage(option: &str, value: &str, why: impl Display) -> Error {
    Error::new(Kind::Usage, format!("{option} {value}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::request::ImageRequest;

    fn planned(options: ImageRequest) -> Source {
        Source::Planned(Box::new(PlanRequest { options, ..PlanRequest::default() }))
    }

    fn error(request: BuildRequest) -> String {
        // No engine listens there: an error about it would show that it was asked.
        let request = BuildRequest { host: Some("unix:///no/such/socket".into()), ..request };
        let read_here = || -> Result<facts::Facts, Error> { panic!("this machine is not asked") };
        crate::prepare(resolve::testing::universe(), &request, &read_here).unwrap_err().message
    }

    #[test]
    fn push_requires_tag_or_image_name() {
        let push = BuildRequest { push: true, context: ".".into(), ..BuildRequest::default() };
        assert_eq!(error(push.clone()), "--push requires --tag");
        let own = ImageRequest { base_image: Some("team/base:1".into()), ..ImageRequest::default() };
        assert_eq!(error(BuildRequest { source: planned(own), ..push.clone() }), "--push requires --tag");
        let named = ImageRequest { name: Some("r.example/train".into()), ..ImageRequest::default() };
        assert!(
            BuildRequest { source: planned(named), ..push.clone() }
                .check(resolve::testing::universe())
                .is_ok()
        );
        let tags = vec!["r.example/train:1".to_owned()];
        assert!(BuildRequest { tags, ..push }.check(resolve::testing::universe()).is_ok());
    }

    #[test]
    fn usage_errors_are_reported_before_connecting_to_docker() {
        let own =
            || planned(ImageRequest { base_image: Some("team/base:1".into()), ..ImageRequest::default() });
        let wrong = |request: BuildRequest| error(BuildRequest { source: own(), ..request });
        let text = |text: &str| vec![text.to_owned()];
        assert!(wrong(BuildRequest { tags: text("Team/x"), ..Default::default() }).contains("lower case"));
        assert!(wrong(BuildRequest { expect: text("numpy"), ..Default::default() }).starts_with("--expect"));
        assert!(
            wrong(BuildRequest { cache_to: text("type=gha"), ..Default::default() })
                .starts_with("--cache-to")
        );
        assert!(
            wrong(BuildRequest { platforms: text("arm64"), ..Default::default() }).starts_with("--platform")
        );
        for (request, option) in [
            (BuildRequest { cache_from: text("a b"), ..Default::default() }, "--cache-from a b: "),
            (BuildRequest { target: Some("-x".into()), ..Default::default() }, "--target: "),
            (BuildRequest { arguments: text("A B=1"), ..Default::default() }, "--build-arg: "),
            (
                BuildRequest { secrets: text("id=../../a b,src=/proc/self/comm"), ..Default::default() },
                "--secret: ",
            ),
        ] {
            let message = wrong(request);
            assert!(message.starts_with(option), "{message}");
        }
        let labels = BTreeMap::from([("--x".to_owned(), "1".to_owned())]);
        let source = Source::Dockerfile { path: "no/such".into(), labels, certificates: None };
        assert!(error(BuildRequest { source, ..Default::default() }).starts_with("--label: "));
        assert_eq!(
            wrong(BuildRequest { platforms: text("linux/foo"), ..Default::default() }),
            "--platform linux/foo: envdoc builds images for linux/amd64 and linux/arm64 only"
        );
        assert_eq!(
            wrong(BuildRequest { context: "no/such".into(), ..Default::default() }),
            "build context `no/such`: no such directory"
        );
        assert_eq!(
            wrong(BuildRequest { context: "Cargo.toml".into(), ..Default::default() }),
            "build context `Cargo.toml` is not a directory"
        );
        let file =
            || Source::Dockerfile { path: "no/such".into(), labels: BTreeMap::new(), certificates: None };
        assert_eq!(
            error(BuildRequest { source: file(), context: ".".into(), ..Default::default() }),
            "cannot read no/such: no such file"
        );
        let cuda = ImageRequest {
            base_image: Some("team/base:1".into()),
            cuda: Some("twelve".into()),
            ..ImageRequest::default()
        };
        assert!(error(BuildRequest { source: planned(cuda), ..Default::default() }).contains("--cuda"));
        let mut locked = PlanRequest {
            lock: crate::LockRequest { exact: true, ..Default::default() },
            ..Default::default()
        };
        locked.options.base_image = Some("team/base:1".into());
        let source = Source::Planned(Box::new(locked));
        assert!(error(BuildRequest { source, ..Default::default() }).contains("--locked requires"));
    }
}
