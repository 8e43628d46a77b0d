//! The world size is taken from the GPUs of one machine.

use crate::read::python::Program;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "world-size-from-devices",
    severity: Severity::Warning,
    summary: "the launcher sets the world size",
    explain: include_str!("world_size_from_devices.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nworld_size = torch.cuda.device_count()\n\
             dist.init_process_group(\"nccl\", world_size=world_size, rank=rank)\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nimport torch.distributed as dist\nfrom torch.utils.data import \
             DistributedSampler\ndef sampler(data, rank):\n    return DistributedSampler(data, \
             num_replicas=torch.cuda.device_count(), rank=rank)\ndist.init_process_group(\"nccl\")\ns = \
             sampler(d, \
             int(os.environ[\"LOCAL_RANK\"]))\n",
        ),
        named(
            "train.py",
            "import os\nimport torch.distributed as dist\nfrom torch.utils.data.distributed import \
             DistributedSampler\ndist.init_process_group(\"nccl\")\nn = \
             int(os.environ[\"LOCAL_WORLD_SIZE\"])\ns = DistributedSampler(d, num_replicas=n, rank=r)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.utils.data import DistributedSampler\n\
             dist.init_process_group(\"nccl\")\ns = DistributedSampler(d, \
             num_replicas=dist.get_world_size(), \
             rank=dist.get_rank())\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nimport torch.multiprocessing as mp\n\
             def main(rank, world_size):\n    dist.init_process_group(\"nccl\", rank=rank, \
             world_size=world_size)\nworld_size = torch.cuda.device_count()\n\
             mp.spawn(main, args=(world_size,), nprocs=world_size)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndist.init_process_group(\"nccl\")\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    if program.spawns() {
        return Vec::new();
    }
    let counts = |text: &str| text.replace(' ', "").ends_with("cuda.device_count()");
    let calls = program.calls.iter().filter(|call| call.name == "torch.distributed.init_process_group");
    let found = calls.filter_map(|call| {
        let size = call.keyword("world_size")?;
        let through = program.value(&size.text, &call.function, call.at.start);
        let value = through.map_or(size.text.as_str(), |one| one.text.as_str());
        let line = through.map_or(size.line, |one| one.line);
        let message = "world_size is the number of GPUs of this machine; on several nodes each node waits \
            for \
            its own group";
        counts(value).then(|| {
            Found::warning(
                line,
                message,
                "Remove world_size, or use \
                 int(os.environ[\"WORLD_SIZE\"])",
            )
        })
    });
    found.chain(samplers(program)).collect()
}

/// Samplers that share the data out among the ranks of one machine.
fn samplers(program: &Program) -> impl Iterator<Item = Found> + '_ {
    let started = program.calls.iter().any(|call| call.name == "torch.distributed.init_process_group");
    let calls = program.calls.iter().filter(move |call| started && call.name.ends_with("DistributedSampler"));
    calls.filter_map(|call| {
        let given = call.argument(1, "num_replicas")?;
        let value = program.origin(&given.at, &call.function).text;
        let local =
            value.replace(' ', "").ends_with("cuda.device_count()") || value.contains("LOCAL_WORLD_SIZE");
        let message = "DistributedSampler counts the GPUs of this machine (num_replicas); on several nodes \
                each \
            node trains on the same shares of the data";
        let fix = "Remove num_replicas and rank: the sampler asks the process group";
        local.then(|| Found::warning(given.line, message, fix))
    })
}
