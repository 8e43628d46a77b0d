//! Certificates that the environment names.

use super::Error;

/// The largest file of certificates that is read, in bytes; those of distributions have 250 KB.
const CERTIFICATES_LIMIT_BYTES: u64 = 16 << 20;

/// The TLS library reads the file of `SSL_CERT_FILE` whole, and waits for a named pipe.
pub(super) fn bounded() -> Result<(), Error> {
    let Some(path) = host::variables::path("SSL_CERT_FILE") else { return Ok(()) };
    let size = host::file::is_file(&path).then(|| host::file::size(&path)).flatten();
    match size {
        Some(bytes) if bytes <= CERTIFICATES_LIMIT_BYTES => Ok(()),
        _ => Err(Error::Certificate(format!(
            "SSL_CERT_FILE={} is not a file of at most 16 MiB",
            diagnostic::visible::path(&path)
        ))),
    }
}
