//! What the tests of checks share.

use facts::testing::{pci::device, smi::machine};
use facts::{Fact, Facts};

pub use judge::testing::{expect, kind, status, verdict_line};

/// The names of the files of `src/<folder>` with this extension, as ids.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests read the source tree")]
pub(crate) fn ids_of_files(folder: &str, extension: &str) -> std::collections::BTreeSet<String> {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| path.extension().is_some_and(|found| found == extension));
    paths.map(|path| path.file_stem().unwrap().to_string_lossy().replace('_', "-")).collect()
}

/// A machine with GPUs and NVSwitches, whose fabric is in this state.
pub fn switched(state: &str) -> Facts {
    let mut facts = machine(&[&format!("<fabric><state>{state}</state><status>Success</status></fabric>")]);
    facts.pci.devices = Fact::Known(vec![device("0000:07:00.0", 0x06_80_00, "nvidia-nvswitch")]);
    facts.fabric.process = Fact::Known(false);
    facts
}
