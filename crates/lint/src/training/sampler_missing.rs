//! Ranks that all train on the whole data.

use crate::read::python::{Program, number};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "sampler-missing",
    severity: Severity::Warning,
    summary: "each rank of DistributedDataParallel trains on its own part of the data",
    explain: include_str!("sampler_missing.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\
             from torch.utils.data import DataLoader\ndist.init_process_group(\"nccl\")\nmodel = DDP(net)\n\
             loader = DataLoader(train_set, batch_size=32, shuffle=True)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nimport torchvision\nfrom torch.nn.parallel import \
             DistributedDataParallel as DDP\nfrom torch.utils.data import DataLoader\n\ndef \
             make(root):\n    ds = \
             torchvision.datasets.CIFAR100(root, train=True)\n    return DataLoader(ds, batch_size=128, \
             shuffle=True)\n\ndist.init_process_group(\"nccl\")\nmodel = DDP(net)\nopt = \
             SGD(net.parameters(), \
             lr=0.1 * dist.get_world_size())\n",
        ),
        named(
            "fit.py",
            "import lightning as L\nfrom torch.utils.data import DataLoader\nloader = DataLoader(data, \
             shuffle=True)\ntrainer = L.Trainer(devices=8, strategy=\"ddp\", \
             use_distributed_sampler=False)\ntrainer.fit(model, loader)\n",
        ),
        named(
            "fit.py",
            "from pytorch_lightning import Trainer\nfrom torch.utils.data import DataLoader\ndef make(data, \
             shuffle):\n    return DataLoader(data, shuffle=shuffle)\ntrainer = Trainer(gpus=4, num_nodes=2, \
             replace_sampler_ddp=False)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\
             from torch.utils.data import DataLoader\ndist.init_process_group(\"nccl\")\nmodel = DDP(net)\n\
             world_size = dist.get_world_size()\npart = files[dist.get_rank()::world_size]\n\
             loader = DataLoader(Files(part), batch_size=32, shuffle=True)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\
             from torch.utils.data import DataLoader\ndist.init_process_group(\"nccl\")\nmodel = DDP(net)\n\
             train_set = Files(\"/data\", dist.get_rank(), dist.get_world_size())\n\
             loader = DataLoader(train_set, batch_size=32, shuffle=True)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\
             from torch.utils.data import DataLoader\ndist.init_process_group(\"nccl\")\nmodel = DDP(net)\n\
             count = len(train_set) // dist.get_world_size()\n\
             loader = DataLoader(train_set, batch_size=32, shuffle=True)\n",
        ),
        named(
            "fit.py",
            "import lightning as L\nfrom torch.utils.data import DataLoader, DistributedSampler\nloader = \
             DataLoader(data, sampler=DistributedSampler(data))\ntrainer = L.Trainer(devices=8, \
             use_distributed_sampler=False)\n",
        ),
        named(
            "fit.py",
            "import lightning as L\nfrom torch.utils.data import DataLoader\nloader = DataLoader(data, \
             shuffle=True)\ntrainer = L.Trainer(devices=1, use_distributed_sampler=False)\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\
             from torch.utils.data import DataLoader, DistributedSampler\ndist.init_process_group(\"nccl\")\n\
             model = DDP(net)\nloader = DataLoader(train_set, sampler=DistributedSampler(train_set))\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\
             from torch.utils.data import DataLoader, Subset\ndist.init_process_group(\"nccl\")\n\
             part = Subset(data, range(dist.get_rank(), len(data), dist.get_world_size()))\nmodel = \
             DDP(net)\n\
             loader = DataLoader(part, batch_size=32, shuffle=True)\n",
        ),
        named(
            "train.py",
            "from torch.utils.data import DataLoader\nloader = DataLoader(train_set, batch_size=32, \
             shuffle=True)\n",
        ),
    ],
};

/// Words of programs that share the data out, or leave it to a library.
const SHARES: &[&str] = &[
    "Sampler",
    "sampler",
    "Subset",
    "random_split",
    "split_dataset",
    ".shard(",
    "IterableDataset",
    "world_size",
    "num_replicas",
    "accelerat",
    "lightning",
    "Trainer",
    "deepspeed",
    "Fabric",
];

