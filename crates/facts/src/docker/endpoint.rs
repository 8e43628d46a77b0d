//! Which engine the `docker` program would ask.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::address::Endpoint;
use crate::Fact;
use crate::IntoFact;
use host::{Host, Stat};

/// The endpoint that the `docker` program would use, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedEndpoint {
    /// `unix:///var/run/docker.sock`.
    pub url: Endpoint,
    /// What selected it.
    pub from: EndpointSource,
    /// Whether envdoc, on the machine that it looks at, would reach another machine's engine there.
    pub elsewhere: bool,
}

/// What makes the `docker` program use an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndpointSource {
    /// The variable `DOCKER_HOST`.
    DockerHost,
    /// The context of this name.
    Context(String),
    /// `engine` of a node in `cluster.yaml`.
    ClusterFile,
    /// No setting; the default socket is missing, and a rootless engine's is there.
    Rootless,
    /// No setting.
    Default,
}

impl EndpointSource {
    /// True where somebody named the endpoint.
    pub fn is_configured(&self) -> bool {
        !matches!(self, EndpointSource::Rootless | EndpointSource::Default)
    }
}

/// `DOCKER_HOST`, `context NAME`, `cluster.yaml`, `rootless`, `default`.
impl fmt::Display for EndpointSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndpointSource::DockerHost => f.write_str("DOCKER_HOST"),
            EndpointSource::Context(name) => write!(f, "context {name}"),
            EndpointSource::ClusterFile => f.write_str("cluster.yaml"),
            EndpointSource::Rootless => f.write_str("rootless"),
            EndpointSource::Default => f.write_str("default"),
        }
    }
}

impl SelectedEndpoint {
    fn new(url: impl Into<Endpoint>, from: EndpointSource) -> SelectedEndpoint {
        let url = url.into();
        SelectedEndpoint { elsewhere: url.is_elsewhere(), url, from }
    }
}

/// In the docker program's order: DOCKER_HOST, DOCKER_CONTEXT, `currentContext` of its configuration, the
/// default. Where the default socket is missing and a rootless engine's is there, that one.
pub fn find(host: &dyn Host, variables: &Fact<BTreeMap<String, String>>) -> Fact<SelectedEndpoint> {
    let variables = match variables {
        Fact::Known(variables) => variables,
        Fact::Absent => &BTreeMap::new(),
        Fact::Unknown(why) => return Fact::Unknown(why.clone()),
    };
    let set = |name: &str| variables.get(name).map(String::as_str).filter(|value| !value.is_empty());
    if let Some(url) = set("DOCKER_HOST") {
        return Fact::Known(SelectedEndpoint::new(url, EndpointSource::DockerHost));
    }
    let configuration = configuration(variables);
    let (context, from) = match (set("DOCKER_CONTEXT"), &configuration) {
        (Some(name), _) => (Some(name.to_owned()), "DOCKER_CONTEXT"),
        (None, Some(dir)) => match current_context(host, dir) {
            Fact::Known(name) => (Some(name), "currentContext"),
            Fact::Absent => (None, ""),
            Fact::Unknown(why) => return Fact::Unknown(why),
        },
        (None, None) => (None, ""),
    };
    match (context, configuration) {
        (Some(name), Some(dir)) if name != "default" => return context_endpoint(host, &dir, &name, from),
        (Some(name), None) if name != "default" => {
            return Fact::unknown(format!(
                "the context {name} cannot be found without HOME or DOCKER_CONFIG"
            ));
        }
        _ => {}
    }
    let rootless = set("XDG_RUNTIME_DIR").map(|dir| format!("{}/docker.sock", dir.trim_end_matches('/')));
    let default = || Fact::Known(SelectedEndpoint::new(Endpoint::default(), EndpointSource::Default));
    match rootless {
        Some(socket) if host.stat("/var/run/docker.sock").text() == Fact::Absent => {
            let rootless = host.stat(&socket).json::<Stat>().about(&socket);
            let endpoint = |_| SelectedEndpoint::new(Endpoint::unix(&socket), EndpointSource::Rootless);
            rootless.map(endpoint).or_else(default)
        }
        _ => default(),
    }
}

