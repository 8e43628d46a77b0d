//! The world size is taken from the GPUs of one machine.

use crate::read::python::Program;
use crate::rule::{Found, Judge, Rule, Severity, named};

/// The rule.
pub const RULE: Rule = Rule {
    id: "world-size-from-devices",
    severity: Severity::Warning,
    summary: "the world size comes from the launcher",
    explain: include_str!("world_size_from_devices.md"),
    judge: Judge::Training(judge),
    fires: &[named(
        "train.py",
        "import torch\nimport torch.distributed as dist\nworld_size = torch.cuda.device_count()\ndist.init_process_group(\"nccl\", world_size=world_size, rank=rank)\n",
    )],
    silent: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nimport torch.multiprocessing as mp\ndef main(rank, world_size):\n    dist.init_process_group(\"nccl\", rank=rank, world_size=world_size)\nworld_size = torch.cuda.device_count()\nmp.spawn(main, args=(world_size,), nprocs=world_size)\n",
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
        let says = "the world size is the number of this machine's GPUs: on several nodes it is the launcher's to say";
        counts(value).then(|| Found::warning(line, says, "leave world_size out, or int(os.environ[\"WORLD_SIZE\"])"))
    });
    found.collect()
}
