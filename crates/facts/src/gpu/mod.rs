//! What `nvidia-smi -q -x` and `nvidia-smi --query-gpu` say of each GPU.
//!
//! `nvidia-smi` is only run where there is something for it to talk to: driver's device nodes, `/dev/dxg`, or
//! an NVIDIA GPU on the PCI bus.

mod nvlink;
mod smi;
mod warnings;

use std::time::Duration;

use super::driver::DriverVersion;
use super::{Fact, pci};
use crate::values::values;
use crate::{IntoFact, Unavailable};
use catalog::Catalog;
use host::Missing;
use host::{Host, Reading};

pub use nvlink::links;
pub use smi::{Answer, answer};

/// A machine with eight GPUs and without persistence mode needs this long to wake them all.
const PATIENCE: Duration = Duration::from_secs(20);
/// Where `nvidia-smi` lies when it is not on PATH: WSL2, driver containers of Kubernetes, images of cloud
/// providers.
const ELSEWHERE: &[&str] = &[
    "/usr/bin/nvidia-smi",
    "/usr/lib/wsl/lib/nvidia-smi",
    "/opt/bin/nvidia-smi",
    "/usr/local/nvidia/bin/nvidia-smi",
];

/// The GPUs as the driver sees them.
#[derive(Debug, Clone)]
pub struct Gpus {
    /// One entry a GPU, in the driver's order: `nvidia-smi -q -x`. Absent when there is no `nvidia-smi`.
    /// Unknown when it hung or failed, with what it said.
    pub list: Fact<Vec<Gpu>>,
    /// The driver version that `nvidia-smi` reports (`driver_version`; from 610 on `kmd_version`).
    pub driver: Fact<DriverVersion>,
    /// The highest CUDA version of the driver, `12.4` (`cuda_version`; from 610 on `cuda_umd_version`).
    pub cuda: Fact<String>,
    /// How many GPUs it says are attached; less may be described.
    pub attached: Fact<u32>,
    /// How `nvidia-smi -q -x` failed, if it did.
    pub failure: Option<Failure>,
    /// Lines next to the XML, such as `WARNING: infoROM is corrupted at gpu 0000:3B:00.0`.
    pub warnings: Vec<String>,
}

/// How `nvidia-smi` failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// It had to be stopped; the words of the host.
    Hung(Missing),
    /// It ended by itself without an answer.
    Ended {
        /// Exit status; none when a signal ended it.
        status: Option<i32>,
        /// What it said, whole.
        said: String,
    },
}

values! {
    /// `compute_mode` of `nvidia-smi -q -x`; source: nvidia-smi's manual page.
    ComputeMode {
        Default = "Default",
        ExclusiveThread = "Exclusive_Thread",
        Prohibited = "Prohibited",
        ExclusiveProcess = "Exclusive_Process",
    }
}

