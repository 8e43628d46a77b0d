//! The starts of processes with a hostfile, in the scripts next to it.

use catalog::Catalog;

use super::hostfile::Start;
use super::launch::{Launch, Launches};
use super::launcher::Launcher;
use super::script::Script;
use crate::file::Over;

/// The starts with a hostfile of this name.
pub(crate) fn starts(catalog: &'static Catalog, name: &str, scripts: &[Over]) -> Vec<Start> {
    let base = name.rsplit('/').next().unwrap_or(name);
    let of = |script: &Over| {
        let launches = Launches::of_script(&Script::read(catalog, &script.text)).launches;
        let certain = launches.into_iter().filter(|launch| launch.certain);
        certain.filter_map(|launch| start(&launch, base, &script.name)).collect::<Vec<_>>()
    };
    scripts.iter().flat_map(of).collect()
}

fn start(launch: &Launch, base: &str, script: &str) -> Option<Start> {
    let is_this = |path: &str| path.rsplit('/').next() == Some(base);
    let program = launch.words.first()?.text.rsplit('/').next()?;
    let mut start = Start { script: script.to_owned(), line: launch.line, ranks: None, include: Vec::new() };
    if launch.launcher == Launcher::Deepspeed {
        launch.options.value("hostfile").filter(|path| is_this(path))?;
        start.include = launch.options.value("include").and_then(included).unwrap_or_default();
        return Some(start);
    }
    let value = |names: &[&str]| {
        let pair = launch.words.windows(2).find(|pair| names.contains(&pair[0].text.as_str()))?;
        Some(&pair[1]).filter(|word| word.known).map(|word| word.text.as_str())
    };
    let file = value(&["--hostfile", "-hostfile", "--machinefile", "-machinefile"])?;
    let more = launch.words.iter().any(|word| {
        let text = word.text.to_ascii_lowercase();
        text.contains("oversubscribe") || ["-ppn", "-genv", "-hosts", "-perhost"].contains(&text.as_str())
    });
    if !matches!(program, "mpirun" | "mpiexec") || more || !is_this(file) {
        return None;
    }
    start.ranks = value(&["-np", "-n", "--np", "--n"]).and_then(|number| number.parse().ok());
    Some(start)
}

/// `node1:0,1@node2`; nothing where it cannot be read.
fn included(text: &str) -> Option<Vec<(String, Vec<u64>)>> {
    let one = |host: &str| match host.split_once(':') {
        Some((name, gpus)) => {
            let gpus = gpus.split(',').map(|gpu| gpu.trim().parse().ok()).collect::<Option<Vec<u64>>>()?;
            Some((name.to_owned(), gpus))
        }
        None => Some((host.to_owned(), Vec::new())),
    };
    text.split('@').map(one).collect()
}
