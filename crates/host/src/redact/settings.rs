//! Settings of services: of each kind of file only what is known to be harmless stays.

use serde_json::Value;

use super::harmless::{
    DAEMON_HOSTS, DAEMON_KEYS, HARMLESS, LIBRARIES, LIBRARY_PARTS, PACKAGE_KEYS, PACKAGE_SECTIONS,
};
use super::{HIDDEN, Redactor, listed};
use crate::live;
use crate::secret_names::is_secret;

/// The arguments of a runtime in daemon.json.
const ARGUMENTS: &str = "runtimeArgs";

fn family(name: &str, families: &[&str]) -> bool {
    families.iter().any(|known| name == *known || (known.ends_with('_') && name.starts_with(known)))
}

/// A number or a switch, which tells nothing of anybody.
fn is_plain(value: &str) -> bool {
    let switch = ["", "true", "false", "t", "f", "yes", "no", "on", "off"];
    switch.contains(&value.to_ascii_lowercase().as_str())
        || (value.len() < 10 && value.parse::<u64>().is_ok())
}

/// Whether the value of a library's variable is a number, or its name says that the value is a device, a
/// path, a level or a choice.
fn is_library_setting(name: &str, value: &str) -> bool {
    let numbers = value.bytes().all(|byte| byte.is_ascii_digit() || b".,:;+-^=".contains(&byte));
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let parts = || name.split('_').map(str::to_ascii_uppercase);
    (numbers && digits < 16) || is_quantity(value) || parts().any(|part| listed(LIBRARY_PARTS, &part))
}

/// `0x1b`, `4M`, `16GiB`, `30s`
fn is_quantity(value: &str) -> bool {
    let hexadecimal = value.strip_prefix("0x").filter(|digits| digits.len() <= 8);
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit());
    hexadecimal.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        || value.len() - unit.len() < 12
            && unit.len() < value.len()
            && listed("k m g kb mb gb kib mib gib b s ms us", &unit.to_ascii_lowercase())
}

/// The port of an address; a path may hold anything.
fn behind_host(text: &str) -> String {
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let (port, path) = text.split_at(end);
    let number = port.strip_prefix(':').unwrap_or(port);
    let port = if number.bytes().all(|byte| byte.is_ascii_digit()) { port } else { HIDDEN };
    format!("{port}{}", if path.len() > 1 { format!("/{HIDDEN}") } else { path.to_owned() })
}

impl Redactor {
    /// The environment, `/etc/environment` or nccl.conf: `NAME=value` a line.
    pub(super) fn variables(&mut self, text: &str) -> String {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#')).map(|line| {
            let Some((start, value)) = line.split_once('=') else { return String::new() };
            let name = start.trim().trim_start_matches("export ");
            let bare = value.trim().trim_matches(['"', '\'']);
            let value = match self.variable(name.trim(), bare) {
                Some(shown) if shown == bare => value.to_owned(),
                Some(shown) => shown,
                None => HIDDEN.to_owned(),
            };
            format!("{start}={value}")
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// What is shown of a variable; `None`: nothing.
    pub(super) fn variable(&mut self, name: &str, value: &str) -> Option<String> {
        if is_secret(name) {
            return None;
        }
        Some(match name {
            "USER" | "SUDO_USER" if value != "root" => self.user(value),
            "HOSTNAME" => "host-1".to_owned(),
            "MASTER_ADDR" => self.server(value),
            "DOCKER_HOST" | "BUILDKIT_HOST" if !value.contains("://") => return None,
            "PIP_TRUSTED_HOST" => self.servers(value, ' '),
            "NO_PROXY" | "no_proxy" => self.servers(value, ','),
            _ if name.to_ascii_lowercase().ends_with("_proxy") => self.proxy(value),
            _ if is_plain(value) || HARMLESS.contains(&name) => value.to_owned(),
            _ if family(name, LIBRARIES) && is_library_setting(name, value) => value.to_owned(),
            _ if family(name, LIBRARIES) => return None,
            // Names that are listed one by one.
            _ if live::VARIABLES.contains(&name) && !name.ends_with('_') => value.to_owned(),
            _ => return None,
        })
    }

    pub(super) fn proxy(&mut self, value: &str) -> String {
        let (scheme, rest) =
            value.split_once("://").map_or((None, value), |(scheme, rest)| (Some(scheme), rest));
        let (login, address) = rest.rsplit_once('@').map_or(("", rest), |(_, address)| ("***@", address));
        // `[fe80::1]`: an address is replaced later, like all others.
        let bracket = address.find(']').filter(|_| address.starts_with('[')).map(|end| end + 1);
        let end = bracket.or_else(|| address.find([':', '/', '?', '#'])).unwrap_or(address.len());
        let host = bracket.map_or_else(|| self.server(&address[..end]), |end| address[..end].to_owned());
        let scheme = scheme.map(|scheme| format!("{scheme}://")).unwrap_or_default();
        format!("{scheme}{login}{host}{}", behind_host(&address[end..]))
    }

    /// Names of machines in a list. Addresses, and the names that every cluster has, stay.
    pub(super) fn servers(&mut self, list: &str, separator: char) -> String {
        const COMMON: &[&str] = &["*", "svc", "cluster.local", "local", "internal", "default", "kubernetes"];
        let name = |entry: &str| {
            let entry = entry.trim();
            let bare = entry.trim_start_matches(['*', '.']);
            let (host, port) = bare.rsplit_once(':').unwrap_or((bare, ""));
            let host = if port.bytes().all(|digit| digit.is_ascii_digit()) { host } else { bare };
            let address = host.starts_with(|c: char| c.is_ascii_digit()) || host.contains(':');
            if host.is_empty() || address || COMMON.contains(&host) || host == "host.docker.internal" {
                return entry.to_owned();
            }
            entry.replace(host, &self.server(host))
        };
        list.split(separator).map(name).collect::<Vec<_>>().join(&separator.to_string())
    }

    /// An address or a list of names.
    pub(super) fn server_setting(&mut self, text: &str) -> String {
        if text.contains("://") { self.proxy(text) } else { self.servers(text, ',') }
    }

    /// Texts stay under known keys, names of machines become stand-ins, everything else is hidden. A file
    /// that is no JSON keeps its form: where it breaks is what is to be seen.
    pub(super) fn daemon_json(&mut self, text: &str) -> String {
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Ok(mut value) = serde_json::from_str::<Value>(body) else { return masked(text) };
        let before = value.clone();
        self.daemon_value("", &mut value);
        match value == before {
            true => text.to_owned(),
            false => serde_json::to_string_pretty(&value).unwrap_or_default(),
        }
    }

    fn daemon_value(&mut self, key: &str, value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (name, inner) in map.iter_mut() {
                    let known = DAEMON_KEYS.contains(&name.as_str()) || DAEMON_HOSTS.contains(&name.as_str());
                    let key = if known || !DAEMON_KEYS.contains(&key) { name } else { key };
                    let key = if is_secret(name) { "" } else { key };
                    let key = if [ARGUMENTS, "args"].contains(&name.as_str()) { ARGUMENTS } else { key };
                    self.daemon_value(key, inner);
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|inner| self.daemon_value(key, inner)),
            Value::String(text) if DAEMON_HOSTS.contains(&key) => *text = self.server_setting(text),
            Value::String(text) if key == "labels" => {
                *text = format!("label-{}", self.number("label", text));
            }
            Value::String(text) if key == ARGUMENTS => *text = HIDDEN.to_owned(),
            Value::String(text) if !DAEMON_KEYS.contains(&key) && !is_plain(text) => {
                *text = HIDDEN.to_owned()
            }
            _ => {}
        }
    }
}

