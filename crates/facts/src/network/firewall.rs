//! The firewalls that distributions bring: ufw and firewalld, as their files show them.

use super::Firewall;
use crate::Fact;
use crate::IntoFact;
use host::{Host, Reading};

pub(super) fn gather(host: &dyn Host) -> Fact<Firewall> {
    ufw(host).or_else(|| firewalld(host))
}

/// `/etc/ufw/ufw.conf` says `ENABLED=yes` when it starts with the machine; the rules are readable for root
/// only.
fn ufw(host: &dyn Host) -> Fact<Firewall> {
    host.read("/etc/ufw/ufw.conf").text().about("/etc/ufw/ufw.conf").and_then(|text| {
        if setting(&text, "ENABLED").is_none_or(|value| !value.eq_ignore_ascii_case("yes")) {
            return Fact::Absent;
        }
        let policy = host.read("/etc/default/ufw").text().about("/etc/default/ufw");
        let open =
            policy.map(|text| setting(&text, "DEFAULT_INPUT_POLICY").is_some_and(|value| value == "ACCEPT"));
        let allowed = match open {
            Fact::Known(true) => Fact::Known(vec!["any/any".to_owned()]),
            Fact::Known(false) | Fact::Absent => host
                .read("/etc/ufw/user.rules")
                .text()
                .must_exist("the file of rules")
                .map(|text| ufw_rules(&text))
                .about("/etc/ufw/user.rules"),
            Fact::Unknown(why) => Fact::Unknown(why),
        };
        Fact::Known(Firewall { name: "ufw".into(), allowed })
    })
}

/// `NAME=value` or `NAME="value"`, the last one counts.
fn setting(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.trim().split_once('='))
        .filter(|(key, _)| *key == name)
        .map(|(_, value)| value.trim().trim_matches('"').to_owned())
        .next_back()
}

/// ufw keeps each rule in a comment above what it makes of it: action, protocol, port, to, port of the
/// sender, from, direction.
///
/// ```text
/// ### tuple ### allow tcp 22 0.0.0.0/0 any 0.0.0.0/0 in
/// -A ufw-user-input -p tcp --dport 22 -j ACCEPT
/// ### tuple ### allow any any 0.0.0.0/0 any 10.0.0.0/8 in
/// ```
pub(super) fn ufw_rules(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.strip_prefix("### tuple ### ")?.split_whitespace().collect();
            let [action, protocol, port, ..] = fields[..] else { return None };
            let incoming = fields.iter().any(|field| *field == "in" || field.starts_with("in_"));
            (incoming && matches!(action, "allow" | "limit")).then(|| (port.to_owned(), protocol.to_owned()))
        })
        .flat_map(|(ports, protocol)| {
            ports.split(',').map(|port| format!("{port}/{protocol}")).collect::<Vec<_>>()
        })
        .collect()
}

/// firewalld runs when its control group or its pid file is there; the default zone's file has what it lets
/// in.
fn firewalld(host: &dyn Host) -> Fact<Firewall> {
    let signs = ["/sys/fs/cgroup/system.slice/firewalld.service", "/run/firewalld.pid"];
    let mut runs = false;
    for sign in signs {
        match host.stat(sign) {
            Reading::Absent => {}
            Reading::Failed(why) => return Fact::Unknown(why.clone().about(sign.to_string())),
            _ => runs = true,
        }
    }
    if !runs {
        return Fact::Absent;
    }
    let settings = host.read("/etc/firewalld/firewalld.conf").text().about("/etc/firewalld/firewalld.conf");
    let zone = settings.map(|text| setting(&text, "DefaultZone").unwrap_or_else(|| "public".into()));
    let allowed = zone.absent_as("public".into()).and_then(|zone| {
        let text = definition(host, "zones", &zone).must_exist("the file of the default zone");
        text.and_then(|text| zone_rules(host, &text)).about(&format!("firewalld's zone {zone}"))
    });
    Fact::Known(Firewall { name: "firewalld".into(), allowed })
}

/// A zone's or service's file: the administrator's, else the packaged one.
fn definition(host: &dyn Host, kind: &str, name: &str) -> Fact<String> {
    let own = host.read(&format!("/etc/firewalld/{kind}/{name}.xml")).text();
    own.or_else(|| host.read(&format!("/usr/lib/firewalld/{kind}/{name}.xml")).text())
}

/// ```text
/// <zone target="ACCEPT">
///   <service name="ssh"/>
///   <port protocol="tcp" port="9000-9100"/>
/// ```
fn zone_rules(host: &dyn Host, text: &str) -> Fact<Vec<String>> {
    let document = match roxmltree::Document::parse(text) {
        Ok(document) => document,
        Err(error) => return Fact::unknown(format!("is not XML: {error}")),
    };
    let zone = document.root_element();
    if zone.attribute("target") == Some("ACCEPT") {
        return Fact::Known(vec!["any/any".into()]);
    }
    let mut allowed = ports(&zone);
    // Services inside a rich rule count too: see `Firewall::allowed`.
    for service in zone.descendants().filter(|node| node.has_tag_name("service")) {
        let Some(name) = service.attribute("name") else { continue };
        match definition(host, "services", name) {
            Fact::Known(text) => match roxmltree::Document::parse(&text) {
                Ok(document) => allowed.extend(ports(&document.root_element())),
                Err(error) => return Fact::unknown(format!("service {name} is not XML: {error}")),
            },
            Fact::Absent => return Fact::unknown(format!("service {name} is not defined")),
            Fact::Unknown(why) => return Fact::Unknown(why.clone().about(format!("service {name}"))),
        }
    }
    Fact::Known(allowed)
}

fn ports(node: &roxmltree::Node<'_, '_>) -> Vec<String> {
    node.descendants()
        .filter(|node| node.has_tag_name("port"))
        .filter_map(|node| {
            let port = node.attribute("port").filter(|port| !port.is_empty())?.replace('-', ":");
            Some(format!("{port}/{}", node.attribute("protocol")?))
        })
        .collect()
}

impl Firewall {
    /// Whether a port is let in; `protocol` is `tcp` or `udp`.
    pub fn allows(&self, port: u16, protocol: &str) -> Fact<bool> {
        self.allowed.as_ref().map(|rules| {
            rules.iter().filter_map(|rule| rule.split_once('/')).any(|(ports, of)| {
                let in_range = match ports.split_once(':') {
                    _ if ports == "any" => true,
                    Some((first, last)) => {
                        first.parse().is_ok_and(|first: u16| first <= port)
                            && last.parse().is_ok_and(|last: u16| port <= last)
                    }
                    None => ports.parse() == Ok(port),
                };
                in_range && (of == protocol || of == "any")
            })
        })
    }
}
