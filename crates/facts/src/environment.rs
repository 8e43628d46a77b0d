//! Environment variables, proxies, and pip's and uv's configuration.

use std::collections::BTreeMap;

use super::Fact;
use crate::IntoFact;
use host::{Host, Reading, live};

pub use host::redact::holds_credential;

/// The environment of the shell that started envdoc.
#[derive(Debug, Clone)]
pub struct Environment {
    /// The variables of [`host::live::VARIABLES`] that are set.
    pub variables: Fact<BTreeMap<String, String>>,
    /// Lines of `/etc/environment` that set one of them.
    pub etc_environment: Fact<BTreeMap<String, String>>,
    /// Settings of pip's configuration files (`/etc/pip.conf`, `/etc/xdg/pip/pip.conf`, `~/.pip/pip.conf`,
    /// `~/.config/pip/pip.conf`, `$VIRTUAL_ENV/pip.conf`, `$PIP_CONFIG_FILE`), key and value, later ones win:
    /// `index-url`. Names and passwords in addresses are left out.
    pub pip: Fact<Vec<(String, String)>>,
    /// The same of uv's (`/etc/uv/uv.toml`, `~/.config/uv/uv.toml`, `$UV_CONFIG_FILE`): `index-url`,
    /// `index.NAME`.
    pub uv: Fact<Vec<(String, String)>>,
    /// Variables that name certificates, their paths, and whether something is there.
    pub certificates: Vec<(String, String, Fact<bool>)>,
}

/// Variables that name a file or directory of certificates: OpenSSL's, requests', curl's, pip's.
const CERTIFICATES: &[&str] = &["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT"];

/// A variable that is set, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<'a> {
    /// `NCCL_DEBUG`.
    pub name: &'a str,
    /// Unparsed; may be empty.
    pub value: &'a str,
    /// `the environment` or `/etc/environment`.
    pub source: &'static str,
}

impl Environment {
    /// What is set in the environment, then what only `/etc/environment` sets, for the next login.
    pub fn settings(&self) -> Fact<Vec<Setting<'_>>> {
        self.variables.as_ref().and_then(|own| {
            self.etc_environment.as_ref().about("/etc/environment").map(|later| {
                own.iter()
                    .map(|(name, value)| Setting { name, value, source: "the environment" })
                    .chain(
                        later
                            .iter()
                            .filter(|(name, _)| !own.contains_key(*name))
                            .map(|(name, value)| Setting { name, value, source: "/etc/environment" }),
                    )
                    .collect()
            })
        })
    }

    /// One of them, if it is set to something.
    pub fn setting(&self, name: &str) -> Fact<Setting<'_>> {
        self.settings().and_then(|all| {
            let found = all.into_iter().find(|setting| setting.name == name && !setting.value.is_empty());
            found.map_or(Fact::Absent, Fact::Known)
        })
    }

    /// One variable; absent when unset or empty.
    pub fn variable(&self, name: &str) -> Fact<&str> {
        self.variables.as_ref().and_then(|all| match all.get(name) {
            Some(value) if !value.is_empty() => Fact::Known(value.as_str()),
            _ => Fact::Absent,
        })
    }
}

/// An address without the user and password in front of its host: `https://token@host/simple` is
/// `https://host/simple`. Every value that may be an address passes here before it is shown.
pub fn without_credentials(value: &str) -> String {
    let mut clean = String::new();
    let mut rest = value;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        let end = after.find(['/', '?', '#', ' ', ',']).unwrap_or(after.len());
        clean.push_str(before);
        let authority = &after[..end];
        clean.push_str(authority.rsplit_once('@').map_or(authority, |(_, host)| host));
        rest = &after[end..];
    }
    clean + rest
}

