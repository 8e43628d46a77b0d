//! What an engine reports of a container.

use std::collections::BTreeMap;

use bollard::models::{self, ContainerInspectResponse, EndpointSettings, HealthStatusEnum};
use schemars::JsonSchema;
use serde::Serialize;

/// How many health checks in a row must fail where neither container nor image says so (Docker Engine API).
const DEFAULT_RETRIES: i64 = 3;

/// What a container does, by the engine's words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Status {
    /// The engine names none.
    #[default]
    Unknown,
    Created,
    Running,
    /// `docker pause` froze its processes.
    Paused,
    /// Between two attempts to start.
    Restarting,
    Stopping,
    Removing,
    Exited,
    /// It could be removed only in part.
    Dead,
}

impl From<models::ContainerStateStatusEnum> for Status {
    fn from(status: models::ContainerStateStatusEnum) -> Status {
        use models::ContainerStateStatusEnum as Word;
        match status {
            Word::EMPTY => Status::Unknown,
            Word::CREATED => Status::Created,
            Word::RUNNING => Status::Running,
            Word::PAUSED => Status::Paused,
            Word::RESTARTING => Status::Restarting,
            Word::STOPPING => Status::Stopping,
            Word::REMOVING => Status::Removing,
            Word::EXITED => Status::Exited,
            Word::DEAD => Status::Dead,
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Status::Unknown => "unknown",
            Status::Created => "created",
            Status::Running => "running",
            Status::Paused => "paused",
            Status::Restarting => "restarting",
            Status::Stopping => "stopping",
            Status::Removing => "removing",
            Status::Exited => "exited",
            Status::Dead => "dead",
        })
    }
}

/// What a container's health checks say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    Starting,
    Healthy,
    /// Of a container that runs or restarts: as many checks in a row have failed as it allows.
    Unhealthy,
}

impl std::fmt::Display for Health {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Health::Starting => "starting",
            Health::Healthy => "healthy",
            Health::Unhealthy => "unhealthy",
        })
    }
}

/// A container as its engine has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// 64 hexadecimal digits.
    pub id: String,
    /// Without the `/` that the engine puts in front.
    pub name: String,
    pub labels: BTreeMap<String, String>,
    /// The id of the image that it was made from.
    pub image: String,
    /// The arguments of its entrypoint.
    pub command: Vec<String>,
    pub running: bool,
    /// What it does.
    pub status: Status,
    /// `None` where it has no health check.
    pub health: Option<Health>,
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
            status: state.status.map(Status::from).unwrap_or_default(),
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
        self.running && self.status != Status::Restarting && !self.paused()
    }

    /// Whether `docker pause` froze its processes; the engine calls such a container running, too.
    pub fn paused(&self) -> bool {
        self.status == Status::Paused
    }
}

fn health_status(health: &models::Health, retries: Option<i64>, running: bool) -> Option<Health> {
    let retries = retries.filter(|retries| *retries > 0).unwrap_or(DEFAULT_RETRIES);
    match health.status? {
        HealthStatusEnum::EMPTY | HealthStatusEnum::NONE => None,
        // The engine writes it, too, when it stops checking because it restarts the container.
        HealthStatusEnum::UNHEALTHY if running && health.failing_streak.unwrap_or(0) < retries => {
            Some(Health::Starting)
        }
        HealthStatusEnum::STARTING => Some(Health::Starting),
        HealthStatusEnum::HEALTHY => Some(Health::Healthy),
        HealthStatusEnum::UNHEALTHY => Some(Health::Unhealthy),
    }
}

fn last_output(health: models::Health) -> String {
    health.log.unwrap_or_default().pop().and_then(|last| last.output).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn health(running: bool, streak: i64, config: &serde_json::Value) -> Option<Health> {
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
        let starting = Some(Health::Starting);
        let unhealthy = Some(Health::Unhealthy);
        assert_eq!(health(true, 0, &own), starting);
        assert_eq!(health(true, 4, &own), starting);
        assert_eq!(health(true, 5, &own), unhealthy);
        assert_eq!(health(true, 2, &json!({})), starting);
        assert_eq!(health(true, 3, &json!({})), unhealthy);
        assert_eq!(health(false, 0, &own), unhealthy, "of one that has ended, the engine's word stays");
    }
}
