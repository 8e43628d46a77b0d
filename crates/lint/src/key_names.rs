//! The keys that findings are about, where only a line is known.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::Content;
use crate::found::Found;
use crate::read::accelerate::AccelerateConfig;
use crate::read::machine::Machine;
use crate::read::manifest::Manifest;

/// The key of each line of a file of keys, as its program names it: `zero_optimization.stage`,
/// `spec.containers[0].image`, `PermitRootLogin`. They are read when a finding first needs one.
pub(crate) struct KeyNames<'c> {
    content: &'c Content,
    keys: OnceCell<BTreeMap<usize, String>>,
}

impl<'c> KeyNames<'c> {
    /// Of a file.
    pub(crate) fn of(content: &'c Content) -> KeyNames<'c> {
        KeyNames { content, keys: OnceCell::new() }
    }

    /// The finding, with the key on its line where its rule gave no name.
    pub(crate) fn named(&self, mut found: Found) -> Found {
        if found.name.is_none() && found.file.is_none() {
            found.name = self.keys.get_or_init(|| keys(self.content)).get(&found.line).cloned();
        }
        found
    }
}

fn keys(content: &Content) -> BTreeMap<usize, String> {
    let of_config = || content.config.as_ref().map(|config| config.json.keys_of_lines());
    let of_manifest = || content.manifest.as_ref().map(Manifest::keys);
    let of_accelerate = || content.accelerate.as_ref().map(AccelerateConfig::keys);
    let of_machine = || content.machine.as_ref().map(Machine::keywords);
    of_config().or_else(of_manifest).or_else(of_accelerate).or_else(of_machine).unwrap_or_default()
}
