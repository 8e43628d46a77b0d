//! Registry access: base image digests, logins, certificates.

use std::path::Path;
use std::time::{Duration, Instant};

use diagnostic::error::{Error, Kind};
use docker::auth::Login;
use docker::client::{self, Client};
use host::file;
use image::inspect::Reference;
use image::inspect::remote::{self, ImageQuery};

/// Timeout for a digest request.
const DIGEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The current digest of an image in its registry.
pub(crate) fn digest(image: &str, certificates: Option<&Path>) -> Result<String, Error> {
    let reference = Reference::parse(image).map_err(|why| Error::new(Kind::Usage, why.to_string()))?;
    let login = login(&client::find(None)?, &reference.registry)?;
    let certificates = self::certificates(certificates)?;
    let query = ImageQuery {
        reference: &reference,
        architecture: "x86_64",
        plain_http: false,
        login,
        certificates: certificates.as_deref(),
        deadline: Instant::now() + DIGEST_TIMEOUT,
    };
    remote::digest(&query).map_err(|why| {
        Error::new(Kind::Network, format!("--pin: cannot get the digest of {reference}: {why}"))
            .hint("set a known digest with --base-digest, or omit --pin to use the tag")
    })
}

/// The text of a file with certificates; `None` where none is named.
pub(crate) fn certificates(path: Option<&Path>) -> Result<Option<String>, Error> {
    let Some(path) = path else { return Ok(None) };
    file::read(path)?.ok_or_else(|| file::missing(path)).map(Some)
}

/// The login that `docker login` stored for a registry.
pub(crate) fn login(client: &Client, registry: &str) -> Result<Option<Login>, Error> {
    let login = client.logins.for_registry(registry);
    login.map_err(|why| Error::new(Kind::File, format!("cannot read the login for {registry}: {why}")))
}
