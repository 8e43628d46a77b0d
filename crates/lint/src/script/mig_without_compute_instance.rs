//! Instances of a GPU in which no program can run.

use crate::read::dockerfile::command::Command;
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "mig-without-compute-instance",
    severity: Severity::Error,
    summary: "scripts that create GPU instances create compute instances in them",
    explain: include_str!("mig_without_compute_instance.md"),
    judge: Judge::Script(judge),
    fires: &[
        named("mig.sh", "#!/bin/bash\nnvidia-smi -i 0 -mig 1\nnvidia-smi mig -i 0 -cgi 9,9\nnvidia-smi -L\n"),
        named(
            "mig.sh",
            "#!/bin/sh\nfor i in 0 1; do\n  sudo nvidia-smi mig --create-gpu-instance 19 -i $i\ndone\n",
        ),
    ],
    silent: &[
        named("mig.sh", "#!/bin/bash\nnvidia-smi mig -i 0 -cgi 9,9 -C\n"),
        named("mig.sh", "#!/bin/bash\nnvidia-smi mig -cgi 9,9 -i 0\nnvidia-smi mig -cci -i 0\n"),
        named("mig.sh", "#!/bin/bash\nnvidia-smi mig -i 0 -lgi\nnvidia-smi mig -dgi\n"),
        named("mig.sh", "#!/bin/bash\nnvidia-smi mig -cgi 9 -i 0 --default-compute-instance\n"),
    ],
};

/// Options that create compute instances, at once or later.
const COMPUTE: &[&str] = &["-C", "--default-compute-instance", "-cci", "--create-compute-instance"];

fn judge(script: &Script) -> Vec<Found> {
    let of_mig = |one: &&Command| {
        let smi = one.words.iter().any(|word| word.text.rsplit('/').next() == Some("nvidia-smi"));
        smi && one.words.iter().any(|word| word.text == "mig")
    };
    let creates = |one: &Command, names: &[&str]| {
        one.words.iter().any(|word| names.contains(&word.text.split('=').next().unwrap_or_default()))
    };
    let all = || script.commands.iter().filter(of_mig);
    let parted = ["mig-parted", "mig-manager", "-cci", "create-compute-instance"];
    if all().any(|one| creates(one, COMPUTE)) || parted.iter().any(|word| script.text.contains(word)) {
        return Vec::new();
    }
    let made = all().find(|one| creates(one, &["-cgi", "--create-gpu-instance"]));
    let message = "the GPU instances get no compute instances, and no MIG device is there for programs: \
        `nvidia-smi -L` lists none";
    let fix = "Add `-C`, which creates a compute instance in each: `nvidia-smi mig -cgi 9,9 -C`";
    made.map(|one| Found::error(one.line, message, fix)).into_iter().collect()
}
