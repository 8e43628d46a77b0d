//! What a value of a request may contain in the place where it ends up: an instruction of a Dockerfile, a
//! mount option, a shell command, a workflow. Requests come with pull requests, and pipelines render them.

use diagnostic::error::{Error, Kind};

use std::collections::BTreeMap;

use catalog::Catalog;
use catalog::mirrors::Mirror;
use diagnostic::suggest::nearest;
use facts::environment::holds_credential;

use crate::request::ImageRequest;
use diagnostic::visible::is_hidden;
use docker::reference::Reference;
use resolve::parameter::Naming;
use resolve::parse::{architecture_named, is_requirement};

mod command;

/// Where a value ends up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    /// Text in quotes on one line.
    Line,
    /// A path that is a word of an instruction, or a value of a mount option.
    Path,
    /// A path in the image, from its root on.
    AbsolutePath,
    /// An image.
    ImageName,
    /// A registry, with the path that its images have there.
    Registry,
    /// A URL that becomes a word of a shell command: https, http or file, as pip, uv and apt read them.
    Url,
    /// The URL of a proxy.
    ProxyUrl,
    /// A package with its version: never an option of pip.
    Package,
    /// The name of an image without its tag and digest.
    Repository,
    /// The key of a label.
    LabelKey,
    /// A shell command, one of several that an instruction joins with `&&`.
    Command,
    /// `sha256:` and 64 hexadecimal digits.
    Digest,
    /// A package of apt or dnf, optionally with its version.
    SystemPackage,
    /// A user of the image.
    UserName,
    /// An environment variable's name.
    Variable,
    /// A Python series: `3.12`.
    PythonSeries,
    /// A processor architecture, as people name it.
    Architecture,
    /// The checksum of a file that pip may install, with its algorithm.
    Hash,
    /// The id of a build secret.
    SecretId,
    /// A build stage, by its name or number.
    StageName,
    /// A build argument's name.
    BuildArgument,
}

