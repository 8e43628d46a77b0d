//! The rank in the whole run is taken for the one on the node.

use std::collections::BTreeSet;

use crate::read::launch::{Launch, Launches};
use crate::read::python::{Argument, Call, Program, contains, is_name};
use crate::read::script::Script;
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "global-rank-as-local",
    severity: Severity::Error,
    summary: "ranks select their GPU by the local rank",
    explain: include_str!("global_rank_as_local.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             local_rank = dist.get_rank()\ntorch.cuda.set_device(local_rank)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             rank = dist.get_rank()\ntorch.cuda.set_device(rank)\n",
        ),
        named(
            "train.py",
            "import os\nimport torch.distributed as dist\nlocal = int(os.environ[\"SLURM_LOCALID\"])\n\
             dist.init_process_group(\"nccl\", rank=local, world_size=int(os.environ[\"SLURM_NTASKS\"]))\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nrank = int(os.environ[\"RANK\"])\ndevice = \
             torch.device(f\"cuda:{rank}\")\n",
        ),
        named_with(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom model import Net\n\
             dist.init_process_group(\"nccl\")\nrank = dist.get_rank()\ndevice = torch.device(\"cuda\", \
             rank)\nmodel = Net().to(device)\n",
            &[(
                "job.sbatch",
                "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\nsrun torchrun --nnodes=2 \
                 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=head:29500 train.py\n",
            )],
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\
             from model import Net\ndist.init_process_group(\"nccl\")\nrank = dist.get_rank()\nmodel = \
             DDP(Net().to(rank), device_ids=[rank])\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom model import Net\ndist.init_process_group(\"nccl\")\n\
             model = Net().to(f\"cuda:{dist.get_rank()}\")\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nfrom model import Net\nrank = \
             int(os.environ[\"SLURM_PROCID\"])\nmodel = \
             Net().cuda(rank)\n",
        ),
        named_with(
            "train.py",
            "import os\nimport torch.distributed as dist\nfrom torch.utils.data import DataLoader, \
             DistributedSampler\ndef data(ds, rank, size):\n    return DataLoader(ds, \
             sampler=DistributedSampler(ds, size, rank))\ndist.init_process_group(\"nccl\")\nlocal = \
             int(os.environ[\"LOCAL_RANK\"])\nloader = data(ds, local, dist.get_world_size())\n",
            &[(
                "run.sh",
                "torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d \
                 --rdzv_endpoint=node0:29500 train.py\n",
            )],
        ),
        named(
            "train.py",
            "import os\nfrom datasets import load_from_disk\nds = load_from_disk(\"/data\")\nds = \
             ds.shard(num_shards=int(os.environ[\"SLURM_NTASKS\"]), \
             index=int(os.environ[\"SLURM_LOCALID\"]))\n",
        ),
        named(
            "train.py",
            "import argparse\nfrom torch.utils.data import DistributedSampler\nparser = \
             argparse.ArgumentParser()\nparser.add_argument(\"--local_rank\", type=int)\nargs = \
             parser.parse_args()\nsampler = DistributedSampler(ds, rank=args.local_rank)\n",
        ),
    ],
    silent: &[
        // Each node has data of its own.
        named(
            "train.py",
            "import os\nfrom torch.utils.data import DistributedSampler\nlocal = \
             int(os.environ[\"LOCAL_RANK\"])\nsampler = DistributedSampler(ds, \
             num_replicas=int(os.environ[\"LOCAL_WORLD_SIZE\"]), rank=local)\n",
        ),
        named_with(
            "train.py",
            "import os\nfrom torch.utils.data import DistributedSampler\nlocal = \
             int(os.environ[\"LOCAL_RANK\"])\nsampler = DistributedSampler(ds, rank=local)\n",
            &[("run.sh", "torchrun --standalone --nproc_per_node=4 train.py\n")],
        ),
        named(
            "train.py",
            "import torch\nimport torch.multiprocessing as mp\nfrom model import Net\ndef main(rank):\n    \
             model = Net().to(rank)\n    device = torch.device(\"cuda\", rank)\nmp.spawn(main, nprocs=8)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom model import Net\n\
             dist.init_process_group(\"nccl\")\nrank = dist.get_rank()\nrank %= torch.cuda.device_count()\n\
             model = Net().to(rank % torch.cuda.device_count())\ndevice = torch.device(\"cuda\", 0)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             local_rank = dist.get_rank()\nif local_rank == 0:\n    print(\"ready\")\n",
        ),
        named(
            "train.py",
            "import os\nimport torch.distributed as dist\nlocal = int(os.environ[\"LOCAL_RANK\"])\n\
             dist.init_process_group(\"nccl\", rank=local, world_size=torch.cuda.device_count())\n",
        ),
        named_with(
            "train.py",
            "import os\nimport torch.distributed as dist\nlocal = int(os.environ[\"LOCAL_RANK\"])\n\
             dist.init_process_group(\"nccl\", rank=local, world_size=int(os.environ[\"WORLD_SIZE\"]))\n",
            &[("run.sh", "torchrun --standalone --nproc_per_node=4 train.py\n")],
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             rank = dist.get_rank()\ntorch.cuda.set_device(rank % torch.cuda.device_count())\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nimport os\n\
             local_rank = int(os.environ[\"LOCAL_RANK\"])\nrank = dist.get_rank()\n\
             torch.cuda.set_device(local_rank)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    if program.spawns() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let ranks = program.assignments.iter().filter(|one| is_rank(program, &one.at, &one.text));
    let devices = for_devices(program);
    for one in ranks.filter(|one| one.name.ends_with("local_rank") && devices.contains(one.name.as_str())) {
        let message = format!(
            "{} is the global rank; on the second node and later it exceeds the number of GPUs",
            one.name
        );
        found.push(Found::warning(one.line, message, format!("Write `{FIX}`")));
    }
    found.extend(program.calls.iter().find_map(|call| local_as_global(program, call)));
    found.extend(program.calls.iter().find_map(|call| local_part(program, call)));
    found
        .extend(program.calls.iter().filter(|call| !call.conditional).find_map(|call| device(program, call)));
    found
}

/// How many nodes a program runs on, as far as the scripts show it that start it.
enum Nodes {
    One,
    Several,
    Unknown,
}

impl Nodes {
    fn of(program: &Program) -> Nodes {
        let counts: Vec<Option<u64>> = program
            .scripts
            .iter()
            .flat_map(|script| nodes(program, script.script(program.catalog)))
            .collect();
        match counts.as_slice() {
            [] => Nodes::Unknown,
            all if all.iter().all(|count| *count == Some(1)) => Nodes::One,
            all if all.iter().all(|count| count.is_some_and(|count| count > 1)) => Nodes::Several,
            _ => Nodes::Unknown,
        }
    }
}

/// The numbers of nodes of the starts in a script; `None` where one does not show it.
fn nodes(program: &Program, script: &Script) -> Vec<Option<u64>> {
    let launches = Launches::of_script(script).launches;
    let base = program.name.rsplit('/').next().unwrap_or_default();
    let starts = launches.iter().filter(|launch| {
        launch.words.iter().any(|word| word.text.rsplit('/').next() == Some(base))
            && launch.launcher.is_torch()
    });
    let count = |launch: &Launch| match launch.options.get("nnodes") {
        Some(given) => given.value.as_deref()?.split(':').next()?.parse().ok(),
        None => launch.options.complete.then_some(1),
    };
    starts.map(count).collect()
}

const FIX: &str = "int(os.environ[\"LOCAL_RANK\"])";

/// The names in expressions that choose a device: `set_device(local_rank)`, `device_ids=[local_rank]`.
fn for_devices(program: &Program) -> BTreeSet<&str> {
    const KEYWORDS: &[&str] = &["device", "device_id", "device_ids", "output_device", "device_map"];
    let mut texts: Vec<&str> = Vec::new();
    for call in &program.calls {
        let last = call.name.rsplit('.').next().unwrap_or_default();
        let chooses = matches!(last, "set_device" | "device" | "to" | "cuda");
        let arguments = call.arguments.iter().filter(|argument| {
            chooses || argument.name.as_deref().is_some_and(|name| KEYWORDS.contains(&name))
        });
        texts.extend(arguments.map(|argument| argument.text.as_str()));
    }
    let assigned = program.assignments.iter().filter(|one| one.name.ends_with("device"));
    texts.extend(assigned.map(|one| one.text.as_str()));
    // A rank modulo the number of GPUs is one on the node.
    let texts = texts.into_iter().filter(|text| !text.contains('%'));
    let name = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    texts.flat_map(|text| text.split(move |letter: char| !name(letter))).collect()
}

/// Variables with the rank on the node.
const LOCAL: &[&str] = &["LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"];

/// Variables with the number of ranks in the whole run.
const SIZES: &[&str] = &["WORLD_SIZE", "SLURM_NTASKS", "SLURM_NPROCS", "OMPI_COMM_WORLD_SIZE"];

/// A part of the data that is chosen by the rank on the node, among as many as the whole run has ranks.
fn local_part(program: &Program, call: &Call) -> Option<Found> {
    let last = call.name.rsplit('.').next().unwrap_or_default();
    let (rank, size) = match last {
        "DistributedSampler" | "StatefulDistributedSampler" => {
            (call.argument(2, "rank")?, call.argument(1, "num_replicas"))
        }
        "split_dataset_by_node" => (call.argument(1, "rank")?, call.argument(2, "world_size")),
        "shard" => (call.argument(1, "index")?, Some(call.argument(0, "num_shards")?)),
        _ => return None,
    };
    if call.conditional || call.arguments.iter().any(|one| one.name.as_deref() == Some("*")) {
        return None;
    }
    let from = program.origin(&rank.at, &call.function).text;
    let local = variable(program, from, LOCAL).or_else(|| local_option(program, from))?;
    // Without a size, DistributedSampler takes that of the whole run.
    if let Some(size) = size {
        let from = program.origin(&size.at, &call.function);
        let whole = program
            .call_at(&from.at)
            .is_some_and(|call| call.name == "torch.distributed.get_world_size" && call.arguments.is_empty());
        (whole || variable(program, from.text, SIZES).is_some()).then_some(())?;
    }
    let through = if rank.text == local { String::new() } else { format!(" ({})", rank.text) };
    let message = format!(
        "{last}(…) selects its shard by {local}{through}, which starts at 0 on every node, but the data is \
         split into as many shards as the job has ranks: all nodes read the same first shards, and the \
         others are never read"
    );
    let found = Found::error(rank.line, message, "Use the global rank: `dist.get_rank()`");
    match Nodes::of(program) {
        Nodes::Several => Some(found),
        Nodes::Unknown => Some(found.unless_certain(false)),
        Nodes::One => None,
    }
}

/// The option with the rank on the node, which launchers set: `args.local_rank`.
fn local_option<'p>(program: &'p Program, text: &'p str) -> Option<&'p str> {
    let changed = program.assignments.iter().any(|one| one.name == text);
    let option = program.option(text).filter(|_| text.ends_with(".local_rank") && !changed);
    option.map(|_| text)
}

/// A process group whose ranks are those on the node, with the size of the whole run.
fn local_as_global(program: &Program, call: &Call) -> Option<Found> {
    if call.name != "torch.distributed.init_process_group" || call.conditional {
        return None;
    }
    let (rank, size) = (call.keyword("rank")?, call.keyword("world_size")?);
    let one_node = program.scripts.iter().any(|script| script.text.contains("--standalone"));
    let read = |argument: &Argument, names: &[&'static str]| {
        let through = program.value(&argument.text, &call.function, call.at.start);
        variable(program, through.map_or(&argument.text, |one| &one.text), names)
    };
    let (local, all) = (read(rank, LOCAL)?, read(size, SIZES)?);
    let message = format!(
        "rank={} is {local}, which counts on each node from 0, but world_size is {all}: on two nodes, \
         processes have the same rank and others are missing, so init_process_group fails or waits",
        rank.text
    );
    let global = match local {
        "SLURM_LOCALID" => "SLURM_PROCID",
        "OMPI_COMM_WORLD_LOCAL_RANK" => "OMPI_COMM_WORLD_RANK",
        _ => "RANK",
    };
    let fix = format!("Write `rank=int(os.environ[\"{global}\"])`");
    (!one_node).then(|| Found::warning(rank.line, message, fix))
}

/// The variable that an expression reads as a number, if it is one of these names.
fn variable<'n>(program: &Program, text: &str, names: &[&'n str]) -> Option<&'n str> {
    let inner = text.trim().strip_prefix("int(")?.strip_suffix(')')?;
    let (name, default) = program.environment_read(inner.trim())?;
    let plain = default.is_none_or(|one| matches!(one.trim_matches(['"', '\'']), "0" | "-1" | "1"));
    names.iter().find(|one| **one == name && plain).copied()
}

/// A device that is chosen by the global rank.
fn device(program: &Program, call: &Call) -> Option<Found> {
    let (device, written) = chosen(call)?;
    let text = device.text.trim_start_matches('[').trim_end_matches(']').trim();
    let (name, whole) = match numbered(text) {
        Some(name) => (name, false),
        None => (text, text == device.text),
    };
    // A rank that is changed afterwards is another one.
    if program.sums.iter().any(|sum| sum.name == name) || has_modulo(program, name) {
        return None;
    }
    let through = program.value(name, &call.function, call.at.start);
    let named_local = through.is_some_and(|one| one.name.ends_with("local_rank"));
    let inner = || {
        let mut calls = program.calls.iter().filter(|one| contains(&device.at, &one.at));
        calls.any(|one| program.text.get(one.at.clone()) == Some(name) && is_rank(program, &one.at, name))
    };
    let ranked = whole && is_rank(program, &device.at, name)
        || variable(program, name, &["RANK", "SLURM_PROCID"]).is_some()
        || inner()
        || through.is_some_and(|one| is_rank(program, &one.at, &one.text));
    if !ranked || named_local {
        return None;
    }
    let message = format!(
        "{written} uses the global rank, which exceeds the number of GPUs on the second node and later"
    );
    let found = Found::error(call.line, message, format!("Use `{FIX}` for the device"));
    Some(match Nodes::of(program) {
        Nodes::Several => found,
        Nodes::Unknown => found.unless_certain(false),
        Nodes::One => Found { severity: Severity::Note, ..found },
    })
}

/// The argument of a call that chooses a device, and the call as people read it: `torch.device("cuda",
/// rank)`, `.to(rank)`, `device_ids=[rank]`.
fn chosen(call: &Call) -> Option<(&Argument, String)> {
    let last = call.name.rsplit('.').next().unwrap_or_default();
    let first = call.arguments.first();
    let device = match call.name.as_str() {
        "torch.cuda.set_device" => call.argument(0, "device")?,
        "torch.cuda.device" => first?,
        "torch.device" => match call.argument(1, "index") {
            Some(index) => index,
            None => first.filter(|one| numbered(&one.text).is_some())?,
        },
        _ if last == "DistributedDataParallel" => {
            let ids = call.keyword("device_ids")?;
            return Some((ids, format!("device_ids={}", ids.text)));
        }
        _ if matches!(last, "to" | "cuda") && call.name.contains('.') => {
            first.filter(|one| one.name.is_none())?
        }
        _ => return None,
    };
    let given: Vec<&str> = call.arguments.iter().map(|one| one.text.as_str()).collect();
    Some((device, format!("{last}({})", given.join(", "))))
}

/// Whether a program takes a name modulo something: `rank %= 8`, `rank = rank % n`.
fn has_modulo(program: &Program, name: &str) -> bool {
    let bare: String = program.text.chars().filter(|letter| *letter != ' ').collect();
    is_name(name) && bare.contains(&format!("\n{name}%="))
}

/// The name in `f"cuda:{rank}"`.
fn numbered(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('f')?.trim_matches(['"', '\'']).strip_prefix("cuda:{")?;
    inner.strip_suffix('}')
}

/// Whether an expression is the rank in the whole run.
fn is_rank(program: &Program, at: &std::ops::Range<usize>, text: &str) -> bool {
    let called = program.call_at(at).is_some_and(|call| {
        matches!(call.name.as_str(), "torch.distributed.get_rank" | "deepspeed.comm.get_rank")
            && call.arguments.is_empty()
    });
    called || variable(program, text, &["RANK", "SLURM_PROCID"]).is_some()
}
