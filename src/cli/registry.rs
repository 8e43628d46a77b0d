//! What a registry is asked for: the digest of a base image, and with which login.

use std::path::Path;
use std::time::{Duration, Instant};

use ::image::inspect::Reference;
use ::image::inspect::remote::{self, Missing, Question};
use diagnostic::error::{Error, Kind};
use docker::auth::Login;
use docker::client::{self, Client};
use host::file;

/// The longest that a registry may take to tell a digest.
const ASKING: Duration = Duration::from_secs(30);

/// The digest under which its registry has an image now.
pub(super) fn digest(image: &str, certificates: Option<&Path>) -> Result<String, Error> {
    let reference = Reference::parse(image).map_err(|why| Error::new(Kind::Usage, why))?;
    let login = login(&client::find(None)?, &reference.registry)?;
    let certificates = self::certificates(certificates)?;
    let question = Question {
        reference: &reference,
        architecture: "x86_64",
        plain_http: false,
        login,
        certificates: certificates.as_deref(),
        deadline: Instant::now() + ASKING,
    };
    remote::digest(&question).map_err(|missing| {
        let (Missing::NotThere(why) | Missing::Unknown(why)) = missing;
        Error::new(Kind::Network, format!("--pin: the digest of {reference} is not known: {why}"))
            .hint("without --pin the image is taken by its tag; --base-digest names a digest that is known")
    })
}

/// The certificates in a file that was named.
pub(super) fn certificates(path: Option<&Path>) -> Result<Option<String>, Error> {
    let Some(path) = path else { return Ok(None) };
    let missing = || Error::new(Kind::File, format!("{}: no such file", path.display()));
    file::read(path)?.ok_or_else(missing).map(Some)
}

/// The login for a registry, as `docker login` keeps it.
pub(super) fn login(client: &Client, registry: &str) -> Result<Option<Login>, Error> {
    let login = client.logins.of(registry);
    login.map_err(|why| Error::new(Kind::File, format!("the login for {registry}: {why}")))
}
