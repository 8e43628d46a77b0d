//! NVIDIA Container Toolkit: packages, programs, configuration, CDI specifications.

use diagnostic::yaml::{TOO_DEEP, too_deep};
use serde::Deserialize;

use super::{Fact, packages};
use crate::{IntoFact, service_path::in_service_path};
use catalog::Catalog;
use host::{Host, Stat};

/// The NVIDIA container toolkit on a machine.
#[derive(Debug, Clone)]
pub struct Toolkit {
    /// Version of the installed package (dpkg status, rpm), else what `nvidia-ctk --version` says. Absent
    /// when not installed.
    pub version: Fact<String>,
    /// Programs found: `nvidia-container-runtime`, `nvidia-container-runtime-hook`, `nvidia-ctk`,
    /// `nvidia-cdi-hook`, `nvidia-container-cli`, by name and path. Looked for where a service looks, then on
    /// PATH.
    pub programs: Fact<Vec<(String, String)>>,
    /// Installed packages of the family and their versions.
    pub packages: Fact<Vec<(String, String)>>,
    /// `/etc/nvidia-container-runtime/config.toml`; absent when there is none.
    pub config: Fact<Config>,
    /// Why that file is not valid TOML; absent when it is, or when there is none.
    pub config_error: Fact<ConfigError>,
    /// Whether the driver root that it names exists; absent when it names none.
    pub driver_root_exists: Fact<bool>,
    /// CDI specification files in `/etc/cdi` and `/var/run/cdi`; an empty list when there is none.
    pub cdi: Fact<Vec<CdiSpec>>,
    /// CDI files there that are not valid: path and why.
    pub cdi_invalid: Fact<Vec<(String, String)>>,
    /// Whether the units `nvidia-cdi-refresh.{service,path}` are installed (toolkit 1.18 and newer).
    pub refresh_unit: Fact<bool>,
}

/// Where `config.toml` stops being TOML, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// Line, from 1.
    pub line: Option<usize>,
    /// What the TOML parser says, on one line.
    pub message: String,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// The parts of config.toml that envdoc uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// `/etc/nvidia-container-runtime/config.toml`.
    pub path: String,
    /// `nvidia-container-runtime.mode`: `auto`, `legacy`, `cdi`, `csv`, `jit-cdi`; absent when not set.
    pub mode: Fact<String>,
    /// `nvidia-container-cli.no-cgroups`.
    pub no_cgroups: Fact<bool>,
    /// `nvidia-container-cli.root`: a driver that lies elsewhere (`/run/nvidia/driver`).
    pub driver_root: Fact<String>,
    /// `disable-require`.
    pub disable_require: Fact<bool>,
    /// `accept-nvidia-visible-devices-envvar-when-unprivileged`.
    pub accept_envvar_when_unprivileged: Fact<bool>,
    /// `swarm-resource`.
    pub swarm_resource: Fact<String>,
    /// `features.disable-cuda-compat-lib-hook`: the known way to live with CVE-2025-23266.
    pub disable_cuda_compat_hook: Fact<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CdiSpec {
    /// `/etc/cdi/nvidia.yaml`.
    pub path: String,
    /// `nvidia.com/gpu`.
    pub kind: String,
    /// Version of the CDI format, `0.5.0`.
    pub cdi_version: String,
    /// Names of its devices: `0`, `all`, `GPU-…`, `0:0`.
    pub devices: Vec<String>,
    /// Driver version that its library paths carry (`libcuda.so.550.54.14`); absent when none does.
    pub driver: Fact<String>,
    /// Device nodes and the driver library that it names and that are not there.
    pub missing: Fact<Vec<String>>,
    /// Last change, seconds since 1970.
    pub modified: Fact<i64>,
}

/// Prefixes of the family's packages.
const PACKAGES: &[&str] = &["nvidia-container", "nvidia-docker", "libnvidia-container"];

const CONFIG: &str = "/etc/nvidia-container-runtime/config.toml";

impl Toolkit {
    /// Path of one of the catalog's programs of the toolkit; absent if it is not installed.
    pub fn program(&self, name: &str) -> Fact<&str> {
        self.programs.as_ref().and_then(|all| {
            all.iter()
                .find(|(known, _)| known == name)
                .map_or(Fact::Absent, |(_, path)| Fact::Known(path.as_str()))
        })
    }

    /// The configured mode of the runtime; `auto` where none is configured.
    pub fn mode(&self) -> Fact<String> {
        self.config.as_ref().and_then(|config| config.mode.clone()).absent_as("auto".to_owned())
    }

