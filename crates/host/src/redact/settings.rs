//! Settings of services: of each kind of file only what is known to be harmless stays.

use serde_json::Value;

use super::harmless::{DAEMON_HOSTS, DAEMON_KEYS, DAEMON_NAMES, LIBRARIES, PACKAGE_KEYS, PACKAGE_SECTIONS};
use super::types::{self, Kind};
use super::{HIDDEN, Redactor, listed};
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

/// Parts of the paths of package indexes that say nothing of their owner.
fn is_index_part(part: &str) -> bool {
    const PARTS: &str = "\
        simple pypi whl wheels nightly cpu xpu api artifactory repository repositories repo python \
        packages package \
        legacy index download downloads nexus content groups group pip root stable latest test release \
        releases main \
        proxy virtual local remote basic public conda generic dist files static mirror mirrors t p \
        channel channels \
        +simple pypi-proxy pypi-all pypi-group pypi-hosted pypi-local pypi-remote pypi-virtual dev prod \
        web all";
    let kind = part.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    part.is_empty()
        || part == HIDDEN
        || part.starts_with("path-")
        || listed(PARTS, &part.to_ascii_lowercase())
        || part.len() - kind.len() < 8 && ["cu", "rocm", "v", "py", "cp", "torch", "torch-"].contains(&kind)
}

/// The port of an address; a path may hold anything.
fn behind_host(text: &str) -> String {
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let (port, path) = text.split_at(end);
    let number = port.strip_prefix(':').unwrap_or(port);
    let port = if number.bytes().all(|byte| byte.is_ascii_digit()) { port } else { HIDDEN };
    format!("{port}{}", if path.len() > 1 { format!("/{HIDDEN}") } else { path.to_owned() })
}