/// One GPU. Fields that this GPU or driver does not report ("N/A", "Requested functionality has been
/// deprecated") are absent.
#[derive(Debug, Clone, PartialEq)]
pub struct Gpu {
    /// Position in the driver's order.
    pub index: u32,
    /// PCI address as sysfs writes it, `0000:1b:00.0`.
    pub address: String,
    /// `GPU-…`.
    pub uuid: String,
    /// `NVIDIA H100 80GB HBM3`.
    pub name: String,
    /// `GeForce`, `NVIDIA RTX`, `Tesla`, `NVIDIA`: what the container toolkit compares with an image's
    /// conditions.
    pub brand: Fact<String>,
    /// `Hopper`.
    pub architecture: Fact<String>,
    /// `(9, 0)`: from `nvidia-smi --query-gpu=…,compute_cap`, else from the catalog by PCI id or name.
    pub compute_capability: Fact<(u32, u32)>,
    /// Framebuffer total and used, in MiB.
    pub memory_total: Fact<u64>,
    /// Framebuffer used, in MiB.
    pub memory_used: Fact<u64>,
    /// Persistence mode.
    pub persistence: Fact<bool>,
    /// MIG mode now, and after the next reset.
    pub mig: Fact<(bool, bool)>,
    /// ECC: now, after the next reset.
    pub ecc: Fact<(bool, bool)>,
    /// Uncorrected ECC errors since the driver was loaded (volatile) and since the board was made
    /// (aggregate).
    pub ecc_uncorrected: Fact<(u64, u64)>,
    /// Row remapping (Ampere and newer).
    pub remapped_rows: Fact<RemappedRows>,
    /// Pages retired (before Ampere): pending a reboot.
    pub retired_pages_pending: Fact<bool>,
    /// Reasons for lower clocks that are active now: `hw_thermal_slowdown`, `gpu_idle`.
    pub throttling: Fact<Vec<String>>,
    /// GPU core temperature in degrees Celsius.
    pub temperature: Fact<i32>,
    /// PCIe generation now, at most of the device.
    pub pcie_generation: Fact<(u32, u32)>,
    /// PCIe lanes now, at most.
    pub pcie_width: Fact<(u32, u32)>,
    /// `P0` (full clocks) to `P12` (idle).
    pub performance_state: Fact<String>,
    /// Share of the last moments in which something ran on the GPU, in percent. Absent with MIG.
    pub utilization: Fact<u32>,
    /// Fabric state and status of NVSwitch systems (`Completed`/`Success`, `In Progress`/`N/A`); absent
    /// without a fabric.
    pub fabric: Fact<(String, String)>,
    /// NVLinks: lines of `nvidia-smi nvlink -s` of this GPU: per link GB/s, or none when inactive; empty when
    /// it says that all are inactive without counting them. Absent without NVLink, and on cards that were not
    /// asked for it.
    pub nvlinks: Fact<Vec<Option<f32>>>,
    /// `None`, `Pass-Through`, `VGPU`, `Host VGPU`…: virtualization mode.
    pub virtualization: Fact<String>,
    /// What the driver asks for: `None`, `Reset`, `Reboot`, `Drain P2P`, `Drain and Reset`
    /// (`gpu_recovery_action`, from 570 on; before, `Reset` where `reset_required` says so). Absent where the
    /// driver does not tell.
    pub recovery_action: Fact<String>,
    /// Which programs may use it.
    pub compute_mode: Fact<ComputeMode>,
    /// Whether a screen shows what this GPU draws (`display_active`). Absent where the driver does not tell.
    pub display: Fact<bool>,
    /// Number of the module on its baseboard, from 1 (`platformInfo/module_id`, before 570 `gpu_module_id`);
    /// 0 or 1 on cards. Source: nvmlDeviceGetModuleId, and tests/servers/outputs/nvidia_smi_xml.
    pub module: Fact<u32>,
    /// PCI device id, `0x2330`.
    pub pci_device: Fact<u16>,
    /// Whether the board had so many uncorrectable SRAM errors that NVIDIA replaces it
    /// (`sram_threshold_exceeded`).
    pub sram_threshold_exceeded: Fact<bool>,
}

/// Row remapping, from `<remapped_rows>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemappedRows {
    /// Rows remapped because of correctable errors.
    pub correctable: u32,
    /// Rows remapped because of uncorrectable errors.
    pub uncorrectable: u32,
    /// A remap waits for a reset of the GPU.
    pub pending: bool,
    /// A remap failed: the board is to be replaced.
    pub failure: bool,
}

impl Gpus {
    /// The GPUs of which `predicate` says yes. When it says yes of none, the early verdict of a check:
    /// unknown when it could not tell of one, not applicable (`absent`) when there is nothing to tell of any.
    pub fn found<'a>(
        &'a self,
        absent: &str,
        predicate: impl Fn(&'a Gpu) -> Fact<bool>,
    ) -> Result<Vec<&'a Gpu>, Unavailable> {
        let gpus = self.list.require("nvidia-smi not found")?;
        let answers: Vec<(&Gpu, Fact<bool>)> = gpus.iter().map(|gpu| (gpu, predicate(gpu))).collect();
        let found: Vec<&Gpu> =
            answers.iter().filter(|(_, answer)| *answer == Fact::Known(true)).map(|(gpu, _)| *gpu).collect();
        if found.is_empty() {
            if let Some((gpu, Fact::Unknown(why))) =
                answers.iter().find(|(_, answer)| matches!(answer, Fact::Unknown(_)))
            {
                return Err(why.clone().about(format!("GPU {}", gpu.index)).into());
            }
            if answers.iter().all(|(_, answer)| *answer == Fact::Absent) {
                return Err(Unavailable::Absent(absent.to_owned()));
            }
        }
        Ok(found)
    }
}

impl Gpu {
    /// `GPU 3 (0000:41:00.0, NVIDIA H100 80GB HBM3)`, for evidence.
    pub fn label(&self) -> String {
        format!("GPU {} ({}, {})", self.index, self.address, self.name)
    }
}