/// The folder of ca.pem, cert.pem and key.pem with which the docker program would reach an engine by TCP:
/// that of the context where the endpoint is the context's, else DOCKER_CERT_PATH or the configuration's
/// where DOCKER_TLS_VERIFY is set or `wanted`. Absent: without TLS.
pub fn certificates(
    host: &dyn Host,
    variables: &Fact<BTreeMap<String, String>>,
    url: &Endpoint,
    wanted: bool,
) -> Fact<String> {
    let none = BTreeMap::new();
    let variables = match variables {
        Fact::Known(variables) => variables,
        Fact::Absent => &none,
        Fact::Unknown(why) => return Fact::Unknown(why.clone()),
    };
    let set = |name: &str| variables.get(name).map(String::as_str).filter(|value| !value.is_empty());
    let configuration = configuration(variables);
    let found = find(host, &Fact::Known(variables.clone()));
    if let (Fact::Known(SelectedEndpoint { url: of_context, from, .. }), Some(dir)) = (&found, &configuration)
        && of_context == url
        && let EndpointSource::Context(context) = from
    {
        return context_certificates(host, dir, context);
    }
    if !wanted && set("DOCKER_TLS_VERIFY").is_none() && set("DOCKER_TLS").is_none() {
        return Fact::Absent;
    }
    match set("DOCKER_CERT_PATH").map(str::to_owned).or(configuration) {
        Some(folder) => Fact::Known(folder),
        None => Fact::unknown("neither DOCKER_CERT_PATH nor HOME says where the certificates are"),
    }
}

/// DOCKER_CONFIG, else ~/.docker.
fn configuration(variables: &BTreeMap<String, String>) -> Option<String> {
    let set = |name: &str| variables.get(name).map(String::as_str).filter(|value| !value.is_empty());
    set("DOCKER_CONFIG")
        .map(str::to_owned)
        .or_else(|| set("HOME").map(|home| format!("{}/.docker", home.trim_end_matches('/'))))
}

/// `contexts/tls/SHA256-OF-NAME/docker/`, which stands only where the context has certificates.
fn context_certificates(host: &dyn Host, dir: &str, name: &str) -> Fact<String> {
    context(host, dir, name).and_then(|Context { entry, .. }| {
        let certificates = format!("{dir}/contexts/tls/{entry}/docker");
        host.stat(&certificates).json::<Stat>().map(|_| certificates)
    })
}

/// A context as Docker keeps it.
struct Context {
    /// The name of its folder, SHA256-OF-NAME.
    entry: String,
    /// The path of its `meta.json`.
    path: String,
    /// What that file holds.
    meta: Value,
}

/// The context of a name. Absent where none has it; unknown where one that cannot be read may be it.
fn context(host: &dyn Host, dir: &str, name: &str) -> Fact<Context> {
    let folder = format!("{dir}/contexts/meta");
    let entries = match host.list(&folder).lines().absent_as(Vec::new()).about(&folder) {
        Fact::Known(entries) => entries,
        other => return other.and_then(|_| Fact::Absent),
    };
    let mut unreadable = None;
    for entry in entries {
        let path = format!("{folder}/{entry}/meta.json");
        match host.read(&path).json::<Value>().about(&path) {
            Fact::Known(meta) if meta.get("Name").and_then(Value::as_str) == Some(name) => {
                return Fact::Known(Context { entry, path, meta });
            }
            Fact::Known(_) | Fact::Absent => {}
            Fact::Unknown(why) => unreadable = Some(why),
        }
    }
    unreadable.map_or(Fact::Absent, Fact::Unknown)
}

/// `"currentContext": "desktop-linux"` in `config.json`.
fn current_context(host: &dyn Host, dir: &str) -> Fact<String> {
    let path = format!("{dir}/config.json");
    let config = host.read(&path).json::<Value>().about(&path);
    config.and_then(|config| match config.get("currentContext").and_then(Value::as_str) {
        Some(name) if !name.is_empty() => Fact::Known(name.to_owned()),
        _ => Fact::Absent,
    })
}

/// `contexts/meta/SHA256-OF-NAME/meta.json`:
/// `{"Name":"gpu","Metadata":{},"Endpoints":{"docker":{"Host":"ssh://root@gpu","SkipTLSVerify":false}}}`.
fn context_endpoint(host: &dyn Host, dir: &str, name: &str, from: &str) -> Fact<SelectedEndpoint> {
    match context(host, dir, name) {
        Fact::Known(Context { path, meta, .. }) => {
            match meta.pointer("/Endpoints/docker/Host").and_then(Value::as_str) {
                Some(url) => {
                    Fact::Known(SelectedEndpoint::new(url, EndpointSource::Context(name.to_owned())))
                }
                None => Fact::unknown(format!("{path} names no Docker endpoint")),
            }
        }
        Fact::Unknown(why) => Fact::Unknown(why.about(format!("context {name} ({from})"))),
        Fact::Absent => {
            Fact::unknown(format!("the context {name} ({from}) is not among those below {dir}/contexts/meta"))
        }
    }
}
