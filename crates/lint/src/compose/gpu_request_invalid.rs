//! A device request that compose refuses.

use serde_yaml::Value;

use diagnostic::suggest::is_typo;

use crate::read::compose::{Compose, IsStack, below, text};
use crate::rule::{Found, Judge, Rule, Severity, compose, composes};

pub(crate) const RULE: Rule = Rule {
    id: "gpu-request-invalid",
    severity: Severity::Error,
    summary: "a device request has capabilities and either count or device_ids",
    explain: include_str!("gpu_request_invalid.md"),
    judge: Judge::Compose(judge),
    fires: &[
        composes(
            "services:\n  a:\n    image: b\n",
            &[(
                "compose.override.yaml",
                "services:\n  a:\n    deploy:\n      resources:\n        reservations:\n          \
                 devices:\n            - driver: nvidia\n              count: 1\n",
            )],
        ),
        compose(
            "services:\n  a:\n    image: b\n    deploy:\n      resources:\n        reservations:\n\
                \x20         \
             devices:\n            - driver: nvidia\n              count: 1\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    deploy:\n      resources:\n        reservations:\n\
             \x20         devices:\n            - {driver: nvida, count: 1, capabilities: [gpu]}\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    deploy:\n      resources:\n        reservations:\n\
                \x20         \
             devices:\n            - capabilities: [gpu]\n              count: 1\n              \
             device_ids: \
             [\"0\"]\n",
        ),
    ],
    silent: &[
        compose(
            "services:\n  a:\n    image: b\n    gpus:\n      - {driver: cdi, device_ids: [\"a.com/gpu=0\"], \
             capabilities: [gpu]}\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    deploy:\n      resources:\n        reservations:\n\
                \x20         \
             devices:\n            - capabilities: [gpu]\n",
        ),
        compose(
            "services:\n  a:\n    image: b\n    deploy:\n      resources:\n        reservations:\n\
                \x20         \
             devices:\n            - {driver: nvidia, device_ids: [\"0\"], capabilities: [gpu, compute]}\n",
        ),
    ],
};

fn judge(file: &Compose) -> Vec<Found> {
    if file.stack == IsStack::Yes {
        return Vec::new();
    }
    let mut found = Vec::new();
    for service in file.services.iter().filter(|service| !service.extends_elsewhere) {
        let line = file.line(&["services", &service.name, "deploy", "resources", "reservations", "devices"]);
        for request in service.requests().into_iter().filter(|request| request.is_mapping()) {
            let has = |key: &str| below(request, &[key]).is_some_and(|value| *value != Value::Null);
            if !has("capabilities") {
                let message = format!(
                    "device request of service {} has no `capabilities`, which is required; compose \
                        refuses \
                     the file",
                    service.name
                );
                found.push(Found::error(line.clone(), message, "Add `capabilities: [gpu]`"));
            }
            let driver = below(request, &["driver"]).and_then(text);
            if let Some(driver) = driver.filter(|driver| is_typo(driver, "nvidia") && driver != "nvidia") {
                let message = format!(
                    "device request of service {} has the driver {driver:?}, which Docker does not have; the \
                     container does not start (`could not select device driver`)",
                    service.name
                );
                found.push(Found::error(line.clone(), message, "Write `driver: nvidia`"));
            }
            if has("count") && has("device_ids") {
                let message = format!(
                    "device request of service {} has both `count` and `device_ids`, which exclude \
                     each other",
                    service.name
                );
                found.push(Found::error(line.clone(), message, "Remove one of the two"));
            }
        }
    }
    found
}
