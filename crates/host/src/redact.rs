//! Takes out of a snapshot what names people, machines and networks, and puts stable stand-ins in its place.
//!
//! The same original always gets the same stand-in within a snapshot, addresses of one network stay in one network, and what
//! judgements rest on (versions, states, sizes, loopback) stays. Replaced are: host names, user names and home folders, UUIDs,
//! serial numbers, MAC addresses and GUIDs, IPv4 and IPv6 addresses, host names in URLs, credentials, an engine's and a swarm's ids.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use super::Missing;
use super::snapshot::{Kept, Snapshot};

/// What a credential becomes.
const HIDDEN: &str = "***";

/// The same snapshot without what names people and machines.
pub fn redact(mut snapshot: Snapshot) -> Snapshot {
    let mut redactor = Redactor::new(&snapshot);
    let readings = std::mem::take(&mut snapshot.readings);
    for (ask, kept) in readings {
        let change = |redactor: &mut Redactor, text: String| redactor.text(&ask, &text);
        let kept = match kept {
            Kept::Text(text) => Kept::Text(change(&mut redactor, text)),
            Kept::Ran { status, stdout, stderr } => Kept::Ran {
                status,
                stdout: change(&mut redactor, stdout),
                stderr: change(&mut redactor, stderr),
            },
            Kept::Failed(Missing { kind, detail }) => {
                Kept::Failed(Missing { kind, detail: change(&mut redactor, detail) })
            }
            other => other,
        };
        snapshot.readings.insert(redactor.names(&ask), kept);
    }
    snapshot.redacted = true;
    snapshot
}

/// A text of logs without what names people and machines: the same stand-ins as in snapshots, and `host-N` for each of `nodes`.
pub fn log(text: &str, nodes: &[String]) -> String {
    let mut redactor =
        Redactor { own: Vec::new(), hosts: Vec::new(), users: Vec::new(), stand_ins: HashMap::new() };
    let mut nodes: Vec<(usize, &String)> = nodes
        .iter()
        .enumerate()
        .filter(|(_, name)| telling(name) && name.parse::<Ipv4Addr>().is_err())
        .collect();
    // A name that is the start of another is replaced after it.
    nodes.sort_by_key(|(_, name)| std::cmp::Reverse(name.len()));
    let text = nodes.iter().fold(text.to_owned(), |text, (number, name)| {
        replace_word(&text, name, &format!("host-{}", number + 1))
    });
    redactor.text("docker logs", &text)
}

struct Redactor {
    /// Names of this machine, longest first.
    own: Vec<String>,
    /// Those of them that are safe to replace wherever they stand as a word.
    hosts: Vec<String>,
    /// Users whose home folders are seen.
    users: Vec<String>,
    stand_ins: HashMap<(&'static str, String), usize>,
}

/// Readings in which four numbers with dots are an address and not a version, and host names stand alone.
const ADDRESSES: &[&str] = &[
    "/proc/net/",
    "/etc/hosts",
    "resolv.conf",
    "engine ",
    "environment",
    "daemon.json",
    "docker",
    "cmdline",
    "/dev/kmsg",
    "journalctl",
    "/etc/ufw",
    "firewalld",
    "pip",
    "uv.toml",
    "kernel/hostname",
    "/etc/hostname",
    "nccl.conf",
];

fn pattern(text: &str) -> Regex {
    #[expect(clippy::unwrap_used, reason = "the patterns below are constants, compiled in a test")]
    Regex::new(text).unwrap()
}

static HOME: LazyLock<Regex> = LazyLock::new(|| pattern(r"/home/([A-Za-z0-9_][A-Za-z0-9._-]*)"));
static UUID: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"));
static MAC: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(?:[0-9a-f]{2}:){5,19}[0-9a-f]{2}\b"));
static GUID: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(?:0x)?(?:[0-9a-f]{4}:){3}[0-9a-f]{4}\b"));
static SERIAL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(<[a-z_]*serial[a-z_]*>|serial(?: number)?\s*:\s*)([0-9A-Za-z-]{4,})"));
static CREDENTIALS: LazyLock<Regex> = LazyLock::new(|| pattern(r"://[^/@\s]+@"));
static URL_HOST: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(https?://(?:\*\*\*@)?)([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)"));
static IPV4: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b"));
static IPV6: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}"));
static IF_INET6: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?im)^[0-9a-f]{32}\b"));

