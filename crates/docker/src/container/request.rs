//! The requests that create containers, one function for each kind of container.

use std::collections::{BTreeMap, HashMap};

use bollard::models::{
    ContainerCreateBody, DeviceMapping, DeviceRequest, EndpointSettings, HealthConfig, HostConfig,
    HostConfigLogConfig, Mount, MountType, NetworkingConfig, ResourcesUlimits, RestartPolicy,
    RestartPolicyNameEnum,
};

use super::confined::{Needs, confined};
use crate::spec::{Container, ContainerNetwork, GpuRequest, Run, Volume};

/// The container of a cluster's node.
pub(crate) fn node(container: &Container) -> ContainerCreateBody {
    let mut labels: HashMap<String, String> = container.labels.clone().into_iter().collect();
    // As compose writes them, so that its programs show these containers as the project's.
    labels.insert("com.docker.compose.project".into(), container.project.clone());
    labels.insert("com.docker.compose.service".into(), container.name.clone());
    let environment = container.environment.iter().map(|(name, value)| format!("{name}={value}"));
    let second = 1_000_000_000_i64;
    let health = container.health.as_ref().map(|health| HealthConfig {
        test: Some(std::iter::once("CMD".to_owned()).chain(health.command.clone()).collect()),
        interval: Some(i64::from(health.interval) * second),
        timeout: Some(i64::from(health.timeout) * second),
        retries: Some(i64::from(health.retries)),
        start_period: Some(i64::from(health.start_period) * second),
        // The engine's first check comes after `interval` otherwise, and `up` waits for it. Engines before 25
        // ignore it. Compose files do not have it: docker compose refuses it for those engines.
        start_interval: Some(second),
    });
    let endpoints = match &container.network {
        ContainerNetwork::Host => None,
        ContainerNetwork::Named { name, alias } => {
            let endpoint = EndpointSettings { aliases: Some(vec![alias.clone()]), ..Default::default() };
            Some(NetworkingConfig { endpoints_config: Some(HashMap::from([(name.clone(), endpoint)])) })
        }
    };
    ContainerCreateBody {
        hostname: Some(container.hostname.clone()).filter(|_| container.network != ContainerNetwork::Host),
        image: Some(container.image.clone()),
        user: container.user.clone(),
        entrypoint: Some(container.entrypoint.clone()),
        cmd: Some(container.command.clone()),
        env: Some(environment.collect()),
        labels: Some(labels),
        healthcheck: health,
        stop_timeout: Some(i64::from(container.stop_seconds)),
        networking_config: endpoints,
        host_config: Some(host(container)),
        ..Default::default()
    }
}

fn host(container: &Container) -> HostConfig {
    let device = |path: &String| DeviceMapping {
        path_on_host: Some(path.clone()),
        path_in_container: Some(path.clone()),
        cgroup_permissions: Some("rwm".into()),
    };
    HostConfig {
        mounts: Some(container.volumes.iter().map(mount).collect()),
        tmpfs: Some(
            container
                .tmpfs
                .iter()
                .map(|tmpfs| (tmpfs.path.to_owned(), format!("mode={:o}", tmpfs.mode)))
                .collect(),
        ),
        shm_size: i64::try_from(container.shm).ok(),
        ulimits: Some(container.ulimits.iter().map(ulimit).collect()),
        device_requests: gpus(&container.gpus).map(|request| vec![request]),
        devices: Some(container.devices.iter().map(device).collect()),
        cap_add: Some(container.capabilities.clone()),
        extra_hosts: Some(
            container.extra_hosts.iter().map(|(name, address)| format!("{name}:{address}")).collect(),
        ),
        network_mode: Some(match &container.network {
            ContainerNetwork::Host => "host".to_owned(),
            ContainerNetwork::Named { name, .. } => name.clone(),
        }),
        restart_policy: Some(RestartPolicy {
            name: container.restart.parse::<RestartPolicyNameEnum>().ok(),
            maximum_retry_count: None,
        }),
        ..Default::default()
    }
}

