//! What the libraries below a connection report, as this crate's errors.

use super::{ANSWER_TIMEOUT, AnswerTooLarge, Error};

impl From<bollard::errors::Error> for Error {
    fn from(error: bollard::errors::Error) -> Error {
        match error {
            bollard::errors::Error::DockerResponseServerError { status_code, message } => {
                Error::engine(Some(status_code), &message)
            }
            bollard::errors::Error::DockerStreamError { error } => Error::engine(None, &error),
            // Set for each connection from this constant; those that take longer have a deadline of their
            // own.
            bollard::errors::Error::RequestTimeoutError => Error::answer_timeout(ANSWER_TIMEOUT),
            other => of_connection(&other),
        }
    }
}

impl From<hyper::Error> for Error {
    fn from(error: hyper::Error) -> Error {
        of_connection(&error)
    }
}

impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Error {
        of_connection(&error)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        of_connection(&error)
    }
}

/// By the innermost error: "client error (Connect)" says nothing.
fn of_connection(error: &(dyn std::error::Error + 'static)) -> Error {
    use std::io::ErrorKind;
    let (mut kind, mut closed, mut certificate) = (None, false, false);
    let (mut innermost, mut next) = (error, Some(error));
    while let Some(one) = next {
        innermost = one;
        if let Some(error) = one.downcast_ref::<std::io::Error>() {
            kind = Some(error.kind());
            // The error inside an io::Error is no source of it.
            let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<AnswerTooLarge>());
            if let Some(large) = inner {
                return Error::AnswerTooLarge(large.clone());
            }
            let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
            certificate |= inner.is_some_and(|inner| matches!(inner, rustls::Error::InvalidCertificate(_)));
        }
        if let Some(error) = one.downcast_ref::<hyper::Error>() {
            closed |= error.is_incomplete_message() || error.is_canceled() || error.is_closed();
        }
        certificate |=
            matches!(one.downcast_ref::<rustls::Error>(), Some(rustls::Error::InvalidCertificate(_)));
        next = one.source();
    }
    let message = innermost.to_string();
    match kind {
        // rustls says so too where a library in between has kept only its text.
        _ if certificate || message.contains("invalid peer certificate") => Error::Certificate(message),
        Some(ErrorKind::ConnectionRefused) => Error::ConnectionRefused(message),
        Some(ErrorKind::PermissionDenied) => Error::PermissionDenied(message),
        Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof) => {
            Error::ConnectionClosed(message)
        }
        _ if closed => Error::ConnectionClosed(message),
        _ => Error::Connection(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_keep_their_kind() {
        let error = |kind| Error::from(std::io::Error::from(kind));
        assert!(matches!(error(std::io::ErrorKind::PermissionDenied), Error::PermissionDenied(_)));
        assert!(error(std::io::ErrorKind::ConnectionReset).is_closed());
        assert!(!error(std::io::ErrorKind::ConnectionRefused).is_closed());
        let unknown = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let unknown = std::io::Error::new(std::io::ErrorKind::InvalidData, unknown);
        assert!(matches!(Error::from(unknown), Error::Certificate(_)));
    }
}
