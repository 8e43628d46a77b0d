//! A checkpoint that every rank loads onto the GPU that wrote it.

use crate::read::python::{Call, Program, names};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "loaded-onto-first-gpu",
    severity: Severity::Warning,
    summary: "checkpoints are loaded with map_location",
    explain: include_str!("loaded_onto_first_gpu.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import os\nimport torch\nimport torch.distributed as dist\nfrom torch.nn.parallel import \
             DistributedDataParallel as DDP\ndist.init_process_group(\"nccl\")\nlocal_rank = \
             int(os.environ[\"LOCAL_RANK\"])\nmodel = Net().to(local_rank)\nckpt = \
             torch.load(\"last.pt\")\nmodel.load_state_dict(ckpt[\"model\"])\nmodel = DDP(model, \
             device_ids=[local_rank])\nif dist.get_rank() == 0:\n    torch.save({\"model\": \
             model.module.state_dict()}, \"last.pt\")\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nimport torch.distributed as dist\nfrom torch.nn.parallel import \
             DistributedDataParallel as DDP\n\ndef main(path=\"run.pt\"):\n    \
             dist.init_process_group(\"nccl\")\n    model = DDP(net, device_ids=[0])\n    \
             model.module.load_state_dict(torch.load(path, weights_only=True))\n    if dist.get_rank() == \
             0:\n        torch.save(model.module.state_dict(), path)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom torch.nn.parallel import \
             DistributedDataParallel as DDP\ndist.init_process_group(\"nccl\")\nmodel = DDP(net, \
             device_ids=[0])\nmodel.load_state_dict(torch.load(\"last.pt\", map_location=\"cpu\"))\n\
             torch.save(model.state_dict(), \"last.pt\")\n",
        ),
        named(
            "train.py",
            "import torch\nnet.load_state_dict(torch.load(\"last.pt\"))\ntorch.save(net.state_dict(), \
             \"last.pt\")\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom torch.nn.parallel import \
             DistributedDataParallel as DDP\ndist.init_process_group(\"gloo\")\nmodel = DDP(net)\n\
             model.load_state_dict(torch.load(\"last.pt\"))\ntorch.save(model.state_dict(), \"last.pt\")\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let gpu = program.calls.iter().any(|call| {
        let text = call.argument(0, "backend").map_or("", |one| one.text.as_str());
        call.name == "torch.distributed.init_process_group" && !text.contains("gloo") && !text.contains("cpu")
    });
    let wraps = program
        .calls
        .iter()
        .any(|call| call.name.ends_with("DistributedDataParallel") && call.keyword("device_ids").is_some());
    // What is saved from the CPU is loaded there.
    let elsewhere = [".cpu()", "default_device", "map_location", "mmap=True"];
    if !gpu || !wraps || elsewhere.iter().any(|word| program.text.contains(word)) {
        return Vec::new();
    }
    let loads = program.calls.iter().filter(|call| call.name == "torch.load");
    loads.filter_map(|load| fault(program, load)).take(1).collect()
}

fn fault(program: &Program, load: &Call) -> Option<Found> {
    let path = load.argument(0, "f")?;
    let spread = load.arguments.iter().any(|one| one.name.as_deref() == Some("*"));
    let saved = program.calls.iter().any(|call| {
        call.name == "torch.save"
            && call.argument(1, "f").is_some_and(|to| {
                to.text == path.text
                    || program.origin(&to.at, &call.function).text
                        == program.origin(&path.at, &load.function).text
            })
    });
    let only_first = program.on_one_rank(load).is_some();
    let used = program.text.contains("load_state_dict") && names(&path.text).next().is_some();
    let message = format!(
        "torch.load puts {} onto the GPU from which it was saved: every rank of a node loads it onto the \
         first \
         GPU, whose memory may not hold all of them",
        path.text.replace('\n', " ")
    );
    (saved && used && !spread && !only_first && load.argument(1, "map_location").is_none())
        .then(|| Found::warning(load.line, message, "Add `map_location=\"cpu\"`"))
}
