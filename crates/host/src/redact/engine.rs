//! Answers of container engines: only the keys that say how the engine works.

use serde_json::{Map, Value, json};

use super::{HIDDEN, Redactor, listed};

/// Keys of `/info` and `/version` that stay as they are: versions, states, drivers, warnings.
const KEYS: &str = "\
    Architecture BridgeNfIp6tables BridgeNfIptables CDISpecDirs CPUSet CPUShares CgroupDriver CgroupVersion \
    Containerd ContainerdCommit Containers ContainersPaused ContainersRunning ContainersStopped \
    CpuCfsPeriod CpuCfsQuota Debug DefaultRuntime DefaultAddressPools DiscoveredDevices DockerRootDir Driver \
    DriverStatus ExperimentalBuild FirewallBackend IPv4Forwarding Images InitBinary InitCommit Isolation \
    KernelMemory KernelMemoryTCP KernelVersion LiveRestoreEnabled LoggingDriver MemTotal MemoryLimit NCPU \
    NEventsListener NFd NGoroutines OSType OSVersion OomKillDisable OperatingSystem PidsLimit RuncCommit \
    SecurityOptions ServerVersion SwapLimit SystemTime Warnings BuildahVersion \
    ApiVersion Arch BuildTime Components GitCommit GoVersion MinAPIVersion Os Platform Version";

impl Redactor {
    /// A text that is no JSON is hidden.
    pub(super) fn engine(&mut self, text: &str) -> String {
        let Ok(Value::Object(info)) = serde_json::from_str::<Value>(text) else { return HIDDEN.to_owned() };
        let shown: Map<String, Value> =
            info.into_iter().filter_map(|(key, value)| self.engine_key(key, value)).collect();
        Value::Object(shown).to_string()
    }

    fn engine_key(&mut self, key: String, value: Value) -> Option<(String, Value)> {
        let nothing = value.is_null() || value == "";
        let shown = match (key.as_str(), &value) {
            (name, _) if listed(KEYS, name) => value,
            ("ID" | "Name" | "HttpProxy" | "HttpsProxy" | "NoProxy" | "GenericResources", _) if nothing => {
                value
            }
            ("ID", _) => "engine-1".into(),
            ("Name", _) => "host-1".into(),
            ("HttpProxy" | "HttpsProxy", Value::String(text)) => self.proxy(text).into(),
            ("NoProxy", Value::String(text)) => self.servers(text, ',').into(),
            ("Labels", Value::Array(labels)) => {
                let numbered = labels.iter().filter_map(Value::as_str);
                numbered.map(|label| Value::from(format!("label-{}", self.number("label", label)))).collect()
            }
            ("Runtimes", Value::Object(runtimes)) => Value::Object(runtimes.iter().map(runtime).collect()),
            ("GenericResources", resources) => match resources.to_string().to_lowercase().contains("gpu") {
                true => json!([{ "NamedResourceSpec": { "Kind": "GPU", "Value": HIDDEN } }]),
                false => json!([]),
            },
            ("RegistryConfig", config) => self.registries(config),
            ("Swarm", swarm) => self.swarm(swarm),
            ("IndexServerAddress", address) if *address == "https://index.docker.io/v1/" => value,
            _ => return None,
        };
        Some((key, shown))
    }

    fn registries(&mut self, config: &Value) -> Value {
        let texts = |key: &str| {
            let list = config.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let mirrors: Vec<String> =
            texts("Mirrors").iter().map(|mirror| self.server_setting(mirror)).collect();
        json!({ "Mirrors": mirrors })
    }

    fn swarm(&mut self, swarm: &Value) -> Value {
        let mut shown = Map::new();
        for key in ["LocalNodeState", "ControlAvailable", "NodeAddr", "Nodes", "Managers"] {
            if let Some(value) = swarm.get(key) {
                shown.insert(key.to_owned(), value.clone());
            }
        }
        let node = swarm.get("NodeID").and_then(Value::as_str).unwrap_or_default();
        shown.insert("NodeID".to_owned(), if node.is_empty() { "" } else { "node-1" }.into());
        let cluster = swarm.pointer("/Cluster/ID").and_then(Value::as_str).unwrap_or_default();
        if !cluster.is_empty() {
            shown.insert("Cluster".to_owned(), json!({ "ID": "swarm-1" }));
        }
        Value::Object(shown)
    }
}

/// A runtime: its program; its arguments are hidden.
fn runtime((name, runtime): (&String, &Value)) -> (String, Value) {
    let path = runtime.get("path").or_else(|| runtime.get("runtimeType")).cloned();
    let shown = path.map_or_else(|| json!({}), |path| json!({ "path": path }));
    (name.clone(), shown)
}
