//! How services are started: units of systemd, and command lines of processes.

use super::kernel::quoted_words;
use super::{HIDDEN, Redactor, listed};
use crate::live;

/// Flags of dockerd whose values say nothing of anybody. Paths and addresses in them are replaced as
/// everywhere.
pub(super) const FLAGS: &str = "\
    allow-direct-routing add-runtime bip bip6 bridge cdi-spec-dir cgroup-parent config-file containerd \
    containerd-namespace containerd-plugins-namespace cpu-rt-period cpu-rt-runtime cri-containerd \
    data-root debug default-address-pool default-cgroupns-mode default-gateway default-gateway-v6 \
    default-ipc-mode default-runtime default-shm-size default-stop-timeout default-ulimit dns dns-opt \
    exec-opt exec-root experimental feature firewall-backend fixed-cidr fixed-cidr-v6 graph group host \
    host-gateway-ip icc init init-path ip ip-forward ip-forward-no-drop ip-masq ip6tables iptables ipv6 \
    live-restore log-driver log-format log-level max-concurrent-downloads max-concurrent-uploads \
    max-download-attempts metrics-addr min-api-version mtu network-control-plane-mtu \
    network-diagnostic-port no-new-privileges oom-score-adjust pidfile raw-logs restart rootless \
    seccomp-profile selinux-enabled shutdown-timeout storage-driver storage-opt \
    swarm-default-advertise-addr tls tlscacert tlscert tlskey tlsverify userland-proxy \
    userland-proxy-path userns-remap validate H D G b g l p s";
/// Flags whose values name machines.
const HOST_FLAGS: &str = "\
    allow-nondistributable-artifacts dns-search http-proxy https-proxy insecure-registry no-proxy \
    registry-mirror";
/// Flags that hold what somebody wrote.
const HIDDEN_FLAGS: &str = "\
    api-cors-header authorization-plugin cluster-advertise cluster-store cluster-store-opt \
    default-network-opt label log-opt node-generic-resource";
/// Flags without a value: a word behind them belongs to none.
const SWITCHES: &str = "\
    allow-direct-routing debug experimental icc init ip-forward ip-forward-no-drop ip-masq ip6tables \
    iptables ipv6 live-restore no-new-privileges raw-logs rootless selinux-enabled tls tlsverify \
    userland-proxy validate D";
/// Words of the commands that reload and stop services.
const WORDS: &str = "-s HUP -HUP TERM -TERM QUIT -- modprobe overlay br_netfilter";

/// Programs that start or precede services of engines.
const PROGRAMS: &str = "\
    dockerd dockerd-rootless.sh docker docker-proxy docker-init docker-containerd containerd \
    containerd-shim-runc-v2 \
    podman rootlesskit slirp4netns nvidia-container-runtime nvidia-persistenced nv-fabricmanager nvidia-smi \
    nvidia-ctk nvidia-cdi-hook nvidia-container-cli sh bash dash env kill pkill rm mkdir chmod chown cp \
    ln mount umount \
    modprobe sysctl systemctl sleep test true false echo cat ip iptables nft python python2 python3 perl \
    java node \
    systemd systemd-run udevadm cri-dockerd crio kubelet snap snap-confine wait-for-it.sh torchrun slurmd";
/// Names of drop-in files that packages and manuals use, without the number in front and the end.
const DROP_INS: &str = "\
    override http-proxy https-proxy proxy env environment limits limit nvidia nvidia-container-runtime \
    docker \
    service options dockerd local hosts tcp mount flannel kubernetes kubeadm cri gpu cgroup dns execstart \
    custom \
    startup_options docker-options containerd storage data-root data network mtu rootless delegate a b x \
    docker-dns memlock ulimit ulimits cdi";

impl Redactor {
    /// A question with a stand-in for the name of a unit's drop-in file.
    pub(super) fn drop_in(&mut self, ask: &str) -> String {
        let Some((folder, name)) = ask.rsplit_once('/').filter(|(folder, _)| folder.ends_with(".service.d"))
        else {
            return ask.to_owned();
        };
        format!("{folder}/{}", self.drop_in_name(name))
    }