impl ValueKind {
    fn takes(self, text: &str) -> bool {
        let only = |others: &str| {
            text.chars().all(|letter| letter.is_ascii_alphanumeric() || others.contains(letter))
        };
        match self {
            ValueKind::Line => text.len() <= 16384 && !text.chars().any(is_hidden),
            ValueKind::Path => only("._/@+~*-") && !text.starts_with('-') && !text.is_empty(),
            ValueKind::AbsolutePath => only("._/@+-") && text.starts_with('/'),
            ValueKind::ImageName => {
                only("._/:@-")
                    && text.starts_with(|first: char| first.is_ascii_alphanumeric())
                    && !text.split('/').any(|part| matches!(part, "" | "." | ".."))
            }
            ValueKind::Registry => !text.contains('@') && Reference::parse(&format!("{text}/image")).is_ok(),
            ValueKind::Url => {
                only(URL_CHARACTERS) && (has_host(text, &["http", "https"]) || text.starts_with("file:///"))
            }
            // pip and uv also accept socks5, apt socks5h; dnf and git take http and https alone.
            ValueKind::ProxyUrl => {
                only(URL_CHARACTERS) && has_host(text, &["http", "https", "socks5", "socks5h"])
            }
            ValueKind::Package => is_requirement(text),
            ValueKind::Repository => {
                only("._/-") && Reference::parse(text).is_ok_and(|name| name.tag == "latest")
            }
            ValueKind::LabelKey => only("._/-") && is_framed(text),
            ValueKind::Command => command::is_single(text.trim()),
            ValueKind::Digest => text.strip_prefix("sha256:").is_some_and(|digits| {
                digits.len() == 64 && digits.chars().all(|digit| matches!(digit, '0'..='9' | 'a'..='f'))
            }),
            ValueKind::SystemPackage => {
                let name = text.split(['=', '/', ':']).next().unwrap_or_default();
                name.len() > 1
                    && name.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
                    && only("+-.=:~/_")
                    // apt-get removes `name-` and installs `name+`; packages such as g++ end in two.
                    && text.ends_with(|last: char| last.is_ascii_alphanumeric() || "+~".contains(last))
                    && (!text.ends_with('+') || text.ends_with("++"))
                    && !name.ends_with('-')
                    && (!name.ends_with('+') || name.ends_with("++"))
            }
            ValueKind::UserName => {
                text.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
                    && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c))
            }
            ValueKind::Variable => !text.is_empty() && only("_"),
            ValueKind::PythonSeries => text.strip_prefix("3.").is_some_and(|minor| {
                matches!(minor.len(), 1 | 2) && minor.bytes().all(|digit| digit.is_ascii_digit())
            }),
            ValueKind::Architecture => architecture_named(text).is_some(),
            ValueKind::Hash => text.split_once(':').is_some_and(|(algorithm, digits)| {
                ["sha256", "sha384", "sha512"].contains(&algorithm)
                    && !digits.is_empty()
                    && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
            }),
            ValueKind::SecretId => only("._-") && is_framed(text),
            ValueKind::StageName => {
                let name = only("._-") && text.starts_with(|first: char| first.is_ascii_alphabetic());
                name || (!text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit()))
            }
            ValueKind::BuildArgument => only("._-") && !text.is_empty() && !text.starts_with('-'),
        }
    }

    fn expected(self) -> &'static str {
        match self {
            ValueKind::Line => "one line of at most 16384 bytes without control or direction characters",
            ValueKind::Path => {
                "a path of letters, digits and ._/@+~*- that is not empty and does not begin with -"
            }
            ValueKind::AbsolutePath => "an absolute path of letters, digits and ._/@+-",
            ValueKind::ImageName => "a name of letters, digits and ._/:@- that begins with a letter or digit",
            ValueKind::Registry => "a registry such as ghcr.io/me: a host, a port, a path, no login",
            ValueKind::Url => "an https, http or file URL without shell characters",
            ValueKind::ProxyUrl => "an http, https or socks5 URL without shell characters",
            ValueKind::Package => "one package such as numpy<2 or NAME @ URL (PEP 508)",
            ValueKind::Repository => {
                "the name of an image: lower-case letters and digits with single ._/- between them, at \
                 most 255 \
                    characters, without a tag"
            }
            ValueKind::LabelKey => {
                "a key of letters, digits and ._/- that begins and ends with a letter or digit"
            }
            ValueKind::Command => {
                "one command on one line, without a comment, a here-document or a backslash at its end; \
                    copy a script with `copy` and run it for more"
            }
            ValueKind::Digest => "a digest: sha256: and 64 lower-case hexadecimal digits",
            ValueKind::SystemPackage => {
                "the name of a system package; apt-get would remove `NAME-`, and reads `NAME+` as NAME"
            }
            ValueKind::UserName => "a user name of lower-case letters, digits, - and _",
            ValueKind::Variable => "a variable name of letters, digits and _",
            ValueKind::PythonSeries => "a Python series such as 3.12",
            ValueKind::Architecture => "an architecture: x86_64 (amd64) or aarch64 (arm64)",
            ValueKind::Hash => "a checksum: sha256: and hexadecimal digits",
            ValueKind::SecretId => {
                "the id of a secret: letters, digits and ._- that begin and end with a letter or digit"
            }
            ValueKind::StageName => {
                "a build stage: its number, or a name of letters, digits and ._- that begins with a letter"
            }
            ValueKind::BuildArgument => "the name of a build argument: letters, digits and ._-",
        }
    }

    fn check<'t>(self, name: &str, texts: impl IntoIterator<Item = &'t String>) -> Result<(), Error> {
        match texts.into_iter().find(|text| !self.takes(text)) {
            None => Ok(()),
            Some(text) => Err(usage(name, format!("{text:?} is not {}", self.expected()))),
        }
    }
}

/// Whether a text begins and ends with a letter or digit.
fn is_framed(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.ends_with(|last: char| last.is_ascii_alphanumeric())
}

/// Characters of a URL that a shell takes as they are.
const URL_CHARACTERS: &str = "._~:/?#[]@!&*+,=%-";

/// Whether it is a URL of one of the schemes with a host.
fn has_host(url: &str, schemes: &[&str]) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known))
        && rest.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '[')
}