/// Paths and names of libraries; what is none is hidden.
fn paths(value: &str) -> String {
    // A password in an address may hold the separators, and tokens do.
    let value = super::secrets::all(value);
    let mut out = String::with_capacity(value.len());
    for item in value.split_inclusive([':', ' ', ';']) {
        let bare = item.trim_end_matches([':', ' ', ';']);
        let shown =
            types::is_path(bare) || bare.contains(HIDDEN) || ["http", "https", "file"].contains(&bare);
        out.push_str(if shown { bare } else { HIDDEN });
        out.push_str(&item[bare.len()..]);
    }
    out
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
            "USER" | "SUDO_USER" => value.to_owned(),
            "HOSTNAME" => "host-1".to_owned(),
            "PIP_TRUSTED_HOST" => self.servers(value, ' '),
            "NO_PROXY" | "no_proxy" => self.servers(value, ','),
            "PIP_PROXY" => self.proxy(value),
            _ if name.to_ascii_lowercase().ends_with("_proxy") => self.proxy(value),
            _ if is_plain(value) => value.to_owned(),
            _ => {
                let library = family(name, LIBRARIES);
                let of_library = || library.then(|| types::of_library_variable(name));
                let kind = types::of_variable(name).or_else(of_library)?;
                match kind {
                    Kind::Machines => self.machine_setting(value)?,
                    Kind::Indexes => self.indexes(value),
                    Kind::Paths => paths(value),
                    _ if types::fits(kind, value, &self.interfaces) || library && types::is_number(value) => {
                        value.to_owned()
                    }
                    _ => return None,
                }
            }
        })
    }

    /// `node-1:29500`, `localhost`
    fn machine_setting(&mut self, value: &str) -> Option<String> {
        let (host, port) =
            value.rsplit_once(':').filter(|(host, _)| !host.contains(':')).unwrap_or((value, ""));
        let name = !host.is_empty()
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
            && port.bytes().all(|byte| byte.is_ascii_digit());
        name.then(|| match port {
            "" => self.server(host),
            port => format!("{}:{port}", self.server(host)),
        })
    }

    /// Addresses of package indexes: of their paths only parts that many have stay, of their parameters none.
    fn indexes(&mut self, value: &str) -> String {
        let words = value.split_whitespace().map(|word| {
            let (name, url) = match word.split_once('=') {
                Some((name, url)) if !name.contains("://") && url.contains("://") => {
                    (format!("{name}="), url)
                }
                _ => (String::new(), word),
            };
            match url.contains("://") {
                true => format!("{name}{}", self.index(url)),
                false if types::is_path(url) || is_plain(url) => word.to_owned(),
                false => HIDDEN.to_owned(),
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }

    fn index(&mut self, url: &str) -> String {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        // A password may hold `/`: the host is behind the last `@` of the text before the parameters.
        let (rest, query) = match rest.find(['?', '#']) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (login, rest) = rest.rsplit_once('@').map_or(("", rest), |(_, rest)| ("***@", rest));
        let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let (host, port) = host.rsplit_once(':').unwrap_or((host, ""));
        let public = super::names::is_public(host);
        let host = match host.starts_with('[') || scheme == "file" {
            true => host.to_owned(),
            false => self.server(host),
        };
        let port = match port {
            "" => String::new(),
            port if port.bytes().all(|byte| byte.is_ascii_digit()) => format!(":{port}"),
            _ => format!(":{HIDDEN}"),
        };
        let parts = path.split('/').map(|part| match public || is_index_part(part) || scheme == "file" {
            true => part.to_owned(),
            false => format!("path-{}", self.number("path", part)),
        });
        let path = parts.collect::<Vec<_>>().join("/");
        let query = match query.len() {
            0 => String::new(),
            _ => format!("{}{HIDDEN}", &query[..1]),
        };
        format!("{scheme}://{login}{host}{port}{path}{query}")
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
                self.daemon_names(key, map);
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
            Value::String(text) if !self.is_daemon_text(key, text) => *text = HIDDEN.to_owned(),
            _ => {}
        }
    }

    /// Names that dockerd does not know are what somebody wrote. Names of runtimes are chosen, too, and other
    /// settings refer to them.
    fn daemon_names(&mut self, key: &str, map: &mut serde_json::Map<String, Value>) {
        let known = |name: &str| {
            let listed = listed(DAEMON_NAMES, name) || listed(super::daemon::FLAGS, name);
            key == "runtimes" && name.len() < 40
                || listed
                || DAEMON_KEYS.contains(&name)
                || DAEMON_HOSTS.contains(&name)
                || is_secret(name)
                    && name.len() < 24
                    && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        };
        if map.keys().all(|name| known(name)) {
            return;
        }
        *map = std::mem::take(map)
            .into_iter()
            .map(|(name, inner)| match known(&name) {
                true => (name, inner),
                false => (format!("key-{}", self.number("key", &name)), inner),
            })
            .collect();
    }

    /// Whether a text has the type of its key in daemon.json.
    fn is_daemon_text(&self, key: &str, text: &str) -> bool {
        let address = |text: &str| {
            let address = text.split('/').next().unwrap_or_default();
            address.parse::<std::net::IpAddr>().is_ok()
        };
        match key {
            _ if is_plain(text) => true,
            "bip" | "ip" | "dns" | "fixed-cidr" | "fixed-cidr-v6" | "default-gateway" | "base" => {
                address(text)
            }
            "default-address-pools" => address(text) || types::is_number(text),
            "log-driver"
            | "log-format"
            | "log-level"
            | "storage-driver"
            | "exec-opts"
            | "default-cgroupns-mode"
            | "default-ipc-mode"
            | "features" => types::fits(Kind::Choice, text, &[]),
            "default-shm-size" | "max-file" | "max-size" | "default-ulimits" => {
                types::is_number(text) || types::fits(Kind::Choice, text, &[])
            }
            "data-root" | "exec-root" | "graph" | "pidfile" | "tlscacert" | "tlscert" | "tlskey"
            | "cdi-spec-dirs" | "containerd" => types::is_path(text),
            "hosts" => text.contains("://"),
            _ => DAEMON_KEYS.contains(&key),
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

/// What values of pip's and uv's settings are.
fn package_kind(key: &str) -> Kind {
    match key {
        "index-url" | "extra-index-url" | "find-links" | "url" | "index" | "python-install-mirror" => {
            Kind::Indexes
        }
        "trusted-host" | "allow-insecure-host" | "proxy" => Kind::Machines,
        "cert" => Kind::Paths,
        "name" => Kind::Name,
        "only-binary" | "no-binary" | "torch-backend" | "index-strategy" | "link-mode"
        | "python-preference" | "progress-bar" => Kind::Choice,
        _ => Kind::Number,
    }
}

impl Redactor {
    /// pip.conf and uv.toml: `key = value`; a line that begins with white space belongs to the key before it.
    /// A value stays where it has the type of a known key.
    pub(super) fn packages(&mut self, text: &str) -> String {
        let mut key = String::new();
        let mut unknown = 0;
        let mut lines = Vec::new();
        for line in text.lines().filter(|line| !line.trim_start().starts_with(['#', ';'])) {
            let in_block =
                line.starts_with([' ', '\t']) || line.trim_start().starts_with(['{', ']', '}', '"', '\'']);
            let section = line.trim_end().trim_start_matches('[').trim_end_matches(']');
            if line.starts_with('[') && line.trim_end().ends_with(']') {
                key.clear();
                unknown += usize::from(!listed(PACKAGE_SECTIONS, section));
                lines.push(match listed(PACKAGE_SECTIONS, section) {
                    true => line.to_owned(),
                    false => format!("[section-{unknown}]"),
                });
                continue;
            }
            let line = without_comment(line);
            let split = line.find(['=', ':']).filter(|at| {
                let start = line[..*at].trim();
                !in_block
                    || start.starts_with(char::is_alphabetic) && !start.contains(['/', '"', ' '])
                    || start.starts_with(['"', '\'']) && line[*at..].starts_with('=')
            });
            let Some(at) = split else {
                let shown = if key.is_empty() { String::new() } else { self.package_values(&key, line) };
                lines.push(shown);
                continue;
            };
            let name = line[..at].trim().trim_matches(['"', '\'']).replace('_', "-");
            if PACKAGE_KEYS.contains(&name.as_str()) {
                key = name;
                let value = self.package_values(&key, &line[at + 1..]);
                lines.push(format!("{}{value}", &line[..=at]));
            } else {
                key.clear();
                unknown += 1;
                let value = line[at + 1..].trim();
                let open = value.ends_with(['[', '{']) && value.len() == 1;
                let shown = if is_plain(value) || open { value.to_owned() } else { format!("\"{HIDDEN}\"") };
                lines.push(format!("hidden-{unknown} = {shown}"));
            }
        }
        lines.join("\n") + "\n"
    }

    /// The words of a value, and of tables in it: `[{ url = "https://h/simple", default = true }]`.
    fn package_values(&mut self, key: &str, text: &str) -> String {
        static WORD: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| {
            super::pattern(concat!(
                r#"(?:([A-Za-z][\w-]*|"[^"]*")(\s*=\s*)(["'\[{]|true|false|\d))"#,
                r#"|([^\s"'\[\]{},]+)|([\s"'\[\]{},]+)"#
            ))
        });
        let mut key = key.to_owned();
        let mut out = String::new();
        let mut done = 0;
        while let Some(found) = WORD.captures_at(text, done) {
            let range = found.get(0).map_or(0..0, |whole| whole.range());
            done = range.end.max(done + 1);
            let part = |index: usize| found.get(index).map_or("", |part| part.as_str());
            if !part(1).is_empty() && text.contains('{') {
                let name = part(1).trim_matches('"').replace('_', "-");
                let known = PACKAGE_KEYS.contains(&name.as_str());
                out.push_str(if known { part(1) } else { "hidden" });
                out.push_str(part(2));
                key = if known { name } else { String::new() };
                done = range.end - part(3).len();
                continue;
            }
            match part(5).is_empty() {
                false => out.push_str(part(5)),
                true => out.push_str(&self.package_word(&key, &text[range])),
            }
        }
        out
    }

    fn package_word(&mut self, key: &str, word: &str) -> String {
        let kind = package_kind(key);
        let package = |word: &str| {
            word.len() < 40
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":._-".contains(&byte))
        };
        match kind {
            _ if word == HIDDEN || key.is_empty() => HIDDEN.to_owned(),
            Kind::Indexes => self.indexes(word),
            Kind::Machines if key == "proxy" => self.proxy(word),
            Kind::Machines => self.servers(word, ' '),
            Kind::Choice if ["only-binary", "no-binary"].contains(&key) && package(word) => word.to_owned(),
            _ if types::fits(kind, word, &[]) => word.to_owned(),
            _ => HIDDEN.to_owned(),
        }
    }
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