fn ulimit((name, value): &(&'static str, i64)) -> ResourcesUlimits {
    ResourcesUlimits { name: Some((*name).to_owned()), soft: Some(*value), hard: Some(*value) }
}

fn mount(volume: &Volume) -> Mount {
    Mount {
        target: Some(volume.to.clone()),
        source: Some(volume.from.clone()),
        typ: Some(if volume.bind { MountType::BIND } else { MountType::VOLUME }),
        read_only: Some(volume.read_only),
        ..Default::default()
    }
}

fn gpus(request: &GpuRequest) -> Option<DeviceRequest> {
    let (count, devices) = match request {
        GpuRequest::None => return None,
        GpuRequest::All => (Some(-1), None),
        GpuRequest::Count(count) => (Some(i64::from(*count)), None),
        GpuRequest::Devices(devices) => (None, Some(devices.clone())),
    };
    Some(DeviceRequest {
        driver: Some("nvidia".into()),
        count,
        device_ids: devices,
        capabilities: Some(vec![vec!["gpu".into()]]),
        ..Default::default()
    })
}

/// A container that is never started: a way into `volume`, which it has at `path`.
pub(crate) fn volume_holder(
    image: &str,
    volume: &str,
    path: &str,
    labels: &BTreeMap<String, String>,
) -> ContainerCreateBody {
    let mount = Mount {
        target: Some(path.to_owned()),
        source: Some(volume.to_owned()),
        typ: Some(MountType::VOLUME),
        ..Default::default()
    };
    ContainerCreateBody {
        image: Some(image.to_owned()),
        entrypoint: Some(vec!["true".into()]),
        labels: Some(labels.clone().into_iter().collect()),
        host_config: Some(confined(
            Needs::Program,
            HostConfig { mounts: Some(vec![mount]), ..Default::default() },
        )),
        ..Default::default()
    }
}

/// A container whose program reads its standard input until that is closed.
pub(crate) fn waiting(
    image: &str,
    network: &str,
    program: Vec<String>,
    labels: &BTreeMap<String, String>,
) -> ContainerCreateBody {
    ContainerCreateBody {
        image: Some(image.to_owned()),
        entrypoint: Some(program),
        user: Some("0".into()),
        open_stdin: Some(true),
        labels: Some(labels.clone().into_iter().collect()),
        healthcheck: Some(no_health_check()),
        host_config: Some(confined(
            Needs::Network,
            HostConfig { network_mode: Some(network.to_owned()), ..Default::default() },
        )),
        ..Default::default()
    }
}

/// A container that runs one program to its end, under `label`.
pub(crate) fn one_run(run: &Run, podman: bool, label: &str) -> ContainerCreateBody {
    let (entrypoint, arguments) = match run.command.split_first() {
        Some((program, arguments)) => (Some(vec![program.clone()]), Some(arguments.to_vec())),
        None => (None, None),
    };
    ContainerCreateBody {
        image: Some(run.image.clone()),
        entrypoint,
        cmd: arguments,
        env: Some(run.environment.clone()),
        labels: Some(HashMap::from([(label.to_owned(), "true".to_owned())])),
        network_disabled: Some(!run.network),
        healthcheck: Some(no_health_check()),
        host_config: Some(confined(
            if run.only_reads { Needs::Script } else { Needs::Program },
            HostConfig {
                log_config: Some(readable_log(if podman { "k8s-file" } else { "json-file" })),
                init: Some(false),
                ulimits: (!run.ulimits.is_empty()).then(|| run.ulimits.iter().map(ulimit).collect()),
                shm_size: run.shm.and_then(|bytes| i64::try_from(bytes).ok()),
                ..Default::default()
            },
        )),
        ..Default::default()
    }
}

/// A container in which envdoc's own program, uploaded as `program`, records a snapshot.
pub(crate) fn snapshot(image: &str, program: &str, gpus: bool, label: &str) -> ContainerCreateBody {
    let request =
        DeviceRequest { count: Some(-1), capabilities: Some(vec![vec!["gpu".into()]]), ..Default::default() };
    ContainerCreateBody {
        image: Some(image.to_owned()),
        entrypoint: Some(vec![format!("/{program}")]),
        cmd: Some(vec!["snapshot".into(), "--no-redact".into()]),
        user: Some("0:0".into()),
        working_dir: Some("/".into()),
        network_disabled: Some(true),
        labels: Some(HashMap::from([(label.to_owned(), "true".to_owned())])),
        // Without it the toolkit injects what the image's own variable asks for, which may leave nvidia-smi
        // out.
        env: gpus.then(|| vec!["NVIDIA_DRIVER_CAPABILITIES=compute,utility".to_owned()]),
        host_config: Some(confined(
            Needs::Program,
            HostConfig {
                device_requests: gpus.then(|| vec![request]),
                log_config: Some(readable_log("json-file")),
                ..Default::default()
            },
        )),
        ..Default::default()
    }
}

fn no_health_check() -> HealthConfig {
    HealthConfig { test: Some(vec!["NONE".into()]), ..Default::default() }
}

/// The daemon's default driver may keep nothing that can be read back.
fn readable_log(driver: &str) -> HostConfigLogConfig {
    HostConfigLogConfig { typ: Some(driver.into()), config: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn without_null(value: Value) -> Value {
        match value {
            Value::Object(map) => Value::Object(
                map.into_iter()
                    .filter(|(_, value)| !value.is_null())
                    .map(|(key, value)| (key, without_null(value)))
                    .collect(),
            ),
            other => other,
        }
    }

    fn sent(body: &ContainerCreateBody) -> Value {
        without_null(serde_json::to_value(body).unwrap())
    }

    #[test]
    fn containers_that_run_once() {
        let run = Run {
            image: "a:1".into(),
            command: vec!["sh".into(), "-c".into(), "id".into()],
            environment: vec!["A=b".into()],
            ..Run::default()
        };
        let expected = json!({
            "Image": "a:1", "Entrypoint": ["sh"], "Cmd": ["-c", "id"], "Env": ["A=b"],
            "Labels": {"envdoc.run": "true"}, "NetworkDisabled": true, "Healthcheck": {"Test": ["NONE"]},
            "HostConfig": {
                "LogConfig": {"Type": "json-file"}, "Init": false,
                "CapDrop": ["ALL"], "CapAdd": ["DAC_OVERRIDE"],
                "SecurityOpt": ["no-new-privileges"], "PidsLimit": 4096,
            },
        });
        assert_eq!(sent(&one_run(&run, false, "envdoc.run")), expected);
        let reading = sent(&one_run(&Run { only_reads: true, ..run.clone() }, false, "envdoc.run"));
        assert_eq!(reading["HostConfig"]["ReadonlyRootfs"], true);
        let podman = sent(&one_run(&run, true, "envdoc.run"));
        assert_eq!(podman["HostConfig"]["LogConfig"]["Type"], "k8s-file");
    }

    #[test]
    fn containers_that_record_a_snapshot() {
        let expected = json!({
            "Image": "a:1", "Entrypoint": ["/envdoc"], "Cmd": ["snapshot", "--no-redact"], "User": "0:0",
            "WorkingDir": "/", "NetworkDisabled": true, "Labels": {"envdoc.live": "true"},
            "Env": ["NVIDIA_DRIVER_CAPABILITIES=compute,utility"],
            "HostConfig": {
                "DeviceRequests": [{"Count": -1, "Capabilities": [["gpu"]]}],
                "LogConfig": {"Type": "json-file"},
                "CapDrop": ["ALL"], "CapAdd": ["DAC_OVERRIDE"],
                "SecurityOpt": ["no-new-privileges"], "PidsLimit": 4096,
            },
        });
        let mut body = sent(&snapshot("a:1", "envdoc", true, "envdoc.live"));
        let request = body["HostConfig"]["DeviceRequests"][0].take();
        body["HostConfig"]["DeviceRequests"][0] = without_null(request);
        assert_eq!(body, expected);
        assert!(sent(&snapshot("a:1", "envdoc", false, "envdoc.live"))["Env"].is_null());
    }

    #[test]
    fn containers_that_are_never_started_and_that_wait() {
        let labels = BTreeMap::from([("envdoc.cluster".to_owned(), "two".to_owned())]);
        let expected = json!({
            "Image": "a:1", "Entrypoint": ["true"], "Labels": {"envdoc.cluster": "two"},
            "HostConfig": {
                "Mounts": [{"Target": "/at", "Source": "v", "Type": "volume"}],
                "CapDrop": ["ALL"], "CapAdd": ["DAC_OVERRIDE"],
                "SecurityOpt": ["no-new-privileges"], "PidsLimit": 4096,
            },
        });
        let mut body = sent(&volume_holder("a:1", "v", "/at", &labels));
        let mount = body["HostConfig"]["Mounts"][0].take();
        body["HostConfig"]["Mounts"][0] = without_null(mount);
        assert_eq!(body, expected);
        let expected = json!({
            "Image": "a:1", "Entrypoint": ["/envdoc", "worker"], "User": "0", "OpenStdin": true,
            "Labels": {"envdoc.cluster": "two"}, "Healthcheck": {"Test": ["NONE"]},
            "HostConfig": {
                "NetworkMode": "host",
                "CapDrop": ["ALL"], "CapAdd": ["DAC_OVERRIDE", "NET_BIND_SERVICE", "NET_RAW"],
                "SecurityOpt": ["no-new-privileges"], "PidsLimit": 4096,
            },
        });
        let program = vec!["/envdoc".into(), "worker".into()];
        assert_eq!(sent(&waiting("a:1", "host", program, &labels)), expected);
    }
}
