//! Every rank uses the same GPU.

use crate::read::one_gpu::{one_process_a_node, sees_one_gpu};
use crate::read::python::{Call, Program, string};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "device-fixed-for-all-ranks",
    severity: Severity::Warning,
    summary: "every rank uses its own GPU",
    explain: include_str!("device_fixed_for_all_ranks.md"),
    judge: Judge::Training(judge),
    fires: &[
        named_with(
            "train.py",
            "import torch\nimport torch.distributed as dist\ntorch.cuda.set_device(0)\n\
             dist.init_process_group(\"nccl\")\n",
            &[("node.sh", "export WORLD_SIZE=2\nRANK=0 python train.py &\nRANK=1 python train.py\nwait\n")],
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ntorch.cuda.set_device(0)\n\
             dist.init_process_group(\"nccl\")\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\n\
             from torch.nn.parallel import DistributedDataParallel as DDP\n\
             dist.init_process_group(\"nccl\")\nmodel = DDP(model, device_ids=[0])\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\n\
             from torch.nn.parallel import DistributedDataParallel as DDP\n\
             dist.init_process_group(\"nccl\")\ndevice = torch.device(\"cuda\")\n\
             net = DDP(torch.nn.Linear(8, 8).to(device))\n",
        ),
    ],
    silent: &[
        named_with(
            "train.py",
            "import torch\nimport torch.distributed as dist\ntorch.cuda.set_device(0)\n\
             dist.init_process_group(\"nccl\")\n",
            &[("node.sh", "export WORLD_SIZE=2 RANK=$1\n# torchrun does not work here\npython3 train.py\n")],
        ),
        named_with(
            "train.py",
            "import torch\nimport torch.distributed as dist\ntorch.cuda.set_device(0)\n\
             dist.init_process_group(\"nccl\")\n",
            &[(
                "job.sbatch",
                "#!/bin/bash\n#SBATCH --ntasks-per-node=4 --gpus-per-task=1\nsrun python train.py\n",
            )],
        ),
        named_with(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             x = torch.ones(1).to(\"cuda\")\n",
            &[("run.sh", "CUDA_VISIBLE_DEVICES=$SLURM_LOCALID python train.py\n")],
        ),
        named(
            "train.py",
            "import os\nimport torch\nimport torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))\nx = torch.ones(1).cuda()\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom helpers import setup\nsetup()\n\
             dist.init_process_group(\"nccl\")\nx = torch.ones(1, device=\"cuda\")\n",
        ),
        named("train.py", "import torch\nimport torch.distributed as dist\ntorch.cuda.set_device(0)\n"),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             if not args.distributed:\n    torch.cuda.set_device(0)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nimport os\n\
             torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))\ndist.init_process_group(\"nccl\")\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\n\
             dist.init_process_group(\"gloo\", rank=0, world_size=1)\ntorch.cuda.set_device(0)\n",
        ),
        named(
            "test.py",
            "import torch\nimport torch.distributed as dist\nworld_size = 1\ndef start():\n    \
             torch.cuda.set_device(0)\n    dist.init_process_group(\"nccl\", rank=0, \
             world_size=world_size)\n",
        ),
        named(
            "actor.py",
            "import ray\nimport torch\nimport torch.distributed as dist\n@ray.remote(num_gpus=1)\n\
             class Worker:\n    def __init__(self):\n        torch.cuda.set_device(0)\n\
             \x20       dist.init_process_group(\"nccl\")\n",
        ),
        named(
            "train.py",
            "import os\nos.environ[\"CUDA_VISIBLE_DEVICES\"] = os.environ[\"SLURM_LOCALID\"]\nimport torch\n\
             import torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             torch.cuda.set_device(0)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    // One process alone may well use the first GPU.
    let alone = program
        .calls
        .iter()
        .filter(|call| call.name == "torch.distributed.init_process_group")
        .any(|call| call.keyword("world_size").is_some_and(|size| is_one(program, call, &size.text)));
    let one_each = sees_one_gpu(program) || is_actor_of_ray(program) || shows_own_gpu(program);
    if !program.is_distributed() || alone || one_each || one_process_a_node(program) {
        return Vec::new();
    }
    if let Some(found) = without_index(program) {
        return vec![found];
    }
    let first = |text: &str| {
        let bare: String = text.chars().filter(|letter| !" '\"".contains(*letter)).collect();
        matches!(bare.as_str(), "0" | "cuda:0" | "torch.device(cuda:0)" | "torch.device(cuda,0)")
    };
    let found = program.calls.iter().filter(|call| !call.conditional).filter_map(|call| {
        if call.name == "torch.cuda.set_device" {
            let device = call.argument(0, "device").filter(|device| first(&device.text))?;
            let message = format!(
                "set_device({}) in every process makes all ranks of a node share the first GPU",
                device.text
            );
            return Some(Found::warning(
                call.line,
                message,
                "Write `torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))`",
            ));
        }
        let ids = call.keyword("device_ids").filter(|_| call.name.ends_with("DistributedDataParallel"))?;
        let inner = ids.text.trim().trim_start_matches('[').trim_end_matches(']');
        let message = "device_ids=[0] in every process makes all ranks of a node share the first GPU";
        first(inner).then(|| Found::warning(ids.line, message, "Use device_ids=[local_rank]"))
    });
    found.collect()
}

/// Whether a value is 1: a number, or a name that is set to it.
fn is_one(program: &Program, call: &Call, text: &str) -> bool {
    let named = || program.certain_value(text, &call.function, call.at.start);
    text == "1" || named().is_some_and(|value| value.text == "1")
}

/// Whether Ray starts the ranks: an actor with one GPU sees only that, as its first.
fn is_actor_of_ray(program: &Program) -> bool {
    let ray = program.imports.values().any(|full| full.split('.').next() == Some("ray"))
        || program.text.lines().any(|line| line.trim() == "import ray");
    ray && ["ray.remote", "@remote", ".options("].iter().any(|word| program.text.contains(word))
}

/// Whether the program itself shows each rank one GPU, before it uses any.
fn shows_own_gpu(program: &Program) -> bool {
    let own = program
        .assignments
        .iter()
        .filter(|one| program.environment_key(&one.name).and_then(string) == Some("CUDA_VISIBLE_DEVICES"));
    let by_call = program.calls.iter().filter(|call| {
        let sets = ["os.environ.setdefault", "os.putenv"].contains(&call.name.as_str());
        sets && call.arguments.first().is_some_and(|name| name.text.contains("CUDA_VISIBLE_DEVICES"))
    });
    let values = own.map(|one| one.text.as_str());
    let mut values = values.chain(by_call.filter_map(|call| Some(call.arguments.get(1)?.text.as_str())));
    // A constant is the same list for all of them.
    values.any(|value| string(value).is_none())
}

/// Words of a program that selects a device for each rank, or hands that on.
const SELECTS: &[&str] = &[
    "set_device",
    "cuda.device(",
    "cuda:",
    "LOCAL_RANK",
    "local_rank",
    "LOCALID",
    "device_count",
    "CUDA_VISIBLE_DEVICES",
    "device_id",
    "accelerat",
    "gloo",
    "deepspeed",
    "lightning",
    "horovod",
];

/// The device `cuda` in a program that never selects one: the current device of every process is the first.
fn without_index(program: &Program) -> Option<Found> {
    let starts = program.calls.iter().find(|call| call.name == "torch.distributed.init_process_group")?;
    if SELECTS.iter().any(|word| program.text.contains(word)) || program.spawns() {
        return None;
    }
    // A function of another file may select it.
    let elsewhere = program.calls.iter().any(|call| {
        let last = call.name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let part = ["setup", "dist", "device", "init_", "initialize", "launch"];
        let of_torch = call.name.starts_with("torch.") || call.name.starts_with('.');
        let imported = program.imports.values().any(|full| *full == call.name || call.name.starts_with(full));
        !of_torch
            && imported
            && program.function(&call.name).is_none()
            && part.iter().any(|part| last.contains(part))
    });
    let used = program.calls.iter().find(|call| is_bare_cuda(call)).filter(|_| !elsewhere)?;
    let message = format!(
        "the device has no index and no rank selects its GPU: all ranks of a node use cuda:0; NCCL reports a \
         duplicate GPU (init_process_group in line {})",
        starts.line
    );
    let fix = "Call torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])) before";
    Some(Found::warning(used.line, message, fix))
}

/// `torch.device("cuda")`, `x.to("cuda")`, `x.cuda()`, `device="cuda"`.
fn is_bare_cuda(call: &Call) -> bool {
    let cuda = |text: &str| text.trim_matches(['"', '\'']) == "cuda" && text.len() > 4;
    let last = call.name.rsplit('.').next().unwrap_or_default();
    match last {
        "cuda" => call.arguments.is_empty(),
        "device" | "to" => call.arguments.first().is_some_and(|one| cuda(&one.text)),
        _ => call.keyword("device").is_some_and(|one| cuda(&one.text)),
    }
}
