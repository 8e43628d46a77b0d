//! Values in daemon.json that have the right type, but with which dockerd does not start.

use diagnostic::Fix;
use serde_json::{Map, Value};

use crate::read::machine::Machine;
use crate::rule::{Found, Judge, Kind, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "daemon-value-refused",
    severity: Severity::Error,
    summary: "runtimes, addresses and drivers in daemon.json are ones that dockerd accepts",
    explain: include_str!("daemon_value_refused.md"),
    judge: Judge::Machine(judge),
    fires: &[
        named("daemon.json", "{\n  \"default-runtime\": \"nvidia\"\n}\n"),
        named("daemon.json", "{\n  \"runtimes\": {\"nvidia\": {\"runtimeArgs\": []}}\n}\n"),
        named("daemon.json", "{\n  \"runtimes\": {\"runc\": {\"path\": \"runc\"}}\n}\n"),
        named("daemon.json", "{\n  \"registry-mirrors\": [\"mirror.example:5000\"]\n}\n"),
        named("daemon.json", "{\n  \"insecure-registries\": [\"tcp://registry.example:5000\"]\n}\n"),
        named("daemon.json", "{\n  \"dns\": [\"dns.example\"]\n}\n"),
        named("daemon.json", "{\n  \"storage-driver\": \"overlay\"\n}\n"),
        named("daemon.json", "{\n  \"exec-opts\": [\"native.cgroupdriver=system\"]\n}\n"),
        named(
            "daemon.json",
            "{\n  \"default-ulimits\": {\"memlock\": {\"Name\": \"memlock\", \"Hard\": 1024, \"Soft\": \
                -1}}\n}\n",
        ),
        named(
            "daemon.json",
            "{\n  \"default-address-pools\": [{\"base\": \"10.200.0.0/16\", \"size\": 8}]\n}\n",
        ),
        named("daemon.json", "{\n  \"node-generic-resources\": [\"NVIDIA-GPU:2\"]\n}\n"),
        named("daemon.json", "{\n  \"bip\": \"172.17.0.0/16\"\n}\n"),
    ],
    silent: &[
        named(
            "daemon.json",
            "{\n  \"default-runtime\": \"nvidia\",\n  \"runtimes\": {\"nvidia\": \
                {\"path\": \"nvidia-container-runtime\"}},\n  \
             \"registry-mirrors\": [\"https://mirror.example\"],\n  \"insecure-registries\": \
             [\"10.0.0.0/8\", \
             \"r.example:5000\"],\n  \"dns\": [\"10.0.0.1\", \"fd00::1\"],\n\
             \x20 \"bip\": \"172.17.0.1/16\",\n  \
             \"storage-driver\": \"overlay2\",\n  \"exec-opts\": [\"native.cgroupdriver=systemd\"],\n  \
             \"default-address-pools\": [{\"base\": \"10.200.0.0/16\", \"size\": 24}],\n\
             \x20 \"node-generic-resources\": \
             [\"NVIDIA-GPU=GPU-1\"],\n  \"log-driver\": \"json-file\"\n}\n",
        ),
        named("daemon.json", "{\n  \"default-runtime\": \"io.containerd.kata.v2\"\n}\n"),
        named("daemon.json", "{\n  \"default-runtime\": \"com.example.shim.v1\"\n}\n"),
        // dockerd warns, and takes the scheme away.
        named("daemon.json", "{\n  \"insecure-registries\": [\"http://registry.example:5000\"]\n}\n"),
    ],
};

fn judge(machine: &Machine) -> Vec<Found> {
    let read: Result<Value, _> = serde_json::from_str(&machine.text);
    // A file that is no JSON is a fault of its own.
    let (Kind::DaemonJson, Ok(Value::Object(file))) = (machine.kind, read) else { return Vec::new() };
    let line = |key: &str| {
        let quoted = format!("\"{key}\"");
        machine.text.lines().position(|line| line.contains(&quoted)).map_or(1, |index| index + 1)
    };
    let found = FAULTS.iter().flat_map(|(key, fault)| {
        let value = file.get(*key);
        value.map(|value| fault(value, &file)).unwrap_or_default().into_iter().map(move |one| (*key, one))
    });
    // Limits reach the containers as they are: daemon/oci_linux.go.
    let outcome = |key: &str| match key {
        "default-ulimits" => "containers do not start",
        _ => "dockerd does not start",
    };
    let finding = |(key, (message, fix)): (&str, Fault)| {
        let message = format!("{key}: {message}; {}", outcome(key));
        Found::error(line(key), message, fixes(key, &file, fix)).about(key)
    };
    found.map(finding).collect()
}

