//! What an engine reports of a container.

use std::collections::BTreeMap;

use bollard::models::{ContainerInspectResponse, EndpointSettings, Health, HealthStatusEnum};

/// How many health checks in a row must fail where neither container nor image says so (Docker Engine API).
const DEFAULT_RETRIES: i64 = 3;

/// A container as its engine has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// 64 hexadecimal digits.
    pub id: String,
    /// Without the `/` that the engine puts in front.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The id of the image that it was made from.
    pub image: String,
    /// The arguments of its entrypoint.
    pub command: Vec<String>,
    /// Whether it runs.
    pub running: bool,
    /// `running`, `exited`, `restarting`.
    pub status: String,
    /// `healthy`, `starting`, `unhealthy`; `None` where it has no health check. Of a container that runs or
    /// restarts, `unhealthy` means that as many checks in a row have failed as it allows.
    pub health: Option<String>,
    /// What the last health check printed.
    pub health_output: String,
    /// When it was started last, as RFC 3339.
    pub since: String,
    /// Its exit status, where it has ended.
    pub exit: Option<i64>,
    /// What kept it from starting, in the engine's words.
    pub error: String,
    /// Whether the kernel killed a process of it for lack of memory, according to the engine.
    pub out_of_memory: bool,
    /// Its memory limit in bytes; `None` where it has none.
    pub memory_limit: Option<u64>,
    /// How often it was started again.
    pub restarts: i64,
    /// Its networks: name and address.
    pub addresses: BTreeMap<String, String>,
}

impl Found {
    /// From the engine's answer to `inspect`.
    pub(super) fn from_inspect(container: ContainerInspectResponse) -> Found {
        let state = container.state.unwrap_or_default();
        let config = container.config.unwrap_or_default();
        let health = state.health.unwrap_or_default();
        let running = state.running.unwrap_or(false);
        let retries = config.healthcheck.and_then(|check| check.retries);
        let networks = container.network_settings.and_then(|settings| settings.networks).unwrap_or_default();
        let address = |endpoint: EndpointSettings| endpoint.ip_address.unwrap_or_default();
        Found {
            id: container.id.unwrap_or_default(),
            name: container.name.unwrap_or_default().trim_start_matches('/').to_owned(),
            labels: config.labels.unwrap_or_default().into_iter().collect(),
            command: config.cmd.unwrap_or_default(),
            image: container.image.unwrap_or_default(),
            running,
            status: state.status.map(|status| status.to_string()).unwrap_or_default(),
            health: health_status(&health, retries, running),
            health_output: last_output(health).trim().to_owned(),
            since: state.started_at.unwrap_or_default(),
            exit: state.exit_code.filter(|_| !running),
            error: state.error.unwrap_or_default(),
            out_of_memory: state.oom_killed.unwrap_or(false),
            memory_limit: container
                .host_config
                .and_then(|host| u64::try_from(host.memory?).ok())
                .filter(|bytes| *bytes > 0),
            restarts: container.restart_count.unwrap_or(0),
            addresses: networks.into_iter().map(|(name, endpoint)| (name, address(endpoint))).collect(),
        }
    }

    /// Whether programs can be started in it: it runs, is not paused, and is not between two attempts to
    /// start.
    pub fn enterable(&self) -> bool {
        self.running && self.status != "restarting" && !self.paused()
    }

    /// Whether `docker pause` froze its processes; the engine calls such a container running, too.
    pub fn paused(&self) -> bool {
        self.status == "paused"
    }
}

fn health_status(health: &Health, retries: Option<i64>, running: bool) -> Option<String> {
    let retries = retries.filter(|retries| *retries > 0).unwrap_or(DEFAULT_RETRIES);
    match health.status? {
        HealthStatusEnum::EMPTY | HealthStatusEnum::NONE => None,
        // The engine writes it, too, when it stops checking because it restarts the container.
        HealthStatusEnum::UNHEALTHY if running && health.failing_streak.unwrap_or(0) < retries => {
            Some(HealthStatusEnum::STARTING.to_string())
        }
        status => Some(status.to_string()),
    }
}

fn last_output(health: Health) -> String {
    health.log.unwrap_or_default().pop().and_then(|last| last.output).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn health(running: bool, streak: i64, config: &serde_json::Value) -> Option<String> {
        let answer = json!({
            "State": {
                "Running": running,
                "Health": {"Status": "unhealthy", "FailingStreak": streak, "Log": []},
            },
            "Config": config,
        });
        Found::from_inspect(serde_json::from_value(answer).expect("an answer of the engine")).health
    }

    /// Docker 20.10 and newer call a container unhealthy as soon as they stop its health checks to restart
    /// it.
    #[test]
    fn unhealthy_needs_checks_that_failed() {
        let own = json!({"Healthcheck": {"Test": ["CMD", "true"], "Retries": 5}});
        let starting = Some("starting".to_owned());
        let unhealthy = Some("unhealthy".to_owned());
        assert_eq!(health(true, 0, &own), starting);
        assert_eq!(health(true, 4, &own), starting);
        assert_eq!(health(true, 5, &own), unhealthy);
        assert_eq!(health(true, 2, &json!({})), starting);
        assert_eq!(health(true, 3, &json!({})), unhealthy);
        assert_eq!(health(false, 0, &own), unhealthy, "of one that has ended, the engine's word stays");
    }
}