fn usage(name: &str, message: impl std::fmt::Display) -> Error {
    Error::new(Kind::Usage, format!("{name}: {message}"))
}

/// A key of a request file, and the option with the same value.
struct Names {
    key: &'static str,
    option: &'static str,
}

impl Names {
    const fn new(key: &'static str, option: &'static str) -> Names {
        Names { key, option }
    }

    fn text(&self, naming: Naming) -> &'static str {
        match naming {
            Naming::Options => self.option,
            Naming::Keys => self.key,
        }
    }
}

const APT: Names = Names::new("`apt`", "--apt");
const APT_MIRROR: Names = Names::new("`mirrors.apt`", "--apt-mirror");
const ARCHITECTURES: Names = Names::new("`architectures`", "--arch");
const BASE_DEVEL: Names = Names::new("`base_devel`", "--base-devel");
const BASE_DIGEST: Names = Names::new("`base_digest`", "--base-digest");
const BASE_PYTHON: Names = Names::new("`base_python`", "--base-python");
const BASE_IMAGE: Names = Names::new("`base_image`", "--base-image");
const COPY: Names = Names::new("`copy`", "--copy");
const ENV: Names = Names::new("`env`", "--env");
const EXTRA_INDEX: Names = Names::new("`mirrors.extra_index`", "--extra-index");
const LABELS: Names = Names::new("`labels`", "--label");
const MIRROR: Names = Names::new("`mirrors.preset`", "--mirror");
const NAME: Names = Names::new("`name`", "--name");
const PACKAGES: Names = Names::new("`packages`", "--with");
const PIP_INDEX: Names = Names::new("`mirrors.pip_index`", "--pip-index");
const PROXY: Names = Names::new("`proxy`", "--proxy");
const PYTHON_MIRROR: Names = Names::new("`mirrors.python`", "--python-mirror");
const USER: Names = Names::new("`user`", "--user");
const WHEELS: Names = Names::new("`wheels`", "--wheels");
const WORKDIR: Names = Names::new("`workdir`", "--workdir");

/// [`request`] for what was typed on the command line: an error names the option.
pub fn options(catalog: &Catalog, options: &ImageRequest) -> Result<(), Error> {
    check(options, Naming::Options)?;
    mirror(catalog, options, Naming::Options).map(drop)
}

/// Refuses a request with a value that would become something else in the files made of it. `entrypoint`
/// and `command` are written as JSON.
pub(crate) fn request(request: &ImageRequest) -> Result<(), Error> {
    check(request, Naming::Keys)
}

/// Refuses a Python of the base image that the catalog does not have; `option` is whether the command line
/// names it.
pub fn base_python(catalog: &Catalog, request: &ImageRequest, option: bool) -> Result<(), Error> {
    let Some(series) = &request.base_python else { return Ok(()) };
    let known: Vec<&str> = catalog.systems().pythons().iter().map(|row| row.python.as_str()).collect();
    let naming = if option { Naming::Options } else { Naming::Keys };
    match known.contains(&series.as_str()) {
        true => Ok(()),
        false => Err(usage(BASE_PYTHON.text(naming), format!("unknown Python {series:?}"))
            .hint(format!("known Pythons: {}", known.join(", ")))),
    }
}

/// Refuses names of a build that would become something else in the request to the engine. `secrets` are
/// ids, `arguments` names.
pub fn build(
    labels: &BTreeMap<String, String>,
    target: Option<&String>,
    secrets: &[&String],
    arguments: &[&String],
) -> Result<(), Error> {
    ValueKind::LabelKey.check(LABELS.option, labels.keys())?;
    ValueKind::StageName.check("--target", target)?;
    ValueKind::SecretId.check("--secret", secrets.iter().copied())?;
    ValueKind::BuildArgument.check("--build-arg", arguments.iter().copied())
}

/// The most entries of a list that a file can have; several are compared with each other.
const LIST_LIMIT: usize = 1000;

fn limited(name: &str, count: usize) -> Result<(), Error> {
    match count > LIST_LIMIT {
        true => Err(usage(name, format!("has {count} entries; a list has at most {LIST_LIMIT}"))),
        false => Ok(()),
    }
}

