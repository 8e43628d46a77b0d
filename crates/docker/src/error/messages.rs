//! What engines, registries and credential helpers say. The only file of the crate that reads their messages.

/// What an engine's message names as the cause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Cause {
    /// Called off, because something else failed or ended first.
    Canceled,
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
    /// No GPUs for the container: the engine knows neither the NVIDIA runtime nor a CDI specification.
    NoGpuRuntime,
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
    /// dockerd cannot connect to containerd.
    NoContainerd,
    /// The image does not have the program, its interpreter or its loader.
    ProgramNotFound,
    /// Another file or directory is missing.
    FileNotFound,
    /// Something still uses the network, volume or image.
    InUse,
    /// The port expects TLS.
    TlsRequired,
    PermissionDenied,
    #[default]
    Unknown,
}

/// What an engine wrote without rejecting a request: into the state of a swarm or a member, or in place of a
/// program's output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineMessage {
    text: String,
    cause: Cause,
}

impl EngineMessage {
    /// From the engine's own text.
    pub fn new(text: &str) -> EngineMessage {
        let text = text.trim().to_owned();
        EngineMessage { cause: Cause::of(&text), text }
    }

    /// What it names as the cause.
    pub fn cause(&self) -> &Cause {
        &self.cause
    }
}

impl std::fmt::Display for EngineMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Causes in the order in which they are looked for: one of the words, all in lower case.
const CAUSES: &[(&[&str], Cause)] = &[
    (&["context canceled"], Cause::Canceled),
    (&["containerd.sock: connect:", "containerd.sock: timeout"], Cause::NoContainerd),
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
    // Docker's text when neither the toolkit's hook nor a CDI specification serves `--gpus`.
    (&["could not select device driver"], Cause::NoGpuRuntime),
    (&["nvidia-container-cli", "unresolvable cdi devices"], Cause::NoGpu),
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
    /// The cause that an engine's message names.
    pub(crate) fn of(message: &str) -> Cause {
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

/// Whether a registry's message means that the login may not push.
pub(super) fn denies_push(message: &str) -> bool {
    let lower = message.to_lowercase();
    PUSH_DENIED.iter().any(|word| lower.contains(word))
}

/// Whether an engine's message means that the image does not contain `program`, or not what loads it.
pub(super) fn lacks(message: &str, program: &str) -> bool {
    message.contains(program) && message.contains("no such file or directory")
}

/// Whether the output of a credential helper means that it has no login; Docker's own program compares it
/// too.
pub(crate) fn means_no_login(output: &str) -> bool {
    output.contains("credentials not found")
}

/// What an engine lists in place of the name of an image that has none: `<none>:<none>`.
const NO_NAME: &str = "<none>";

/// Whether an entry of an engine's list of images is a name.
pub(crate) fn is_image_name(entry: &str) -> bool {
    !entry.contains(NO_NAME)
}

/// What a step of a build is, by the name that BuildKit gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// BuildKit's own, which it calls internal: `[internal] load build definition from Dockerfile`.
    Internal,
    /// BuildKit's own, without that mark: `resolve image config for docker.io/library/debian:12`.
    Preparation,
    /// The image that a stage is built on: `[1/5] FROM docker.io/library/debian:12`.
    Base,
    /// Another instruction of the Dockerfile: `[2/5] RUN apt-get update`.
    Instruction,
    /// What follows the instructions: `exporting to image`.
    Output,
}

impl StepKind {
    /// By the step's name.
    pub fn of(name: &str) -> StepKind {
        match name {
            _ if name.starts_with("[internal]") => StepKind::Internal,
            _ if name.starts_with("copy /context") || name.starts_with("resolve image config") => {
                StepKind::Preparation
            }
            _ if name.starts_with('[') && name.contains("] FROM ") => StepKind::Base,
            _ if name.starts_with('[') => StepKind::Instruction,
            _ => StepKind::Output,
        }
    }

    /// Whether BuildKit added the step, which means nothing to a reader of the Dockerfile.
    pub fn is_added(self) -> bool {
        matches!(self, StepKind::Internal | StepKind::Preparation)
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
            ("could not select device driver \"nvidia\" with capabilities: [[gpu]]", Cause::NoGpuRuntime),
            ("exec: \"nvidia-container-cli\": executable file not found in $PATH", Cause::NoGpu),
            ("exec: \"/bin/sh\": stat /bin/sh: no such file or directory", Cause::ProgramNotFound),
            ("open /envdoc/a: no such file or directory", Cause::FileNotFound),
            ("network a has active endpoints", Cause::InUse),
            ("network a not found", Cause::NetworkNotAttached),
            ("listen tcp 0.0.0.0:2377: bind: address already in use", Cause::AddressInUse),
            (
                "connection error: desc = \"transport: Error while dialing dial unix \
                 /var/run/docker/containerd/containerd.sock: connect: connection refused\": unavailable",
                Cause::NoContainerd,
            ),
            (
                "connection error: desc = \"transport: Error while dialing dial \
                 unix:///var/run/docker/containerd/containerd.sock: timeout\": unavailable",
                Cause::NoContainerd,
            ),
            ("Pool overlaps with other one on this address space", Cause::SubnetOverlap),
        ];
        for (message, cause) in cases {
            assert_eq!(Cause::of(message), cause, "{message}");
        }
    }

    #[test]
    fn recognizes_canceled_build_steps() {
        let message = "failed to solve: process \"/bin/sh -c make\" did not complete: context canceled";
        assert_eq!(Cause::of(message), Cause::Canceled);
        assert_ne!(Cause::of("exit code: 2"), Cause::Canceled);
    }
}