    /// CDI specifications of NVIDIA GPUs.
    pub fn gpu_specs(&self) -> Fact<Vec<&CdiSpec>> {
        self.cdi.as_ref().map(|specs| specs.iter().filter(|spec| spec.kind == "nvidia.com/gpu").collect())
    }
}

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host, catalog: &Catalog) -> Toolkit {
    let packages = packages::installed(host, catalog, PACKAGES);
    let programs = programs(host, catalog);
    let version = version(host, &packages, &programs);
    let (config, config_error) = config(host);
    let driver_root_exists = config.as_ref().and_then(|config| match &config.driver_root {
        Fact::Known(root) => host.stat(root).text().map(|_| true).absent_as(false),
        other => other.as_ref().map(|_| false),
    });
    let (cdi, cdi_invalid) = cdi(host);
    let refresh = ["/lib/systemd/system", "/etc/systemd/system", "/usr/lib/systemd/system"];
    let refresh_unit = refresh.iter().fold(Fact::Absent, |found: Fact<bool>, dir| {
        found.or_else(|| host.stat(&format!("{dir}/nvidia-cdi-refresh.path")).text().map(|_| true))
    });
    Toolkit {
        version,
        programs,
        packages,
        config,
        config_error,
        driver_root_exists,
        cdi,
        cdi_invalid,
        refresh_unit: refresh_unit.absent_as(false),
    }
}

fn programs(host: &dyn Host, catalog: &Catalog) -> Fact<Vec<(String, String)>> {
    let mut found = Vec::new();
    for name in catalog.toolkit().programs() {
        match in_service_path(host, name).or_else(|| host.program(name).text()) {
            Fact::Known(path) => found.push((name.to_owned(), path)),
            Fact::Absent => {}
            Fact::Unknown(why) => return Fact::Unknown(why.clone().about(name.to_string())),
        }
    }
    Fact::Known(found)
}

fn version(
    host: &dyn Host,
    packages: &Fact<Vec<(String, String)>>,
    programs: &Fact<Vec<(String, String)>>,
) -> Fact<String> {
    let named = |name: &str| {
        let all = packages.known()?;
        all.iter().find(|(known, _)| known == name).map(|(_, version)| packages::upstream(version).to_owned())
    };
    if let Some(version) =
        named("nvidia-container-toolkit").or_else(|| named("nvidia-container-toolkit-base"))
    {
        return Fact::Known(version);
    }
    match programs {
        Fact::Known(all) => match all.iter().find(|(name, _)| name == "nvidia-ctk") {
            Some((_, path)) => {
                let said = host.run(&[path, "--version"], std::time::Duration::from_secs(1)).stdout();
                said.about("nvidia-ctk --version").and_then(|text| match parse_version(&text) {
                    Some(version) => Fact::Known(version),
                    None => Fact::unknown("nvidia-ctk --version prints no version"),
                })
            }
            // Without nvidia-ctk (before 1.11) but with a hook there is a toolkit of unknown version.
            None if !all.is_empty() => {
                Fact::unknown("toolkit installed, but neither a package nor nvidia-ctk gives its version")
            }
            None => packages.as_ref().and_then(|_| Fact::Absent),
        },
        other => other.as_ref().and_then(|_| Fact::Absent),
    }
}

/// `NVIDIA Container Toolkit CLI version 1.20.0`
fn parse_version(text: &str) -> Option<String> {
    let version = text.lines().find_map(|line| line.split(" version ").nth(1))?.split_whitespace().next()?;
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
}

fn config(host: &dyn Host) -> (Fact<Config>, Fact<ConfigError>) {
    match host.read(CONFIG).text().about(CONFIG) {
        Fact::Known(text) => match parse_config(&text) {
            Ok(config) => (Fact::Known(config), Fact::Absent),
            Err(error) => {
                let why = format!("{CONFIG} is not valid: {error}");
                (Fact::unknown(why), Fact::Known(error))
            }
        },
        Fact::Absent => (Fact::Absent, Fact::Absent),
        Fact::Unknown(why) => (Fact::Unknown(why.clone()), Fact::Unknown(why)),
    }
}

fn parse_config(text: &str) -> Result<Config, ConfigError> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        ConfigError { line, message: error.message().trim().replace('\n', ", ") }
    })?;
    let value = |path: &[&str]| {
        let (last, sections) = path.split_last()?;
        sections.iter().try_fold(&table, |table, key| table.get(*key)?.as_table())?.get(*last)
    };
    let flag = |path: &[&str]| value(path).and_then(toml::Value::as_bool).map_or(Fact::Absent, Fact::Known);
    let word = |path: &[&str]| {
        let text = value(path).and_then(toml::Value::as_str).filter(|text| !text.is_empty());
        text.map_or(Fact::Absent, |text| Fact::Known(text.to_owned()))
    };
    Ok(Config {
        path: CONFIG.to_owned(),
        mode: word(&["nvidia-container-runtime", "mode"]),
        no_cgroups: flag(&["nvidia-container-cli", "no-cgroups"]),
        driver_root: word(&["nvidia-container-cli", "root"]),
        disable_require: flag(&["disable-require"]),
        accept_envvar_when_unprivileged: flag(&["accept-nvidia-visible-devices-envvar-when-unprivileged"]),
        swarm_resource: word(&["swarm-resource"]),
        disable_cuda_compat_hook: flag(&["features", "disable-cuda-compat-lib-hook"]),
    })
}

