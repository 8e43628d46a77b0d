//! Names of this machine and its people, and numbers that name one piece of hardware.

use std::sync::LazyLock;

use regex::Regex;

use super::names::{may_be_own_folder, particular, uncommon};
use super::{HIDDEN, Redactor, listed, pattern, replace_between, replace_word};

static HOME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"/(home|users|Users)/([A-Za-z0-9_][A-Za-z0-9._-]*)"));
pub(super) static UUID: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"));
static MAC: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(?:[0-9a-f]{2}:){5,19}[0-9a-f]{2}\b"));
/// `aa-bb-cc-dd-ee-17`, `aabb.ccdd.ee17`
static OTHER_MAC: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:(?:[0-9a-f]{2}-){5}[0-9a-f]{2}|[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4})\b")
});
/// The number of a port or an adapter of InfiniBand.
static PORT_GUID: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)(\b(?:port|node|sys(?:tem)?[_ ]?image|base)[_ ]?guids?\b[:= ]*(?:is )?(?:0x)?)([0-9a-f]{16})\b",
    )
});
static GUID: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(?:0x)?(?:[0-9a-f]{4}:){3}[0-9a-f]{4}\b"));
static SERIAL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(<[a-z_]*serial[a-z_]*>|serial(?: number)?\s*:\s*)([0-9A-Za-z-]{4,})"));

/// Groups that systems and drivers create; others are somebody's.
const GROUPS: &str = "\
    root daemon adm disk sudo wheel users nogroup nobody video render input kvm libvirt lxd docker \
    podman containerd nvidia rdma infiniband slurm munge systemd-network systemd-journal systemd-resolve \
    ssh sshd";

/// The name of a process may be its whole command line; the others are burnt into one GPU.
static GPU_REPORT: LazyLock<Regex> = LazyLock::new(|| pattern(r"<(process_name|pdi|host_id)>([^<]*)</"));

impl Redactor {
    /// The report of `nvidia-smi -q -x`.
    pub(super) fn gpu_report(&mut self, text: &str) -> String {
        self.replace(&GPU_REPORT, text, |_, found| match &found[2] {
            "N/A" => found[0].to_owned(),
            _ => format!("<{}>{HIDDEN}</", &found[1]),
        })
    }

    /// Names, UUIDs, serial numbers, MAC addresses and GUIDs.
    pub(super) fn identifiers(&mut self, technical: bool, text: &str) -> String {
        let hosts = self.hosts_in(technical);
        let text = hosts.iter().fold(text.to_owned(), |text, host| {
            replace_between(&text, host, "host-1", joints(technical, host))
        });
        let text = self.peers(&text);
        let text = self.people(technical, &text);
        let text = self.replace(&UUID, &text, |this, found| {
            format!("00000000-0000-0000-0000-{:012}", this.number("uuid", &found[0]))
        });
        let text = self.replace(&SERIAL, &text, |this, found| {
            format!("{}{:010}", &found[1], this.number("serial", &found[2]))
        });
        let text = self.replace(&MAC, &text, |this, found| {
            let number = this.number("mac", &found[0]);
            let start = "02:".repeat(found[0].split(':').count() - 2);
            format!("{start}{:02x}:{:02x}", number >> 8 & 0xff, number & 0xff)
        });
        let text = self.replace(&OTHER_MAC, &text, |this, found| {
            let number = this.number("mac", &found[0].replace('-', ":"));
            match found[0].contains('-') {
                true => format!("02-00-00-00-{:02x}-{:02x}", number >> 8 & 0xff, number & 0xff),
                false => format!("0200.0000.{:04x}", number & 0xffff),
            }
        });
        let text = self.replace(&PORT_GUID, &text, |this, found| {
            format!("{}020000000000{:04x}", &found[1], this.number("guid", &found[2]))
        });
        self.replace(&GUID, &text, |this, found| {
            format!("0200:0000:0000:{:04x}", this.number("guid", &found[0]))
        })
    }

    /// The names of this machine that can be replaced: in a technical text only particular ones, as
    /// `node-17`.
    fn hosts_in(&self, technical: bool) -> Vec<String> {
        let wanted = if technical { particular } else { uncommon };
        self.own.iter().filter(|name| wanted(name)).cloned().collect()
    }

    /// Other machines of /etc/hosts whose names are particular.
    fn peers(&mut self, text: &str) -> String {
        self.peers.clone().iter().fold(text.to_owned(), |text, peer| {
            let stand_in = format!("peer-{}", self.number("peer", peer));
            replace_word(&text, peer, &stand_in)
        })
    }

    /// Home folders and user names. A user's own name is also replaced where it is a folder:
    /// `/scratch/alice`.
    fn people(&mut self, technical: bool, text: &str) -> String {
        let text =
            self.replace(&HOME, text, |this, found| format!("/{}/{}", &found[1], this.user(&found[2])));
        self.users.clone().iter().fold(text, |text, user| {
            let stand_in = self.user(user);
            let text = match may_be_own_folder(user) {
                true => replace_folder(&text, user, &stand_in),
                false => text,
            };
            let anywhere = if technical { particular(user) } else { uncommon(user) };
            if anywhere { replace_between(&text, user, &stand_in, joints(technical, user)) } else { text }
        })
    }

    pub(super) fn user(&mut self, name: &str) -> String {
        match name.starts_with("user-") && name[5..].bytes().all(|byte| byte.is_ascii_digit()) {
            true => name.to_owned(),
            false => format!("user-{}", self.number("user", name)),
        }
    }

