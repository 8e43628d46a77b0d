//! What a check says, for comparisons.

use crate::{Check, Verdict, judge_one};
use facts::testing::{pci::device, smi::machine};
use facts::{Fact, Facts};

/// The status word of a verdict that stands alone.
pub fn status(verdict: &Verdict) -> &'static str {
    verdict.status()
}

/// The word for what `judge` says, whatever machines the check is for.
pub fn kind(check: &Check, facts: &Facts) -> &'static str {
    (check.judge)(facts).unwrap_or_else(|verdict| verdict).status()
}

/// The verdict in one line: `pass`, `not-applicable: …`, `unknown: …`, `warning: …`, `error: …`.
pub fn verdict_line(check: &Check, facts: &Facts) -> String {
    let verdict = judge_one(check, facts);
    match verdict.message() {
        "" => verdict.status().into(),
        message => format!("{}: {message}", verdict.status()),
    }
}

/// Asserts that a check says something that begins with `begins` and contains `contains`.
pub fn expect(check: &Check, facts: &Facts, begins: &str, contains: &str) {
    let said = verdict_line(check, facts);
    assert!(said.starts_with(begins) && said.contains(contains), "{}: {said}", check.id);
}

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