/// Read and invalid specifications.
type Specs = (Fact<Vec<CdiSpec>>, Fact<Vec<(String, String)>>);

fn cdi(host: &dyn Host) -> Specs {
    let (mut specs, mut invalid) = (Vec::new(), Vec::new());
    for dir in ["/etc/cdi", "/var/run/cdi"] {
        let names = match host.list(dir).lines() {
            Fact::Known(names) => names,
            Fact::Absent => continue,
            Fact::Unknown(why) => {
                let why = why.about(dir);
                return (Fact::Unknown(why.clone()), Fact::Unknown(why));
            }
        };
        for name in names.iter().filter(|name| name.ends_with(".yaml") || name.ends_with(".json")) {
            let path = format!("{dir}/{name}");
            match host.read(&path).text() {
                Fact::Known(text) => match parse_cdi(&path, &text) {
                    Ok((spec, named)) => specs.push(CdiSpec {
                        missing: missing(host, &named),
                        modified: host.stat(&path).json::<Stat>().map(|stat| stat.mtime),
                        ..spec
                    }),
                    Err(error) => invalid.push((path, error.to_string())),
                },
                Fact::Absent => {}
                Fact::Unknown(why) => {
                    let why = why.about(path);
                    return (Fact::Unknown(why.clone()), Fact::Unknown(why));
                }
            }
        }
    }
    (Fact::Known(specs), Fact::Known(invalid))
}

