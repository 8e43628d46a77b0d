//! Takes out of a snapshot what names people, machines and networks, and puts stable stand-ins in its place.
//!
//! The same original always gets the same stand-in within a snapshot, addresses of one network stay in one
//! network, and what judgements rest on (versions, states, sizes, loopback) stays. Replaced are: host names,
//! user names and home folders, UUIDs, serial numbers, MAC addresses and GUIDs, IPv4 and IPv6 addresses, host
//! names in URLs, credentials, an engine's and a swarm's ids.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::LazyLock;

use regex::{Captures, Regex};

mod addresses;
mod commands;
mod harmless;
mod names;
#[cfg(test)]
mod planted;
mod secrets;
mod settings;
mod shown;
#[cfg(test)]
mod tests;
mod token_shapes;

use super::snapshot::{Kept, Snapshot};
use super::{Missing, MissingKind};
use crate::sensitivity::Sensitivity;

use names::{particular, uncommon};
pub use shown::hide_credentials;
pub use token_shapes::{TOKEN_SHAPES, TokenShape, UNREAD};

/// What a credential becomes.
const HIDDEN: &str = "***";

/// The same snapshot without what names people and machines, and without readings that are not known to be
/// harmless.
pub fn redact(mut snapshot: Snapshot) -> Snapshot {
    let mut redactor = Redactor::new(&snapshot);
    let readings = std::mem::take(&mut snapshot.readings);
    for (ask, kept) in readings {
        let sensitivity = Sensitivity::of(&ask);
        let mut change = |text: String| redactor.text(sensitivity, &ask, &text);
        let kept = match kept {
            Kept::Text(_) | Kept::Ran { .. } if sensitivity == Sensitivity::Private => {
                Kept::Failed(left_out())
            }
            Kept::Text(text) => Kept::Text(change(text)),
            Kept::Ran { status, stdout, stderr } => {
                Kept::Ran { status, stdout: change(stdout), stderr: change(stderr) }
            }
            Kept::Failed(Missing { kind, detail }) => {
                Kept::Failed(Missing { kind, detail: redactor.text(Sensitivity::Settings, &ask, &detail) })
            }
            other => other,
        };
        snapshot.readings.insert(redactor.names(&ask), kept);
    }
    snapshot.redacted = true;
    snapshot
}

fn left_out() -> Missing {
    Missing::new(MissingKind::NotRecorded, "left out of the redacted snapshot")
}

/// A text of logs without what names people and machines: the same stand-ins as in snapshots, and `host-N`
/// for each of `nodes`.
pub fn log(text: &str, nodes: &[String]) -> String {
    let mut redactor = Redactor { own: Vec::new(), users: Vec::new(), stand_ins: HashMap::new() };
    let mut nodes: Vec<(usize, &String)> = nodes
        .iter()
        .enumerate()
        .filter(|(_, name)| uncommon(name) && name.parse::<Ipv4Addr>().is_err())
        .collect();
    // A name that is the start of another is replaced after it.
    nodes.sort_by_key(|(_, name)| std::cmp::Reverse(name.len()));
    let text = nodes.iter().fold(text.to_owned(), |text, (number, name)| {
        replace_word(&text, name, &format!("host-{}", number + 1))
    });
    redactor.text(Sensitivity::Settings, "log", &text)
}

/// Whether a text holds a credential that says itself what it is: a token, a login in an address, a value
/// under a name such as `password`.
pub fn holds_credential(text: &str) -> bool {
    secrets::named(text) != text
}

