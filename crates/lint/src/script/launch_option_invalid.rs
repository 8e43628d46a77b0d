//! An option that the launcher does not take.

use crate::read::launch::{Launch, Launches};
use crate::read::launch_options::names;
use crate::read::launcher::Launcher;
use crate::rule::{Change, Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "launch-option-invalid",
    severity: Severity::Error,
    summary: "torchrun and deepspeed know their options and take their values",
    explain: include_str!("launch_option_invalid.md"),
    judge: Judge::Launch(judge),
    fires: &[
        named("run.sh", "torchrun --standalone --nproc_per_node=all train.py\n"),
        named("run.sh", "deepspeed --nproc_per_node 8 train.py\n"),
        named("run.sh", "torchrun --num_gpus 8 train.py\n"),
        named("run.sh", "torchrun --nnodes=2-4 --rdzv_backend=c10d --rdzv_endpoint=head:29400 train.py\n"),
        named("run.sh", "torchrun --nnodes=2 --node_rank=2 --master_addr=head train.py\n"),
        named("run.sh", "deepspeed --include localhost:0,1 --num_gpus 2 train.py\n"),
        named("run.sh", "torchrun --standalone --nprocpernode 8 train.py\n"),
        named("run.sh", "torchrun --standalone --nproc_per_node=-1 train.py\n"),
        named(
            "run.sh",
            "torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d \
             --rdzv_endpoint=tcp://10.0.0.1:29500 train.py\n",
        ),
        named("run.sh", "torchrun --nnodes=2 --node_rank=0 --master_addr=10.0.0.1:29500 train.py\n"),
    ],
    silent: &[
        named("run.sh", "NGPU=${NGPU:-\"8\"}\ntorchrun --nproc_per_node=${NGPU} train.py\n"),
        named("run.sh", "N=`nvidia-smi -L | wc -l`\ntorchrun --nproc_per_node=$N train.py\n"),
        named("run.sh", "torchrun --standalone --nproc-per-node=gpu --tee 3 -m pkg.train --num_gpus 8\n"),
        named(
            "run.sh",
            "torchrun --nnodes=1:4 --nproc 8 --rdzv-backend=c10d --rdzv-endpoint=head train.py\n",
        ),
        named(
            "run.sh",
            "deepspeed --hostfile h --num_nodes 2 --num_gpus 8 --master_port 29501 train.py \
             --nproc_per_node 8\n",
        ),
        named(
            "run.sh",
            "torchrun $ARGS ${PWD}/train.py --all\ntorchrun -- train.py --all\npython -m \
             torch.distributed.launch --use_env train.py\n",
        ),
        named("Dockerfile", "FROM python:3.12\nCMD [\"torchrun\", \"--nproc_per_node=8\", \"train.py\"]\n"),
        named(
            "run.sh",
            "torchrun --nnodes=2 --node_rank=2 --rdzv_backend=c10d --rdzv_endpoint=head:29400 train.py\n",
        ),
        named("run.sh", "deepspeed --log_level warning -q train.py\n"),
    ],
};

fn judge(launches: &Launches) -> Vec<Found> {
    let found = launches.launches.iter().filter_map(|launch| {
        let found = unknown(launch).or_else(|| value(launch)).or_else(|| deepspeed(launch))?;
        Some(found.unless_certain(launch.certain))
    });
    found.collect()
}

/// What an option of one launcher is called by another.
const RENAMED: &[(Launcher, &str, &str)] = &[
    (Launcher::Deepspeed, "nproc_per_node", "--num_gpus"),
    (Launcher::Deepspeed, "nnodes", "--num_nodes"),
    (Launcher::Deepspeed, "num_processes", "--num_gpus"),
    (Launcher::Deepspeed, "num_machines", "--num_nodes"),
    (Launcher::Deepspeed, "gpus", "--num_gpus"),
    (Launcher::Deepspeed, "hosts", "--hostfile"),
    (Launcher::Torchrun, "num_gpus", "--nproc_per_node"),
    (Launcher::Torchrun, "num_processes", "--nproc_per_node"),
    (Launcher::Torchrun, "num_nodes", "--nnodes"),
    (Launcher::Torchrun, "num_machines", "--nnodes"),
    (Launcher::Torchrun, "machine_rank", "--node_rank"),
    (Launcher::Torchrun, "gpus", "--nproc_per_node"),
    (Launcher::Torchrun, "nproc_per_gpu", "--nproc_per_node"),
    (Launcher::Torchrun, "hostfile", "--nnodes and --rdzv_endpoint; it reads no hostfile"),
];

