//! A port of the host where containers talk to each other.

use crate::mounted_settings::mentions;
use crate::read::compose::{Compose, IsStack, Service, below, text};
use crate::rule::{Example, Found, Judge, Rule, Severity, compose};

use super::peer_unreachable::{Address, addresses, container_ports};

pub(crate) const RULE: Rule = Rule {
    id: "published-port-inside",
    severity: Severity::Warning,
    summary: "services reach each other on the ports of the containers",
    explain: include_str!("published_port_inside.md"),
    judge: Judge::Compose(judge),
    fires: &[
        compose(
            "services:\n  api:\n    image: example/api\n    ports: [\"8001:8000\"]\n  web:\n    image: \
             example/web\n\
             \x20   environment:\n      API_URL: http://api:8001/v1\n",
        ),
        Example {
            name: "compose.yaml",
            text: "services:\n  api:\n    image: example/api\n    ports: [\"127.0.0.1:8001:8000\"]\n  \
                   web:\n    image: \
                   example/web\n    volumes:\n      - ./web.toml:/etc/web.toml:ro\n",
            companions: &[("web.toml", "[upstream]\nurl = \"http://api:8001/v1\"\n")],
        },
    ],
    silent: &[
        Example {
            name: "compose.yaml",
            text: "services:\n  api:\n    image: example/api\n    ports: [\"127.0.0.1:8001:8000\"]\n  \
                   web:\n    image: \
                   example/web\n    volumes:\n      - ./web.toml:/etc/web.toml:ro\n",
            companions: &[(
                "web.toml",
                "# http://api:8001 from outside\n[upstream]\nurl = \"http://api:8000/v1\"\nother = \
                 \"http://my-api:8001\"\n",
            )],
        },
        compose(
            "services:\n  api:\n    image: example/api\n    ports: [\"8001:8000\"]\n  web:\n    image: \
             example/web\n    environment:\n      API_URL: http://api:8000/v1\n",
        ),
        compose(
            "services:\n  api:\n    image: example/api\n    ports: [\"8001:8000\", \"9001:8001\"]\n  \
             web:\n    \
             image: example/web\n    environment:\n      API_URL: http://api:8001/v1\n",
        ),
        compose(
            "services:\n  api:\n    image: example/api\n    command: serve --port 8001\n    ports: \
             [\"8001:8000\"]\n  web:\n    image: example/web\n    environment:\n      API_URL: \
             http://api:8001/v1\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let own = |service: &&Service| !service.extends_elsewhere && service.at(&["network_mode"]).is_none();
    let mut found = Vec::new();
    for service in file.services.iter().filter(own) {
        found.extend(addresses(service).iter().filter_map(|address| fault(file, service, address)));
        found.extend(mentions(file, service).into_iter().filter_map(|one| {
            let (name, port) = (format!("an address in {}", one.path), Some(one.port));
            let fault = fault(file, service, &Address { name, key: "volumes", host: one.host, port })?;
            Some(Found { file: one.location.file, line: one.location.line, ..fault })
        }));
    }
    found.dedup();
    found
}

fn fault(file: &Compose, service: &Service, address: &Address) -> Option<Found> {
    let port = address.port.as_deref()?;
    let other = file.services.iter().find(|one| one.name == address.host && one.name != service.name)?;
    if other.at(&["network_mode"]).is_some() || file.stack == IsStack::Yes || other.extends_elsewhere {
        return None;
    }
    let within = container_ports(other);
    let (_, target) = published(other).into_iter().find(|(host, _)| host == port)?;
    // The program may listen on more ports than it publishes: one that its own command or environment names.
    let named = other.command().contains(port)
        || other.environment().values().flatten().any(|value| value.contains(port));
    if target == port || named || within.iter().any(|one| one == port || one.contains(['-', '$'])) {
        return None;
    }
    let message = format!(
        "service {}: {} is {}:{port}, which is a port of the host; the container listens on {target}",
        service.name, address.name, address.host
    );
    let fix = format!("Write `{}:{target}`", address.host);
    Some(Found::warning(service.line_of(address.key), message, fix))
}

/// The ports of the host and of the container of each publication, where both are numbers.
fn published(service: &Service) -> Vec<(String, String)> {
    let items = service.at(&["ports"]).and_then(|ports| ports.as_sequence()).into_iter().flatten();
    let one = |item: &serde_yaml::Value| {
        let Some(short) = text(item) else {
            return Some((text(below(item, &["published"])?)?, text(below(item, &["target"])?)?));
        };
        let mut parts =
            short.split('/').next()?.rsplit(':').map(str::to_owned).collect::<Vec<_>>().into_iter();
        let (target, host) = (parts.next()?, parts.next()?);
        Some((host, target))
    };
    let number = |text: &str| text.parse::<u16>().is_ok();
    items.filter_map(one).filter(|(host, target)| number(host) && number(target)).collect()
}
