//! Every way in which an engine, a registry or a credential helper fails. The only file that reads the
//! messages of these programs.

use std::time::Duration;

/// Why an operation failed.
#[expect(missing_docs, reason = "names, fields and messages say it")]
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
    #[error("{what} is larger than {limit_kib} KiB")]
    TooLarge { what: &'static str, limit_kib: u64 },
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

/// What an expired deadline was for.
#[expect(missing_docs, reason = "names, fields and messages say it")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Waited {
    #[error("the engine did not answer")]
    EngineAnswer,
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
#[expect(missing_docs, reason = "names, fields and messages say it")]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginFault {
    #[error("the registry requires a login")]
    Missing,
    #[error("the registry requires a login with user name and password")]
    NoPassword,
    #[error("the registry requires a login by a scheme that envdoc does not support")]
    UnknownScheme,
    #[error("the registry rejects the identity token of the login")]
    TokenRejected,
    #[error("the registry rejects the login of {user:?}")]
    Rejected { user: String },
}

/// What an engine's message names as the cause.
#[expect(missing_docs, reason = "names, fields and messages say it")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    NoSuchContainer,
    ContainerNotRunning,
    NoSuchImage,
    /// A container of this name exists.
    NameInUse,
    /// A published port is taken.
    PortInUse,
    AlreadyInSwarm,
    NotInSwarm,
    NotAManager,
    /// The join continues after the engine's answer.
    JoinContinues,
    /// Certificate of the swarm or of a registry: expired, not yet valid, unknown authority.
    Certificate,
    /// A resource limit that the engine may not raise: Linux's number of it (`RLIMIT_MEMLOCK` is 8).
    LimitDenied {
        rlimit: u32,
    },
    /// The disk is full, or the quota.
    DiskFull,
    /// No GPUs for the container: driver, container toolkit or CDI.
    NoGpu,
    BindSourceMissing {
        path: String,
    },
    VolumeNotMounted,
    /// The subnet overlaps that of another network.
    SubnetOverlap,
    /// The container does not get into its network.
    NetworkNotAttached,
    /// The address to advertise cannot be resolved, or none was given.
    AddressUnresolved,
    /// No interface of the machine has the address.
    AddressNotLocal,
    AddressInUse,
    /// The image does not have the program, its interpreter or its loader.
    ProgramNotFound,
    /// Another file or directory is missing.
    FileNotFound,
    /// Something still uses the network, volume or image.
    InUse,
    /// The port expects TLS.
    TlsRequired,
    PermissionDenied,
    Unknown,
}

/// Causes in the order in which they are looked for: one of the words, all in lower case.
const CAUSES: &[(&[&str], Cause)] = &[
    (&["no such container"], Cause::NoSuchContainer),
    (&["no such image"], Cause::NoSuchImage),
    (&["is already in use by container"], Cause::NameInUse),
    (&["port is already allocated"], Cause::PortInUse),
    (&["already part of a swarm"], Cause::AlreadyInSwarm),
    (&["not part of a swarm"], Cause::NotInSwarm),
    (&["not a swarm manager"], Cause::NotAManager),
    (&["will continue in the background"], Cause::JoinContinues),
    (&["http request to an https server"], Cause::TlsRequired),
    (&["x509", "certificate has expired or is not yet valid"], Cause::Certificate),
    (&["overlap"], Cause::SubnetOverlap),
    (&["no space left on device", "disk quota exceeded"], Cause::DiskFull),
    (&["could not select device driver", "nvidia-container-cli", "unresolvable cdi devices"], Cause::NoGpu),
    (&["error while mounting volume", "failed to mount local volume"], Cause::VolumeNotMounted),
    (
        &["attaching to network failed", "could not attach to network", "could not find network"],
        Cause::NetworkNotAttached,
    ),
    (
        &[
            "must be a non-zero ip address or network interface",
            "must specify a listening address",
            "could not resolve",
        ],
        Cause::AddressUnresolved,
    ),
    (&["cannot assign requested address", "not match any"], Cause::AddressNotLocal),
    (&["address already in use"], Cause::AddressInUse),
    (&["executable file not found"], Cause::ProgramNotFound),
    (&["is not running"], Cause::ContainerNotRunning),
    (&["permission denied"], Cause::PermissionDenied),
    (&["active endpoints", "in use"], Cause::InUse),
];