/// `GPU 3`, `GPUs 0 and 5`, `GPUs 0-3, 6 and 7`.
pub fn names(gpus: &[&Gpu]) -> String {
    let mut indices: Vec<u32> = gpus.iter().map(|gpu| gpu.index).collect();
    indices.sort_unstable();
    let runs: Vec<String> = indices
        .chunk_by(|a, b| a + 1 == *b)
        .flat_map(|run| match run {
            [first, _, .., last] => vec![format!("{first}-{last}")],
            few => few.iter().map(u32::to_string).collect(),
        })
        .collect();
    match runs.as_slice() {
        [] => "no GPU".into(),
        [one] if indices.len() == 1 => format!("GPU {one}"),
        [one] => format!("GPUs {one}"),
        [first @ .., last] => format!("GPUs {} and {last}", first.join(", ")),
    }
}

/// Reads these facts; one that cannot be read is unknown, with the reason.
pub fn gather(host: &dyn Host, catalog: &Catalog) -> Gpus {
    let nothing = |fact: Fact<()>| Gpus {
        list: fact.clone().and_then(|()| Fact::Absent),
        driver: fact.clone().and_then(|()| Fact::Absent),
        cuda: fact.clone().and_then(|()| Fact::Absent),
        attached: fact.and_then(|()| Fact::Absent),
        failure: None,
        warnings: Vec::new(),
    };
    if !nvidia_present(host) {
        return nothing(Fact::Absent);
    }
    let program = match smi_program(host) {
        Fact::Known(program) => program,
        Fact::Absent => return nothing(Fact::Absent),
        Fact::Unknown(why) => return nothing(Fact::Unknown(why.clone().about("nvidia-smi"))),
    };
    // Each start wakes every GPU that is not in persistence mode: side by side they wait for that once.
    let (all, capabilities) = std::thread::scope(|scope| {
        let query = [&program, "--query-gpu=index,pci.bus_id,compute_cap", "--format=csv,noheader"];
        let capabilities = scope.spawn(move || host.run(&query, PATIENCE));
        let all = host.run(&[&program, "-q", "-x"], PATIENCE);
        (all, capabilities.join().unwrap_or_else(|_| Reading::failed("its thread ended")))
    });
    let failure = failure(&all);
    let answer = match &failure {
        // One cause is reported once, by a check that has the failure.
        Some(Failure::Hung(_)) => Fact::unknown("nvidia-smi did not answer"),
        Some(Failure::Ended { .. }) => Fact::unknown("nvidia-smi failed"),
        None => answer(all).about("nvidia-smi"),
    };
    let warnings = answer.known().map(|answer| answer.warnings.clone()).unwrap_or_default();
    let driver = answer.as_ref().and_then(|answer| answer.driver.clone());
    let cuda = answer.as_ref().and_then(|answer| answer.cuda.clone());
    let attached = answer.as_ref().and_then(|answer| answer.attached.clone());
    let list = answer.map(|answer| {
        let mut gpus = answer.gpus;
        let listed = smi::compute_capabilities(&capabilities.stdout().known().cloned().unwrap_or_default());
        for gpu in &mut gpus {
            gpu.compute_capability =
                listed.get(&gpu.address).copied().map_or_else(|| capability(catalog, gpu), Fact::Known);
        }
        ask_for_links(catalog, host, &program, &mut gpus);
        gpus
    });
    Gpus { list, driver, cuda, attached, failure, warnings }
}

/// Whether there is anything of NVIDIA's here that a program could talk to. True where that is not known.
pub(crate) fn nvidia_present(host: &dyn Host) -> bool {
    let node = |path| host.stat(path) != Reading::Absent;
    node("/dev/nvidiactl") || node("/dev/dxg") || pci::may_have_gpu(host)
}

/// `nvidia-smi` when it is on PATH, else its path.
fn smi_program(host: &dyn Host) -> Fact<String> {
    let at = |path: &&str| host.stat(path).text().map(|_| (*path).to_owned());
    let on_path = host.program("nvidia-smi").text().map(|_| "nvidia-smi".to_owned());
    on_path.or_else(|| ELSEWHERE.iter().fold(Fact::Absent, |found, path| found.or_look(|| at(path))))
}

fn failure(reading: &Reading) -> Option<Failure> {
    match reading {
        Reading::Failed(why) if why.timed_out() => Some(Failure::Hung(why.clone())),
        Reading::Ran { status, stdout, stderr } if smi::document(*status, stdout).is_none() => {
            let said = [stdout.trim(), stderr.trim()].join("\n").trim().to_owned();
            Some(Failure::Ended { status: *status, said })
        }
        _ => None,
    }
}