impl Redactor {
    fn new(snapshot: &Snapshot) -> Self {
        let text = |ask: &str| match snapshot.readings.get(ask) {
            Some(Kept::Text(text)) => text.trim().to_owned(),
            _ => String::new(),
        };
        let full = [text("read /proc/sys/kernel/hostname"), text("read /etc/hostname")];
        let mut own: Vec<String> =
            full.iter().flat_map(|name| [name.clone(), short(name).to_owned()]).collect();
        own.retain(|name| !name.is_empty() && !name.starts_with("localhost"));
        own.sort_by_key(|name| std::cmp::Reverse(name.len()));
        own.dedup();
        let hosts = own.iter().filter(|name| telling(name)).cloned().collect();
        let mut users: Vec<String> = text("environment")
            .lines()
            .filter_map(|line| line.strip_prefix("USER=").or_else(|| line.strip_prefix("SUDO_USER=")))
            .map(str::to_owned)
            .collect();
        users.retain(|user| user != "root" && !user.is_empty());
        Redactor { own, hosts, users, stand_ins: HashMap::new() }
    }

    /// The number of an original within its kind, from 1, in the order in which originals are met.
    fn number(&mut self, kind: &'static str, original: &str) -> usize {
        let next = self.stand_ins.keys().filter(|(known, _)| *known == kind).count() + 1;
        *self.stand_ins.entry((kind, original.to_ascii_lowercase())).or_insert(next)
    }

