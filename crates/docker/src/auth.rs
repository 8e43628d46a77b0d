//! Logins to registries, from where `docker login` keeps them: Docker's config.json and credential helpers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::error::{Error, messages};
use host::process;

/// The longest that a credential helper may take.
const HELPER_TIMEOUT: Duration = Duration::from_secs(15);
/// Docker Hub's key in config.json.
const HUB_KEY: &str = "https://index.docker.io/v1/";
/// The user name that says the secret is a token.
const TOKEN_USER: &str = "<token>";

/// A user name with a password, or a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// The user; empty with a token.
    pub username: String,
    /// The password or the token.
    pub secret: String,
    /// Whether the secret is an identity token.
    pub token: bool,
}

impl Login {
    fn new(username: &str, secret: &str) -> Login {
        let token = username == TOKEN_USER;
        let username = if token { String::new() } else { username.to_owned() };
        Login { username, secret: secret.to_owned(), token }
    }

    /// User and secret as BuildKit takes them.
    pub(super) fn for_buildkit(self) -> (String, String) {
        (self.username, self.secret)
    }

    /// As the engine's API takes them.
    pub(super) fn for_engine(self, registry: &str) -> bollard::auth::DockerCredentials {
        let mut credentials = bollard::auth::DockerCredentials {
            serveraddress: Some(registry.to_owned()),
            ..Default::default()
        };
        if self.token {
            credentials.identitytoken = Some(self.secret);
        } else {
            credentials.username = Some(self.username);
            credentials.password = Some(self.secret);
        }
        credentials
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Login of {:?}", self.username)
    }
}

/// What Docker's config.json says about logins.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Logins {
    auths: BTreeMap<String, Entry>,
    creds_store: String,
    cred_helpers: BTreeMap<String, String>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct Entry {
    auth: String,
    username: String,
    password: String,
    identitytoken: String,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Entry")
    }
}

impl Logins {
    /// The text of config.json.
    pub fn parse(text: &str) -> Result<Logins, Error> {
        serde_json::from_str(text).map_err(Error::other)
    }

    /// The login for a registry (`registry.example.org:5000`, `docker.io`); `None` where there is none. An
    /// error where a credential helper failed: that is not the same as having no login.
    pub fn for_registry(&self, registry: &str) -> Result<Option<Login>, Error> {
        let key = key(registry);
        let helper = self.cred_helpers.get(registry).or_else(|| self.cred_helpers.get(key));
        if let Some(helper) = helper.or_else(|| Some(&self.creds_store).filter(|store| !store.is_empty()))
            && let Some(login) = run_helper(helper, key)?
        {
            return Ok(Some(login));
        }
        let found = self.auths.iter().find(|(name, _)| name.as_str() == key || host_of_key(name) == registry);
        Ok(found.and_then(|(_, entry)| entry.login()))
    }
}

impl Entry {
    fn login(&self) -> Option<Login> {
        if !self.identitytoken.is_empty() {
            return Some(Login::new(TOKEN_USER, &self.identitytoken));
        }
        if !self.username.is_empty() {
            return Some(Login::new(&self.username, &self.password));
        }
        let decoded = String::from_utf8(STANDARD.decode(self.auth.trim()).ok()?).ok()?;
        let (username, secret) = decoded.trim_end_matches('\0').split_once(':')?;
        Some(Login::new(username, secret))
    }
}

/// Under which key a registry's login is kept.
pub(super) fn key(registry: &str) -> &str {
    if hub(registry) { HUB_KEY } else { registry }
}

fn hub(registry: &str) -> bool {
    matches!(registry, "docker.io" | "index.docker.io" | "registry-1.docker.io")
}

/// A key of config.json as a host: `https://registry.example.org/v1/` is `registry.example.org`.
fn host_of_key(key: &str) -> &str {
    let key = key.split_once("://").map_or(key, |(_, rest)| rest);
    key.split('/').next().unwrap_or(key)
}

/// `docker-credential-NAME get`, which reads the registry on its standard input.
fn run_helper(helper: &str, registry: &str) -> Result<Option<Login>, Error> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(rename = "Username")]
        username: String,
        #[serde(rename = "Secret")]
        secret: String,
    }
    let program = format!("docker-credential-{helper}");
    let failed = |fault: String| Error::CredentialHelper { program: program.clone(), fault };
    let reading = process::run_with_input(&[&program, "get"], registry, Instant::now() + HELPER_TIMEOUT);
    let text = match reading {
        host::Reading::Ran { status: Some(0), stdout, .. } => stdout,
        host::Reading::Ran { stdout, stderr, .. } => {
            let output = format!("{stdout}{stderr}");
            if messages::means_no_login(&output) {
                return Ok(None);
            }
            return Err(failed(format!("failed: {}", output.trim())));
        }
        host::Reading::Absent => return Err(failed("is not on PATH".into())),
        host::Reading::Failed(why) => return Err(failed(format!("failed: {why}"))),
        host::Reading::Text(_) => return Err(failed("returned no answer".into())),
    };
    let answer: Answer =
        serde_json::from_str(&text).map_err(|error| failed(format!("returned invalid JSON: {error}")))?;
    Ok(Some(Login::new(&answer.username, &answer.secret)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_of_config_json() {
        let logins = Logins::parse(
            r#"{"auths":{"https://index.docker.io/v1/":{"auth":"bWU6c2VjcmV0"},
                "registry.example.org:5000":{"auth":"dXNlcjpwOmFzcw=="},
                "https://old.example.org/v1/":{"username":"u","password":"p"},
                "token.example.org":{"identitytoken":"t"},"empty.example.org":{}},
                "HttpHeaders":{"User-Agent":"x"}}"#,
        )
        .unwrap();
        let of = |registry: &str| logins.for_registry(registry).unwrap();
        assert_eq!(of("docker.io"), Some(Login::new("me", "secret")));
        assert_eq!(of("registry.example.org:5000"), Some(Login::new("user", "p:ass")));
        assert_eq!(of("old.example.org"), Some(Login::new("u", "p")));
        assert!(of("token.example.org").is_some_and(|login| login.token && login.username.is_empty()));
        assert_eq!(of("empty.example.org"), None);
        assert_eq!(of("registry.example.org"), None);
        assert!(Logins::parse("[").is_err());
    }

    #[test]
    fn a_helper_that_is_not_there_is_an_error_and_no_missing_login() {
        let logins = Logins::parse(r#"{"credHelpers":{"r.example.org":"no-such-helper-7"}}"#).unwrap();
        assert!(
            logins
                .for_registry("r.example.org")
                .unwrap_err()
                .to_string()
                .contains("docker-credential-no-such-helper-7")
        );
        assert_eq!(logins.for_registry("other.example.org"), Ok(None));
    }
}
