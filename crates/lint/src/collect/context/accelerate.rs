//! The scripts and programs that start with a configuration of Accelerate, and what it names.

use std::path::Path;

use super::super::roots::Around;
use super::{MANIFESTS, SCRIPTS, named, others, over, programs};
use crate::{File, Over};

/// The files that say more of a configuration of Accelerate.
pub(super) fn of_accelerate(file: &File, path: &Path, around: &mut Around<'_>) -> Vec<Over> {
    let base = path.file_name().map(|base| base.to_string_lossy().into_owned());
    let starts = |text: &str| {
        base.as_ref().is_some_and(|base| text.contains("accelerate") && text.contains(base.as_str()))
    };
    let makefile = over(&path.with_file_name("Makefile"), around).filter(|one| starts(&one.text));
    // The configurations of the other machines.
    let machines = match file.text.contains("machine_rank:") {
        true => others(path, MANIFESTS, around, |text| {
            text.contains("machine_rank:") && text.contains("num_machines:")
        }),
        false => Vec::new(),
    };
    // The start may make the name of the file: `--config_file node$1.yaml`.
    let several = !machines.is_empty();
    let starts = |text: &str| starts(text) || several && text.contains("accelerate");
    let scripts: Vec<Over> = others(path, SCRIPTS, around, starts).into_iter().chain(makefile).collect();
    let mut started: Vec<Over> =
        scripts.iter().flat_map(|one| programs(&one.name, &one.text, around)).collect();
    // What a program says of its own start.
    let says = |text: &str| {
        text.contains("accelerate launch") && base.as_ref().is_some_and(|base| text.contains(base.as_str()))
    };
    let told = others(path, &["py"], around, says).into_iter();
    let is_new = |one: &Over| started.iter().all(|other| other.name != one.name);
    let told: Vec<Over> = told.filter(is_new).collect();
    started.extend(told);
    let deepspeed = match file.text.contains("deepspeed_config_file") {
        true => named(&file.name, &file.text, &["json"], around),
        false => Vec::new(),
    };
    scripts.into_iter().chain(machines).chain(started).chain(deepspeed).collect()
}
