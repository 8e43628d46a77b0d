//! What the `docker` program would use here: which engine, which logins, which proxies.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::auth::Logins;
use diagnostic::error::{Error, Kind};
use facts::docker::{Endpoint, endpoint};
use facts::environment;
use facts::{Fact, IntoFact};
use host::Host;
use host::live::Live;

/// The longest that reading Docker's configuration may take.
const CONFIG_TIMEOUT: Duration = Duration::from_secs(10);
/// The proxy variables that Dockerfiles know without ARG, so that they are not stored in a layer.
const PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY"];

#[derive(Debug)]
pub struct Client {
    /// `unix:///var/run/docker.sock`.
    pub endpoint: Endpoint,
    /// Who said so: `--host`, `DOCKER_HOST`, `context NAME`, `default`.
    pub from: String,
    /// Logins to registries.
    pub logins: Logins,
    /// Proxies for builds, as build arguments.
    pub proxies: BTreeMap<String, String>,
    /// What a person should know of these.
    pub notes: Vec<String>,
    /// Whether DOCKER_BUILDKIT=0 asks for the classic builder.
    pub classic: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    proxies: BTreeMap<String, ProxyConfig>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ProxyConfig {
    http_proxy: String,
    https_proxy: String,
    ftp_proxy: String,
    no_proxy: String,
    all_proxy: String,
}

/// Looks on this machine; `host` is the engine that was asked for by option.
pub fn find(host: Option<&str>) -> Result<Client, Error> {
    find_on(&Live::new(Instant::now() + CONFIG_TIMEOUT), host)
}

fn find_on(machine: &dyn Host, asked: Option<&str>) -> Result<Client, Error> {
    let variables = machine.environment().text().map(|text| environment::parse(&text));
    let (endpoint, from) = match asked {
        Some(host) => (Endpoint::from(host), "--host".to_owned()),
        None => match endpoint::find(machine, &variables) {
            Fact::Known(endpoint) => (endpoint.url, endpoint.from.to_string()),
            Fact::Absent => (Endpoint::default(), "default".to_owned()),
            Fact::Unknown(why) => {
                return Err(Error::new(Kind::Engine, format!("cannot determine which engine to use: {why}"))
                    .hint("Specify the engine: --host unix:///var/run/docker.sock"));
            }
        },
    };
    let variables = variables.known().cloned().unwrap_or_default();
    let set = |name: &str| variables.get(name).map(String::as_str).filter(|value| !value.is_empty());
    let text = configuration(machine, &variables)?;
    let logins = Logins::parse(&text).map_err(|why| broken(&why.to_string()))?;
    let config: Config = serde_json::from_str(&text).map_err(|error| broken(&error.to_string()))?;
    let mut notes = Vec::new();
    let proxies = proxies(&config, &endpoint, &variables, &mut notes);
    Ok(Client { endpoint, from, logins, proxies, notes, classic: set("DOCKER_BUILDKIT") == Some("0") })
}

/// The text of config.json; an empty object where there is none.
fn configuration(machine: &dyn Host, variables: &BTreeMap<String, String>) -> Result<String, Error> {
    let home = variables.get("HOME").map(|home| format!("{}/.docker", home.trim_end_matches('/')));
    let Some(folder) = variables.get("DOCKER_CONFIG").cloned().or(home) else { return Ok("{}".into()) };
    match machine.read(&format!("{folder}/config.json")).text() {
        Fact::Known(text) => Ok(text),
        Fact::Absent => Ok("{}".into()),
        Fact::Unknown(why) => Err(Error::new(Kind::File, format!("{folder}/config.json: {why}"))),
    }
}

fn broken(why: &str) -> Error {
    Error::new(Kind::File, format!("cannot parse Docker's config.json: {why}"))
}

/// config.json's for this engine or for all, else the environment's. A proxy on the loopback is this
/// machine's and not the build's.
fn proxies(
    config: &Config,
    endpoint: &Endpoint,
    variables: &BTreeMap<String, String>,
    notes: &mut Vec<String>,
) -> BTreeMap<String, String> {
    let configured = config.proxies.get(endpoint.as_str()).or_else(|| config.proxies.get("default"));
    let value = |name: &str| {
        let configured = configured.map(|proxy| match name {
            "HTTP_PROXY" => &proxy.http_proxy,
            "HTTPS_PROXY" => &proxy.https_proxy,
            "FTP_PROXY" => &proxy.ftp_proxy,
            "NO_PROXY" => &proxy.no_proxy,
            _ => &proxy.all_proxy,
        });
        let set = |name: &str| variables.get(name).filter(|value| !value.is_empty()).cloned();
        configured
            .filter(|value| !value.is_empty())
            .cloned()
            .or_else(|| set(name))
            .or_else(|| set(&name.to_lowercase()))
    };
    let mut found = BTreeMap::new();
    for name in PROXIES {
        let Some(value) = value(name) else { continue };
        let loopback = ["127.", "localhost", "[::1]"];
        if *name != "NO_PROXY"
            && loopback
                .iter()
                .any(|host| value.contains(&format!("//{host}")) || value.contains(&format!("@{host}")))
        {
            notes.push(format!(
                "{name} points to the loopback interface of this machine, which a build cannot reach; it \
                 is not passed to the build"
            ));
            continue;
        }
        found.insert((*name).to_owned(), value.clone());
        found.insert(name.to_lowercase(), value);
    }
    if found.keys().all(|name| name.eq_ignore_ascii_case("NO_PROXY")) {
        found.clear();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_proxies_take_precedence_and_loopback_is_dropped() {
        let config: Config =
            serde_json::from_str(r#"{"proxies":{"default":{"httpProxy":"http://config.example:1"}}}"#)
                .unwrap();
        let variables = BTreeMap::from([
            ("http_proxy".to_owned(), "http://environment.example:2".to_owned()),
            ("https_proxy".to_owned(), "http://127.0.0.1:3".to_owned()),
        ]);
        let mut notes = Vec::new();
        let endpoint = Endpoint::default();
        let found = proxies(&config, &endpoint, &variables, &mut notes);
        assert_eq!(found.get("HTTP_PROXY").map(String::as_str), Some("http://config.example:1"));
        assert_eq!(found.get("http_proxy"), found.get("HTTP_PROXY"));
        assert!(!found.contains_key("HTTPS_PROXY"));
        assert!(notes.len() == 1 && notes[0].contains("HTTPS_PROXY"));
        let none = BTreeMap::from([("no_proxy".to_owned(), "localhost".to_owned())]);
        assert!(proxies(&Config::default(), &endpoint, &none, &mut notes).is_empty());
    }
}
