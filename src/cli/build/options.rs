//! The options as an order: everything that is to be done, checked before anything is.

use catalog::Catalog;
use diagnostic::units::short_size;
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::path::{Path, PathBuf};

use super::cache::{self, Target};
use super::source::{self, Source};
use super::{Args, Which, base, platforms};
use crate::cli::image::Settled;
use ::image::report::Note;
use ::image::verify::Expectations;
use diagnostic::error::{Error, Kind};
use diagnostic::terminal;
use docker::build::{self, Build, Builder};
use docker::client::Client;
use docker::context::Context;
use docker::image;
use host::file;
use resolve::answer::Stack;
use resolve::parse::Typed;

/// The secret under which certificates are given.
const CA: &str = "ca";
/// Where a Dockerfile from outside the context is put into it.
const OUTSIDE: &str = ".envdoc/Dockerfile";

/// What is to be done.
#[derive(Debug, Clone)]
pub(super) struct Order {
    /// What a failed build is compared with.
    pub(super) catalog: &'static Catalog,
    pub(super) build: Build,
    /// What to verify; `None` with --no-verify.
    pub(super) expected: Option<Expectations>,
    pub(super) tags: Vec<String>,
    pub(super) push: bool,
    /// Names under which the image is pushed for its cache.
    pub(super) cache_names: Vec<String>,
    /// The platforms, where there are several; then `build` is still of none.
    pub(super) platforms: Vec<String>,
    pub(super) strict: bool,
    /// The stack that was resolved; `None` with --file.
    pub(super) stack: Option<Stack>,
    /// What should be known of it.
    pub(super) notes: Vec<Note>,
}

impl Args {
    /// The order; `None` where there is no such stack, which has been said.
    pub(super) fn order(&self, catalog: &'static Catalog, client: &Client) -> Result<Option<Order>, Error> {
        for name in &self.tag {
            image::check_name(name).map_err(|why| usage("--tag", name, why))?;
        }
        let Some(source) = self.source(catalog, client)? else { return Ok(None) };
        let mut expected = source.expected;
        for text in &self.expect {
            expected.add(text).map_err(|error| usage("--expect", text, error.to_string()))?;
        }
        let mut arguments = client.proxies.clone();
        arguments.extend(source.arguments);
        arguments.extend(self.build_args()?);
        let mut cache_from = Vec::new();
        for text in &self.cache_from {
            cache_from.push(cache::source(text).map_err(|why| usage("--cache-from", text, why))?);
        }
        let mut cache_names = Vec::new();
        for text in &self.cache_to {
            match cache::target(text).map_err(|why| usage("--cache-to", text, why))? {
                Target::Image => {}
                Target::Name(name) => {
                    image::check_name(&name).map_err(|why| usage("--cache-to", text, why))?;
                    cache_names.push(name);
                }
            }
            arguments.insert("BUILDKIT_INLINE_CACHE".into(), "1".into());
        }
        let (platform, platforms) = self.platforms(source.platform)?;
        let builder = match self.builder {
            Which::Auto if client.classic => Builder::Classic,
            Which::Auto => Builder::Best,
            Which::Buildkit => Builder::BuildKit,
            Which::Classic => Builder::Classic,
        };
        let build = Build {
            id: build::new_id(),
            context: source.context,
            builder,
            needs_buildkit: source.needs_buildkit,
            platform,
            arguments,
            labels: source.labels,
            target: self.target.clone(),
            network: self.network.clone().filter(|mode| mode != "default"),
            no_cache: self.no_cache,
            pull: self.pull,
            cache_from,
            inline_cache: !self.cache_to.is_empty(),
            secrets: source.secrets.into_iter().chain(self.secrets()?).collect(),
        };
        let tags = if self.tag.is_empty() { source.names } else { self.tag.clone() };
        if self.push && tags.is_empty() {
            return Err(Error::new(Kind::Usage, "--push requires --tag").hint("--tag REGISTRY/NAME:TAG"));
        }
        Ok(Some(Order {
            catalog,
            build,
            expected: (!self.no_verify).then_some(expected),
            tags,
            push: self.push,
            cache_names,
            platforms,
            strict: self.strict,
            stack: source.stack,
            notes: source.notes,
        }))
    }

    /// The platform of the build, or the platforms of the builds where there are several.
    fn platforms(&self, own: Option<String>) -> Result<(Option<String>, Vec<String>), Error> {
        let all = self.platform.join(",");
        let mut named = platforms::read(&self.platform).map_err(|why| usage("--platform", &all, why))?;
        if named.len() < 2 {
            return Ok((named.pop().or(own), Vec::new()));
        }
        if self.file.is_none() {
            let why = "a request is resolved for one architecture";
            return Err(usage("--platform", &all, why)
                .hint("build once for each --arch, or use --file with your own Dockerfile"));
        }
        if !self.push {
            let why = "an engine stores one platform per image name";
            return Err(usage("--platform", &all, why)
                .hint("add --push to combine them in the registry, or build each platform on its own"));
        }
        Ok((None, named))
    }

    /// What is built: somebody's own Dockerfile, or a stack.
    fn source(&self, catalog: &'static Catalog, client: &Client) -> Result<Option<Source>, Error> {
        if self.file.is_none() {
            let (image, mut told) = base::told(catalog, &self.image, client)?;
            return match image.settle(catalog)? {
                Settled::Plan(plan, notes) => {
                    told.extend(notes);
                    source::of(&plan, told, self).map(Some)
                }
                Settled::None(report) => {
                    terminal::note(report.trim_end());
                    Ok(None)
                }
            };
        }
        if self.image.request.is_some() || self.image.stack.typed() != Typed::default() {
            return Err(Error::new(
                Kind::Usage,
                "--file builds a Dockerfile as it is and cannot be combined with stack options",
            )
            .hint("to verify its contents, use --expect torch==2.6.0"));
        }
        let labels = pairs("--label", &self.image.label)?;
        Ok(Some(Source { context: self.own_context()?, labels, ..Source::default() }))
    }