/// The container toolkit writes the entry of its own runtime.
fn fixes(key: &str, file: &Map<String, Value>, sentence: String) -> Vec<Fix> {
    let title = "Declare the runtime of the NVIDIA container toolkit:";
    let toolkit = || Fix::run(title, "sudo nvidia-ctk runtime configure --runtime=docker");
    let is_toolkit = key == "default-runtime" && file.get(key).and_then(Value::as_str) == Some("nvidia");
    is_toolkit.then(toolkit).into_iter().chain([Fix::manual(sentence)]).collect()
}

/// What is wrong, and the fix.
type Fault = (String, String);
/// Judges the value of a key, given the whole file.
type JudgeValue = fn(&Value, &Map<String, Value>) -> Vec<Fault>;

/// Keys with what is wrong with their values.
const FAULTS: &[(&str, JudgeValue)] = &[
    ("default-runtime", default_runtime),
    ("runtimes", runtimes),
    ("registry-mirrors", mirrors),
    ("insecure-registries", insecure),
    ("dns", dns),
    ("bip", bip),
    ("storage-driver", storage),
    ("exec-opts", exec),
    ("default-ulimits", ulimits),
    ("default-address-pools", pools),
    ("node-generic-resources", resources),
    ("log-driver", logging),
];

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn fault(wrong: bool, message: String, fix: &str) -> Option<Fault> {
    wrong.then(|| (message, fix.to_owned()))
}

/// moby/moby:daemon/runtime_unix.go: a name without an entry must be that of a shim, with a dot and no slash.
fn default_runtime(value: &Value, file: &Map<String, Value>) -> Vec<Fault> {
    let Some(name) = value.as_str() else { return Vec::new() };
    let declared = file.get("runtimes").and_then(|all| all.get(name)).is_some();
    let shim = !name.contains('/') && name.split_once('.').is_some_and(|(prefix, _)| !prefix.is_empty());
    let built_in = matches!(name, "" | "runc") || shim;
    let message = format!("no runtime {name:?} is declared under `runtimes`");
    fault(!declared && !built_in, message, "Declare it under `runtimes`, or remove the key")
        .into_iter()
        .collect()
}

fn runtimes(value: &Value, _: &Map<String, Value>) -> Vec<Fault> {
    let entries = value.as_object().into_iter().flatten();
    entries
        .filter_map(|(name, entry)| {
            let has = |key: &str| entry.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
            let (path, kind) = (has("path"), has("runtimeType"));
            let message = match (name.as_str(), path, kind) {
                ("runc", ..) => "the name runc is reserved".to_owned(),
                (_, false, false) => format!("{name} has neither path nor runtimeType"),
                (_, true, true) => format!("{name} has both path and runtimeType"),
                _ => return None,
            };
            Some((message, "Write `{\"path\": \"nvidia-container-runtime\"}`".to_owned()))
        })
        .collect()
}

fn mirrors(value: &Value, _: &Map<String, Value>) -> Vec<Fault> {
    let wrong = strings(value).filter(|one| !one.starts_with("http://") && !one.starts_with("https://"));
    wrong
        .map(|one| {
            (
                format!("{one} has no http:// or https://"),
                format!(
                    "Write \
        `https://{one}`"
                ),
            )
        })
        .collect()
}

