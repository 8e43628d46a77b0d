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
mod daemon;
mod engine;
mod generated;
mod harmless;
mod headers;
mod identifiers;
mod kernel;
mod names;
#[cfg(test)]
mod planted;
#[cfg(test)]
mod readings;
mod secrets;
mod sentences;
mod settings;
mod shown;
#[cfg(test)]
mod stand_ins;
mod system_files;
#[cfg(test)]
mod tests;
mod token_shapes;
mod types;
mod urls;
mod values;
mod words;

use crate::sensitivity::Sensitivity;

use names::uncommon;
pub use shown::hide_credentials;
pub use token_shapes::{TOKEN_SHAPES, TokenShape, UNREAD};

/// The longest text of the kernel that can hold neither a token nor an address, in bytes.
const SHORT: usize = 10;
/// What a credential becomes.
const HIDDEN: &str = "***";

/// A text of logs without what names people and machines: the same stand-ins as in snapshots, and `host-N`
/// for each of `nodes`.
pub fn log(text: &str, nodes: &[String]) -> String {
    LogRedactor::new(nodes).text(text)
}

/// [`log`] for several texts of one report: a name has the same stand-in in all of them.
pub struct LogRedactor {
    redactor: Redactor,
    /// Names of nodes with their stand-ins.
    nodes: Vec<(String, String)>,
}

impl LogRedactor {
    pub fn new(nodes: &[String]) -> LogRedactor {
        let mut nodes: Vec<(String, String)> = nodes
            .iter()
            .enumerate()
            .filter(|(_, name)| uncommon(name) && name.parse::<Ipv4Addr>().is_err())
            .map(|(number, name)| (name.clone(), format!("host-{}", number + 1)))
            .collect();
        // A name that is the start of another is replaced after it.
        nodes.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        LogRedactor { redactor: Redactor::default(), nodes }
    }

    /// The next text of the report.
    pub fn text(&mut self, text: &str) -> String {
        let nodes = self.nodes.iter();
        let text = nodes.fold(text.to_owned(), |text, (name, stand_in)| replace_word(&text, name, stand_in));
        self.redactor.text(Sensitivity::Settings, "log", &text)
    }
}

/// A text of a log, for a report: credentials that say themselves what they are become `***`; names stay.
pub fn hide_named_credentials(text: &str) -> String {
    secrets::named(text)
}

/// Whether a text holds a credential that says itself what it is: a token, a login in an address, a value
/// under a name such as `password`.
pub fn holds_credential(text: &str) -> bool {
    secrets::named(text) != text
}

/// A question without the credentials in it, as a redacted snapshot keeps it.
pub(crate) fn without_credentials(ask: &str) -> String {
    secrets::all(ask)
}

/// Replaces what names people and machines, in the readings of one machine.
#[derive(Default)]
pub(crate) struct Redactor {
    /// Names of this machine, longest first.
    own: Vec<String>,
    /// Names of other machines, longest first.
    peers: Vec<String>,
    /// Users of this machine, longest first.
    users: Vec<String>,
    /// Network interfaces of this machine.
    interfaces: Vec<String>,
    stand_ins: HashMap<(&'static str, String), usize>,
}

fn pattern(text: &str) -> Regex {
    #[expect(clippy::unwrap_used, reason = "the patterns below are constants, compiled in a test")]
    Regex::new(text).unwrap()
}

static IF_INET6: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?im)^[0-9a-f]{32}\b"));

impl Redactor {
    /// `text` gives the text of a reading, trimmed; an empty one where there is none.
    pub(crate) fn new(text: impl Fn(&str) -> String) -> Self {
        let full = [text("read /proc/sys/kernel/hostname"), text("read /etc/hostname")];
        let mut own: Vec<String> =
            full.iter().flat_map(|name| [name.clone(), short(name).to_owned()]).collect();
        own.retain(|name| !name.is_empty() && !name.starts_with("localhost"));
        own.sort_by_key(|name| std::cmp::Reverse(name.len()));
        own.dedup();
        let users = identifiers::users_in(&text("environment"), &text("read /etc/group"));
        let peers = identifiers::peers_in(&text("read /etc/hosts"), &own);
        let interfaces = text("list /sys/class/net").lines().map(str::to_owned).collect();
        Redactor { own, peers, users, interfaces, stand_ins: HashMap::new() }
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

    pub(crate) fn text(&mut self, sensitivity: Sensitivity, ask: &str, text: &str) -> String {
        // `0x10de`: thousands of readings of a server are that short, and no token is.
        if sensitivity == Sensitivity::Technical && text.len() <= SHORT {
            return text.to_owned();
        }
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
            _ if ask.starts_with("list ") && ask.ends_with(".service.d") => {
                text.lines().map(|name| self.drop_in_name(name)).collect::<Vec<_>>().join("\n")
            }
            _ => self.form(sensitivity, text),
        };
        let text = match sensitivity {
            Sensitivity::Number => return text,
            Sensitivity::DeviceBytes => return identifiers::without_serial_number(&text),
            // Large, and written by a tool.
            Sensitivity::GpuReport => secrets::tokens(&text),
            _ => secrets::all(&text),
        };
        let technical = sensitivity.is_technical();
        let text = self.identifiers(technical, &text);
        if technical { self.network_names(&text) } else { self.addresses(&text) }
    }

