//! What the answer to a question may reveal. Decides what a redacted snapshot keeps of it.

/// How private a reading is. Everything that is not known to be less is [`Sensitivity::Private`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sensitivity {
    /// Versions, states, sizes, names of devices and files: identifiers in it are replaced, the rest stays.
    Technical,
    /// Also holds addresses and host names.
    Network,
    /// Free text or settings of a service: also holds credentials.
    Settings,
    /// `NAME=value` a line: a value stays only where its name is known to hold nothing private.
    Variables,
    /// pip's and uv's configuration: a value stays only where its key is known.
    Packages,
    /// A systemd unit: only what starts the service stays.
    Unit,
    /// dockerd's `daemon.json`.
    DaemonJson,
    /// `config.json` of the docker program: logins to registries. Only the name of the context stays.
    DockerConfig,
    /// The kubelet's configuration: only its cgroup driver stays.
    Kubelet,
    /// The answer of a container engine.
    Engine,
    /// Not known: nothing of it stays.
    Private,
}

use Sensitivity::{
    DaemonJson, DockerConfig, Engine, Kubelet, Network, Packages, Private, Settings, Technical, Unit,
    Variables,
};

/// Questions by their first word; the answers hold no text of a person.
const TECHNICAL_KINDS: &[&str] = &["hex", "list", "find", "stat", "space", "program", "clock"];

/// Programs by the beginning of their command line.
const PROGRAMS: &[(&str, Sensitivity)] = &[
    ("nvidia-smi ", Technical),
    ("nvidia-ctk ", Technical),
    ("nv-fabricmanager ", Technical),
    ("nvcc ", Technical),
    ("modinfo ", Technical),
    ("dkms ", Technical),
    ("dpkg-query ", Technical),
    ("rpm ", Technical),
    ("pacman ", Technical),
    ("pgrep ", Technical),
    ("systemctl ", Technical),
    ("timedatectl ", Technical),
    ("chronyc ", Technical),
    ("ldconfig ", Technical),
    ("dmesg", Network),
    ("journalctl ", Network),
];

/// Files by path: `*` at an end stands for anything. The first that matches counts.
const FILES: &[(&str, Sensitivity)] = &[
    ("/etc/environment", Variables),
    ("*/nccl.conf", Variables),
    ("*/.nccl.conf", Variables),
    ("*/pip.conf", Packages),
    ("*/uv.toml", Packages),
    ("*/daemon.json", DaemonJson),
    ("*/.docker/config.json", DockerConfig),
    ("*/meta.json", Settings),
    ("*.service", Unit),
    ("*.socket", Unit),
    ("/etc/systemd/*.conf", Unit),
    ("/run/systemd/*.conf", Unit),
    ("/lib/systemd/*.conf", Unit),
    ("/usr/lib/systemd/*.conf", Unit),
    ("/var/lib/kubelet/config.yaml", Kubelet),
    ("/proc/cmdline", Settings),
    ("*/cmdline", Settings),
    ("/proc/net/*", Network),
    ("/proc/sys/kernel/hostname", Network),
    ("/proc/*", Technical),
    ("/sys/*", Technical),
    ("/dev/kmsg", Network),
    ("/etc/hosts", Network),
    ("/etc/hostname", Network),
    ("/etc/resolv.conf", Network),
    ("/etc/group", Network),
    ("/etc/ufw/*", Network),
    ("/etc/default/ufw", Network),
    ("*/firewalld/*", Network),
    ("/etc/nvidia-container-runtime/*", Settings),
    ("*/cdi/*", Technical),
    ("/etc/os-release", Technical),
    ("/etc/nsswitch.conf", Technical),
    ("/etc/ld.so.conf*", Technical),
    ("*/modprobe.d/*", Technical),
    ("*/dkms/*", Technical),
    ("/run/reboot-required*", Technical),
    ("/run/systemd/container", Technical),
    ("/var/lib/dpkg/status", Technical),
    ("/var/lib/pacman/*", Technical),
    ("*/docker.pid", Technical),
    ("*/version.json", Technical),
    ("*/version.txt", Technical),
    ("*/version", Technical),
    ("*/version.py", Technical),
    ("*/METADATA", Technical),
    ("*/pyvenv.cfg", Technical),
    ("*/.python-version", Technical),
    ("*/EXTERNALLY-MANAGED", Technical),
    ("*/conda-meta/*", Technical),
    ("*/bin/python*", Technical),
    ("*/shims/python*", Technical),
    ("*/lib/*.so*", Technical),
    ("/usr/include/*", Technical),
    ("/usr/lib/*", Technical),
];