fn check(request: &ImageRequest, naming: Naming) -> Result<(), Error> {
    let name = |names: &Names| names.text(naming);
    limited(name(&ARCHITECTURES), request.architectures.len())?;
    limited("`from`", request.from.len())?;
    ValueKind::Architecture.check(name(&ARCHITECTURES), &request.architectures)?;
    ValueKind::PythonSeries.check(name(&BASE_PYTHON), &request.base_python)?;
    let locked = request.lock.iter().filter_map(|lock| lock.packages.as_ref());
    for package in locked.chain(request.project_lock.iter().map(|lock| &lock.packages)).flatten() {
        ValueKind::Package.check("`packages` of the lock", [&package.requirement])?;
        ValueKind::Hash.check("`hashes` of the lock", &package.hashes)?;
    }
    let links = request.project_lock.iter().flat_map(|lock| &lock.links);
    ValueKind::Url.check("an index of the project's lock", links)?;
    ValueKind::ImageName.check(name(&NAME), &request.name)?;
    ValueKind::Line.check("`description`", &request.description)?;
    // Both appear in comments of the Dockerfile.
    ValueKind::Line.check("`request`", request.origin.iter().chain(&request.requested))?;
    ValueKind::Package.check(name(&PACKAGES), &request.packages)?;
    ValueKind::ImageName.check(name(&BASE_IMAGE), &request.base_image)?;
    ValueKind::ImageName.check(name(&BASE_DEVEL), &request.base_devel)?;
    ValueKind::Digest.check(name(&BASE_DIGEST), &request.base_digest)?;
    urls(request, naming)?;
    ValueKind::Path.check(name(&WHEELS), &request.wheels)?;
    ValueKind::SystemPackage.check(name(&APT), &request.apt)?;
    ValueKind::UserName.check(name(&USER), &request.user)?;
    ValueKind::AbsolutePath.check(name(&WORKDIR), &request.workdir)?;
    ValueKind::Path.check(name(&COPY), request.copy.iter().flat_map(|copy| [&copy.from, &copy.to]))?;
    ValueKind::LabelKey.check(name(&LABELS), request.labels.keys())?;
    ValueKind::Line.check(name(&LABELS), request.labels.values())?;
    no_secret(name(&LABELS), &request.labels)?;
    ValueKind::Variable.check(name(&ENV), request.env.keys())?;
    ValueKind::Line.check(name(&ENV), request.env.values())?;
    ValueKind::Command.check("`run`", &request.run)?;
    no_secret(name(&ENV), &request.env)
}

fn urls(request: &ImageRequest, naming: Naming) -> Result<(), Error> {
    let mirrors = &request.mirrors;
    let mirrors: [(&Names, &mut dyn Iterator<Item = &String>); 4] = [
        (&PIP_INDEX, &mut mirrors.pip_index.iter()),
        (&EXTRA_INDEX, &mut mirrors.extra_index.iter()),
        (&APT_MIRROR, &mut mirrors.apt.iter()),
        (&PYTHON_MIRROR, &mut mirrors.python.iter()),
    ];
    for (names, urls) in mirrors {
        let name = names.text(naming);
        for url in urls {
            ValueKind::Url.check(name, [url])?;
            if holds_credential(url) {
                let message = "a password or token in a URL stays in the image's history";
                return Err(usage(name, message).hint(
                    "--mirrors-from-host passes the URLs of this machine's pip configuration as secrets",
                ));
            }
        }
    }
    if request.packages.iter().any(|package| holds_credential(package)) {
        let message = "a password or token in a URL stays in the image's history";
        return Err(usage(PACKAGES.text(naming), message)
            .hint("build a wheel first, and pass its directory with --wheels"));
    }
    ValueKind::ProxyUrl.check(PROXY.text(naming), &request.proxy)
}