/// Lightning told to leave the loaders as they are, which have no sampler of their own.
fn left_alone(program: &Program) -> Option<Found> {
    let shares = ["Sampler", "IterableDataset", "split_dataset_by_node", "rank", "Subset", "shard"];
    let (trainer, option) = program.calls.iter().find_map(|call| {
        let known = call.name.ends_with("lightning.Trainer") || call.name == "lightning.pytorch.Trainer";
        let option = call.keyword("use_distributed_sampler").or_else(|| call.keyword("replace_sampler_ddp"));
        Some((call, option.filter(|one| known && one.text == "False")?))
    })?;
    let several = ["devices", "num_nodes", "gpus"].iter().any(|key| {
        let one = trainer.keyword(key);
        one.and_then(|one| number(program.origin(&one.at, &trainer.function).text))
            .is_some_and(|count| count > 1.0)
    });
    let text = program.text.replace("rank_zero", "");
    if !several || shares.iter().any(|word| text.contains(word)) {
        return None;
    }
    let loader = program.calls.iter().find(|call| {
        let plain = call.keyword("sampler").is_none() && call.keyword("batch_sampler").is_none();
        let shuffles = call.keyword("shuffle").is_some_and(|one| one.text != "False");
        call.name.ends_with("DataLoader") && plain && shuffles
    })?;
    let name = option.name.as_deref().unwrap_or_default();
    let message = format!(
        "{name}=False leaves the loaders as they are, and the DataLoader in line {} has no sampler: every \
         rank \
         trains on all of the data",
        loader.line
    );
    let fix = format!("Remove {name}=False, or give the loader a DistributedSampler");
    Some(Found::warning(option.line, message, fix))
}

/// A program without what it computes from the number of ranks alone: its learning rate, its batch size, an
/// average. Such a number shares no data out.
fn without_scaling(text: &str) -> String {
    const SIZE: &str = "world_size";
    let scales = |line: &str| {
        let lower = line.to_ascii_lowercase();
        let own = lower.replace("get_rank", "").replace("local_rank", "").replace("global_rank", "");
        let cuts =
            ["[", "range(", "shard", "split", "len(", "//", "%", "::", "dataset", "loader", "skip", "rank"];
        let sums =
            ["lr", "batch", "init_process_group", "print(", "log", "world_size =", "loss", "step", "/="];
        !cuts.iter().any(|word| own.contains(word)) && sums.iter().any(|word| lower.contains(word))
    };
    let lines = text.lines().filter(|line| !line.contains(SIZE) || !scales(line));
    lines.collect::<Vec<_>>().join("\n")
}

fn judge(program: &Program) -> Vec<Found> {
    if let Some(found) = left_alone(program) {
        return vec![found];
    }
    let wrapped = program.calls.iter().any(|call| call.name.ends_with("DistributedDataParallel"));
    let started = program.calls.iter().any(|call| call.name == "torch.distributed.init_process_group");
    // Without `rank` and the number of ranks the data is shared out elsewhere, if at all.
    if !wrapped || !started {
        return Vec::new();
    }
    let text = without_scaling(&program.text);
    if SHARES.iter().any(|word| text.contains(word)) {
        return Vec::new();
    }
    let loaders = program.calls.iter().filter(|call| {
        call.name.ends_with("DataLoader") && call.keyword("shuffle").is_some_and(|one| one.text == "True")
    });
    let found = loaders.filter_map(|call| {
        let data = call.argument(0, "dataset")?;
        let set =
            program.value(&data.text, &call.function, call.at.start).map_or("", |one| one.text.as_str());
        let other = ["val", "test", "eval", "rank"].iter().any(|word| {
            data.text.to_ascii_lowercase().contains(word) || set.to_ascii_lowercase().contains(word)
        });
        let message = "every rank trains on all of the data: the loader has no DistributedSampler, and an \
         epoch \
            is as many times longer as there are ranks";
        let fix = "Use `sampler=DistributedSampler(dataset)` in place of shuffle=True, and call set_epoch";
        (!other).then(|| Found::warning(call.line, message, fix))
    });
    found.take(1).collect()
}
