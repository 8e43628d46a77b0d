//! More processes than GPUs that they see.

use crate::read::launch::{Launch, Launches};
use crate::read::launcher::Launcher;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "processes-exceed-gpus",
    severity: Severity::Error,
    summary: "a launcher starts at most one process for each visible GPU",
    explain: include_str!("processes_exceed_gpus.md"),
    judge: Judge::Launch(judge),
    fires: &[
        named("run.sh", "CUDA_VISIBLE_DEVICES=0,1 torchrun --standalone --nproc_per_node=4 train.py\n"),
        named("run.sh", "export CUDA_VISIBLE_DEVICES=0,1,2,3\nN=8\ntorchrun --nproc_per_node $N train.py\n"),
        named("run.sh", "CUDA_VISIBLE_DEVICES=0,1 deepspeed --num_gpus 4 train.py\n"),
        named("run.sh", "accelerate launch --gpu_ids 0,1 --num_processes 4 train.py\n"),
    ],
    silent: &[
        named("run.sh", "CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --standalone --nproc_per_node=4 train.py\n"),
        named("run.sh", "CUDA_VISIBLE_DEVICES= torchrun --nproc_per_node=4 train.py --backend gloo\n"),
        named("run.sh", "CUDA_VISIBLE_DEVICES=0,1 python prepare.py\ntorchrun --nproc_per_node=4 train.py\n"),
        named("run.sh", "export CUDA_VISIBLE_DEVICES=$GPUS\ntorchrun --nproc_per_node=4 train.py\n"),
        named(
            "run.sh",
            "export CUDA_VISIBLE_DEVICES=0,1\naccelerate launch --num_machines 4 --num_processes 8 \
             --machine_rank 0 --main_process_ip a train.py\n",
        ),
    ],
};

fn judge(launches: &Launches) -> Vec<Found> {
    launches.launches.iter().filter_map(fault).collect()
}

/// deepspeed replaces CUDA_VISIBLE_DEVICES.
fn ignored(launch: &Launch, line: usize, processes: u64, entries: &[&str]) -> Found {
    let list = entries.join(",");
    let message = format!(
        "deepspeed ignores CUDA_VISIBLE_DEVICES={list} with --num_gpus, and takes the GPUs 0 to {}",
        processes - 1
    );
    let numbers = entries.iter().all(|entry| entry.parse::<u64>().is_ok());
    let fix = match numbers && !launch.options.has("hostfile") {
        true => format!("Use `--include localhost:{list}` without --num_gpus"),
        false => "Name the GPUs with --include instead of both".to_owned(),
    };
    Found::warning(line, message, fix)
}

fn fault(launch: &Launch) -> Option<Found> {
    let options = &launch.options;
    let name = match launch.launcher {
        Launcher::Torchrun | Launcher::DistributedLaunch => "nproc_per_node",
        Launcher::Deepspeed => "num_gpus",
        Launcher::Accelerate if options.has("cpu") => return None,
        Launcher::Accelerate => "num_processes",
        Launcher::Mpirun => return None,
    };
    let one = options.get(name)?;
    let mut processes: u64 = one.value.as_deref()?.parse().ok()?;
    if launch.launcher == Launcher::Accelerate && options.has("num_machines") {
        processes /= options.number("num_machines").filter(|machines| *machines > 0)?;
    }
    let ids = options.value("gpu_ids").filter(|ids| *ids != "all").map(|ids| ("--gpu_ids", ids));
    let set = launch
        .variables
        .get("CUDA_VISIBLE_DEVICES")
        .and_then(|list| Some(("CUDA_VISIBLE_DEVICES", list.text.as_deref()?)));
    let (from, list) = ids.or(set)?;
    let entries: Vec<&str> = list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
    let listed = entries.iter().all(|entry| {
        entry.bytes().all(|byte| byte.is_ascii_digit()) || entry.contains('-') && entry.len() > 4
    });
    let gpus = u64::try_from(entries.len()).ok().filter(|gpus| *gpus > 0 && listed)?;
    if processes <= gpus {
        return None;
    }
    if launch.launcher == Launcher::Deepspeed {
        return Some(ignored(launch, one.line, processes, &entries));
    }
    let message = format!(
        "--{name} starts {processes} processes per node, but {from}={list} shows {gpus} GPUs; `invalid \
         device ordinal`"
    );
    Some(
        Found::error(one.line, message, format!("Start {gpus} processes, or show {processes} GPUs"))
            .unless_certain(launch.certain),
    )
}
