//! Package mirrors in the configuration of this machine's pip, uv and apt.
//!
//! A URL may contain a login: it is then never written or shown in full, see [`ConfiguredUrl::redacted`]. The
//! search order of the files: pip's `_internal/configuration.py` (23.2.1),
//! <https://docs.astral.sh/uv/concepts/configuration-files>, and the manual page sources.list(5).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// A URL, and where it is configured.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfiguredUrl {
    /// Unchanged, with any login.
    pub address: String,
    /// The file or the variable.
    pub source: String,
}

impl fmt::Debug for ConfiguredUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.redacted(), self.source)
    }
}

impl ConfiguredUrl {
    /// Whether there is a login in it.
    pub fn has_login(&self) -> bool {
        login(&self.address).is_some()
    }

    /// The URL with the login replaced by `***`.
    pub fn redacted(&self) -> String {
        match login(&self.address) {
            Some(login) => {
                let mut shown = self.address.clone();
                shown.replace_range(login, "***");
                shown
            }
            None => self.address.clone(),
        }
    }
}

/// Where the part of an address before the host is: `user:password`.
fn login(address: &str) -> Option<Range<usize>> {
    let start = address.find("://").map_or(0, |at| at + 3);
    let host = address[start..].split(['/', '?', '#']).next()?;
    Some(start..start + host.rfind('@')?)
}

/// The mirrors that are configured. The first value read wins: read the sources in order of precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostMirrors {
    /// The index of Python packages.
    pub index: Option<ConfiguredUrl>,
    /// `extra-index-url`, in order.
    pub extra: Vec<ConfiguredUrl>,
    /// Mirrors of the system's archive, by the last part of their address (`ubuntu`, `debian`), without it.
    pub apt: BTreeMap<String, ConfiguredUrl>,
    /// The mirror of python-build-standalone's releases.
    pub python: Option<ConfiguredUrl>,
}

impl HostMirrors {
    fn index(&mut self, address: &str, source: &str) {
        self.index.get_or_insert_with(|| configured(address, source));
    }

    fn extra(&mut self, addresses: &[&str], source: &str) {
        if self.extra.is_empty() {
            self.extra = addresses.iter().map(|address| configured(address, source)).collect();
        }
    }

    /// A variable of pip or uv.
    pub fn variable(&mut self, name: &str, value: &str) {
        let words: Vec<&str> = value.split_whitespace().collect();
        let Some(first) = words.first() else { return };
        match name {
            "PIP_INDEX_URL" | "UV_DEFAULT_INDEX" | "UV_INDEX_URL" => self.index(bare(first), name),
            "PIP_EXTRA_INDEX_URL" | "UV_INDEX" | "UV_EXTRA_INDEX_URL" => {
                self.extra(&words.iter().map(|word| bare(word)).collect::<Vec<_>>(), name);
            }
            "UV_PYTHON_INSTALL_MIRROR" => {
                self.python.get_or_insert_with(|| configured(first, name));
            }
            _ => {}
        }
    }

    /// A `pip.conf`: `[install]` wins over `[global]`.
    pub fn pip(&mut self, source: &str, text: &str) {
        let values = sections(text);
        for section in ["install", "global"] {
            let value = |key: &str| values.get(&(section.to_owned(), key.to_owned()));
            if let Some(first) = value("index-url").and_then(|text| text.split_whitespace().next()) {
                self.index(first, source);
            }
            if let Some(text) = value("extra-index-url") {
                self.extra(&text.split_whitespace().collect::<Vec<_>>(), source);
            }
        }
    }

    /// A `uv.toml`; a malformed one is ignored.
    pub fn uv(&mut self, source: &str, text: &str) {
        let Ok(file) = text.parse::<toml::Table>() else { return };
        let pip = file.get("pip").and_then(toml::Value::as_table);
        for table in std::iter::once(&file).chain(pip) {
            let indexes = table.get("index").and_then(toml::Value::as_array);
            let of = |default: bool| {
                let is = move |one: &&toml::Value| {
                    one.get("default").and_then(toml::Value::as_bool).unwrap_or(false) == default
                };
                let all = indexes.into_iter().flatten().filter(is);
                all.filter_map(|one| one.get("url")?.as_str()).collect::<Vec<_>>()
            };
            let text = |key: &str| table.get(key).and_then(toml::Value::as_str);
            if let Some(address) = of(true).first().copied().or_else(|| text("index-url")) {
                self.index(address, source);
            }
            let older = table.get("extra-index-url").and_then(toml::Value::as_array);
            let older = older.into_iter().flatten().filter_map(toml::Value::as_str);
            self.extra(&of(false).into_iter().chain(older).collect::<Vec<_>>(), source);
            if let Some(address) = text("python-install-mirror") {
                self.python.get_or_insert_with(|| configured(address, source));
            }
        }
    }

    /// A file of apt's sources: `.sources` in paragraphs, all others a source a line.
    pub fn apt(&mut self, source: &str, text: &str) {
        let addresses: Vec<&str> = match source.ends_with(".sources") {
            true => text.split("\n\n").flat_map(of_paragraph).collect(),
            false => text.lines().filter_map(of_line).collect(),
        };
        for address in addresses {
            let Some((mirror, family)) = address.trim_end_matches('/').rsplit_once('/') else { continue };
            let over_http = mirror.starts_with("http://") || mirror.starts_with("https://");
            if over_http && ["ubuntu", "ubuntu-ports", "debian"].contains(&family) {
                let family = family.trim_end_matches("-ports").to_owned();
                self.apt.entry(family).or_insert_with(|| configured(mirror, source));
            }
        }
    }
}

