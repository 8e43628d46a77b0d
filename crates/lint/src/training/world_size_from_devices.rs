//! The world size is taken from the GPUs of one machine.

use crate::read::python::Program;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "world-size-from-devices",
    severity: Severity::Warning,
    summary: "the launcher sets the world size",
    explain: include_str!("world_size_from_devices.md"),
    judge: Judge::Training(judge),
    fires: &[named(
        "train.py",
        "import torch\nimport torch.distributed as dist\nworld_size = torch.cuda.device_count()\n\
         dist.init_process_group(\"nccl\", world_size=world_size, rank=rank)\n",
    )],
    silent: &[
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
    found.collect()
}
