//! The NVSwitch fabric and the service that runs it.

use std::time::Duration;

use super::{Fact, Facts, gpu, pci};
use crate::IntoFact;
use crate::Unavailable;
use catalog::Catalog;
use host::{Host, Reading};

/// Where packages and administrators put units.
const UNITS: &[&str] =
    &["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system", "/run/systemd/system"];
const PATIENCE: Duration = Duration::from_secs(5);

/// NVSwitch systems need the fabric manager (before NVLink 5) or NVLSM next to it.
#[derive(Debug, Clone)]
pub struct Fabric {
    /// State of `nvidia-fabricmanager.service` as `systemctl is-active` words it (`active`, `inactive`,
    /// `failed`); absent when the unit is not installed. Only asked where NVSwitches are on the bus or a GPU
    /// reports a fabric; absent elsewhere.
    pub manager: Fact<String>,
    /// Its version: `nv-fabricmanager --version`, or the package's.
    pub version: Fact<String>,
    /// Whether a process `nv-fabricmanager` runs although there is no unit: the GPU operator of Kubernetes
    /// starts it in its driver container. Absent where the unit is installed.
    pub process: Fact<bool>,
    /// State of `nvidia-imex.service`, which NVLink across several machines (GB200 NVL72) needs; absent when
    /// the unit is not installed. Only asked where a GPU reports a fabric.
    pub imex: Fact<String>,
}

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host, catalog: &Catalog) -> Fabric {
    let absent =
        Fabric { manager: Fact::Absent, version: Fact::Absent, process: Fact::Absent, imex: Fact::Absent };
    match has_fabric(host, catalog) {
        Fact::Known(true) => {}
        Fact::Unknown(why) => {
            return Fabric {
                manager: Fact::Unknown(why.clone()),
                version: Fact::Unknown(why.clone()),
                process: Fact::Unknown(why.clone()),
                imex: Fact::Unknown(why),
            };
        }
        _ => return absent,
    }
    let manager = unit_state(host, "nvidia-fabricmanager.service");
    let process = match &manager {
        Fact::Absent => process(host.run(&["pgrep", "-x", "nv-fabricmanage"], PATIENCE)),
        Fact::Known(_) => Fact::Absent,
        Fact::Unknown(why) => Fact::Unknown(why.clone()),
    };
    let version = match host.program("nv-fabricmanager") {
        Reading::Text(_) => {
            host.run(&["nv-fabricmanager", "--version"], PATIENCE).stdout().and_then(|text| version(&text))
        }
        other => other.text(),
    };
    Fabric {
        manager,
        version: version.about("nv-fabricmanager"),
        process,
        imex: unit_state(host, "nvidia-imex.service"),
    }
}

/// Whether an NVSwitch is on the bus or a GPU reports a fabric.
fn has_fabric(host: &dyn Host, catalog: &Catalog) -> Fact<bool> {
    let bus = pci::gather(host).devices.map(|devices| devices.iter().any(pci::Device::is_nvswitch));
    if bus == Fact::Known(true) {
        return bus;
    }
    let gpus = gpu::gather(host, catalog)
        .list
        .map(|gpus| gpus.iter().any(|gpu| matches!(gpu.fabric, Fact::Known(_))));
    match (bus, gpus) {
        (_, Fact::Known(true)) => Fact::Known(true),
        // No NVSwitch, and no GPU that could tell of one: there is none that this machine would have to run.
        (Fact::Known(false), Fact::Known(false) | Fact::Absent) => Fact::Known(false),
        (Fact::Unknown(why), _) | (_, Fact::Unknown(why)) => Fact::Unknown(why),
        (Fact::Absent | Fact::Known(_), _) => Fact::Known(false),
    }
}

/// The state of a unit, or absent when there is no such unit.
fn unit_state(host: &dyn Host, unit: &str) -> Fact<String> {
    let mut installed = Fact::Known(false);
    for dir in UNITS {
        match host.stat(&format!("{dir}/{unit}")) {
            Reading::Text(_) => {
                installed = Fact::Known(true);
                break;
            }
            Reading::Absent => {}
            other => installed = other.text().and_then(|_| Fact::Absent),
        }
    }
    installed.and_then(|installed| {
        if !installed {
            return Fact::Absent;
        }
        // Its exit status tells active from not active; the word tells which.
        match host.run(&["systemctl", "is-active", unit], PATIENCE) {
            Reading::Ran { stdout, stderr, .. } => match stdout.trim() {
                state @ ("active" | "reloading" | "inactive" | "failed" | "activating" | "deactivating"
                | "maintenance") => Fact::Known(state.to_owned()),
                _ => Fact::unknown(format!(
                    "systemctl is-active {unit} said {:?}",
                    [stdout.trim(), stderr.trim()].join(" ")
                )),
            },
            Reading::Absent => Fact::unknown("systemctl not found"),
            other => other.text(),
        }
        .about(unit)
    })
}

/// `pgrep` ends with 0 when it found something, with 1 when it found nothing.
fn process(reading: Reading) -> Fact<bool> {
    match reading {
        Reading::Ran { status: Some(0), .. } => Fact::Known(true),
        Reading::Ran { status: Some(1), stderr, .. } if stderr.trim().is_empty() => Fact::Known(false),
        Reading::Absent => Fact::unknown("pgrep not found"),
        other => other.stdout().and_then(|_| Fact::Absent).about("pgrep"),
    }
}