impl Cause {
    /// The cause that an engine's message names: also that of a container's or a swarm's state.
    pub fn of(message: &str) -> Cause {
        let lower = message.to_lowercase();
        let has = |word: &str| lower.contains(word);
        if let Some((_, number)) = lower.split_once("error setting rlimit type ")
            && let Some(rlimit) = number.split(':').next().and_then(|number| number.trim().parse().ok())
        {
            return Cause::LimitDenied { rlimit };
        }
        if let Some((_, path)) = message.rsplit_once("bind source path does not exist:") {
            return Cause::BindSourceMissing { path: path.trim().to_owned() };
        }
        let known = CAUSES.iter().find(|(words, _)| words.iter().any(|word| lower.contains(word)));
        match known {
            Some((_, cause)) => cause.clone(),
            None if has("network") && (has("not found") || has("attach")) => Cause::NetworkNotAttached,
            None if has("no such file or directory") && has("exec") => Cause::ProgramNotFound,
            None if has("no such file or directory") => Cause::FileNotFound,
            None => Cause::Unknown,
        }
    }
}

/// What registries say to a push without the right to it.
const PUSH_DENIED: [&str; 5] =
    ["unauthorized", "authentication required", "no basic auth", "denied", "forbidden"];

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
        message.contains(program) && message.contains("no such file or directory")
    }

    /// A push that the registry refused, with what is known of the login.
    pub(crate) fn of_push(self, login: bool) -> Error {
        let message = self.to_string();
        let lower = message.to_lowercase();
        match PUSH_DENIED.iter().any(|word| lower.contains(word)) {
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

/// Whether the output of a credential helper means that it has no login; Docker's own program compares it
/// too.
pub(crate) fn means_no_login(output: &str) -> bool {
    output.contains("credentials not found")
}

impl From<bollard::errors::Error> for Error {
    fn from(error: bollard::errors::Error) -> Error {
        match error {
            bollard::errors::Error::DockerResponseServerError { status_code, message } => {
                Error::engine(Some(status_code), &message)
            }
            bollard::errors::Error::DockerStreamError { error } => Error::engine(None, &error),
            // Set for each connection from this constant; those that take longer have a deadline of their
            // own.
            bollard::errors::Error::RequestTimeoutError => {
                Error::answer_timeout(crate::engine::ANSWER_TIMEOUT)
            }
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
    fn causes_of_messages() {
        let cases = [
            ("No such container: x", Cause::NoSuchContainer),
            ("No such image: team/network:not found", Cause::NoSuchImage),
            (
                "Conflict. The container name \"/x\" is already in use by container \"9e0b\". You have to \
                 remove it",
                Cause::NameInUse,
            ),
            ("Bind for 0.0.0.0:2222 failed: port is already allocated", Cause::PortInUse),
            ("This node is already part of a swarm. Use \"docker swarm leave\"", Cause::AlreadyInSwarm),
            ("This node is not part of a swarm", Cause::NotInSwarm),
            ("This node is not a swarm manager. Use \"docker swarm init\"", Cause::NotAManager),
            (
                "error setting rlimit type 8: operation not permitted: unknown",
                Cause::LimitDenied { rlimit: 8 },
            ),
            ("error setting rlimits for ready process", Cause::Unknown),
            (
                "invalid mount config for type \"bind\": bind source path does not exist: /data/a",
                Cause::BindSourceMissing { path: "/data/a".into() },
            ),
            ("could not select device driver \"nvidia\" with capabilities: [[gpu]]", Cause::NoGpu),
            ("exec: \"nvidia-container-cli\": executable file not found in $PATH", Cause::NoGpu),
            ("exec: \"/bin/sh\": stat /bin/sh: no such file or directory", Cause::ProgramNotFound),
            ("open /envdoc/a: no such file or directory", Cause::FileNotFound),
            ("network a has active endpoints", Cause::InUse),
            ("network a not found", Cause::NetworkNotAttached),
            ("listen tcp 0.0.0.0:2377: bind: address already in use", Cause::AddressInUse),
            ("Pool overlaps with other one on this address space", Cause::SubnetOverlap),
        ];
        for (message, cause) in cases {
            assert_eq!(Cause::of(message), cause, "{message}");
        }
    }

    #[test]
    fn a_push_without_the_right_to_it_names_the_login() {
        let denied = Error::engine(None, "denied: requested access to the resource is denied");
        assert!(matches!(denied.of_push(false), Error::PushDenied { login: false, .. }));
        let full = Error::engine(None, "no space left on device");
        assert_eq!(full.clone().of_push(true), full);
    }

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