/// Everyone who can pull an image can read its variables and labels.
fn no_secret(of: &str, values: &BTreeMap<String, String>) -> Result<(), Error> {
    match values.iter().find(|(name, value)| holds_credential(&format!("{name}={value}"))) {
        None => Ok(()),
        Some((name, _)) => {
            let message =
                format!("{name} looks like a secret; everyone who can pull the image could read it");
            Err(usage(of, message).hint("pass it at container start: docker run --env-file"))
        }
    }
}

/// The mirror preset that the request names.
pub(crate) fn mirror<'c>(
    catalog: &'c Catalog,
    request: &ImageRequest,
    naming: Naming,
) -> Result<Option<&'c Mirror>, Error> {
    let Some(name) = &request.mirrors.preset else { return Ok(None) };
    catalog.mirrors().mirror(name).map(Some).ok_or_else(|| {
        let known: Vec<&str> = catalog.mirrors().all().iter().map(|mirror| mirror.name.as_str()).collect();
        let [index, apt] = [&PIP_INDEX, &APT_MIRROR].map(|names| names.text(naming));
        usage(MIRROR.text(naming), format!("unknown mirror {name:?}"))
            .did_you_mean(nearest(name, known.iter().copied()))
            .hint(format!(
                "known mirrors: {}; for any other, set {index} and {apt} to its URLs",
                known.join(", ")
            ))
    })
}