fn unknown(launch: &Launch) -> Option<Found> {
    let (written, line) = launch.options.unknown.first()?;
    let name = written.trim_start_matches('-').replace('-', "_");
    let launcher = if launch.launcher.is_torch() { Launcher::Torchrun } else { launch.launcher };
    let other = RENAMED
        .iter()
        .find(|(of, old, _)| *of == launcher && *old == name)
        .map(|(_, _, new)| (*new).to_owned());
    let near = || {
        let all = names(launcher).into_iter().map(|known| (diagnostic::suggest::edits(known, &name), known));
        all.filter(|(distance, _)| *distance <= 2).min().map(|(_, known)| format!("--{known}"))
    };
    let slip = diagnostic::suggest::typo_of(&name, names(launcher)).filter(|_| other.is_none());
    let change = slip.map(|near| Change::word(*line, written, &format!("--{near}")));
    let meant = other.or_else(near);
    let message =
        format!("{} has no option {written}; it ends with `unrecognized arguments`", launch.launcher.name());
    Some(match meant {
        Some(meant) => Found::error(*line, message, format!("Use {meant}")).change_if(change),
        // A newer release may have it.
        None => Found::warning(*line, message, "Move it after the script if it is the script's own"),
    })
}

/// Values of `--nproc_per_node` beyond numbers; the last ones are devices of other vendors.
const PROCESSES: &[&str] = &["auto", "gpu", "cpu", "xpu", "npu", "mlu", "musa", "hpu", "sdaa", "gcu"];

fn value(launch: &Launch) -> Option<Found> {
    if !launch.launcher.is_torch() {
        return None;
    }
    let options = &launch.options;
    let of = |name: &str| options.get(name).and_then(|one| Some((one.line, one.value.as_deref()?)));
    if let Some((line, text)) = of("rdzv_endpoint").filter(|(_, text)| text.contains("://")) {
        let message =
            format!("--rdzv_endpoint={text} has a scheme; torchrun takes HOST:PORT and raises ValueError");
        let host = text.split_once("://").map_or("", |(_, host)| host);
        return Some(Found::error(line, message, format!("Write `{host}`")));
    }
    if let Some((line, text)) = of("master_addr")
        && let Some((host, port)) = text.split_once(':')
        && port.bytes().all(|byte| byte.is_ascii_digit())
        && !port.is_empty()
    {
        let message =
            format!("--master_addr={text} has a port in it; torchrun takes all of it for a host name");
        return Some(Found::error(
            line,
            message,
            format!("Write `--master_addr={host} --master_port={port}`"),
        ));
    }
    if let Some((line, text)) = of("nproc_per_node")
        && !PROCESSES.contains(&text)
        // The output of a command.
        && !text.contains(['`', '(', '$'])
        && text.parse::<i64>().ok().is_none_or(|number| number <= 0)
    {
        let message = match text.parse::<i64>() {
            Ok(_) => format!("--nproc_per_node={text} is not a positive number; torchrun fails"),
            Err(_) => format!(
                "--nproc_per_node={text} is not a number, auto, gpu, cpu or xpu; torchrun fails with \
                 `Unsupported nproc_per_node value`"
            ),
        };
        return Some(Found::error(line, message, "Use `gpu` for one process per GPU"));
    }
    // `$NNODES` in the JSON form of an image, which no shell replaces: exec-form-not-expanded.
    if let Some((line, text)) = of("nnodes").filter(|(_, text)| !text.contains(['`', '(', '$'])) {
        let parts: Vec<Option<u32>> =
            text.split(':').map(|part| part.parse().ok().filter(|number| *number > 0)).collect();
        let fits = parts.len() <= 2 && parts.iter().all(Option::is_some) && parts.first() <= parts.last();
        if !fits {
            let message = format!("--nnodes={text} is neither a number nor MIN:MAX; torchrun fails");
            return Some(Found::error(line, message, "Write `2`, or `1:4` for an elastic job"));
        }
    }
    node_rank(launch)
}

/// A rank that none of the nodes has.
fn node_rank(launch: &Launch) -> Option<Found> {
    // Other rendezvous give the ranks out themselves.
    if !launch.has_static_rendezvous() {
        return None;
    }
    let options = &launch.options;
    let (line, text) = (options.get("node_rank")?.line, options.value("node_rank")?);
    let nodes = options.value("nnodes")?;
    let (rank, nodes): (u32, u32) = (text.parse().ok()?, nodes.parse().ok()?);
    let message =
        format!("--node_rank={rank} with --nnodes={nodes}; ranks of nodes go from 0 to {}", nodes - 1);
    (rank >= nodes).then(|| Found::error(line, message, format!("Use 0 to {}", nodes - 1)))
}

fn deepspeed(launch: &Launch) -> Option<Found> {
    if launch.launcher != Launcher::Deepspeed {
        return None;
    }
    let options = &launch.options;
    let has = |name: &str| options.get(name).map(|one| one.line);
    if let (Some(_), Some(line)) = (has("include"), has("exclude")) {
        let message = "--include and --exclude are mutually exclusive; deepspeed fails";
        return Some(Found::error(line, message, "Use one of them"));
    }
    let filter = has("include").or(has("exclude"));
    let count = has("num_gpus").or(has("num_nodes")).or(has("num_accelerators"));
    if let (Some(_), Some(line)) = (filter, count) {
        let message =
            "--num_gpus and --num_nodes cannot be used with --include or --exclude; deepspeed fails";
        return Some(Found::error(line, message, "Use --include alone"));
    }
    let line = has("no_ssh").filter(|_| options.complete && has("node_rank").is_none())?;
    Some(Found::error(
        line,
        "--no_ssh needs --node_rank; deepspeed fails",
        "Add --node_rank and --master_addr",
    ))
}
