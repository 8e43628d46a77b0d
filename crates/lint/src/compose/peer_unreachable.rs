//! Addresses of other services that do not lead to them.

use crate::mounted_settings::mentions;
use crate::read::compose::{Compose, IsStack, Service, below, text};
use crate::rule::{Example, Found, Judge, Rule, Severity, compose};
use crate::servers::of_service;

use super::compose_reference_undeclared::is_part;

/// A compose file with a settings file next to it as an example.
const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, companions }
}

pub(crate) const RULE: Rule = Rule {
    id: "peer-unreachable",
    severity: Severity::Error,
    summary: "addresses of other services resolve and lead to them",
    explain: include_str!("peer_unreachable.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  trainer0:\n    image: b\n    command: accelerate launch --num_machines 2 \
             --machine_rank 0 --main_process_ip trainer-0 t.py\n  trainer1:\n    image: b\n    command: \
             accelerate launch --num_machines 2 --machine_rank 1 --main-process-ip=trainer0 t.py\n",
        ),
        compose(
            "services:\n  trainer0:\n    image: b\n    environment: {MASTER_ADDR: trainer-0}\n  \
                trainer1:\n    image: \
             b\n    environment: {MASTER_ADDR: trainer-0}\n",
        ),
        compose(
            "services:\n  triton:\n    image: b\n  gateway:\n    image: c\n    network_mode: host\n    \
                environment: \
             {TRITON_URL: \"triton:8001\"}\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    networks: [one]\n    environment: \
                {API: \"http://c:80\"}\n  c:\n    \
             image: b\n    networks: [two]\nnetworks: {one: , two: }\n",
        ),
        compose(
            "services:\n  llm:\n    image: b\n    ports: [\"8000:8000\"]\n  app:\n    image: c\n    \
                environment: \
             {OPENAI_BASE_URL: \"http://localhost:8000/v1\"}\n",
        ),
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: [--model, \
             a/b]\n  app:\n    \
             image: c\n    command: serve --upstream http://localhost:8000/v1\n",
        ),
        compose(
            "services:\n  webui:\n    image: b\n    environment: {OLLAMA_BASE_URL: \
             \"http://host.docker.internal:11434\"}\n",
        ),
        with(
            "services:\n  exporter:\n    image: b\n    network_mode: host\n  proxy:\n    image: \
             nginx:1.27\n    volumes: \
             [\"./nginx.conf:/etc/nginx/nginx.conf:ro\"]\n",
            &[(
                "nginx.conf",
                "events {}\nhttp { server { location / { proxy_pass http://exporter:9400; } } }\n",
            )],
        ),
    ],
    silent: &[
        compose(
            "services:\n  gpu-01:\n    image: b\n    network_mode: host\n    command: accelerate launch \
             --num_machines 2 --machine_rank 1 --main_process_ip gpu01 t.py\n",
        ),
        compose(
            "services:\n  trainer1:\n    image: b\n    command: torchrun --nnodes 2 --node_rank 1 \
             --master_addr trainer2 t.py\n",
        ),
        // For clients on the host: the proxy waits for the service.
        compose(
            "services:\n  server:\n    image: b\n    environment: {PROXY_ADDRESS: \"localhost:30022\"}\n  \
             proxy:\n    image: c\n    depends_on: [server]\n    ports: [\"30022:30022\"]\n",
        ),
        with(
            "services:\n  exporter:\n    image: b\n  proxy:\n    image: nginx:1.27\n    volumes: \
             [\"./nginx.conf:/etc/nginx/nginx.conf:ro\"]\n",
            &[(
                "nginx.conf",
                "events {}\nhttp { server { location / { proxy_pass http://exporter:9400; } } }\n",
            )],
        ),
        compose(
            "services:\n  webui:\n    image: b\n    environment: {OLLAMA_BASE_URL: \
             \"http://host.docker.internal:11434\"}\n    extra_hosts: \
             [\"host.docker.internal:host-gateway\"]\n",
        ),
        compose(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.8.5\n    command: [--model, \
             a/b]\n  app:\n    \
             image: c\n    command: uvicorn app:app --port 8000\n    environment: {SELF_URL: \
             \"http://localhost:8000\"}\n",
        ),
        compose(
            "services:\n  triton:\n    image: b\n  gateway:\n    image: c\n    environment: {TRITON_URL: \
             \"triton:8001\", OTHER: \"http://example.com/triton\"}\n",
        ),
        compose(
            "services:\n  llm:\n    image: b\n    ports: [\"8000:8000\"]\n  web:\n    image: c\n    \
                environment: \
             {NEXT_PUBLIC_API_URL: \"http://localhost:8000\"}\n  app:\n    image: c\n    network_mode: \
             host\n    \
             environment: {API: \"http://localhost:8000\"}\n",
        ),
    ],
};

/// Where a service is said to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// The variable or option that has it.
    pub name: String,
    pub key: &'static str,
    pub host: String,
    pub port: Option<String>,
}

