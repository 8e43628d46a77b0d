//! A device of CDI that the specification of the machine does not have.

use serde_yaml::Value;

use crate::read::compose::{Compose, Service, below, text};
use crate::rule::{Example, Found, Judge, Rule, Severity, compose};

/// A compose file with the specification of CDI of its machine as an example.
const fn with(text: &'static str, companions: &'static [(&'static str, &'static str)]) -> Example {
    Example { name: "compose.yaml", text, companions }
}

pub(crate) const RULE: Rule = Rule {
    id: "cdi-device-unknown",
    severity: Severity::Error,
    summary: "devices of CDI have names that the machine's specification has",
    explain: include_str!("cdi_device_unknown.md"),
    judge: Judge::Compose(judge),
    fires: &[with(
        "services:\n  ask:\n    image: \
         a\n    deploy:\n      resources:\n        reservations:\n          devices:\n\
        \x20           - driver: cdi\n              capabilities: [gpu]\n              device_ids: \
        [nvidia.com/gpu=all]\n",
        &[(
            "cdi/a.json",
            "{\"cdiVersion\": \"0.6.0\", \"kind\": \"nvidia.com/gpu\", \"devices\": [{\"name\": \"0\"}, \
             {\"name\": \
             \"1\"}]}\n",
        )],
    )],
    silent: &[
        with(
            "services:\n  ask:\n    image: \
             a\n    deploy:\n      resources:\n        reservations:\n          \
             devices:\n            - driver: cdi\n              capabilities: \
             [gpu]\n              device_ids: [nvidia.com/gpu=1]\n",
            &[(
                "cdi/a.json",
                "{\"kind\": \"nvidia.com/gpu\", \"devices\": [{\"name\": \"0\"}, \
                {\"name\": \"1\"}]}\n",
            )],
        ),
        with(
            "services:\n  ask:\n    image: \
             a\n    deploy:\n      resources:\n        reservations:\n          \
             devices:\n            - driver: cdi\n              capabilities: \
             [gpu]\n              device_ids: [nvidia.com/gpu=1]\n",
            &[("cdi/a.json", "{\"kind\": \"example.com/nic\", \"devices\": [{\"name\": \"0\"}]}\n")],
        ),
        compose(
            "services:\n  ask:\n    image: \
             a\n    deploy:\n      resources:\n        reservations:\n          \
             devices:\n            - driver: cdi\n              capabilities: \
             [gpu]\n              device_ids: [nvidia.com/gpu=1]\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    let specs: Vec<Value> = file
        .files
        .iter()
        .filter(|(path, _)| path.starts_with("cdi/"))
        .filter_map(|(_, text)| serde_yaml::from_str(text.as_deref()?).ok())
        .collect();
    if specs.is_empty() {
        return Vec::new();
    }
    file.services.iter().filter_map(|service| fault(service, &specs)).collect()
}

fn fault(service: &Service, specs: &[Value]) -> Option<Found> {
    let requests = service.requests().into_iter();
    let of_cdi = requests.filter(|one| below(one, &["driver"]).and_then(text).as_deref() == Some("cdi"));
    let ids = of_cdi.flat_map(|one| {
        let ids = below(one, &["device_ids"]).and_then(Value::as_sequence).into_iter().flatten();
        ids.filter_map(text).collect::<Vec<_>>()
    });
    ids.filter(|id| !id.contains('$')).find_map(|id| {
        let (kind, device) = id.split_once('=')?;
        let of_kind =
            specs.iter().filter(|spec| below(spec, &["kind"]).and_then(text).as_deref() == Some(kind));
        let lists: Vec<&Value> = of_kind.filter_map(|spec| below(spec, &["devices"])).collect();
        let devices = lists.iter().filter_map(|list| list.as_sequence()).flatten();
        let names: Vec<String> = devices.filter_map(|one| text(below(one, &["name"])?)).collect();
        if names.is_empty() || names.iter().any(|name| name == device) {
            return None;
        }
        let message = format!(
            "{}: no specification of CDI has the device {id} (it has {}); Docker refuses to start the \
             container: \
             unresolvable CDI devices",
            service.title,
            names.join(", ")
        );
        let fix = format!("Write one of these names, such as {kind}={}", names.first()?);
        Some(Found::error(service.line_of("deploy"), message, fix))
    })
}
