//! A script that downloads from the Hugging Face Hub after it turned offline mode on.

use std::collections::BTreeMap;

use crate::dockerfile::download_while_offline::{OFFLINE, downloads};
use crate::hf_transfer::is_on;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "download-while-offline-in-script",
    severity: Severity::Warning,
    summary: "scripts download from the Hugging Face Hub before they turn offline mode on",
    explain: include_str!("download_while_offline_in_script.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("run.sh", "export HF_HUB_OFFLINE=1\nhuggingface-cli download BAAI/bge-m3\npython serve.py\n"),
        named("run.sh", "HF_HUB_OFFLINE=1 hf download BAAI/bge-m3\n"),
    ],
    silent: &[
        named("run.sh", "huggingface-cli download BAAI/bge-m3\nexport HF_HUB_OFFLINE=1\npython serve.py\n"),
        named("run.sh", "export HF_HUB_OFFLINE=1\nHF_HUB_OFFLINE=0 hf download BAAI/bge-m3\n"),
        named("run.sh", "export HF_HUB_OFFLINE=1\nunset HF_HUB_OFFLINE\nhf download BAAI/bge-m3\n"),
        named("run.sh", "HF_HUB_OFFLINE=1\nhf download BAAI/bge-m3\n"),
    ],
};

fn judge(script: &Script) -> Vec<Found> {
    let mut set: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    let mut found = Vec::new();
    for command in &script.commands {
        if command.words.is_empty() {
            for (name, word) in &command.sets {
                let name = OFFLINE.iter().find(|known| *known == name);
                let known = name.filter(|name| command.exports.iter().any(|one| one == *name));
                set.extend(known.map(|name| (*name, (command.line, word.known && is_on(&word.text)))));
            }
            continue;
        }
        if matches!(command.program(), "unset" | "source" | ".") {
            set.clear();
            continue;
        }
        let Some(model) = downloads(command) else { continue };
        let own = |name: &str| command.sets.iter().find(|(known, _)| known == name);
        let on = OFFLINE.iter().find_map(|name| match own(name) {
            Some((_, word)) => is_on(&word.text).then_some((*name, command.line)),
            None => set.get(name).filter(|(_, on)| *on).map(|(line, _)| (*name, *line)),
        });
        found.extend(on.map(|(name, line)| {
            let message = format!(
                "{name} is set in line {line} when this command downloads {model}; it downloads nothing, \
                 and fails \
                 where the files are not in the cache yet"
            );
            Found::warning(command.line, message, format!("Set {name} after the download")).about(name)
        }));
    }
    found
}
