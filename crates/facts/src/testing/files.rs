//! A machine composed of files.

use std::collections::BTreeMap;

use crate::driver::Module;
use crate::gpu::{Gpu, RemappedRows};
use crate::{Expected, Fact, Facts, gather};
use host::Reading;
use host::closed::Closed;

/// A machine with these files and nothing else. A key that does not begin with `/` is a question to the host,
/// `stat …` and the like.
pub fn machine(files: &[(&str, &str)]) -> Facts {
    let readings: BTreeMap<String, Reading> = files
        .iter()
        .map(|(key, value)| {
            let key = if key.starts_with('/') { format!("read {key}") } else { (*key).to_owned() };
            (key, Reading::Text((*value).to_owned()))
        })
        .collect();
    let mut facts =
        gather::recorded(&Closed::new(readings), Expected::default(), catalog::testing::catalog());
    facts.system.container = Fact::Absent;
    facts.pci.devices = Fact::Known(Vec::new());
    facts.system.architecture = Fact::Known("x86_64".into());
    facts
}

/// The same with a driver and one GPU, each named as `550.54.14` and `NVIDIA H100 80GB HBM3 9.0`.
pub fn node(driver: &str, card: &str, files: &[(&str, &str)]) -> Facts {
    let mut facts = machine(files);
    facts.driver.module = Fact::Known(Module { version: driver.parse().unwrap(), open: true });
    facts.gpu.list = Fact::Known(vec![gpu(card)]);
    facts
}

/// A healthy GPU: name and compute capability.
pub fn gpu(card: &str) -> Gpu {
    let (name, capability) = card.rsplit_once(' ').unwrap();
    let (major, minor) = capability.split_once('.').unwrap();
    let healthy = RemappedRows { correctable: 0, uncorrectable: 0, pending: false, failure: false };
    Gpu {
        index: 0,
        address: "0000:1b:00.0".into(),
        uuid: "GPU-00000000-0000-0000-0000-000000000000".into(),
        name: name.into(),
        brand: Fact::Absent,
        architecture: Fact::Absent,
        compute_capability: Fact::Known((major.parse().unwrap(), minor.parse().unwrap())),
        memory_total: Fact::Known(81_559),
        memory_used: Fact::Known(0),
        persistence: Fact::Known(true),
        mig: Fact::Known((false, false)),
        ecc: Fact::Known((true, true)),
        ecc_uncorrected: Fact::Known((0, 0)),
        remapped_rows: Fact::Known(healthy),
        retired_pages_pending: Fact::Absent,
        throttling: Fact::Known(Vec::new()),
        temperature: Fact::Known(30),
        pcie_generation: Fact::Known((5, 5)),
        pcie_width: Fact::Known((16, 16)),
        performance_state: Fact::Known("P0".into()),
        utilization: Fact::Known(0),
        fabric: Fact::Absent,
        nvlinks: Fact::Absent,
        virtualization: Fact::Known("None".into()),
        display: Fact::Known(false),
        recovery_action: Fact::Known("None".into()),
        compute_mode: Fact::Known("Default".into()),
        module: Fact::Absent,
        pci_device: Fact::Absent,
        sram_threshold_exceeded: Fact::Known(false),
    }
}

/// Files of a virtual environment in `/venv` that the shell points to, with a torch (`2.5.1+cu121 12.1`; the
/// second word is its CUDA, `None` in others) and distributions (`numpy-2.1.3`).
pub fn venv(torch: &str, distributions: &[&str]) -> Vec<(&'static str, &'static str)> {
    const SITE: &str = "/venv/lib/python3.12/site-packages";
    let keep = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let mut files = vec![
        ("environment", "HOME=/root\nVIRTUAL_ENV=/venv"),
        ("/venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.3\n"),
        ("/venv/bin/python3", ""),
    ];
    if let Some((version, cuda)) = torch.split_once(' ') {
        let cuda = if cuda == "None" { cuda.to_owned() } else { format!("'{cuda}'") };
        files.push((
            keep(format!("{SITE}/torch/version.py")),
            keep(format!(
                "__version__ = '{version}'\ncuda: Optional[str] = {cuda}\nhip: Optional[str] = None\n"
            )),
        ));
        files.push((keep(format!("{SITE}/torch-{version}.dist-info/METADATA")), ""));
    }
    files.extend(distributions.iter().map(|name| (keep(format!("{SITE}/{name}.dist-info/METADATA")), "")));
    files
}
