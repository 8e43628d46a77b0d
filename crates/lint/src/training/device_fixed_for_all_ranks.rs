//! Every rank uses the same GPU.

use crate::read::python::Program;
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "device-fixed-for-all-ranks",
    severity: Severity::Warning,
    summary: "every rank uses its own GPU",
    explain: include_str!("device_fixed_for_all_ranks.md"),
    judge: Judge::Training(judge),
    fires: &[
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
    ],
    silent: &[
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
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    // One process alone may well use the first GPU.
    let alone = program
        .calls
        .iter()
        .filter(|call| call.name == "torch.distributed.init_process_group")
        .any(|call| call.keyword("world_size").is_some_and(|size| size.text == "1"));
    if !program.is_distributed() || alone {
        return Vec::new();
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