/// Variables from the text of [`host::Ask::Environment`].
pub fn parse(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host) -> Environment {
    let variables = host.environment().text().map(|text| parse(&text));
    let known = variables.known().cloned().unwrap_or_default();
    let home = known.get("HOME").cloned();
    let below_home = |path: &str| home.as_ref().map(|home| format!("{home}/{path}"));
    let variable_path = |name: &str, file: &str| known.get(name).map(|dir| format!("{dir}{file}"));
    let pip = [
        Some("/etc/xdg/pip/pip.conf".to_owned()),
        Some("/etc/pip.conf".to_owned()),
        below_home(".pip/pip.conf"),
        variable_path("XDG_CONFIG_HOME", "/pip/pip.conf").or_else(|| below_home(".config/pip/pip.conf")),
        variable_path("VIRTUAL_ENV", "/pip.conf"),
        variable_path("PIP_CONFIG_FILE", ""),
    ];
    let uv = [
        Some("/etc/uv/uv.toml".to_owned()),
        variable_path("XDG_CONFIG_HOME", "/uv/uv.toml").or_else(|| below_home(".config/uv/uv.toml")),
        variable_path("UV_CONFIG_FILE", ""),
    ];
    Environment {
        etc_environment: host
            .read("/etc/environment")
            .text()
            .map(|text| etc_environment(&text))
            .absent_as(BTreeMap::new()),
        pip: settings(host, &pip, |text| Ok(pip_settings(text))),
        uv: settings(host, &uv, uv_settings),
        certificates: CERTIFICATES
            .iter()
            .filter_map(|name| Some((*name, known.get(*name).filter(|path| !path.is_empty())?)))
            .map(|(name, path)| {
                let there = host.stat(path).text().map(|_| true).absent_as(false);
                (name.to_owned(), path.clone(), there)
            })
            .collect(),
        variables,
    }
}

/// Keys and values, in the order of the file.
type Settings = Vec<(String, String)>;

/// Reads files in order; one that is not there has no settings, one that cannot be read makes the whole
/// unknown.
fn settings(
    host: &dyn Host,
    paths: &[Option<String>],
    parse: fn(&str) -> Result<Settings, toml::de::Error>,
) -> Fact<Vec<(String, String)>> {
    let mut all = Vec::new();
    for path in paths.iter().flatten() {
        match host.read(path) {
            Reading::Text(text) => match parse(&text) {
                Ok(found) => all.extend(found),
                Err(error) => return Fact::unknown(format!("{path}: {}", error.message())),
            },
            Reading::Absent => {}
            // With PIP_CONFIG_FILE=/dev/null pip reads no file.
            Reading::Failed(_) if path == "/dev/null" => {}
            Reading::Failed(why) => return Fact::Unknown(why.clone().about(path.to_string())),
            Reading::Ran { .. } => return Fact::unknown(format!("{path}: a program's output")),
        }
    }
    Fact::Known(all)
}

/// Whether envdoc looks at a variable of this name: see [`live::VARIABLES`].
fn is_known(name: &str) -> bool {
    live::VARIABLES.iter().any(|known| name == *known || (known.ends_with('_') && name.starts_with(known)))
}

/// Lines `NAME=value`, as pam_env reads them: `export ` in front and quotes around the value are allowed.
///
/// ```text
/// PATH="/usr/local/sbin:/usr/local/bin"
/// NCCL_SOCKET_IFNAME=eth0
/// ```
fn etc_environment(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .map(|line| line.trim())
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.strip_prefix("export ").unwrap_or(line).split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), unquote(value)))
        .filter(|(name, _)| is_known(name))
        .collect()
}

/// The value of a shell assignment: quotes and the backslashes within them taken away.
pub(crate) fn unquote(value: &str) -> String {
    let value = value.trim();
    for quote in ['"', '\''] {
        let inner = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return if quote == '"' { inner.replace("\\\"", "\"").replace("\\$", "$") } else { inner.into() };
        }
    }
    value.to_owned()
}

/// The longest name of a setting, in bytes: pip has no option of a longer one, and each further line of a
/// value repeats it.
const PIP_NAME_MAX: usize = 100;

/// The INI that pip reads (Python's `configparser`): sections, `key = value` or `key: value`, further lines
/// of a value indented.
///
/// ```text
/// [global]
/// index-url = https://host/simple
/// extra-index-url =
///     https://one/simple
///     https://two/simple
/// ```
fn pip_settings(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut key = String::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';', '[']) {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            found.extend((!key.is_empty()).then(|| (key.clone(), without_credentials(trimmed))));
        } else if trimmed.find(['=', ':']).is_some_and(|at| at > PIP_NAME_MAX) {
            key.clear();
        } else if let Some(at) = trimmed.find(['=', ':']) {
            key = trimmed[..at].trim().to_lowercase().replace('_', "-");
            let value = trimmed[at + 1..].trim();
            if !value.is_empty() {
                found.push((key.clone(), without_credentials(value)));
            }
        }
    }
    found
}