    /// Somebody's own Dockerfile and folder.
    fn own_context(&self) -> Result<Context, Error> {
        let missing = |what: &str, path: &Path, error: &std::io::Error| {
            Error::new(Kind::File, format!("{what} `{}`: {error}", path.display()))
        };
        let folder = self.folder()?;
        let Some(dockerfile) = &self.file else {
            return Err(Error::new(Kind::Usage, "no Dockerfile given; use --file Dockerfile"));
        };
        let path = file::canonical(dockerfile).map_err(|error| missing("Dockerfile", dockerfile, &error))?;
        let beside = PathBuf::from(format!("{}.dockerignore", path.display()));
        let inside = path.strip_prefix(&folder).ok().and_then(Path::to_str);
        // A Dockerfile's own file comes before the folder's.
        let ignore = file::read(&beside)?;
        let mut context = Context { folder: Some(folder.clone()), ignore, ..Context::default() };
        match inside {
            Some(inside) => context.dockerfile = inside.to_owned(),
            None => {
                let text = file::read(&path)?.unwrap_or_default();
                context.files.push((OUTSIDE.to_owned(), text.into_bytes()));
                context.dockerfile = OUTSIDE.to_owned();
            }
        }
        Ok(context)
    }

    /// The context's folder, in full.
    pub(super) fn folder(&self) -> Result<PathBuf, Error> {
        let context = self.context.as_deref().unwrap_or(Path::new("."));
        let folder = file::canonical(context).map_err(|error| {
            Error::new(Kind::File, format!("build context `{}`: {error}", context.display()))
        })?;
        if !file::is_directory(&folder) {
            return Err(Error::new(
                Kind::File,
                format!("build context `{}` is not a directory", context.display()),
            ));
        }
        Ok(folder)
    }

    fn build_args(&self) -> Result<BTreeMap<String, String>, Error> {
        let mut arguments = BTreeMap::new();
        for text in &self.build_arg {
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (text.as_str(), host::variables::text(text)),
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
        let mut secrets = BTreeMap::new();
        for text in &self.secret {
            let field =
                |name: &str| text.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
            let value = match (field("src").or_else(|| field("source")), field("env")) {
                (Some(path), _) => file::read_bytes(Path::new(path))?,
                (None, Some(name)) => match host::variables::text(name) {
                    Some(value) => value.into_bytes(),
                    None => {
                        return Err(usage("--secret", text, "no such environment variable"));
                    }
                },
                (None, None) => {
                    return Err(usage("--secret", text, "expected id=ID,src=FILE or id=ID,env=NAME"));
                }
            };
            let Some(id) = field("id").filter(|id| !id.is_empty()) else {
                return Err(usage("--secret", text, "expected id=ID,src=FILE or id=ID,env=NAME"));
            };
            secrets.insert(id.to_owned(), value);
        }
        // A plan carries them itself.
        if let Some(path) = self.image.ca_cert.as_ref().filter(|_| self.file.is_some()) {
            let bytes = file::read_bytes(path)?;
            if !String::from_utf8_lossy(&bytes).contains("-----BEGIN CERTIFICATE-----") {
                let what = format!("--ca-cert {}: no certificate found", path.display());
                return Err(
                    Error::new(Kind::File, what).hint("expected PEM format: -----BEGIN CERTIFICATE-----")
                );
            }
            secrets.insert(CA.to_owned(), bytes);
        }
        Ok(secrets)
    }
}

impl Order {
    /// What would be sent, for --dry-run. Values that may be secret are not shown.
    pub(super) fn shown(&self) -> String {
        let build = &self.build;
        let mut text = String::new();
        let mut row = |label: &str, value: String| {
            if !value.is_empty() {
                let _ = writeln!(text, "{label:<12} {value}");
            }
        };
        let names = |map: &BTreeMap<String, String>| map.keys().cloned().collect::<Vec<_>>().join(", ");
        row(
            "context",
            build.context.folder.as_ref().map_or(String::new(), |folder| folder.display().to_string()),
        );
        row("dockerfile", build.context.dockerfile.clone());
        for (name, bytes) in &build.context.files {
            row("adds", format!("{name} ({})", short_size(bytes.len() as u64)));
        }
        row("platform", build.platform.clone().unwrap_or_else(|| self.platforms.join(", ")));
        row("target", build.target.clone().unwrap_or_default());
        row("arguments", names(&build.arguments));
        row("labels", names(&build.labels));
        row("cache from", build.cache_from.join(", "));
        row("secrets", build.secrets.keys().cloned().collect::<Vec<_>>().join(", "));
        row("tags", self.tags.join(", "));
        row("push", if self.push { "yes".into() } else { String::new() });
        row("cache to", self.cache_names.join(", "));
        let count = self.expected.as_ref().map_or(0, Expectations::count);
        row("verify", if count == 0 { "nothing".into() } else { format!("{count} expectations") });
        self.notes.iter().for_each(|note| row("note", note.to_string()));
        let own = build.context.files.iter().find(|(name, _)| *name == build.context.dockerfile);
        if let Some((_, bytes)) = own {
            let _ = write!(text, "\n{}", String::from_utf8_lossy(bytes));
        }
        text
    }
}

fn usage(option: &str, value: &str, why: impl Display) -> Error {
    Error::new(Kind::Usage, format!("{option} {value}: {why}"))
}

fn pairs(option: &str, texts: &[String]) -> Result<BTreeMap<String, String>, Error> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(usage(option, text, "expected NAME=VALUE")),
    };
    texts.iter().map(pair).collect()
}
