//! What went wrong on the way to an engine that speaks TLS, by its cause.

use std::io::ErrorKind;

use diagnostic::Fix;
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError};

use super::Target;
use crate::transport::{ConnectCause, ConnectError};

/// No connection.
pub(super) fn tcp(address: &str, error: &std::io::Error) -> ConnectError {
    match error.kind() {
        ErrorKind::ConnectionRefused => {
            ConnectError::new(format!("connection to {address} refused: no engine listens there"))
                .caused_by(ConnectCause::Refused)
        }
        _ => ConnectError::new(format!("cannot connect to {address}: {error}")),
    }
}

/// The handshake, or what followed it.
pub(super) fn tls(target: &Target, error: &std::io::Error) -> ConnectError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(error) => from_rustls(target, error),
        None if error.kind() == ErrorKind::UnexpectedEof => {
            ConnectError::new(format!("{} closed the connection during the TLS handshake", target.address))
        }
        None => ConnectError::new(format!("TLS handshake with {} failed: {error}", target.address)),
    }
}

/// A request on a connection whose handshake was done.
pub(super) fn http(target: &Target, error: &hyper::Error) -> ConnectError {
    let mut inner: Option<&dyn std::error::Error> = Some(error);
    while let Some(next) = inner {
        if let Some(error) = next.downcast_ref::<std::io::Error>() {
            return tls(target, error);
        }
        inner = next.source();
    }
    ConnectError::new(format!("invalid HTTP answer from {}: {error}", target.address))
}

fn from_rustls(target: &Target, error: &rustls::Error) -> ConnectError {
    let Target { address, folder, .. } = target;
    match error {
        rustls::Error::InvalidCertificate(certificate) => certificate_fault(target, certificate),
        rustls::Error::AlertReceived(alert) => alert_fault(target, *alert),
        rustls::Error::InvalidMessage(_) => ConnectError::new(format!(
            "{address} does not use TLS (dockerd runs without --tlsverify?)"
        ))
        .fix(Fix::manual(
            "Use ssh://, or configure TLS: without it, anyone who can reach the port has root access",
        )),
        other => ConnectError::new(format!(
            "TLS handshake with {address} failed with the certificates in \
            {folder}: {other}"
        )),
    }
}

/// What is wrong with the engine's certificate.
fn certificate_fault(target: &Target, error: &CertificateError) -> ConnectError {
    let Target { address, folder, .. } = target;
    match error {
        CertificateError::ExpiredContext { not_after, .. } => {
            ConnectError::new(format!("the certificate of {address} has expired on {}", day(*not_after)))
                .fix(Fix::run("Check the clock of this machine:", "date -u"))
                .fix(Fix::restarts_service(
                    "Renew the engine's server certificate (--tlscert) and restart the engine:",
                    &["systemctl restart docker"],
                ))
        }
        CertificateError::Expired => ConnectError::new(format!("the certificate of {address} has expired")),
        CertificateError::NotValidYetContext { not_before, .. } => ConnectError::new(format!(
            "the certificate of {address} is not valid before \
                {}",
            day(*not_before)
        ))
        .fix(Fix::run("Compare the clocks of both machines:", "date -u")),
        CertificateError::NotValidForNameContext { presented, .. } => {
            let names = match presented.is_empty() {
                true => "no name (no subjectAltName)".to_owned(),
                false => presented.iter().map(|name| plain(name)).collect::<Vec<_>>().join(", "),
            };
            ConnectError::new(format!("the certificate of {address} is for other names: {names}")).fix(
                Fix::manual("Use a name from the certificate, or issue one with this name in subjectAltName"),
            )
        }
        CertificateError::UnknownIssuer => ConnectError::new(format!(
            "the certificate of {address} is not signed by the CA in \
                {folder}/ca.pem"
        ))
        .fix(Fix::manual(
            "Copy ca.pem from the CA that issued the engine's certificate; if ca.pem did not change, another \
             server answers",
        )),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            ConnectError::new(format!(
                "the certificate of {address} is not a server certificate \
                (extendedKeyUsage)"
            ))
        }
        other => ConnectError::new(format!("the certificate of {address} is invalid: {other}")),
    }
}

