//! A server as it should be, to be changed field by field.

use super::nothing_known;
use super::pci::gpu;
use crate::driver::{DeviceNodes, DriverLibrary, Module};
use crate::modules::ModuleFile;
use crate::pci::Device;
use crate::system::OsRelease;
use crate::{Fact, Facts};

/// A server with one H100 and a driver that is as it should be; of other groups nothing is known.
pub fn healthy() -> Facts {
    let mut facts = nothing_known("not looked at");
    let version = "580.95.05".parse().unwrap();
    facts.system.os = Fact::Known(OsRelease {
        id: "ubuntu".into(),
        id_like: vec!["debian".into()],
        version_id: Some("24.04".into()),
        pretty_name: "Ubuntu 24.04.3 LTS".into(),
    });
    facts.system.kernel = Fact::Known("6.8.0-45-generic".into());
    facts.system.architecture = Fact::Known("x86_64".into());
    facts.system.virtualisation = Fact::Absent;
    facts.system.container = Fact::Absent;
    facts.system.wsl = Fact::Absent;
    // 2026-11-21.
    facts.clock.now = Fact::Known(1_795_219_200);
    facts.pci.devices = Fact::Known(vec![gpu("0000:1b:00.0")]);
    let modules = ["nvidia", "nvidia_uvm", "nvidia_modeset"];
    facts.modules.loaded = Fact::Known(modules.iter().map(|&name| name.to_owned()).collect());
    facts.modules.nvidia_loaded = Fact::Known("580.95.05".into());
    facts.modules.nvidia_on_disk = Fact::Known("580.95.05".into());
    facts.modules.nvidia_file = Fact::Known(ModuleFile {
        path: "/lib/modules/6.8.0-45-generic/updates/dkms/nvidia.ko.zst".into(),
        version: "580.95.05".into(),
        open: Fact::Known(true),
        signer: Fact::Known("node Secure Boot Module Signature key".into()),
    });
    facts.modules.secure_boot = Fact::Absent;
    facts.modules.dkms = Fact::Known(vec![]);
    facts.modules.reboot_required = Fact::Absent;
    facts.modules.options = Fact::Known(vec![]);
    facts.driver.module = Fact::Known(Module { version, open: true });
    facts.driver.library = Fact::Known(version);
    let path = "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05".into();
    facts.driver.libraries = Fact::Known(vec![DriverLibrary { path, version }]);
    facts.driver.unversioned = Fact::Known(vec![]);
    facts.driver.stubs = Fact::Known(vec![]);
    facts.driver.broken = Fact::Known(vec![]);
    facts.driver.modprobe = Fact::Absent;
    facts.toolkit.cdi = Fact::Known(vec![]);
    let package = |name: &str| (name.to_owned(), "580.95.05-0ubuntu0.24.04.2".to_owned());
    facts.driver.packages =
        Fact::Known(vec![package("nvidia-dkms-580-server-open"), package("nvidia-driver-580-server-open")]);
    facts.driver.smi = Fact::Known("/usr/bin/nvidia-smi".into());
    facts.driver.device_nodes =
        Fact::Known(DeviceNodes { gpus: vec![0], control: true, uvm: true, ..DeviceNodes::default() });
    facts.driver.proc_gpus = Fact::Known(vec!["0000:1b:00.0".into()]);
    facts
}

/// The healthy server, changed.
pub fn server(change: impl FnOnce(&mut Facts)) -> Facts {
    let mut facts = healthy();
    change(&mut facts);
    facts
}

/// Changes the first GPU.
pub fn first(facts: &mut Facts, change: impl FnOnce(&mut Device)) {
    if let Fact::Known(devices) = &mut facts.pci.devices {
        change(&mut devices[0]);
    }
}
