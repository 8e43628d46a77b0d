//! Which package index to ask: what the user said, else what uv and pip would ask.

use std::time::Duration;

use super::error::{Error, PipError};
use host::{Host, Reading};

/// Indexes, and what is needed to reach them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Simple indexes, the main one first.
    pub urls: Vec<String>,
    /// Who names the main one: `--index-url`, `PIP_INDEX_URL`, `/etc/pip.conf`.
    pub from: String,
    /// A file of certificates to trust besides the system's.
    pub certificates: Option<String>,
}

/// The index that `option` names, else the environment, else pip's files, else the one that pip has built in.
pub fn find(host: &dyn Host, option: Option<&str>) -> Result<Address, Error> {
    let environment = match host.environment() {
        Reading::Text(text) => text,
        _ => String::new(),
    };
    let variable = |name: &str| {
        let value = environment.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned)
    };
    let files = pip_files(&variable);
    let setting = |key: &str| {
        files.iter().find_map(|path| match host.read(path) {
            Reading::Text(text) => ini(&text, key).map(|value| (value, path.clone())),
            _ => None,
        })
    };
    let named = |name: &str| variable(name).map(|value| (value, name.to_owned()));
    let certificates = ["PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"]
        .iter()
        .find_map(|name| variable(name))
        .or_else(|| setting("cert").map(|(value, _)| value));
    let main = option
        .map(|url| (url.to_owned(), "--index-url".to_owned()))
        .or_else(|| named("UV_DEFAULT_INDEX"))
        .or_else(|| named("UV_INDEX_URL"))
        .or_else(|| named("PIP_INDEX_URL"))
        .or_else(|| setting("index-url"));
    let (url, from) = match main {
        Some(found) => found,
        None => (built_in(host)?, "pip's default".to_owned()),
    };
    let mut urls: Vec<String> = url.split_whitespace().map(str::to_owned).collect();
    if option.is_none() {
        let extra =
            variable("PIP_EXTRA_INDEX_URL").or_else(|| setting("extra-index-url").map(|(value, _)| value));
        urls.extend(extra.unwrap_or_default().split_whitespace().map(str::to_owned));
    }
    Ok(Address { urls, from, certificates })
}

/// The files that pip reads, the one that counts most first.
fn pip_files(variable: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let home = variable("HOME");
    let config = variable("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| format!("{home}/.config")));
    let files = [
        variable("PIP_CONFIG_FILE"),
        variable("VIRTUAL_ENV").map(|dir| format!("{dir}/pip.conf")),
        config.map(|dir| format!("{dir}/pip/pip.conf")),
        home.map(|home| format!("{home}/.pip/pip.conf")),
        Some("/etc/pip.conf".to_owned()),
        Some("/etc/xdg/pip/pip.conf".to_owned()),
    ];
    files.into_iter().flatten().collect()
}

/// A key of the sections `install` and `global`, of which the first counts more. A value may go on in
/// indented lines.
pub(crate) fn ini(text: &str, key: &str) -> Option<String> {
    let mut values: [Option<String>; 2] = [None, None];
    let mut section = None;
    let mut open = false;
    for line in text.lines().filter(|line| !line.trim_start().starts_with(['#', ';'])) {
        if line.starts_with([' ', '\t']) && open {
            if let Some(value) = section.and_then(|at: usize| values[at].as_mut()) {
                value.push(' ');
                value.push_str(line.trim());
            }
            continue;
        }
        open = false;
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = ["install", "global"].iter().position(|known| *known == name.trim());
        } else if let (Some(at), Some((name, value))) = (section, line.split_once(['=', ':']))
            && name.trim().replace('_', "-") == key
        {
            values[at] = Some(value.trim().to_owned());
            open = true;
        }
    }
    values.into_iter().flatten().map(|value| value.trim().to_owned()).find(|value| !value.is_empty())
}

/// The index that pip asks when nothing is configured: pip knows it.
fn built_in(host: &dyn Host) -> Result<String, PipError> {
    const ASK: &str = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)";
    let mut error = PipError::NoPython;
    for python in ["python3", "python"] {
        match host.run(&[python, "-c", ASK], Duration::from_secs(20)) {
            Reading::Ran { status: Some(0), stdout, .. } if stdout.trim().starts_with("http") => {
                return Ok(stdout.trim().to_owned());
            }
            Reading::Ran { stderr, .. } => {
                let last = stderr.lines().last().unwrap_or("python3 printed no index");
                error = PipError::Failed(last.trim().to_owned());
            }
            Reading::Failed(reason) => error = PipError::Failed(reason.detail),
            _ => {}
        }
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_and_lines_of_pips_files() {
        let text = "[global]\nindex-url = https://one.example/simple\ncert=/etc/ca.pem\n\
                    extra-index-url =\n    https://two.example/simple\n    \
                    https://three.example/simple\ntimeout = 5\n\
                    [install]\nindex_url: https://four.example/simple\n[list]\nindex-url = no\n";
        assert_eq!(ini(text, "index-url").as_deref(), Some("https://four.example/simple"));
        assert_eq!(ini(text, "cert").as_deref(), Some("/etc/ca.pem"));
        assert_eq!(
            ini(text, "extra-index-url").as_deref(),
            Some("https://two.example/simple https://three.example/simple")
        );
        assert_eq!(ini("# index-url = x\n[global]\n;index-url=y\nindex-url=\n", "index-url"), None);
    }

    /// A machine with these variables and files, without Python.
    struct Machine(&'static str, &'static [(&'static str, &'static str)]);

    impl Host for Machine {
        fn ask(&self, ask: host::Ask<'_>) -> Reading {
            match ask {
                host::Ask::Environment => Reading::Text(self.0.into()),
                host::Ask::Read(path) => {
                    let file = self.1.iter().find(|(known, _)| *known == path);
                    file.map_or(Reading::Absent, |(_, text)| Reading::Text((*text).into()))
                }
                _ => Reading::Absent,
            }
        }
    }

    #[test]
    fn index_sources_follow_pip_precedence() {
        let files: &[(&str, &str)] = &[
            ("/home/a/.config/pip/pip.conf", "[global]\nindex-url = https://user.example/simple\n"),
            ("/etc/pip.conf", "[global]\nindex-url = https://all.example/simple\ncert = /etc/all.pem\n"),
        ];
        let found = |environment, option| find(&Machine(environment, files), option).unwrap();
        let user = found("HOME=/home/a", None);
        assert_eq!(
            (user.urls[0].as_str(), user.from.as_str()),
            ("https://user.example/simple", "/home/a/.config/pip/pip.conf")
        );
        assert_eq!(user.certificates.as_deref(), Some("/etc/all.pem"));
        assert_eq!(found("HOME=/root", None).from, "/etc/pip.conf");
        let environment = "HOME=/root\nPIP_INDEX_URL=https://env.example/simple\n\
         PIP_EXTRA_INDEX_URL=https://more.example/simple\nPIP_CERT=/ca.pem";
        let env = found(environment, None);
        assert_eq!(env.urls, ["https://env.example/simple", "https://more.example/simple"]);
        assert_eq!((env.from.as_str(), env.certificates.as_deref()), ("PIP_INDEX_URL", Some("/ca.pem")));
        assert_eq!(
            found(environment, Some("https://opt.example/simple")).urls,
            ["https://opt.example/simple"]
        );
        let why = find(&Machine("HOME=/root", &[]), None).unwrap_err();
        assert!(matches!(why, Error::NoIndex(PipError::NoPython)), "{why}");
    }
}