fn configured(address: &str, source: &str) -> ConfiguredUrl {
    ConfiguredUrl { address: address.to_owned(), source: source.to_owned() }
}

/// uv lets an index have a name: `internal=https://…`.
fn bare(word: &str) -> &str {
    match word.split_once('=') {
        Some((name, address)) if !name.contains([':', '/']) => address,
        _ => word,
    }
}

/// Sections and keys of an INI file as Python reads it: lines that are set in go on with the value before.
fn sections(text: &str) -> BTreeMap<(String, String), String> {
    let mut values: BTreeMap<(String, String), String> = BTreeMap::new();
    let (mut section, mut last) = (String::new(), None);
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            (section, last) = (name.to_owned(), None);
        } else if let (true, Some(key)) = (line.starts_with([' ', '\t']), &last) {
            if let Some(value) = values.get_mut(key) {
                value.push('\n');
                value.push_str(trimmed);
            }
        } else if let Some(separator) = trimmed.find(['=', ':']) {
            let key = trimmed[..separator].trim().to_ascii_lowercase().replace('_', "-");
            let key = (section.clone(), key);
            values.insert(key.clone(), trimmed[separator + 1..].trim().to_owned());
            last = Some(key);
        }
    }
    values
}

/// `deb [arch=amd64] http://mirror/ubuntu jammy main`.
fn of_line(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("deb ")?.trim_start();
    let rest = match rest.strip_prefix('[') {
        Some(options) => options.split_once(']')?.1,
        None => rest,
    };
    rest.split_whitespace().next()
}

/// The addresses of a paragraph that is for packages, and not switched off.
fn of_paragraph(text: &str) -> Vec<&str> {
    let field = |name: &str| {
        let line = text.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")))?;
        line.split_once(':').map(|(_, value)| value)
    };
    let off = field("enabled").is_some_and(|value| value.trim().eq_ignore_ascii_case("no"));
    let packages = field("types").is_some_and(|types| types.split_whitespace().any(|one| one == "deb"));
    match off || !packages {
        true => Vec::new(),
        false => field("uris").unwrap_or_default().split_whitespace().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pips_own_configuration() {
        let mut found = HostMirrors::default();
        found.variable("PIP_EXTRA_INDEX_URL", "https://a.example/simple https://b.example/simple");
        found.pip(
            "user",
            "[global]\nindex_url = https://me:pa%40ss@pypi.example/simple\n\
             extra-index-url =\n    https://c.example\n",
        );
        found.pip("system", "[install]\nindex-url = https://other.example/simple\n");
        let index = found.index.clone().unwrap();
        assert!(index.has_login() && index.source == "user");
        assert_eq!(index.redacted(), "https://***@pypi.example/simple");
        let shown = format!("{found:?}");
        assert!(!shown.contains("pa%40ss") && !shown.contains("me:"), "{shown}");
        let extra: Vec<&str> = found.extra.iter().map(|url| url.address.as_str()).collect();
        assert_eq!(extra, ["https://a.example/simple", "https://b.example/simple"], "the variable wins");
        let mut found = HostMirrors::default();
        found.pip(
            "f",
            "[global]\nindex-url = https://g.example\n\
             extra-index-url =\n    https://c.example\n    https://d.example\n[install]\n\
             index-url: https://i.example\n",
        );
        assert_eq!((found.index.unwrap().address.as_str(), found.extra.len()), ("https://i.example", 2));
    }

    #[test]
    fn a_login_is_hidden_where_it_is() {
        for (address, shown) in [
            ("https://http@pypi.example/simple", "https://***@pypi.example/simple"),
            ("https://s@pypi.example/s@x", "https://***@pypi.example/s@x"),
            ("a:b@pypi.example", "***@pypi.example"),
            ("https://pypi.example/a@b", "https://pypi.example/a@b"),
        ] {
            assert_eq!(configured(address, "x").redacted(), shown);
        }
    }

    #[test]
    fn uvs_own_configuration() {
        let mut found = HostMirrors::default();
        found.variable("UV_INDEX", "inner=https://inner.example/simple");
        found.uv(
            "uv.toml",
            "python-install-mirror = 'https://m.example/pythons'\n[[index]]\nurl = 'https://x.example'\n\
             [[index]]\nurl = 'https://y.example'\ndefault = true\n",
        );
        assert_eq!(found.index.unwrap().address, "https://y.example");
        assert_eq!(found.extra[0].address, "https://inner.example/simple");
        assert_eq!(found.python.unwrap().address, "https://m.example/pythons");
        let mut found = HostMirrors::default();
        found.uv("uv.toml", "index-url = [");
        assert_eq!(found, HostMirrors::default(), "what cannot be read says nothing");
    }

    #[test]
    fn apts_own_configuration() {
        let mut found = HostMirrors::default();
        found.apt(
            "/etc/apt/sources.list",
            "# deb http://no.example/debian x main\n\
             deb [arch=amd64] http://mirror.example/pub/ubuntu/ jammy main\n\
             deb-src http://no.example/debian x main\ndeb cdrom:[x]/ y main\n",
        );
        found.apt(
            "/etc/apt/sources.list.d/debian.sources",
            "Types: deb\nURIs: http://one.example/debian\n\
             Suites: trixie\n\nTypes: deb\nURIs: http://two.example/debian-security\n\nEnabled: no\n\
             Types: deb\nURIs: http://three.example/ubuntu\n",
        );
        let mirrors: Vec<(&str, &str)> =
            found.apt.iter().map(|(family, url)| (family.as_str(), url.address.as_str())).collect();
        assert_eq!(mirrors, [("debian", "http://one.example"), ("ubuntu", "http://mirror.example/pub")]);
    }
}