/// Which of these paths are not there.
fn missing(host: &dyn Host, paths: &[String]) -> Fact<Vec<String>> {
    let mut missing = Vec::new();
    for path in paths {
        match host.stat(path).text() {
            Fact::Known(_) => {}
            Fact::Absent => missing.push(path.clone()),
            Fact::Unknown(why) => return Fact::Unknown(why.clone().about(path.to_string())),
        }
    }
    Fact::Known(missing)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    cdi_version: String,
    kind: String,
    devices: Vec<Device>,
    #[serde(default)]
    container_edits: Edits,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Device {
    name: Name,
    #[serde(default)]
    container_edits: Edits,
}

/// Device names are strings, but some files have bare numbers.
#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Number(u64),
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Edits {
    device_nodes: Option<Vec<Node>>,
    mounts: Option<Vec<Mount>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    path: String,
    host_path: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mount {
    host_path: String,
}

/// The most paths of one specification that are looked for.
const NAMED_MAX: usize = 64;

/// Why a specification cannot be used.
#[derive(Debug, thiserror::Error)]
enum CdiError {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Yaml(#[from] serde_yaml::Error),
    #[error("kind {0:?} is not VENDOR/CLASS")]
    Kind(String),
    #[error("line {0}: {TOO_DEEP}")]
    TooDeep(usize),
}

/// A specification, and the paths in it by which its freshness can be seen: GPU device nodes and the driver
/// library.
fn parse_cdi(path: &str, text: &str) -> Result<(CdiSpec, Vec<String>), CdiError> {
    let json = path.ends_with(".json");
    if let Some(line) = too_deep(text).filter(|_| !json) {
        return Err(CdiError::TooDeep(line));
    }
    let spec: Spec = if json { serde_json::from_str(text)? } else { serde_yaml::from_str(text)? };
    if !spec.kind.contains('/') {
        return Err(CdiError::Kind(spec.kind));
    }
    let edits = || {
        std::iter::once(&spec.container_edits)
            .chain(spec.devices.iter().map(|device| &device.container_edits))
    };
    let library = edits()
        .flat_map(|edits| edits.mounts.iter().flatten())
        .find(|mount| library_version(&mount.host_path).is_some());
    let mut named: Vec<String> = edits()
        .flat_map(|edits| edits.device_nodes.iter().flatten())
        .map(|node| node.host_path.clone().unwrap_or_else(|| node.path.clone()))
        .filter(|path| path.starts_with("/dev/nvidia") && !path.starts_with("/dev/nvidia-caps"))
        .collect();
    named.sort_unstable();
    named.dedup();
    named.truncate(NAMED_MAX);
    let driver = library.and_then(|mount| library_version(&mount.host_path));
    named.extend(library.map(|mount| mount.host_path.clone()));
    let devices = spec.devices.iter().map(|device| match &device.name {
        Name::Text(name) => name.clone(),
        Name::Number(number) => number.to_string(),
    });
    let spec = CdiSpec {
        path: path.to_owned(),
        devices: devices.collect(),
        driver: driver.map_or(Fact::Absent, |version| Fact::Known(version.to_owned())),
        missing: Fact::Absent,
        modified: Fact::Absent,
        kind: spec.kind,
        cdi_version: spec.cdi_version,
    };
    Ok((spec, named))
}

/// `550.54.14` of `/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14`.
fn library_version(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let version = name.strip_prefix("libcuda.so.").or_else(|| name.strip_prefix("libnvidia-ml.so."))?;
    version.contains('.').then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::Reading;
    use host::record::Replay;

    const OUTPUTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/outputs/toolkit/");

    #[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
    fn output(name: &str) -> String {
        std::fs::read_to_string(format!("{OUTPUTS}{name}")).unwrap()
    }

    #[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
    fn names(prefix: &str) -> Vec<String> {
        let all = std::fs::read_dir(OUTPUTS)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        all.filter(|name| name.starts_with(prefix)).collect()
    }

    #[test]
    fn every_config_of_the_corpus_is_read() {
        let (mut modes, mut cgroups) = (Vec::new(), Vec::new());
        for name in names("config-toml") {
            let config = parse_config(&output(&name)).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert_eq!(config.disable_require, Fact::Known(false), "{name}");
            assert_eq!(config.driver_root, Fact::Absent, "{name}");
            if let Fact::Known(mode) = config.mode {
                modes.push((name.clone(), mode));
            }
            if config.no_cgroups == Fact::Known(true) {
                cgroups.push(name);
            }
        }
        assert_eq!(cgroups, ["config-toml-rootless-deepops-no-cgroups.toml"]);
        assert!(
            modes.contains(&("config-toml-generated-default-2026.toml".into(), "auto".into())),
            "{modes:?}"
        );
        assert!(modes.iter().all(|(_, mode)| mode == "auto"), "{modes:?}");
    }

    #[test]
    fn a_broken_config_names_the_line() {
        let why = parse_config("disable-require = false\n[nvidia-container-cli\n").unwrap_err();
        assert_eq!(why.line, Some(2), "{why}");
        assert!(parse_config("disable-require = False\n").is_err());
    }

    #[test]
    fn every_specification_of_the_corpus_is_read() {
        let cases = [
            ("cdi-spec-dgx-a100-mig-460.91.03.yaml", "nvidia.com/gpu", "0.4.0", "460.91.03"),
            ("cdi-spec-golden-mock-driver-root.yaml", "example.com/device", "0.5.0", "999.88.77"),
        ];
        let mut all = names("cdi-spec");
        all.sort();
        assert_eq!(all, cases.map(|case| case.0));
        for (name, kind, version, driver) in cases {
            let (spec, named) = parse_cdi(name, &output(name)).unwrap();
            assert_eq!((spec.kind.as_str(), spec.cdi_version.as_str()), (kind, version), "{name}");
            assert_eq!(spec.driver, Fact::Known(driver.into()), "{name}");
            assert!(
                spec.devices.len() > 1 && named.iter().any(|path| path == "/dev/nvidia0"),
                "{name}: {named:?}"
            );
            assert!(named.last().unwrap().ends_with(driver), "{name}: {named:?}");
        }
    }

    #[test]
    fn rejects_invalid_cdi_specs() {
        for (path, text) in [
            ("a.yaml", "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n"),
            ("a.yaml", "kind: [unfinished"),
            ("a.json", "{\"cdiVersion\": \"0.5.0\"}"),
            ("a.yaml", "cdiVersion: 0.5.0\nkind: gpu\ndevices: []\n"),
            ("a.yaml", ""),
        ] {
            assert!(parse_cdi(path, text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_version_is_read() {
        assert_eq!(parse_version(&output("nvidia-ctk-version-1.20.0.txt")).as_deref(), Some("1.20.0"));
        assert_eq!(parse_version("garbage"), None);
    }

    #[test]
    fn nothing_known_stays_unknown() {
        let toolkit = gather(
            &Replay::new([("environment".to_owned(), Reading::Absent)].into(), "not recorded"),
            catalog::testing::catalog(),
        );
        for unknown in [
            matches!(toolkit.version, Fact::Unknown(_)),
            matches!(toolkit.cdi, Fact::Unknown(_)),
            matches!(toolkit.config, Fact::Unknown(_)),
            matches!(toolkit.refresh_unit, Fact::Unknown(_)),
        ] {
            assert!(unknown, "{toolkit:?}");
        }
    }
}