/// The same for an image of a pipeline, the directory of its Dockerfile, and the registry: `${{ … }}` and
/// `$(…)` would run in it.
pub(crate) fn pipeline(name: &String, context: &String, registry: Option<&str>) -> Result<(), Error> {
    ValueKind::Repository.check("`name`", [name])?;
    ValueKind::Path.check("`context`", [context])?;
    ValueKind::Registry.check("--registry", registry.map(str::to_owned).iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(yaml: &str) -> String {
        let read: ImageRequest = serde_yaml::from_str(yaml).unwrap();
        request(&read).unwrap_err().message
    }

    #[test]
    fn rejects_values_that_inject_dockerfile_instructions() {
        for (key, yaml) in [
            ("workdir", r#"workdir: "/w\nRUN evil""#),
            ("workdir", r#"workdir: "/w;evil""#),
            ("workdir", r#"workdir: "/$(evil)""#),
            ("labels", r#"labels: {a: "b\nRUN evil"}"#),
            ("labels", r#"labels: {"a b": c}"#),
            ("name", r#"name: "x\nRUN evil""#),
            ("name", r#"name: "x${{ secrets.X }}""#),
            ("description", r#"description: "x\nRUN evil""#),
            ("base_image", r#"base_image: "ubuntu:22.04\nRUN evil""#),
            ("base_image", r#"base_image: "--platform=x ubuntu""#),
            ("wheels", r#"wheels: "d,target=/x""#),
            ("copy", r#"copy: [{from: "--from=evil/image", to: /x}]"#),
            ("copy", r#"copy: [{from: "a b", to: /x}]"#),
            ("packages", r#"packages: ["--index-url=http://evil.example/simple"]"#),
            ("packages", r#"packages: [" -rfile"]"#),
            ("packages", r#"packages: ["evil --index-url=http://evil.example"]"#),
            ("packages", r#"packages: ["evil\\"]"#),
            ("packages", "packages: [\"evil\u{2028}x\"]"),
            ("mirrors", r#"mirrors: {pip_index: "https://a.example/$(evil)"}"#),
            ("mirrors", r#"mirrors: {apt: "https://a.example/ --evil"}"#),
            ("proxy", r#"proxy: "http://p.example\nRUN evil""#),
            ("packages", r#"packages: ["evil @ https://e.example/x --hash=sha256:00 --index-url=http://e"]"#),
            ("env", r#"env: {A: "x\rRUN evil"}"#),
            ("env", "env: {A: \"x\u{202e}y\"}"),
            ("labels", "labels: {a: \"x\u{2028}y\"}"),
            ("run", "run: [\"echo one\\npip install x\"]"),
            ("run", r#"run: ['echo two \']"#),
            ("run", r#"run: ["cat <<EOF"]"#),
            ("run", r#"run: ["pip install x # why", "pip install y"]"#),
            ("name", r#"name: "a/../../b""#),
            ("proxy", "proxy: p.example:3128"),
            ("proxy", "proxy: https://"),
            ("mirrors.pip_index", "mirrors: {pip_index: foo}"),
            ("mirrors.pip_index", "mirrors: {pip_index: /srv/simple}"),
            ("mirrors.extra_index", "mirrors: {extra_index: ['https:foo']}"),
            ("mirrors.apt", "mirrors: {apt: mirror.example}"),
            ("base_digest", "base_digest: sha256:12"),
            ("base_python", "base_python: 3.12xyz"),
            ("base_python", "base_python: 3.x"),
            ("base_python", r#"base_python: "3.12\nRUN x""#),
            ("architectures", "architectures: [x86_64, riscv64]"),
            ("architectures", r#"architectures: ["x86_64\nRUN x"]"#),
            ("apt", "apt: [bash-]"),
            ("apt", "apt: [bash+]"),
            ("apt", "apt: ['bash-=1']"),
            ("apt", "apt: ['bash=1-']"),
            ("labels", r#"labels: {"--x": "1"}"#),
            ("labels", r#"labels: {"": "1"}"#),
            ("labels", r#"labels: {"a-": "1"}"#),
            ("copy", r#"copy: [{from: src, to: ""}]"#),
            ("copy", r#"copy: [{from: "", to: /src}]"#),
            ("wheels", r#"wheels: """#),
            ("env", r#"env: {"A B": c}"#),
        ] {
            assert!(refused(yaml).starts_with(&format!("`{key}")), "{yaml}: {}", refused(yaml));
        }
    }

    #[test]
    fn rejects_names_that_are_none_of_a_build() {
        let text = |text: &str| text.to_owned();
        let build = |label: &str, target: &str, secret: &str, argument: &str| {
            let labels = BTreeMap::from([(text(label), String::new())]);
            build(&labels, Some(&text(target)), &[&text(secret)], &[&text(argument)])
        };
        assert!(build("a.b", "build-1", "my_id", "A_B").is_ok() && build("a", "0", "a", "a.b").is_ok());
        for (label, target, secret, argument, option) in [
            ("--x", "a", "a", "a", "--label"),
            ("a", "-x", "a", "a", "--target"),
            ("a", "a b", "a", "a", "--target"),
            ("a", "", "a", "a", "--target"),
            ("a", "a", "../../a b", "a", "--secret"),
            ("a", "a", "..", "a", "--secret"),
            ("a", "a", "a", "A B", "--build-arg"),
            ("a", "a", "a", "-A", "--build-arg"),
        ] {
            let message = build(label, target, secret, argument).unwrap_err().message;
            assert!(message.starts_with(&format!("{option}: ")), "{message}");
        }
    }

    #[test]
    fn rejects_a_base_python_that_the_catalog_does_not_have() {
        let catalog = resolve::testing::universe().catalog;
        let of = |series: &str, option| {
            let request = ImageRequest { base_python: Some(series.into()), ..ImageRequest::default() };
            base_python(catalog, &request, option)
        };
        assert!(of("3.12", true).is_ok());
        assert_eq!(of("3.99", true).unwrap_err().message, "--base-python: unknown Python \"3.99\"");
        assert_eq!(of("3.99", false).unwrap_err().message, "`base_python`: unknown Python \"3.99\"");
    }

    #[test]
    fn rejects_locks_that_inject_options_and_lists_without_end() {
        let locked = |requirement: &str, hash: &str| {
            let package =
                resolve::lock::LockedPackage { requirement: requirement.into(), hashes: vec![hash.into()] };
            let lock = resolve::lock::Lock { packages: Some(vec![package]), ..Default::default() };
            request(&ImageRequest { lock: Some(lock), ..ImageRequest::default() })
        };
        assert!(locked("numpy==2.1", "sha256:0a").is_ok());
        for (requirement, hash) in [
            ("x==1 --index-url=http://e.example", "sha256:00"),
            ("x==1\nRUN evil", "sha256:00"),
            ("x==1", "sha256:00 --index-url=http://e.example"),
            ("x==1", "sha256:00\nRUN evil"),
            ("x==1", "evil"),
        ] {
            assert!(locked(requirement, hash).unwrap_err().message.contains(" of the lock: "));
        }
        let architectures = vec!["x86_64".to_owned(); 1001];
        let error = request(&ImageRequest { architectures, ..ImageRequest::default() }).unwrap_err();
        assert_eq!(error.message, "`architectures`: has 1001 entries; a list has at most 1000");
    }

    #[test]
    fn errors_about_options_name_the_option() {
        for (yaml, expected) in [
            ("user: a b", "--user: \"a b\" is not a user name of"),
            ("apt: ['x;y']", "--apt: \"x;y\" is not the name of a system package"),
            ("base_python: 3.x", "--base-python: \"3.x\" is not a Python series"),
            ("packages: [a b]", "--with: "),
            ("mirrors: {pip_index: foo}", "--pip-index: \"foo\" is not an https, http or file URL"),
            ("mirrors: {apt: 'https://me:pass@a.example'}", "--apt-mirror: a password"),
            ("mirrors: {preset: tunas}", "--mirror: unknown mirror \"tunas\""),
        ] {
            let read: ImageRequest = serde_yaml::from_str(yaml).unwrap();
            let error = options(resolve::testing::universe().catalog, &read).unwrap_err();
            assert!(error.message.starts_with(expected), "{yaml}: {error}");
        }
    }

    #[test]
    fn accepts_common_values() {
        let yaml = r#"
            name: team/rl-train.v2
            description: "Training, with DeepSpeed's operators: $HOME stays text"
            workdir: /workspace/app-1
            env: {NOTE: "a value, with: signs"}
            run: ["make -C /src && echo '# done' >> /etc/motd", "test $((1 << 2)) -eq 4", "cat <<< text"]
            labels: {org.opencontainers.image.source: "https://example.org/a?b=c#d"}
            base_image: registry.example:5000/team/base:1.2@sha256:00ff
            wheels: wheels/linux
            copy: [{from: src/*.py, to: /workspace/}]
            apt: [g++, libstdc++6, git, "curl=7.81.0-1ubuntu1", python3.12-venv, "vim:amd64"]
            base_python: 3.12
            packages: ["transformers[torch]>=4.40,<5", "numpy==1.26.4; python_version < '3.13'"]
            mirrors:
              pip_index: "https://index.example:8443/simple/?a=b&c=%20"
              extra_index: ["http://[fd00::1]/simple", "file:///srv/simple"]
            base_digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
            proxy: http://proxy.example:3128
        "#;
        let read: ImageRequest = serde_yaml::from_str(yaml).unwrap();
        assert!(request(&read).is_ok(), "{:?}", request(&read));
    }

    #[test]
    fn rejects_values_that_inject_pipeline_commands() {
        let pipeline = |name: &str, context: &str, registry| {
            pipeline(&name.to_owned(), &context.to_owned(), registry).is_ok()
        };
        assert!(pipeline("rl", "images/rl", Some("ghcr.io/me")));
        assert!(!pipeline("x${{ secrets.X }}", "images/rl", None));
        assert!(!pipeline("x:", "images/rl", None) && !pipeline("a@b", "images/rl", None));
        assert!(!pipeline("rl", "d${{ secrets.X }}", None));
        assert!(!pipeline("rl", "images/rl", Some("r.example/$(evil)")));
        assert!(!pipeline("rl", "images/rl", Some("r.example/a\"evil")));
        let long = "a".repeat(300);
        for name in ["X", "x..y", "x_.y", "x___y", &long, "x/", "/x", "a/../b"] {
            assert!(!pipeline(name, "images/rl", None), "{name}");
        }
        for name in ["x__y", "x---y", "a/b.c_d-e"] {
            assert!(pipeline(name, "images/rl", None), "{name}");
        }
        for registry in ["bob:password@r.example/x", "bob@r.example", "r.example:99999/p", "r.example/..//p"]
        {
            assert!(!pipeline("rl", "images/rl", Some(registry)), "{registry}");
        }
        assert!(
            pipeline("rl", "images/rl", Some("localhost:5000")) && pipeline("rl", "images/rl", Some("me"))
        );
    }
}