/// uv's TOML: `index-url`, `extra-index-url`, tables `[[index]]`, `[pip]`.
fn uv_settings(text: &str) -> Result<Vec<(String, String)>, toml::de::Error> {
    let table: toml::Table = text.parse()?;
    let mut found = Vec::new();
    let mut take = |key: &str, value: &toml::Value| match value {
        toml::Value::String(text) => found.push((key.to_owned(), without_credentials(text))),
        toml::Value::Boolean(flag) => found.push((key.to_owned(), flag.to_string())),
        toml::Value::Array(items) => {
            for text in items.iter().filter_map(toml::Value::as_str) {
                found.push((key.to_owned(), without_credentials(text)));
            }
        }
        _ => {}
    };
    let pip = table.get("pip").and_then(toml::Value::as_table);
    for (key, value) in table.iter().chain(pip.into_iter().flatten()) {
        if key == "index" {
            for index in value.as_array().into_iter().flatten().filter_map(toml::Value::as_table) {
                let name = index.get("name").and_then(toml::Value::as_str).unwrap_or("unnamed");
                if let Some(url) = index.get("url") {
                    take(&format!("index.{name}"), url);
                }
            }
        } else {
            take(key, value);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sparse;

    use host::record::Replay;

    fn environment(readings: &[(&str, &str)]) -> Environment {
        gather(&Sparse::new(readings))
    }

    fn pairs(pairs: &[(&str, &str)]) -> Fact<Vec<(String, String)>> {
        Fact::Known(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    }

    #[test]
    fn configuration_of_pip_and_uv_is_read_without_credentials() {
        let found = environment(&[
            ("environment", "HOME=/home/ember\nNCCL_DEBUG=INFO"),
            (
                "read /home/ember/.config/pip/pip.conf",
                "[global]\n# mirror\nindex-url = https://ember:secret@mirror.example/simple\nextra-index-url \
                    =\n    https://a.example/simple\n    \
                        https://tok@b.example/simple\n[install]\ntrusted-host: mirror.example\n",
            ),
            (
                "read /home/ember/.config/uv/uv.toml",
                "index-url = \"https://u:p@mirror.example/simple\"\n[[index]]\nname = \"torch\"\nurl = \
                    \"https://x@t.example/whl\"\n",
            ),
            (
                "read /etc/environment",
                "PATH=\"/usr/bin\"\nexport NCCL_SOCKET_IFNAME='eth0'\nSECRET=1\n# NCCL_X=1\n",
            ),
        ]);
        assert_eq!(
            found.pip,
            pairs(&[
                ("index-url", "https://mirror.example/simple"),
                ("extra-index-url", "https://a.example/simple"),
                ("extra-index-url", "https://b.example/simple"),
                ("trusted-host", "mirror.example"),
            ])
        );
        assert_eq!(
            found.uv,
            pairs(&[
                ("index.torch", "https://t.example/whl"),
                ("index-url", "https://mirror.example/simple")
            ])
        );
        let names: Vec<&str> = found.etc_environment.known().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["NCCL_SOCKET_IFNAME", "PATH"]);
        assert_eq!(found.variable("NCCL_DEBUG"), Fact::Known("INFO"));
    }

    #[test]
    fn credentials_are_left_out_wherever_they_stand() {
        for (value, clean) in [
            ("http://user:pa@ss@proxy:3128/", "http://proxy:3128/"),
            ("https://a@x/s https://b:c@y/s", "https://x/s https://y/s"),
            ("proxy:3128", "proxy:3128"),
            ("https://host/path@2", "https://host/path@2"),
        ] {
            assert_eq!(without_credentials(value), clean);
        }
    }

    #[test]
    fn unreadable_configuration_is_unknown() {
        assert!(matches!(environment(&[("read /etc/uv/uv.toml", "= x")]).uv, Fact::Unknown(_)));
        let failing = gather(&Replay::new(BTreeMap::new(), "not in this snapshot"));
        assert!(matches!(failing.pip, Fact::Unknown(_)) && matches!(failing.variables, Fact::Unknown(_)));
        assert_eq!(environment(&[]).pip, pairs(&[]));
    }
}