/// Every word that is no known key or value of daemon.json, letters and digits replaced by `x`.
fn masked(text: &str) -> String {
    const WORDS: &[&str] =
        &["true", "false", "null", "True", "False", "None", "path", "args", "runtimeArgs", "nvidia"];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.find(|c: char| !(c.is_alphanumeric() || "_-".contains(c))).unwrap_or(rest.len());
        let (found, after) = rest.split_at(word.max(rest.chars().next().map_or(1, char::len_utf8)));
        let known = DAEMON_KEYS.contains(&found) || DAEMON_HOSTS.contains(&found) || WORDS.contains(&found);
        match known || (is_plain(found) && found.len() < 7) {
            true => out.push_str(found),
            false => out.extend(found.chars().map(|c| if c.is_alphanumeric() { 'x' } else { c })),
        }
        rest = after;
    }
    out
}

/// pip.conf and uv.toml: `key = value`; a line that begins with white space belongs to the key before it.
pub(super) fn packages(text: &str) -> String {
    let (mut shown, mut unknown) = (true, 0);
    let lines = text.lines().filter(|line| !line.trim_start().starts_with(['#', ';'])).map(|line| {
        let in_block = line.starts_with([' ', '\t']) || line.trim_start().starts_with(['{', ']', '}']);
        let section = line.trim_end().trim_start_matches('[').trim_end_matches(']');
        if line.trim().is_empty() {
            return String::new();
        }
        if line.starts_with('[') && line.trim_end().ends_with(']') {
            if listed(PACKAGE_SECTIONS, section) {
                return line.to_owned();
            }
            unknown += 1;
            return format!("[section-{unknown}]");
        }
        let line = without_comment(line);
        let split =
            line.find(['=', ':']).filter(|_| !in_block || line.trim_start().starts_with(char::is_alphabetic));
        match split {
            Some(at) => {
                let key = line[..at].trim().replace('_', "-");
                shown = PACKAGE_KEYS.contains(&key.as_str()) || is_plain(line[at + 1..].trim());
                unknown += usize::from(!shown);
                if shown { line.to_owned() } else { format!("hidden-{unknown} = \"{HIDDEN}\"") }
            }
            None if shown => line.to_owned(),
            None => String::new(),
        }
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// A line up to a `#` behind white space that stands outside quotes.
fn without_comment(line: &str) -> &str {
    let outside = |at: &usize| line[..*at].matches(['"', '\'']).count().is_multiple_of(2);
    let marks = line.match_indices(" #").chain(line.match_indices("\t#")).map(|(at, _)| at);
    marks.filter(outside).min().map_or(line, |at| line[..at].trim_end())
}

/// Only the name of the context.
pub(super) fn docker_config(text: &str) -> String {
    let config = serde_json::from_str::<Value>(text).unwrap_or_default();
    match config.get("currentContext") {
        Some(name) => serde_json::json!({ "currentContext": name }).to_string(),
        None => "{}".to_owned(),
    }
}

/// Only the cgroup driver.
pub(super) fn kubelet(text: &str) -> String {
    let kept = ["apiVersion:", "kind:", "cgroupDriver:"];
    let lines = text.lines().filter(|line| kept.iter().any(|key| line.starts_with(key)));
    lines.collect::<Vec<_>>().join("\n") + "\n"
}
