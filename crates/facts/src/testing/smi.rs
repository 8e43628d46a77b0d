//! A machine of which only the answer of `nvidia-smi` is known, from the elements below `<gpu>` that matter.

use crate::{Expected, Fact, Facts, gather};
use host::Reading;
use host::record::Replay;

/// A bare-metal machine of which only the GPUs are known.
pub fn machine(gpus: &[&str]) -> Facts {
    let gpus: String = gpus
        .iter()
        .zip(0..)
        .map(|(inner, index)| {
            format!(
                "<gpu id=\"00000000:{index:02X}:00.0\"><product_name>NVIDIA H100 80GB \
                HBM3</product_name>{inner}</gpu>"
            )
        })
        .collect();
    let stdout = format!(
        "<?xml version=\"1.0\" \
            ?>\n<nvidia_smi_log><driver_version>570.86.15</driver_version>{gpus}</nvidia_smi_log>"
    );
    said(Reading::Ran { status: Some(0), stdout, stderr: String::new() })
}

/// A bare-metal machine of which only an answer of `nvidia-smi -q -x` is known.
pub fn said(reading: Reading) -> Facts {
    let text = |text: &str| Reading::Text(text.to_owned());
    let readings = [
        ("stat /dev/nvidiactl".to_owned(), text("{}")),
        ("program nvidia-smi".to_owned(), text("/usr/bin/nvidia-smi")),
        ("run nvidia-smi -q -x".to_owned(), reading),
    ];
    let mut facts = gather::recorded(
        &Replay::new(readings.into(), "not in this snapshot"),
        Expected::default(),
        catalog::testing::catalog(),
    );
    facts.system.container = Fact::Absent;
    facts.system.wsl = Fact::Absent;
    facts.system.virtualisation = Fact::Absent;
    facts
}