    pub(super) fn drop_in_name(&mut self, file: &str) -> String {
        let Some(name) = file.strip_suffix(".conf") else { return file.to_owned() };
        let bare = name.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '_');
        match listed(DROP_INS, bare) || bare.is_empty() || bare.contains("drop-in-") {
            true => file.to_owned(),
            false => {
                // Files are read in the order of their names: how they begin stays.
                let start = &name[..name.len() - bare.len()];
                let start = if start.len() < 5 { start } else { "" };
                let first = bare.chars().next().filter(char::is_ascii_alphabetic).unwrap_or('x');
                format!("{start}{first}-drop-in-{}.conf", self.number("drop-in", bare))
            }
        }
    }

    /// The words of a command line, the program first.
    fn command(&mut self, words: &[String]) -> Vec<String> {
        let Some((program, rest)) = words.split_first() else { return Vec::new() };
        let bare = program.trim_start_matches(['-', '@', '+', '!', ':']);
        let is_name = bare.len() < 200
            && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._+-".contains(&byte));
        let known = listed(PROGRAMS, bare.rsplit('/').next().unwrap_or(bare));
        let mut shown = vec![if is_name && known { program.clone() } else { HIDDEN.to_owned() }];
        if bare.rsplit('/').next().is_some_and(|name| name.contains("dockerd")) {
            shown.extend(self.flags(rest));
        } else {
            shown.extend(rest.iter().map(|word| match listed(WORDS, word) || is_variable(word) {
                true => word.clone(),
                false => HIDDEN.to_owned(),
            }));
        }
        shown
    }

    /// Arguments of dockerd.
    fn flags(&mut self, words: &[String]) -> Vec<String> {
        let mut shown = Vec::new();
        // The flag whose value the next word is.
        let mut open: Option<String> = None;
        for word in words {
            let (dashes, flag) = match word.strip_prefix("--") {
                Some(flag) => ("--", flag),
                None => ("-", word.strip_prefix('-').unwrap_or_default()),
            };
            if flag.is_empty() {
                let value = match open.take() {
                    Some(flag) => self.flag_value(&flag, word),
                    None if is_variable(word) => word.clone(),
                    None => HIDDEN.to_owned(),
                };
                shown.push(value);
                continue;
            }
            let short = dashes == "-";
            let end = if short { flag.chars().next().map_or(0, char::len_utf8) } else { flag.len() };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) if !short => (name, Some(value)),
                _ => (&flag[..end], Some(&flag[end..]).filter(|value| !value.is_empty())),
            };
            let known = [FLAGS, HOST_FLAGS, HIDDEN_FLAGS].iter().any(|list| listed(list, name));
            open = (known && value.is_none() && !listed(SWITCHES, name)).then(|| name.to_owned());
            shown.push(match (known, value) {
                (false, _) => HIDDEN.to_owned(),
                (true, None) => word.clone(),
                (true, Some(value)) if short => {
                    let (equals, value) = value.strip_prefix('=').map_or(("", value), |value| ("=", value));
                    format!("-{name}{equals}{}", self.flag_value(name, value))
                }
                (true, Some(value)) => format!("--{name}={}", self.flag_value(name, value)),
            });
        }
        shown
    }

    fn flag_value(&mut self, flag: &str, value: &str) -> String {
        let bare = value.trim_matches(['"', '\'']);
        match flag {
            _ if listed(FLAGS, flag) => value.to_owned(),
            _ if listed(HOST_FLAGS, flag) => self.server_setting(bare),
            "log-opt" if ["max-size=", "max-file=", "mode="].iter().any(|key| bare.starts_with(key)) => {
                value.to_owned()
            }
            "label" => format!("label-{}", self.number("label", bare)),
            _ => HIDDEN.to_owned(),
        }
    }

    /// `/proc/PID/cmdline`: words that end with NUL.
    pub(super) fn process(&mut self, text: &str) -> String {
        let words: Vec<String> =
            text.split('\0').filter(|word| !word.is_empty()).map(str::to_owned).collect();
        self.command(&words).iter().map(|word| format!("{word}\0")).collect()
    }

    /// The sections of a unit, what it starts, and its variables.
    pub(super) fn unit(&mut self, text: &str) -> String {
        let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
        let mut lines = Vec::new();
        for line in joined.lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                if ["Unit", "Service", "Socket", "Install"].contains(&section) {
                    lines.push(line.to_owned());
                }
                continue;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            let value = match key.trim() {
                "ExecStart" | "ExecStartPre" | "ExecStartPost" | "ExecReload" | "ExecStop"
                | "ExecStopPost" | "ExecCondition" => self.command(&quoted_words(value)).join(" "),
                "Environment" => self.unit_variables(value),
                "ListenStream" if is_socket(value.trim()) => value.trim().to_owned(),
                "ListenStream" => HIDDEN.to_owned(),
                _ => continue,
            };
            lines.push(format!("{}={value}", key.trim()));
        }
        lines.join("\n") + "\n"
    }

    /// `"HTTP_PROXY=http://proxy:3128" NCCL_DEBUG=INFO`
    fn unit_variables(&mut self, value: &str) -> String {
        let words = quoted_words(value);
        let shown = words.iter().map(|word| {
            let quote = word.chars().next().filter(|c| ['"', '\''].contains(c));
            let bare = word.trim_matches(['"', '\'']);
            let shown = bare
                .split_once('=')
                .filter(|(name, _)| is_known_name(name))
                .map(|(name, value)| match self.variable(name, value) {
                    Some(value) => format!("{name}={value}"),
                    None => format!("{name}={HIDDEN}"),
                })
                .unwrap_or_else(|| HIDDEN.to_owned());
            quote.map_or_else(|| shown.clone(), |quote| format!("{quote}{shown}{quote}"))
        });
        shown.collect::<Vec<_>>().join(" ")
    }
}

/// The name of a variable that envdoc looks at.
fn is_known_name(name: &str) -> bool {
    let known = |known: &&str| name == *known || known.ends_with('_') && name.starts_with(known);
    live::VARIABLES.iter().any(known) && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
}

/// `$DOCKER_OPTS`, `${MAINPID}`: what it holds is not in the text.
fn is_variable(word: &str) -> bool {
    let name = word.strip_prefix('$').map(|name| name.trim_start_matches('{').trim_end_matches('}'));
    name.is_some_and(|name| {
        (3..40).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    })
}

fn is_socket(path: &str) -> bool {
    ["/docker.sock", "/containerd.sock", "/podman.sock"].iter().any(|name| path.ends_with(name))
}