    /// `docker:x:998:alice,bob`
    pub(super) fn group(&mut self, text: &str) -> String {
        let mut lines = Vec::new();
        for line in text.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            let [name, _, gid, members] = fields[..] else { continue };
            let Ok(gid) = gid.parse::<u32>() else { continue };
            let name = match listed(GROUPS, name) {
                true => name.to_owned(),
                false if (1000..65534).contains(&gid) => self.user(name),
                false => format!("group-{}", self.number("group", name)),
            };
            let members: Vec<String> =
                members.split(',').filter(|name| !name.is_empty()).map(|name| self.user(name)).collect();
            lines.push(format!("{name}:x:{gid}:{}", members.join(",")));
        }
        lines.join("\n") + "\n"
    }

    /// `127.0.1.1 node-17.lab node-17`: names that are not the machine's own or the system's get stand-ins.
    pub(super) fn hosts_file(&mut self, text: &str) -> String {
        let own = self.own.clone();
        let mut lines = Vec::new();
        for line in text.lines() {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(address) = words.next() else { continue };
            let bare = address.split('%').next().unwrap_or_default();
            let address = if bare.parse::<std::net::IpAddr>().is_ok() { address } else { HIDDEN };
            let names = words.map(|name| match name {
                _ if own.iter().any(|host| host == name) => "host-1".to_owned(),
                _ if is_system_host(name) => name.to_owned(),
                _ => format!("peer-{}", self.number("peer", name)),
            });
            lines.push(format!("{address}\t{}", names.collect::<Vec<_>>().join(" ")));
        }
        lines.join("\n") + "\n"
    }
}

/// The configuration space of a PCI Express device, in hexadecimal, with zeros in its serial number: network
/// adapters have their MAC address there (extended capability 3).
pub(super) fn without_serial_number(hex: &str) -> String {
    let mut out = hex.to_owned();
    let mut at = 0x100;
    // There is room for no more capabilities; a ring ends, too.
    for _ in 0..480 {
        let Some(header) =
            hex.get(at * 2..at * 2 + 8).and_then(|digits| u32::from_str_radix(digits, 16).ok())
        else {
            break;
        };
        let header = header.swap_bytes();
        let number = at * 2 + 8..(at * 2 + 24).min(hex.len());
        if header & 0xffff == 3 && hex.is_char_boundary(number.end) && number.start <= number.end {
            out.replace_range(number.clone(), &"0".repeat(number.len()));
        }
        at = (header >> 20) as usize;
        if at < 0x100 {
            break;
        }
    }
    out
}

/// Replaces `name` where it is a whole part of a path: `/scratch/alice`.
fn replace_folder(text: &str, name: &str, by: &str) -> String {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let mut parts = text.split('/');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for rest in parts {
        out.push('/');
        match rest.strip_prefix(name).filter(|rest| !rest.starts_with(part)) {
            Some(rest) => out.extend([by, rest]),
            None => out.push_str(rest),
        }
    }
    out
}

/// What joins a name to others: a long one is found in `/dev/mapper/gpunode--vg`, too.
fn joints(technical: bool, name: &str) -> &'static str {
    if technical || name.len() < 6 { "-_" } else { "" }
}

/// Names that every /etc/hosts has.
fn is_system_host(name: &str) -> bool {
    const NAMES: &str = "\
    localhost ip6-localhost ip6-loopback ip6-allnodes ip6-allrouters ip6-localnet ip6-mcastprefix \
    localhost.localdomain localhost4 localhost6 localhost4.localdomain4 localhost6.localdomain6 \
    host.docker.internal";
    listed(NAMES, name)
}

/// The names of other machines in /etc/hosts that no word of a text is by chance: `storage-3`,
/// `nas.corp.example`.
pub(super) fn peers_in(hosts: &str, own: &[String]) -> Vec<String> {
    let names = hosts.lines().flat_map(|line| {
        line.split('#').next().unwrap_or_default().split_whitespace().skip(1).collect::<Vec<_>>()
    });
    let wanted = |name: &&str| {
        particular(name) && !is_system_host(name) && !name.starts_with("peer-") && *name != "host-1"
    };
    let mut found: Vec<String> =
        names.filter(wanted).map(str::to_owned).filter(|name| !own.contains(name)).collect();
    found.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
    found.dedup();
    found
}

/// Users of this machine: who runs envdoc, who ran sudo, and whom /etc/group names.
pub(super) fn users_in(environment: &str, group: &str) -> Vec<String> {
    let set = |name: &str| environment.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let home = set("HOME").and_then(|home| home.strip_prefix("/home/")).map(|home| {
        let name = home.split('/').next();
        name.unwrap_or_default()
    });
    let own = [set("USER"), set("SUDO_USER"), set("LOGNAME"), home].into_iter().flatten();
    let named = group.lines().flat_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, gid, members] = fields[..] else { return Vec::new() };
        let own = gid.parse::<u32>().is_ok_and(|gid| (1000..65534).contains(&gid)) && !listed(GROUPS, name);
        own.then_some(name).into_iter().chain(members.split(',')).collect()
    });
    let mut users: Vec<String> = own.chain(named).map(|name| name.trim().to_owned()).collect();
    users.retain(|user| !matches!(user.as_str(), "" | "root" | "ubuntu" | "nobody") && user.len() > 1);
    users.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
    users.dedup();
    users
}
