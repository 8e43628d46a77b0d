//! Every way in which an engine, a registry or a credential helper fails. [`messages`] reads what these
//! programs say, [`connection`] what the libraries report.

mod connection;
pub(crate) mod messages;

use std::time::Duration;

pub use messages::{Cause, EngineMessage, StepKind};

/// The longest that an engine may take for anything that is no build, push or run.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The engine rejected a request or reported an error while it worked. `status`: the HTTP status, none
    /// within a stream.
    #[error("{message}")]
    Engine { status: Option<u16>, cause: Cause, message: String },
    #[error("{0}")]
    ConnectionRefused(String),
    /// No right to use the engine's socket.
    #[error("{0}")]
    PermissionDenied(String),
    /// The other end closed an open connection, as an engine that restarts does.
    #[error("{0}")]
    ConnectionClosed(String),
    /// Any other failure of the connection.
    #[error("{0}")]
    Connection(String),
    #[error("{what} within {} s", after.as_secs())]
    TimedOut { what: Waited, after: Duration },
    #[error("HTTP status {status}{}", path.as_ref().map(|path| format!(" for {path}")).unwrap_or_default())]
    Http { status: u16, path: Option<String> },
    /// A certificate that cannot be verified or read.
    #[error("{0}")]
    Certificate(String),
    #[error("{0}")]
    RegistryLogin(LoginFault),
    /// The registry refused a push.
    #[error("{message} ({})", match login { true => "with the login of Docker's configuration",
        false => "there is no login for this registry in Docker's configuration" })]
    PushDenied { message: String, login: bool },
    /// A page of the registry names another host: credentials are not sent there.
    #[error("the registry redirects to another host: {url}")]
    OtherHost { url: String },
    /// The content is not what its name says.
    #[error(
        "{what} has the digest {received} instead of {expected}; \
             the registry, or a proxy before it, sent other content"
    )]
    DigestMismatch { what: String, expected: String, received: String },
    #[error("{what} is larger than {limit_kib} KiB")]
    TooLarge { what: &'static str, limit_kib: u64 },
    #[error(transparent)]
    AnswerTooLarge(AnswerTooLarge),
    /// An answer that does not have the expected form.
    #[error("{what}: {message}")]
    Malformed { what: &'static str, message: String },
    /// An argument: the name of an image, a part of an endpoint.
    #[error("{text:?} is not {expected}")]
    Invalid { text: String, expected: &'static str },
    #[error("{program} {fault}")]
    CredentialHelper { program: String, fault: String },
    #[error("the image could not be tagged as {name}: {source}")]
    NotTagged { name: String, source: Box<Error> },
    #[error("{engine} could not send the image: {source}")]
    NotSent { engine: String, source: Box<Error> },
    #[error("container {name} was not removed: {source}")]
    LeftBehind { name: String, source: Box<Error> },
    #[error("{0}")]
    Other(String),
}

/// An engine's answer that was not read to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the engine's answer to {request} is larger than {limit_mib} MiB; not read")]
pub struct AnswerTooLarge {
    /// Method and path: `GET /v1.41/info`.
    pub request: String,
    pub limit_mib: u64,
}

/// What an expired deadline was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Waited {
    #[error("the engine did not answer")]
    EngineAnswer,
    /// For it dockerd asks containerd and runc; it answers `/_ping` by itself.
    #[error("dockerd answers, but did not report the versions of containerd and runc")]
    EngineVersion,
    #[error("the engine reported no progress")]
    EngineProgress,
    #[error("the engine sent no data")]
    EngineData,
    #[error("the container did not exit")]
    ContainerExit,
    #[error("the command did not exit")]
    CommandExit,
    #[error("the server did not answer")]
    ServerAnswer,
}

/// Why a registry did not accept a reader.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginFault {
    #[error("the registry requires a login")]
    Missing,
    #[error("the registry requires a login with user name and password")]
    NoPassword,
    #[error("the registry requires a login by a scheme that envdoc does not support")]
    UnknownScheme,
    /// Where the registry sends readers for a token.
    #[error("the registry asks to log in at {realm} {why}; envdoc sends no credentials there")]
    UnsafeRealm { realm: String, why: UnsafeRealm },
    #[error("the registry rejects the identity token of the login")]
    TokenRejected,
    #[error("the registry rejects the login of {user:?}")]
    Rejected { user: String },
}

/// Why no credentials go to the token server that a registry names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnsafeRealm {
    #[error("without TLS")]
    Plain,
    #[error("with an identity token that belongs to the registry's own host")]
    ForeignIdentityToken,
}

impl Error {
    /// The engine's own message.
    pub(crate) fn engine(status: Option<u16>, message: &str) -> Error {
        let message = message.trim().to_owned();
        Error::Engine { status, cause: Cause::of(&message), message }
    }

    pub(crate) fn answer_timeout(after: Duration) -> Error {
        Error::TimedOut { what: Waited::EngineAnswer, after }
    }

    /// The same with another deadline: bollard does not report which one expired.
    pub(crate) fn after(self, deadline: Duration) -> Error {
        match self {
            Error::TimedOut { what, .. } => Error::TimedOut { what, after: deadline },
            other => other,
        }
    }

    pub(crate) fn other(error: impl std::fmt::Display) -> Error {
        Error::Other(error.to_string())
    }

    /// What the engine names as the cause; [`Cause::Unknown`] for errors that no engine reported.
    pub fn cause(&self) -> &Cause {
        match self {
            Error::Engine { cause, .. } => cause,
            Error::NotTagged { source, .. }
            | Error::NotSent { source, .. }
            | Error::LeftBehind { source, .. } => source.cause(),
            _ => &Cause::Unknown,
        }
    }

    /// Whether the engine says that the object does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Error::Engine { status: Some(404), .. })
    }

    /// Whether the engine closed the connection in the middle: it went away, or restarted.
    pub fn is_closed(&self) -> bool {
        match self {
            Error::ConnectionClosed(_) => true,
            Error::NotTagged { source, .. }
            | Error::NotSent { source, .. }
            | Error::LeftBehind { source, .. } => source.is_closed(),
            _ => false,
        }
    }

    /// Whether the image does not contain `program`, or not what loads it.
    pub(crate) fn lacks(&self, program: &str) -> bool {
        let Error::Engine { message, .. } = self else { return false };
        messages::lacks(message, program)
    }

    /// A push that the registry refused, with what is known of the login.
    pub(crate) fn of_push(self, login: bool) -> Error {
        let message = self.to_string();
        match messages::denies_push(&message) {
            true => Error::PushDenied { message, login },
            false => self,
        }
    }

    /// The same error without a secret that the engine may repeat.
    pub(crate) fn without(self, secret: &str) -> Error {
        match self {
            Error::Engine { status, cause, message } => {
                Error::Engine { status, cause, message: message.replace(secret, "(the join token)") }
            }
            other => other,
        }
    }
}

impl From<Error> for diagnostic::error::Error {
    fn from(error: Error) -> Self {
        diagnostic::error::Error::new(diagnostic::error::Kind::Engine, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denied_push_reports_whether_a_login_was_used() {
        let denied = Error::engine(None, "denied: requested access to the resource is denied");
        assert!(matches!(denied.of_push(false), Error::PushDenied { login: false, .. }));
        let full = Error::engine(None, "no space left on device");
        assert_eq!(full.clone().of_push(true), full);
    }
}