fn judge(file: &Compose) -> Vec<Found> {
    if file.stack == IsStack::Yes || is_part(file) {
        return Vec::new();
    }
    let one = |service: &Service| {
        let mut found: Vec<Found> =
            addresses(service).iter().filter_map(|address| unreachable(file, service, address)).collect();
        found.dedup_by(|one, other| one.message == other.message);
        found.extend(mentions(file, service).into_iter().filter_map(|one| {
            let (name, port) = (one.path, Some(one.port));
            let address = Address { name, key: "volumes", host: one.host, port };
            let fault = unreachable(file, service, &address)?;
            Some(Found { file: one.location.file, line: one.location.line, ..fault })
        }));
        found
    };
    file.services.iter().filter(|one| !one.extends_elsewhere).flat_map(one).collect()
}

fn unreachable(file: &Compose, service: &Service, address: &Address) -> Option<Found> {
    let line = service.line_of(address.key);
    let (own, host) = (&service.name, address.host.as_str());
    if matches!(host, "localhost" | "127.0.0.1") {
        return itself(file, service, address);
    }
    if host == "host.docker.internal" && !extra_hosts(service).iter().any(|name| name == host) {
        let message = format!(
            "service {own}: {host} ({}) does not resolve with Docker Engine on Linux; only Docker Desktop \
             adds it",
            address.name
        );
        let fix = "Add `extra_hosts: [\"host.docker.internal:host-gateway\"]`";
        return Some(Found::warning(line, message, fix));
    }
    let Some(other) = file.services.iter().find(|one| names(one).iter().any(|name| name == host)) else {
        return misspelled(file, service, address);
    };
    let mode = service.text("network_mode").unwrap_or_default();
    if other.name == service.name || extra_hosts(service).iter().any(|name| name == host) {
        return None;
    }
    if mode == "host" || mode == "bridge" {
        let message = format!(
            "service {own} has network_mode {mode}, where the name {host} ({}) does not resolve",
            address.name
        );
        let fix = format!("Publish a port of {host} and use localhost, or remove network_mode");
        return Some(Found::error(line, message, fix));
    }
    if other.text("network_mode").as_deref() == Some("host") {
        let message = format!(
            "service {own}: {host} ({}) has network_mode host, and its name does not resolve",
            address.name
        );
        return Some(Found::error(
            line,
            message,
            "Use `host.docker.internal` with extra_hosts, or one network for both",
        ));
    }
    let (mine, theirs) = (networks(service)?, networks(other)?);
    let message = format!("services {own} and {host} ({}) have no network in common", address.name);
    (!mine.iter().any(|one| theirs.contains(one)))
        .then(|| Found::error(line, message, "Add one network to both"))
}

/// A name that is almost that of a service.
fn misspelled(file: &Compose, service: &Service, address: &Address) -> Option<Found> {
    let host = address.host.as_str();
    // The names of the host's network are those of machines.
    if service.text("network_mode").as_deref() == Some("host") {
        return None;
    }
    let known = file.services.iter().flat_map(names).collect::<Vec<_>>();
    // `trainer2` is another machine than `trainer1`.
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let known = known.iter().filter(|name| digits(host) == digits(name.as_str()));
    let near = known.into_iter().find(|name| diagnostic::suggest::is_typo(host, name))?;
    let elsewhere = host.contains('.') || extra_hosts(service).iter().any(|name| name == host);
    let message = format!(
        "service {}: {} is {host}, but the service is named {near}; the name does not resolve",
        service.name, address.name
    );
    let line = service.line_of(address.key);
    (!elsewhere).then(|| Found::error(line, message, format!("Write `{near}`")))
}

/// Localhost is the container itself.
fn itself(file: &Compose, service: &Service, address: &Address) -> Option<Found> {
    let port = address.port.as_ref()?;
    let isolated = service.at(&["network_mode"]).is_none();
    let own = of_service(file, service);
    // A server of its own may listen there, and so may one that nobody sees.
    if own.is_some_and(|own| port.parse().ok().and_then(|port| own.listens_on(port)) != Some(false)) {
        return None;
    }
    let upper = address.name.to_ascii_uppercase();
    // What a browser on the host opens.
    let outside = [
        "PUBLIC",
        "EXTERNAL",
        "CORS",
        "ORIGIN",
        "REDIRECT",
        "CALLBACK",
        "FRONTEND",
        "BROWSER",
        "VITE_",
        "REACT_APP",
        "ROOT_URL",
        "MASTER",
        "RDZV",
    ];
    if !isolated || outside.iter().any(|word| upper.contains(word)) || container_ports(service).contains(port)
    {
        return None;
    }
    let number: u16 = port.parse().ok()?;
    let serves = |one: &Service| {
        container_ports(one).contains(port)
            || of_service(file, one).and_then(|server| server.listens_on(number)) == Some(true)
    };
    let other = file.services.iter().find(|one| one.name != service.name && serves(one))?;
    // What waits for this service is not called by it: the address is for clients on the host.
    if depends(other).contains(&service.name) {
        return None;
    }
    let message = format!(
        "service {}: {} is {}:{port}, the container itself; port {port} is service {}",
        service.name, address.name, address.host, other.name
    );
    Some(Found::warning(service.line_of(address.key), message, format!("Write `{}:{port}`", other.name)))
}