struct Redactor {
    /// Names of this machine, longest first.
    own: Vec<String>,
    /// The user who runs envdoc, and the one who ran sudo.
    users: Vec<String>,
    stand_ins: HashMap<(&'static str, String), usize>,
}

fn pattern(text: &str) -> Regex {
    #[expect(clippy::unwrap_used, reason = "the patterns below are constants, compiled in a test")]
    Regex::new(text).unwrap()
}

static HOME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"/(home|users|Users)/([A-Za-z0-9_][A-Za-z0-9._-]*)"));
static UUID: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"));
static MAC: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(?:[0-9a-f]{2}:){5,19}[0-9a-f]{2}\b"));
static GUID: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\b(?:0x)?(?:[0-9a-f]{4}:){3}[0-9a-f]{4}\b"));
static SERIAL: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(<[a-z_]*serial[a-z_]*>|serial(?: number)?\s*:\s*)([0-9A-Za-z-]{4,})"));
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
        let mut users: Vec<String> = text("environment")
            .lines()
            .filter_map(|line| line.strip_prefix("USER=").or_else(|| line.strip_prefix("SUDO_USER=")))
            .map(str::to_owned)
            .collect();
        users.retain(|user| user != "root" && !user.is_empty());
        Redactor { own, users, stand_ins: HashMap::new() }
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

    fn text(&mut self, sensitivity: Sensitivity, ask: &str, text: &str) -> String {
        let text = match ask {
            "read /proc/net/route" => self.route(text),
            // localhost names no machine, and checks judge it.
            "read /proc/sys/kernel/hostname" | "read /etc/hostname"
                if !matches!(text.trim(), "" | "localhost") =>
            {
                "host-1\n".to_owned()
            }
            "read /etc/hosts" => self.hosts_file(text),
            "read /etc/group" => self.group(text),
            "read /etc/resolv.conf" => self.resolver(text),
            "read /proc/net/if_inet6" => {
                self.replace(&IF_INET6, text, |this, found| this.hexadecimal_ipv6(&found[0]))
            }
            _ => match sensitivity {
                Sensitivity::Variables => self.variables(text),
                Sensitivity::Packages => settings::packages(text),
                Sensitivity::Unit => settings::unit(text),
                Sensitivity::DaemonJson => self.daemon_json(text),
                Sensitivity::DockerConfig => settings::docker_config(text),
                Sensitivity::Kubelet => settings::kubelet(text),
                Sensitivity::Engine => self.engine(text),
                _ => text.to_owned(),
            },
        };
        let text = match sensitivity {
            Sensitivity::Technical | Sensitivity::Network => secrets::tokens(&text),
            _ => secrets::all(&text),
        };
        let technical = sensitivity == Sensitivity::Technical;
        let text = self.identifiers(&self.hosts_in(technical), &text);
        if technical { text } else { self.addresses(&text) }
    }

    /// Names, UUIDs, serial numbers, MAC addresses and GUIDs.
    fn identifiers(&mut self, hosts: &[String], text: &str) -> String {
        let text = hosts.iter().fold(text.to_owned(), |text, host| replace_word(&text, host, "host-1"));
        let text = self.people(&text);
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
        self.replace(&GUID, &text, |this, found| {
            format!("0200:0000:0000:{:04x}", this.number("guid", &found[0]))
        })
    }

    /// Host and user names in a question.
    fn names(&mut self, ask: &str) -> String {
        let hosts = self.hosts_in(true);
        let text = hosts.iter().fold(ask.to_owned(), |text, host| replace_word(&text, host, "host-1"));
        self.people(&text)
    }

    /// The names of this machine that can be replaced: in a technical text only particular ones, as
    /// `node-17`.
    fn hosts_in(&self, technical: bool) -> Vec<String> {
        let wanted = if technical { particular } else { uncommon };
        self.own.iter().filter(|name| wanted(name)).cloned().collect()
    }

    /// Home folders and user names. A user's own name is also replaced where it is a folder:
    /// `/scratch/alice`.
    fn people(&mut self, text: &str) -> String {
        let text =
            self.replace(&HOME, text, |this, found| format!("/{}/{}", &found[1], this.user(&found[2])));
        self.users.clone().iter().fold(text, |text, user| {
            let stand_in = self.user(user);
            let text = replace_word(&text, &format!("/{user}"), &format!("/{stand_in}"));
            if particular(user) { replace_word(&text, user, &stand_in) } else { text }
        })
    }

    fn user(&mut self, name: &str) -> String {
        format!("user-{}", self.number("user", name))
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
}

fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// Replaces `word` where neither a letter, a digit nor one of `-_` is next to it.
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