    /// What may stay of an answer by its form.
    fn form(&mut self, sensitivity: Sensitivity, text: &str) -> String {
        match sensitivity {
            Sensitivity::Variables => self.variables(text),
            Sensitivity::Packages => self.packages(text),
            Sensitivity::Unit => self.unit(text),
            Sensitivity::Process => self.process(text),
            Sensitivity::DaemonJson => self.daemon_json(text),
            Sensitivity::DockerConfig => settings::docker_config(text),
            Sensitivity::DockerContext => system_files::docker_context(text),
            Sensitivity::Kubelet => settings::kubelet(text),
            Sensitivity::Engine => self.engine(text),
            Sensitivity::Cdi => self.cdi(text),
            Sensitivity::Toolkit => self.toolkit(text),
            Sensitivity::KernelParameters => kernel::parameters(text),
            Sensitivity::KernelLog => kernel::log(text),
            Sensitivity::ModuleOptions => kernel::module_options(text),
            Sensitivity::ModuleInfo => self.module(text),
            Sensitivity::Mounts => kernel::mounts(text),
            Sensitivity::Sockets => kernel::sockets(text),
            Sensitivity::GpuReport => self.gpu_report(text),
            Sensitivity::OsRelease => system_files::os_release(text),
            Sensitivity::NameServices => system_files::name_services(text),
            Sensitivity::Loader => system_files::loader(text),
            Sensitivity::PackageNames => system_files::package(text),
            Sensitivity::CondaPackage => system_files::json(text, "name version build build_number subdir"),
            Sensitivity::VersionJson => system_files::json(text, "name version"),
            Sensitivity::TorchVersion => system_files::torch_version(text),
            Sensitivity::VirtualEnvironment => system_files::virtual_environment(text),
            Sensitivity::Shim => system_files::shim(text),
            Sensitivity::Words => system_files::word_lines(text),
            Sensitivity::Firewall => system_files::firewall_rules(text),
            _ => text.to_owned(),
        }
    }

    /// Why a question has no answer. Errors of engines repeat DOCKER_HOST, which may hold anything.
    pub(crate) fn detail(&mut self, ask: &str, detail: &str) -> String {
        let detail = match unusable_endpoint(ask) {
            Some((endpoint, _)) if !endpoint.is_empty() => detail.replace(endpoint, HIDDEN),
            _ => detail.to_owned(),
        };
        self.text(Sensitivity::Settings, "", &detail)
    }

    /// A question with the stand-ins of the answers, from which its path was taken.
    pub(crate) fn question(&mut self, ask: &str) -> String {
        // The kernel chose these names.
        let path = ask.split_once(' ').map_or("", |(_, path)| path);
        if ["/sys/bus/", "/sys/class/", "/sys/firmware/", "/proc/driver/", "/dev/nvidia"]
            .iter()
            .any(|dir| path.starts_with(dir))
        {
            return ask.to_owned();
        }
        let ask = match unusable_endpoint(ask) {
            Some((_, path)) => format!("engine {HIDDEN} {path}"),
            None => self.drop_in(ask),
        };
        self.text(Sensitivity::Settings, "", &ask)
    }
}

/// The endpoint and the path of a question to an engine whose endpoint has no scheme.
fn unusable_endpoint(ask: &str) -> Option<(&str, &str)> {
    let parts = ask.strip_prefix("engine ")?.rsplit_once(' ')?;
    (!parts.0.contains("://")).then_some(parts)
}

/// Whether a list of words holds this one.
fn listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// Replaces `word` where neither a letter, a digit nor one of `-_` is next to it.
fn replace_word(text: &str, word: &str, by: &str) -> String {
    replace_between(text, word, by, "-_")
}

/// Replaces `word` where neither a letter, a digit nor one of `joints` is next to it.
fn replace_between(text: &str, word: &str, by: &str, joints: &str) -> String {
    let part = |c: char| c.is_ascii_alphanumeric() || joints.contains(c);
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
