//! ca.pem, cert.pem and key.pem of a folder.

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::ConnectError;
use diagnostic::Fix;
use facts::{Fact, IntoFact};
use host::Host;
use host::live::Live;

/// The settings, and whether they hold a client certificate. The certificates of the folder alone are
/// trusted: an engine's authority is one's own.
pub(super) fn config(folder: &str) -> Result<(ClientConfig, bool), ConnectError> {
    let folder = folder.trim_end_matches('/');
    let machine = Live::new(std::time::Instant::now() + std::time::Duration::from_secs(5));
    let file = |name: &str| -> Result<Option<String>, ConnectError> {
        match machine.read(&format!("{folder}/{name}")).text() {
            Fact::Known(text) => Ok(Some(text)),
            Fact::Absent => Ok(None),
            Fact::Unknown(why) => Err(ConnectError::new(format!("{folder}/{name}: {why}"))),
        }
    };
    let Some(authority) = file("ca.pem")? else {
        return Err(ConnectError::new(format!(
            "{folder}/ca.pem does not exist; the engine cannot be verified without it"
        ))
        .fix(Fix::manual(
            "Set DOCKER_CERT_PATH to the directory that contains ca.pem, cert.pem and key.pem",
        )));
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&authority, &format!("{folder}/ca.pem"))? {
        roots.add(certificate).map_err(|error| {
            ConnectError::new(format!("{folder}/ca.pem contains no CA certificate: {error}"))
        })?;
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| ConnectError::new(error.to_string()))?
        .with_root_certificates(roots);
    match (file("cert.pem")?, file("key.pem")?) {
        (None, None) => Ok((builder.with_no_client_auth(), false)),
        (Some(certificate), Some(key)) => {
            let certificate = certificates(&certificate, &format!("{folder}/cert.pem"))?;
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| match error {
                pem::Error::NoItemsFound => {
                    ConnectError::new(format!("{folder}/key.pem contains no unencrypted private key"))
                }
                other => ConnectError::new(format!("{folder}/key.pem: {other}")),
            })?;
            let config = builder
                .with_client_auth_cert(certificate, key)
                .map_err(|error| ConnectError::new(format!("{folder}/cert.pem and key.pem: {error}")))?;
            Ok((config, true))
        }
        (Some(_), None) => {
            Err(ConnectError::new(format!("{folder}/cert.pem exists, but {folder}/key.pem does not")))
        }
        (None, Some(_)) => {
            Err(ConnectError::new(format!("{folder}/key.pem exists, but {folder}/cert.pem does not")))
        }
    }
}

fn certificates(text: &str, path: &str) -> Result<Vec<CertificateDer<'static>>, ConnectError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(ConnectError::new(format!("{path} contains no certificate"))),
        Err(error) => Err(ConnectError::new(format!("{path}: {error}"))),
    }
}