/// dockerd takes http:// and https:// away, with a warning, and refuses others.
fn insecure(value: &Value, _: &Map<String, Value>) -> Vec<Fault> {
    let wrong = strings(value).filter_map(|one| {
        let (scheme, host) = one.split_once("://")?;
        let taken_away = ["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme));
        (!taken_away).then_some((one, host))
    });
    wrong
        .map(|(one, host)| {
            (format!("{one} must not have a scheme"), format!("Write `{}`", host.trim_end_matches('/')))
        })
        .collect()
}

fn dns(value: &Value, _: &Map<String, Value>) -> Vec<Fault> {
    let wrong = strings(value)
        .filter(|one| one.split('%').next().unwrap_or(one).parse::<std::net::IpAddr>().is_err());
    wrong
        .map(|one| (format!("{one} is not an IP address"), "Write the address of the server".to_owned()))
        .collect()
}

/// An address in CIDR notation.
fn cidr(text: &str) -> Option<(std::net::Ipv4Addr, u32)> {
    let (address, bits) = text.split_once('/')?;
    Some((address.parse().ok()?, bits.parse().ok().filter(|bits| *bits <= 32)?))
}

/// The bridge gets the address itself, so that it cannot be that of the network.
fn bip(value: &Value, _: &Map<String, Value>) -> Vec<Fault> {
    let Some(text) = value.as_str().filter(|text| !text.contains("::") && !text.is_empty()) else {
        return Vec::new();
    };
    let Some((address, bits)) = cidr(text) else {
        return vec![(
            format!("{text:?} is not an address with a prefix"),
            "Write `172.17.0.1/16`".to_owned(),
        )];
    };
    let host = u32::from(address) & u32::MAX.checked_shr(bits).unwrap_or(0);
    let fix = "Write the first address: `172.17.0.1/16`";
    fault(
        host == 0 && bits < 31,
        format!("{text} is the address of the network, not of the bridge in it"),
        fix,
    )
    .into_iter()
    .collect()
}

/// Drivers that dockerd refuses by name (daemon/graphdriver/driver.go).
const REMOVED: &[&str] = &["aufs", "overlay", "devicemapper"];

fn storage(value: &Value, _: &Map<String, Value>) -> Vec<Fault> {
    let Some(name) = value.as_str() else { return Vec::new() };
    let removed = REMOVED.contains(&name);
    let known = ["", "overlay2", "btrfs", "zfs", "vfs", "fuse-overlayfs", "overlayfs", "native", "stargz"];
    let message = match removed {
        true => format!("Docker Engine no longer has the storage driver {name}"),
        false => format!("there is no storage driver {name}"),
    };
    fault(removed || is_slip(name, &known), message, "Write overlay2, or remove the key")
        .into_iter()
        .collect()
}

/// Whether a word is a slip of one of the words, and none of them.
fn is_slip(word: &str, known: &[&str]) -> bool {
    !known.contains(&word) && known.iter().any(|one| diagnostic::suggest::is_typo(word, one))
}

fn exec(value: &Value, _: &Map<String, Value>) -> Vec<Fault> {
    let driver = strings(value).filter_map(|one| one.strip_prefix("native.cgroupdriver="));
    let wrong = driver.filter(|one| !matches!(*one, "systemd" | "cgroupfs" | ""));
    wrong
        .map(|one| {
            (format!("there is no cgroup driver {one:?}"), "Write `native.cgroupdriver=systemd`".to_owned())
        })
        .collect()
}

fn ulimits(value: &Value, _: &Map<String, Value>) -> Vec<Fault> {
    let entries = value.as_object().into_iter().flatten();
    entries
        .filter_map(|(name, entry)| {
            let of = |key: &str| entry.get(key).and_then(Value::as_i64);
            let (soft, hard) = (of("Soft")?, of("Hard")?);
            let message = format!("{name} has soft limit {soft} above hard limit {hard}");
            fault(hard != -1 && (soft == -1 || soft > hard), message, "Raise the hard limit")
        })
        .collect()
}

fn pools(value: &Value, _: &Map<String, Value>) -> Vec<Fault> {
    let entries = value.as_array().into_iter().flatten();
    entries
        .filter_map(|entry| {
            let base = entry.get("base").and_then(Value::as_str).filter(|base| !base.contains("::"))?;
            let size = entry.get("size").and_then(Value::as_u64)?;
            let message = match cidr(base) {
                None => format!("{base:?} is not a network such as 10.200.0.0/16"),
                Some((_, bits)) if size < u64::from(bits) => {
                    format!("networks of size {size} do not fit into {base}")
                }
                Some(_) => return None,
            };
            Some((message, "Write `{\"base\": \"10.200.0.0/16\", \"size\": 24}`".to_owned()))
        })
        .collect()
}

fn resources(value: &Value, _: &Map<String, Value>) -> Vec<Fault> {
    let wrong = strings(value).filter(|one| one.matches('=').count() != 1);
    wrong
        .map(|one| (format!("{one:?} is not NAME=VALUE"), "Write `NVIDIA-GPU=GPU-UUID`".to_owned()))
        .collect()
}

/// Drivers of dockerd itself; plugins have a tag.
const LOGGING: &[&str] = &[
    "",
    "none",
    "local",
    "json-file",
    "syslog",
    "journald",
    "gelf",
    "fluentd",
    "awslogs",
    "splunk",
    "etwlogs",
    "gcplogs",
];

fn logging(value: &Value, _: &Map<String, Value>) -> Vec<Fault> {
    let Some(name) = value.as_str() else { return Vec::new() };
    let fix = "Write json-file, local or journald";
    fault(is_slip(name, LOGGING), format!("there is no log driver {name}"), fix).into_iter().collect()
}