/// What the engine says of ours. Go's TLS, which engines use, says "bad certificate" for one that is missing,
/// too.
fn alert_fault(target: &Target, alert: AlertDescription) -> ConnectError {
    let Target { address, folder, has_client_certificate, .. } = target;
    let put = Fix::manual(format!(
        "Copy cert.pem and key.pem, signed by the engine's CA (--tlscacert), to {folder}"
    ));
    match (alert, has_client_certificate) {
        (AlertDescription::CertificateRequired | AlertDescription::BadCertificate, false) => {
            ConnectError::new(format!("{address} requires a client certificate; {folder} has none")).fix(put)
        }
        (AlertDescription::CertificateExpired, _) => {
            ConnectError::new(format!("{address} rejects the client certificate {folder}/cert.pem: expired"))
                .fix(put)
        }
        (
            AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::DecryptError,
            true,
        ) => ConnectError::new(format!(
            "{address} rejects the client certificate {folder}/cert.pem (TLS alert {alert:?}): expired, \
             not for clients, or not signed by the engine's CA"
        ))
        .fix(put),
        _ => ConnectError::new(format!("{address} closed the TLS connection (TLS alert {alert:?})")),
    }
}

/// `DnsName("gpu1")` as rustls shows the names of a certificate.
fn plain(name: &str) -> String {
    match name.split_once('(') {
        Some((_, inner)) => inner.trim_end_matches(')').trim_matches('"').to_owned(),
        None => name.to_owned(),
    }
}

fn day(time: UnixTime) -> String {
    let second =
        i64::try_from(time.as_secs()).ok().and_then(|second| jiff::Timestamp::from_second(second).ok());
    second.map_or_else(|| "an invalid date".into(), |time| time.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, RootCertStore};

    use super::*;

    fn target(has_client_certificate: bool) -> Target {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        Target {
            address: "gpu1:2376".into(),
            name: ServerName::try_from("gpu1").unwrap(),
            config: Arc::new(config),
            has_client_certificate,
            folder: "/certs".into(),
        }
    }

    fn message(has_client_certificate: bool, error: rustls::Error) -> String {
        tls(&target(has_client_certificate), &std::io::Error::new(ErrorKind::InvalidData, error)).message
    }

    #[test]
    fn explains_each_tls_failure() {
        let certificate = |error| message(true, rustls::Error::InvalidCertificate(error));
        let time = |second| UnixTime::since_unix_epoch(Duration::from_secs(second));
        let expired = certificate(CertificateError::ExpiredContext {
            time: time(2_000_000_000),
            not_after: time(1_700_000_000),
        });
        assert!(expired.contains("has expired on 2023-11-14 22:13 UTC"), "{expired}");
        let name = certificate(CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("gpu1").unwrap(),
            presented: vec!["DnsName(\"gpu2\")".into(), "IpAddress(10.0.0.2)".into()],
        });
        assert!(name.contains("other names: gpu2, 10.0.0.2"), "{name}");
        assert!(
            certificate(CertificateError::UnknownIssuer).contains("not signed by the CA in /certs/ca.pem")
        );
        let alert = |has_client_certificate, alert| {
            message(has_client_certificate, rustls::Error::AlertReceived(alert))
        };
        assert!(alert(false, AlertDescription::BadCertificate).contains("requires a client certificate"));
        assert!(alert(true, AlertDescription::BadCertificate).contains("rejects the client certificate"));
        assert!(alert(true, AlertDescription::CertificateExpired).contains("expired"));
    }

    #[test]
    fn reports_refused_tcp_connection() {
        let refused = std::io::Error::from(ErrorKind::ConnectionRefused);
        assert!(tcp("gpu1:2376", &refused).message.contains("connection to gpu1:2376 refused"));
    }
}