impl Sensitivity {
    /// By the text of the question ([`crate::Ask`]'s `Display`), which is what a snapshot keeps.
    pub(crate) fn of(question: &str) -> Sensitivity {
        let (kind, rest) = question.split_once(' ').unwrap_or((question, ""));
        match kind {
            "environment" => Variables,
            "engine" => Engine,
            "read" => first(FILES, |pattern| matches(pattern, rest)),
            "run" => first(PROGRAMS, |start| program(rest).starts_with(start)),
            kind if TECHNICAL_KINDS.contains(&kind) => Technical,
            _ => Private,
        }
    }
}

fn first(table: &[(&str, Sensitivity)], matches: impl Fn(&str) -> bool) -> Sensitivity {
    table.iter().find(|(pattern, _)| matches(pattern)).map_or(Private, |(_, sensitivity)| *sensitivity)
}

/// The command line with the program's directory left out.
fn program(command: &str) -> &str {
    let end = command.find(' ').unwrap_or(command.len());
    let start = command[..end].rfind('/').map_or(0, |slash| slash + 1);
    &command[start..]
}

fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((start, rest)) => match rest.split_once('*') {
            None => path.len() >= start.len() + rest.len() && path.starts_with(start) && path.ends_with(rest),
            Some((middle, "")) if start.is_empty() => path.contains(middle),
            Some(_) => false,
        },
    }
}

/// Parts of a name (between `_`, `-`, `.`, or where a capital begins a word) that say that the value is a
/// credential.
const WHOLE_PARTS: &[&str] =
    &["AUTH", "BEARER", "COOKIE", "CREDS", "DSN", "PASS", "PASSWD", "PAT", "PSK", "PW", "PWD"];
/// The same, anywhere in the name.
const ANYWHERE: &[&str] = &[
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "SECRET",
    "CREDENTIAL",
    "APIKEY",
    "API_KEY",
    "ACCESS_KEY",
    "AUTHTOK",
];

/// Whether a variable, an option or a key of this name holds a credential.
pub(crate) fn is_secret(name: &str) -> bool {
    let mut words = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for c in name.chars() {
        if c.is_ascii_uppercase() && before.is_ascii_lowercase() {
            words.push('_');
        }
        words.push(if ['-', '.'].contains(&c) { '_' } else { c.to_ascii_uppercase() });
        before = c;
    }
    let words = words.replace("TOKENS", "").replace("TOKENIZ", "");
    let mut parts = words.split('_');
    ANYWHERE.iter().any(|word| words.contains(word))
        || parts.clone().any(|part| WHOLE_PARTS.contains(&part))
        // The values of `num_key_value_heads` and `token_type_ids` are none.
        || parts
            .rfind(|part| !part.bytes().all(|byte| byte.is_ascii_digit()))
            .is_some_and(|last| last == "KEY" || last.ends_with("TOKEN"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_private() {
        for (question, expected) in [
            ("read /srv/notes.txt", Private),
            ("run cat /etc/shadow", Private),
            ("ask something", Private),
            ("read /root/.docker/config.json", DockerConfig),
            ("read /root/.config/pip/pip.conf", Packages),
            ("read /etc/systemd/system/docker.service.d/proxy.conf", Unit),
            ("read /proc/1234/cmdline", Settings),
            ("read /sys/bus/pci/devices/0000:41:00.0/vendor", Technical),
            ("read /etc/cdi/nvidia.yaml", Technical),
            ("run /usr/bin/nvidia-smi -q -x", Technical),
            ("run dmesg", Network),
            ("environment", Variables),
            ("clock", Technical),
        ] {
            assert_eq!(Sensitivity::of(question), expected, "{question}");
        }
    }

    #[test]
    fn names_of_credentials() {
        for name in [
            "DOCKER_PASS",
            "DOCKER_PWD",
            "DOCKER_PAT",
            "NVIDIA_KEY",
            "DOCKER_AUTH_CONFIG",
            "AWS_SECRET_ACCESS_KEY",
            "AccountKey",
            "clientSecret",
            "X-Api-Key",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "PATH",
            "NCCL_IB_PKEY",
            "PIP_CERT",
            "SSL_CERT_FILE",
            "UCX_TLS",
            "max_new_tokens",
            "tokenizer",
            "num_key_value_heads",
            "KeyError",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