/// The ports of the container that a service publishes or exposes.
pub(super) fn container_ports(service: &Service) -> Vec<String> {
    let last = |item: String| {
        let ports = item.split('/').next()?.rsplit(':').next()?.to_owned();
        Some(ports)
    };
    let long = service.at(&["ports"]).and_then(|ports| ports.as_sequence()).into_iter().flatten();
    let long = long.filter_map(|item| below(item, &["target"]).and_then(text));
    let short = service.list(&["ports"]).into_iter().chain(service.list(&["expose"]));
    short.filter_map(last).chain(long).collect()
}

/// The names under which other services reach one.
pub(super) fn names(service: &Service) -> Vec<String> {
    let aliases = service.at(&["networks"]).and_then(|all| all.as_mapping()).into_iter().flatten();
    let aliases = aliases.filter_map(|(_, network)| below(network, &["aliases"])?.as_sequence());
    let mut names: Vec<String> = aliases.flatten().filter_map(text).collect();
    names.extend(["container_name", "hostname"].into_iter().filter_map(|key| service.text(key)));
    names.insert(0, service.name.clone());
    names
}

/// The services that one waits for.
fn depends(service: &Service) -> Vec<String> {
    let keys = service.at(&["depends_on"]).and_then(|all| all.as_mapping()).into_iter().flatten();
    keys.filter_map(|(name, _)| text(name)).chain(service.list(&["depends_on"])).collect()
}

fn extra_hosts(service: &Service) -> Vec<String> {
    let keys = service.at(&["extra_hosts"]).and_then(|all| all.as_mapping()).into_iter().flatten();
    let list = service.list(&["extra_hosts"]);
    let list = list.iter().filter_map(|one| one.split([':', '=']).next().map(str::to_owned));
    keys.filter_map(|(name, _)| text(name)).chain(list).chain(service.list(&["links"])).collect()
}

/// The networks of a service; `None` where another one's is used.
pub(super) fn networks(service: &Service) -> Option<Vec<String>> {
    if service.at(&["network_mode"]).is_some() {
        return None;
    }
    let names = service.networks();
    Some(if names.is_empty() { vec!["default".to_owned()] } else { names })
}

/// Options whose value is an address.
const OPTIONS: &[&str] = &["master_addr", "rdzv_endpoint", "rdzv_backend_endpoint", "main_process_ip"];

/// Beginnings of addresses of servers.
const URLS: &[&str] = &["http://", "https://", "grpc://", "tcp://", "redis://"];

/// Addresses in the environment and in the command.
pub(super) fn addresses(service: &Service) -> Vec<Address> {
    let environment = service.environment().into_iter();
    let mut found: Vec<Address> = environment
        .filter_map(|(name, value)| {
            let value = value.filter(|value| !value.contains('$'))?;
            let bare =
                ["_ADDR", "_HOST", "_HOSTNAME", "_SERVER", "_ENDPOINT"].iter().any(|end| name.ends_with(end));
            let (host, port) = address(value.trim_matches(['"', '\'']), bare)?;
            Some(Address { name, key: "environment", host, port })
        })
        .collect();
    let command = service.command();
    let words: Vec<&str> = command.split_whitespace().collect();
    for (at, word) in words.iter().enumerate() {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (*word, words.get(at + 1).copied()),
        };
        let is_url = |value: &str| URLS.iter().any(|scheme| value.starts_with(scheme));
        let name = option.strip_prefix("--").unwrap_or_default().replace('-', "_");
        let known = |value: &str| {
            OPTIONS.contains(&name.as_str())
                || option.starts_with("--") && is_url(value.trim_matches(['"', '\'']))
        };
        let value = value.filter(|value| known(value) && !value.contains('$'));
        let parts = value.and_then(|value| address(value.trim_matches(['"', '\'']), true));
        found.extend(parts.map(|(host, port)| Address {
            name: option.to_owned(),
            key: "command",
            host,
            port,
        }));
    }
    found
}

/// Host and port of `http://user@host:80/path`, `host:80`, and of `host` where it is known to be one.
pub(super) fn address(value: &str, bare: bool) -> Option<(String, Option<String>)> {
    let (rest, is_url) = match value.split_once("://") {
        Some((_, rest)) => (rest, true),
        None => (value, false),
    };
    let authority = rest.split(['/', '?', ',']).next()?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port.to_owned()).filter(|port| port.parse::<u16>().is_ok())),
        None => (authority, None),
    };
    let is_name =
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let is_address = is_url || port.is_some() || (bare && !value.contains(['/', ' ', ':']));
    (is_name && is_address).then(|| (host.to_owned(), port))
}