/// The version in what `nv-fabricmanager --version` prints.
///
/// ```text
/// Fabric Manager version is : 610.57.04
/// Build Info - Branch: rel/gpu_drv/r610/r610_85-4, Changelist: 0
/// ```
pub fn version(text: &str) -> Fact<String> {
    let version = text.lines().find_map(|line| line.split_once("version is")?.1.trim().strip_prefix(':'));
    version.map_or_else(
        || Fact::unknown(format!("it printed no version but {:?}", text.trim())),
        |version| Fact::Known(version.trim().to_owned()),
    )
}

/// Whether a fabric manager has to run on this machine; else why not.
///
/// It runs where the NVSwitches are: on bare metal, and in a virtual machine that was given them all. In
/// other virtual machines the host runs it, on GB200 and GB300 racks the switch trays. HGX B200 and B300
/// boards show no NVSwitch on the bus, and need it nevertheless.
pub fn runs_here(facts: &Facts) -> Result<(), Unavailable> {
    let devices = facts.pci.devices.require("no PCI bus")?;
    if devices.iter().any(pci::Device::is_nvswitch) {
        return Ok(());
    }
    let gpus: Vec<&pci::Device> = devices.iter().filter(|device| device.is_gpu()).collect();
    let names: Vec<&str> = match &facts.gpu.list {
        Fact::Known(gpus) => gpus.iter().map(|gpu| gpu.name.as_str()).collect(),
        _ => gpus
            .iter()
            .filter_map(|gpu| Some(facts.catalog.gpus().by_pci(gpu.device)?.name.as_str()))
            .collect(),
    };
    if names.iter().any(|name| is_hgx_blackwell(name)) {
        return match &facts.system.virtualisation {
            Fact::Absent => Ok(()),
            Fact::Known(_) => {
                Err(Unavailable::Absent("in this virtual machine without NVSwitches the host runs it".into()))
            }
            Fact::Unknown(why) => Err(Unavailable::Unknown(why.clone())),
        };
    }
    match &facts.gpu.list {
        Fact::Unknown(why) if names.len() < gpus.len() => Err(Unavailable::Unknown(why.clone())),
        _ => Err(Unavailable::Absent("no NVSwitch on this machine".into())),
    }
}

/// Whether a product name is that of a board with NVLink 5 switches of its own: `NVIDIA B200`, `NVIDIA B300
/// SXM6 AC`.
fn is_hgx_blackwell(name: &str) -> bool {
    name.split([' ', '-']).any(|word| word == "B200" || word == "B300")
}

/// Whether every GPU says that its place in the fabric is complete. Unknown where they do not say (A100 does
/// not).
pub fn completed(facts: &Facts) -> Fact<bool> {
    let done = |gpu: &gpu::Gpu| {
        gpu.fabric.as_ref().map(|(state, status)| state == "Completed" && status == "Success")
    };
    facts.gpu.list.as_ref().and_then(|gpus| {
        let states: Vec<Fact<bool>> = gpus.iter().map(done).collect();
        if states.contains(&Fact::Known(false)) {
            Fact::Known(false)
        } else if !states.is_empty() && states.iter().all(|states| *states == Fact::Known(true)) {
            Fact::Known(true)
        } else {
            Fact::unknown("some GPUs report no fabric state")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::record::Replay;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test reads the corpus")]
    fn the_version_is_read() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/outputs/services");
        let text = std::fs::read_to_string(format!("{dir}/fabricmanager-version-610.57.04.txt")).unwrap();
        assert_eq!(version(&text), Fact::Known("610.57.04".into()));
        assert!(matches!(version("no such option"), Fact::Unknown(_)));
    }

    #[test]
    fn reads_systemd_unit_state() {
        let state = |stat: Reading, ran: Reading| {
            let mut readings: std::collections::BTreeMap<String, Reading> =
                UNITS.iter().map(|dir| (format!("stat {dir}/x.service"), Reading::Absent)).collect();
            readings.insert("stat /usr/lib/systemd/system/x.service".into(), stat);
            readings.insert("run systemctl is-active x.service".into(), ran);
            unit_state(&Replay::new(readings, "not in this snapshot"), "x.service")
        };
        let ran = |status, text: &str| Reading::Ran {
            status: Some(status),
            stdout: text.into(),
            stderr: String::new(),
        };
        let there = || Reading::Text("{}".into());
        assert_eq!(state(Reading::Absent, ran(0, "active\n")), Fact::Absent);
        assert_eq!(state(there(), ran(0, "active\n")), Fact::Known("active".into()));
        assert_eq!(state(there(), ran(3, "failed\n")), Fact::Known("failed".into()));
        assert!(matches!(state(there(), ran(1, "Failed to connect to bus\n")), Fact::Unknown(_)));
        assert!(matches!(state(Reading::failed("x"), ran(0, "active")), Fact::Unknown(_)));
    }

    #[test]
    fn interprets_pgrep_exit_status() {
        let ran = |status, stderr: &str| Reading::Ran {
            status: Some(status),
            stdout: String::new(),
            stderr: stderr.into(),
        };
        assert_eq!(process(ran(0, "")), Fact::Known(true));
        assert_eq!(process(ran(1, "")), Fact::Known(false));
        assert!(matches!(process(ran(2, "bad option")), Fact::Unknown(_)));
    }
}