    fn replace(
        &mut self,
        regex: &Regex,
        text: &str,
        mut by: impl FnMut(&mut Self, &Captures<'_>) -> String,
    ) -> String {
        regex.replace_all(text, |captures: &Captures<'_>| by(self, captures)).into_owned()
    }

    fn text(&mut self, ask: &str, text: &str) -> String {
        let mut text = match ask {
            "environment" => self.environment(text),
            "read /etc/group" => self.group(text),
            "read /proc/net/route" => self.route(text),
            "read /proc/sys/kernel/hostname" | "read /etc/hostname" if !text.trim().is_empty() => {
                "host-1\n".to_owned()
            }
            "read /etc/hosts" => self.hosts_file(text),
            _ if ask.starts_with("engine ") => self.engine(text),
            _ => text.to_owned(),
        };
        if ask == "read /proc/net/if_inet6" {
            text = self.replace(&IF_INET6, &text, |this, found| this.hexadecimal_ipv6(&found[0]));
        }
        text = self.names(&text);
        text = self.replace(&UUID, &text, |this, found| {
            format!("00000000-0000-0000-0000-{:012}", this.number("uuid", &found[0]))
        });
        text = self.replace(&SERIAL, &text, |this, found| {
            format!("{}{:010}", &found[1], this.number("serial", &found[2]))
        });
        text = self.replace(&MAC, &text, |this, found| {
            let number = this.number("mac", &found[0]);
            let start = "02:".repeat(found[0].split(':').count() - 2);
            format!("{start}{:02x}:{:02x}", number >> 8 & 0xff, number & 0xff)
        });
        text = self.replace(&GUID, &text, |this, found| {
            format!("0200:0000:0000:{:04x}", this.number("guid", &found[0]))
        });
        text = CREDENTIALS.replace_all(&text, format!("://{HIDDEN}@")).into_owned();
        if ADDRESSES.iter().any(|place| ask.contains(place)) {
            text = self.addresses(&text);
        }
        text
    }

    /// Host and user names, wherever they stand; also in questions.
    fn names(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for host in &self.hosts {
            text = replace_word(&text, host, "host-1");
        }
        let text = self.replace(&HOME, &text, |this, found| format!("/home/{}", this.user(&found[1])));
        self.users.clone().iter().filter(|user| telling(user)).fold(text, |text, user| {
            let stand_in = self.user(user);
            replace_word(&text, user, &stand_in)
        })
    }

    fn user(&mut self, name: &str) -> String {
        format!("user-{}", self.number("user", name))
    }

    fn addresses(&mut self, text: &str) -> String {
        let text = self.replace(&URL_HOST, text, |this, found| match found[2].parse::<Ipv4Addr>() {
            Ok(_) => found[0].to_owned(),
            Err(_) => format!("{}server-{}.example", &found[1], this.number("url", &found[2])),
        });
        let text = self.replace(&IPV4, &text, |this, found| match found[0].parse::<Ipv4Addr>() {
            Ok(address) => this.ipv4(address).to_string(),
            Err(_) => found[0].to_owned(),
        });
        self.replace(&IPV6, &text, |this, found| match found[0].parse::<Ipv6Addr>() {
            Ok(address) if !address.is_loopback() && !address.is_unspecified() => {
                this.ipv6(address).to_string()
            }
            _ => found[0].to_owned(),
        })
    }

    /// The first two numbers become 10.N; the last two stay, so that what was in one network, of whatever mask from /16 on, is
    /// in one network still.
    fn ipv4(&mut self, address: Ipv4Addr) -> Ipv4Addr {
        let [a, b, c, d] = address.octets();
        let special = address.is_loopback() || address.is_unspecified() || a >= 224 || (a == 169 && b == 254);
        // Docker's own default bridge says nothing about anybody.
        if special || (a == 172 && b == 17) {
            return address;
        }
        if (b, c, d) == (0, 0, 0) {
            return Ipv4Addr::new(10, 0, 0, 0);
        }
        let network = self.number("ipv4", &format!("{a}.{b}"));
        Ipv4Addr::new(10, (network & 0xff) as u8, c, d)
    }

    fn ipv6(&mut self, address: Ipv6Addr) -> Ipv6Addr {
        let number = u16::try_from(self.number("ipv6", &address.to_string())).unwrap_or(u16::MAX);
        let (first, second) =
            if address.segments()[0] & 0xffc0 == 0xfe80 { (0xfe80, 0) } else { (0x2001, 0xdb8) };
        Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, number)
    }

    /// `/proc/net/if_inet6` writes addresses as 32 hexadecimal digits.
    fn hexadecimal_ipv6(&mut self, digits: &str) -> String {
        match u128::from_str_radix(digits, 16).map(Ipv6Addr::from) {
            Ok(address) if !address.is_loopback() => format!("{:032x}", u128::from(self.ipv6(address))),
            _ => digits.to_owned(),
        }
    }

    /// `/proc/net/route` writes addresses as 8 hexadecimal digits in the machine's byte order:
    /// `eth0 00000000 0112000A 0003 0 0 0 00000000 0 0 0`
    fn route(&mut self, text: &str) -> String {
        let mut lines = Vec::new();
        for line in text.lines() {
            let mut fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
            for field in fields.iter_mut().skip(1).take(2) {
                if let (Ok(address), true) = (u32::from_str_radix(field, 16), field.len() == 8) {
                    let address = self.ipv4(Ipv4Addr::from(address.swap_bytes()));
                    *field = format!("{:08X}", u32::from(address).swap_bytes());
                }
            }
            lines.push(fields.join("\t"));
        }
        lines.join("\n") + "\n"
    }

    fn environment(&mut self, text: &str) -> String {
        let lines = text.lines().map(|line| match line.split_once('=') {
            Some((name @ ("USER" | "SUDO_USER"), user)) if user != "root" => {
                format!("{name}={}", self.user(user))
            }
            Some(("HOSTNAME", _)) => "HOSTNAME=host-1".to_owned(),
            Some((name, value)) if name.starts_with("SLURM_") && value.parse::<u64>().is_err() => {
                format!("{name}={HIDDEN}")
            }
            _ => line.to_owned(),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// `docker:x:998:alice,bob`
    fn group(&mut self, text: &str) -> String {
        let mut lines = Vec::new();
        for line in text.lines() {
            let mut fields: Vec<String> = line.split(':').map(str::to_owned).collect();
            let own = fields
                .get(2)
                .and_then(|gid| gid.parse::<u32>().ok())
                .is_some_and(|gid| (1000..65534).contains(&gid));
            if own {
                fields[0] = self.user(&fields[0].clone());
            }
            if let Some(members) = fields.get_mut(3) {
                let names: Vec<String> =
                    members.split(',').filter(|name| !name.is_empty()).map(|name| self.user(name)).collect();
                *members = names.join(",");
            }
            lines.push(fields.join(":"));
        }
        lines.join("\n") + "\n"
    }

    /// `127.0.1.1 node-17.lab node-17`: names that are not the machine's own or the system's get stand-ins.
    fn hosts_file(&mut self, text: &str) -> String {
        let own = self.own.clone();
        let mut lines = Vec::new();
        for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
            let mut words = line.split_whitespace();
            let Some(address) = words.next() else { continue };
            let names = words.map(|name| match name {
                _ if own.iter().any(|host| host == name) => "host-1".to_owned(),
                "localhost" | "ip6-localhost" | "ip6-loopback" | "ip6-allnodes" | "ip6-allrouters"
                | "ip6-localnet" | "ip6-mcastprefix" => name.to_owned(),
                _ => format!("peer-{}", self.number("peer", name)),
            });
            lines.push(format!("{address}\t{}", names.collect::<Vec<_>>().join(" ")));
        }
        lines.join("\n") + "\n"
    }

    /// The engine's JSON: ids, name, labels and mirrors.
    fn engine(&mut self, text: &str) -> String {
        let Ok(mut info) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
        let mut set = |pointer: &str, value: Value| {
            if let Some(place) = info.pointer_mut(pointer).filter(|place| !place.is_null() && **place != "") {
                *place = value;
            }
        };
        set("/ID", "engine-1".into());
        set("/Name", "host-1".into());
        set("/Labels", Value::Array(Vec::new()));
        set("/Swarm/NodeID", "node-1".into());
        set("/Swarm/Cluster/ID", "swarm-1".into());
        set("/Swarm/RemoteManagers", Value::Null);
        info.to_string()
    }
}

fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// Whether a name is particular enough to be replaced wherever it stands: `node-17` is, `ubuntu` would take the
/// distribution with it.
fn telling(name: &str) -> bool {
    name.len() >= 4
        && name.contains(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
        && name != "localhost.localdomain"
}

/// Replaces `word` where neither a letter, a digit nor one of `-_` stands beside it.
fn replace_word(text: &str, word: &str, by: &str) -> String {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let whole = !before.ends_with(part) && !after.starts_with(part);
        out.push_str(before);
        out.push_str(if whole { by } else { word });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reading;
    use std::collections::BTreeMap;

    fn redacted(readings: &[(&str, &str)]) -> BTreeMap<String, Kept> {
        let readings =
            readings.iter().map(|(ask, text)| ((*ask).to_owned(), Reading::Text((*text).to_owned())));
        redact(Snapshot::of(readings.collect())).readings
    }

    fn text<'r>(readings: &'r BTreeMap<String, Kept>, ask: &str) -> &'r str {
        match &readings[ask] {
            Kept::Text(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_names_people_and_machines_is_replaced_and_the_rest_stays() {
        let readings = redacted(&[
            ("read /proc/sys/kernel/hostname", "gpu-17.corp.lan\n"),
            (
                "read /etc/hosts",
                "127.0.0.1 localhost\n10.20.30.41 gpu-17 gpu-17.corp.lan\n10.20.30.42 storage\n",
            ),
            (
                "environment",
                "HOME=/home/alice\nHTTPS_PROXY=http://alice:geheim@proxy.corp.lan:3128\nUSER=alice\nSLURM_JOB_ID=7\nSLURM_JOB_NAME=secret",
            ),
            ("read /etc/group", "root:x:0:\ndocker:x:998:alice,bob\nalice:x:1000:\n"),
            (
                "run nvidia-smi -q -x",
                "<driver_version>550.90.07</driver_version><serial>1322621008</serial><uuid>GPU-5a2b6f10-0d6c-4f3b-9c1e-0123456789ab</uuid>",
            ),
            (
                "read /proc/net/if_inet6",
                "fe80000000000000021a4afffe160102 02 40 20 80     eth0\n00000000000000000000000000000001 01 80 10 80 lo\n",
            ),
            ("read /proc/net/route", "Iface\tDestination\tGateway \tFlags\neth0\t00000000\t011E140A\t0003\n"),
            ("read /sys/class/net/eth0/address", "52:54:00:12:34:56\n"),
            (
                "engine unix:///var/run/docker.sock /info",
                r#"{"ID":"AAAA:BBBB","Name":"gpu-17","ServerVersion":"27.3.1","Swarm":{"NodeAddr":"10.20.30.41","NodeID":"x"}}"#,
            ),
            ("find /usr/lib libnccl", "libnccl.so.2.21.5"),
            ("read /home/alice/.venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.3\n"),
            ("run dpkg-query -W", "libcudnn9-cuda-12 9.1.0.70-1\n"),
        ]);
        let all: String = readings.iter().map(|(ask, kept)| format!("{ask} {kept:?}\n")).collect();
        for secret in [
            "gpu-17",
            "corp",
            "alice",
            "bob",
            "geheim",
            "10.20.30",
            "1322621008",
            "5a2b6f10",
            "52:54",
            "AAAA",
            "storage",
            "secret",
            "021a4a",
            "011E140A",
        ] {
            assert!(!all.contains(secret), "{secret} is left in\n{all}");
        }
        for kept in [
            "550.90.07",
            "27.3.1",
            "127.0.0.1",
            "libnccl.so.2.21.5",
            "9.1.0.70-1",
            "SLURM_JOB_ID=7",
            "docker:x:998:",
            "3.12.3",
        ] {
            assert!(all.contains(kept), "{kept} was taken out of\n{all}");
        }
        assert_eq!(
            text(&readings, "read /etc/hosts"),
            "127.0.0.1\tlocalhost\n10.1.30.41\thost-1 host-1\n10.1.30.42\tpeer-1\n"
        );
        assert!(
            text(&readings, "engine unix:///var/run/docker.sock /info")
                .contains(r#""NodeAddr":"10.1.30.41""#)
        );
        assert!(text(&readings, "environment").contains("http://***@server-1.example:3128"));
        assert!(readings.contains_key("read /home/user-1/.venv/pyvenv.cfg"));
        let route = text(&readings, "read /proc/net/route");
        assert!(route.contains("eth0\t00000000\t011E010A\t0003"), "{route}");
    }

    #[test]
    fn a_host_called_like_a_distribution_does_not_take_it_along() {
        let readings = redacted(&[
            ("read /etc/hosts", "127.0.1.1 ubuntu\n"),
            ("read /proc/sys/kernel/hostname", "ubuntu\n"),
            ("read /etc/os-release", "ID=ubuntu\n"),
        ]);
        assert_eq!(text(&readings, "read /etc/os-release"), "ID=ubuntu\n");
        assert_eq!(text(&readings, "read /etc/hosts"), "127.0.1.1\thost-1\n");
        assert_eq!(text(&readings, "read /proc/sys/kernel/hostname"), "host-1\n");
    }

    #[test]
    fn the_same_original_gets_the_same_stand_in_and_twice_changes_nothing() {
        let once = redacted(&[(
            "read /proc/net/fib_trie",
            "|-- 10.0.18.1\n|-- 10.0.18.2\n|-- 10.0.19.1\n|-- 10.0.18.1\n",
        )]);
        assert_eq!(
            text(&once, "read /proc/net/fib_trie"),
            "|-- 10.1.18.1\n|-- 10.1.18.2\n|-- 10.1.19.1\n|-- 10.1.18.1\n"
        );
        let twice = redacted(&[("read /proc/net/fib_trie", text(&once, "read /proc/net/fib_trie"))]);
        assert_eq!(text(&twice, "read /proc/net/fib_trie"), text(&once, "read /proc/net/fib_trie"));
    }

    #[test]
    fn a_network_stays_one_network() {
        let trie = "+-- 172.18.0.0/16 2 0 2\n|-- 172.18.0.1\n|-- 172.18.255.255\n|-- 10.0.0.0\n|-- 8.8.8.8\n";
        let readings = redacted(&[("read /proc/net/fib_trie", trie)]);
        let expected = "+-- 10.1.0.0/16 2 0 2\n|-- 10.1.0.1\n|-- 10.1.255.255\n|-- 10.0.0.0\n|-- 10.2.8.8\n";
        assert_eq!(text(&readings, "read /proc/net/fib_trie"), expected);
    }
}
