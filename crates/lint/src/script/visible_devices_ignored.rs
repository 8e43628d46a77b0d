//! CUDA_VISIBLE_DEVICES for DeepSpeed's launcher, which ignores it.

use crate::read::launch::{Launch, Launches};
use crate::read::launcher::Launcher;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "visible-devices-ignored",
    severity: Severity::Error,
    summary: "DeepSpeed's launcher gets the GPUs to use by `--include`",
    explain: include_str!("visible_devices_ignored.md"),
    judge: Judge::Launch(judge),
    fires: &[
        named("run.sh", "CUDA_VISIBLE_DEVICES=4,5,6,7 deepspeed --num_gpus 4 train.py\n"),
        named(
            "run.sh",
            "export CUDA_VISIBLE_DEVICES=2,3\ndeepspeed --num_gpus=2 --master_port 29501 train.py\n",
        ),
    ],
    silent: &[
        named("run.sh", "CUDA_VISIBLE_DEVICES=4,5,6,7 deepspeed train.py\n"),
        named("run.sh", "CUDA_VISIBLE_DEVICES=0,1,2,3 deepspeed --num_gpus 4 train.py\n"),
        named("run.sh", "deepspeed --include localhost:4,5,6,7 train.py\n"),
        named("run.sh", "CUDA_VISIBLE_DEVICES=${IDS:-4,5} deepspeed --num_gpus 2 train.py\n"),
        named("run.sh", "CUDA_VISIBLE_DEVICES=4,5 torchrun --nproc_per_node 2 train.py\n"),
        named("run.sh", "CUDA_VISIBLE_DEVICES=4,5 deepspeed --include localhost:4,5 train.py\n"),
    ],
};

const NAME: &str = "CUDA_VISIBLE_DEVICES";

fn judge(launches: &Launches) -> Vec<Found> {
    // A value that whoever starts the script may give.
    let open = launches.text.lines().any(|line| {
        let value = line.split_once(NAME).and_then(|(_, rest)| rest.strip_prefix('='));
        value.is_some_and(|value| value.trim_start_matches('"').starts_with('$'))
    });
    let found = launches.launches.iter().filter(|_| !open).filter_map(fault);
    found.collect()
}

fn fault(launch: &Launch) -> Option<Found> {
    // A hostfile leaves it to the other machines.
    if launch.launcher != Launcher::Deepspeed || launch.options.has("hostfile") {
        return None;
    }
    let value = launch.variables.get(NAME).filter(|value| !value.default)?.text.clone()?;
    let list = value.split(',').map(|one| one.trim().parse::<u64>().ok()).collect::<Option<Vec<u64>>>()?;
    let option = launch.options.get("num_gpus")?;
    let count = launch.options.number("num_gpus").filter(|count| *count > 0)?;
    // The first GPUs are what it takes by itself.
    if list.is_empty() || list.iter().all(|one| *one < count) {
        return None;
    }
    let used = match count {
        1 => "GPU 0".to_owned(),
        _ => format!("GPUs 0 to {}", count - 1),
    };
    let message = format!("deepspeed ignores {NAME}={value} because of --num_gpus and uses {used}");
    let fix = format!("Replace --num_gpus with `--include localhost:{value}`, or remove --num_gpus");
    Some(Found::error(option.line, message, fix).about(NAME).unless_certain(launch.certain))
}