/// The model of this GPU in the catalog: by PCI id, else by name.
pub fn model<'c>(catalog: &'c Catalog, gpu: &Gpu) -> Option<&'c catalog::gpus::Gpu> {
    let by_pci = gpu.pci_device.known().and_then(|&id| catalog.gpus().by_pci(id));
    by_pci.or_else(|| catalog.gpus().by_name(&gpu.name))
}

fn capability(catalog: &Catalog, gpu: &Gpu) -> Fact<(u32, u32)> {
    model(catalog, gpu).and_then(|row| smi::version_pair(&row.compute_capability)).map_or_else(
        || {
            Fact::unknown(format!(
                "the compute capability of {} is unknown: neither nvidia-smi nor the catalog has it",
                gpu.name
            ))
        },
        Fact::Known,
    )
}

/// Asks for the state of NVLinks where a GPU can have them.
fn ask_for_links(catalog: &Catalog, host: &dyn Host, program: &str, gpus: &mut [Gpu]) {
    let linked = |gpu: &Gpu| {
        matches!(gpu.fabric, Fact::Known(_))
            || model(catalog, gpu).is_some_and(|row| row.nvlink == Some(true) && row.data_centre)
    };
    if !gpus.iter().any(linked) {
        return;
    }
    let reported = host
        .run(&[program, "nvlink", "-s"], PATIENCE)
        .stdout()
        .map(|text| links(&text))
        .about("nvidia-smi nvlink -s");
    for gpu in gpus.iter_mut().filter(|gpu| linked(gpu)) {
        gpu.nvlinks = reported.as_ref().and_then(|reported| {
            reported.get(&gpu.index).cloned().unwrap_or_else(|| {
                Fact::unknown(format!("nvidia-smi nvlink -s does not name GPU {}", gpu.index))
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::smi::machine;
    use catalog::testing::catalog;

    #[test]
    fn gpus_are_named_in_few_words() {
        let facts = machine(&[""; 8]);
        let gpus = facts.gpu.list.known().unwrap();
        let named = |indices: &[usize]| names(&indices.iter().map(|&index| &gpus[index]).collect::<Vec<_>>());
        assert_eq!(named(&[3]), "GPU 3");
        assert_eq!(named(&[0, 1]), "GPUs 0 and 1");
        assert_eq!(named(&[0, 1, 2, 3, 4, 5, 6, 7]), "GPUs 0-7");
        assert_eq!(named(&[0, 1, 2, 5, 7]), "GPUs 0-2, 5 and 7");
    }

    #[test]
    fn runs_no_commands_without_an_nvidia_device() {
        let readings = ["stat /dev/nvidiactl", "stat /dev/dxg", "list /sys/bus/pci/devices"];
        let mut readings: std::collections::BTreeMap<String, Reading> =
            readings.iter().map(|key| ((*key).to_owned(), Reading::Absent)).collect();
        readings.insert("list /sys/bus".into(), Reading::Text("usb".into()));
        let host = host::record::Replay::new(readings, "asked for more");
        assert_eq!(gather(&host, catalog()).list, Fact::Absent);
    }

    #[test]
    fn unreadable_locations_are_unknown_not_absent() {
        let readings = ["stat /dev/nvidiactl", "list /sys/bus/pci/devices", "program nvidia-smi"];
        let mut readings: std::collections::BTreeMap<String, Reading> =
            readings.iter().map(|key| ((*key).to_owned(), Reading::Absent)).collect();
        readings.insert("list /sys/bus".into(), Reading::Text("usb".into()));
        // Neither /dev/dxg nor one of the places of nvidia-smi could be seen.
        let gpus = gather(&host::record::Replay::new(readings, "permission denied"), catalog());
        assert_eq!(gpus.list, Fact::unknown("nvidia-smi: permission denied"));
    }

    #[test]
    fn the_drivers_compute_capability_comes_before_the_catalogs() {
        let facts = machine(&["<pci><pci_device_id>233010DE</pci_device_id></pci>", ""]);
        let gpus = facts.gpu.list.known().unwrap();
        assert_eq!(gpus[0].compute_capability, Fact::Known((9, 0)));
        assert_eq!(gpus[1].compute_capability, Fact::Known((9, 0)));
    }
}
