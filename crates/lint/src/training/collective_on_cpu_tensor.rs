//! A collective of NCCL on a tensor of the CPU.

use crate::read::python::{Call, Program};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "collective-on-cpu-tensor",
    severity: Severity::Error,
    summary: "NCCL collectives get GPU tensors",
    explain: include_str!("collective_on_cpu_tensor.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndef mean(a, b):\n    stats = torch.tensor([a, \
             b])\n    \
             dist.all_reduce(stats)\n    return stats\ndist.init_process_group(backend=\"nccl\")\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             dist.broadcast(torch.zeros(1), src=0)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as \
             dist\ndist.init_process_group(\"cpu:gloo,cuda:nccl\")\n\
             stats = torch.tensor([1.0])\ndist.all_reduce(stats)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             stats = torch.tensor([1.0], device=device)\ndist.all_reduce(stats)\n\
             more = torch.zeros(2)\nmore = more.cuda()\ndist.all_reduce(more)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             cpu = dist.new_group(backend=\"gloo\")\nx = torch.zeros(2)\ndist.all_reduce(x, group=cpu)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ntorch.set_default_device(\"cuda\")\n\
             dist.init_process_group(\"nccl\")\nx = torch.zeros(2)\ndist.all_reduce(x)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\ndist.init_process_group(\"nccl\")\n\
             loss = net(x).sum()\ny = torch.tensor(loss)\ndist.all_reduce(y)\n",
        ),
    ],
};

/// Functions that make a tensor on the default device.
const MAKERS: &[&str] = &["zeros", "ones", "empty", "full", "rand", "randn", "arange", "linspace", "eye"];

fn judge(program: &Program) -> Vec<Found> {
    let inits = program.calls.iter().filter(|call| call.name == "torch.distributed.init_process_group");
    let mut backends =
        inits.map(|call| call.argument(0, "backend").map(|one| one.text.trim_matches(['"', '\''])));
    let nccl = backends.clone().next().is_some() && backends.all(|backend| backend == Some("nccl"));
    let elsewhere = ["set_default_device", "set_default_tensor_type"];
    let contexts = program.contexts.iter().any(|(head, _)| head.contains("device"));
    if !nccl || contexts || elsewhere.iter().any(|word| program.text.contains(word)) {
        return Vec::new();
    }
    program.calls.iter().filter_map(|call| fault(program, call)).collect()
}

fn fault(program: &Program, call: &Call) -> Option<Found> {
    let name = call.name.strip_prefix("torch.distributed.")?;
    let known = program.catalog.distributed_functions().communicating(&call.name)?;
    let (index, keyword) = (known.tensor_at?, known.tensor.as_deref()?);
    let other = |one: &crate::read::python::Argument| {
        matches!(one.name.as_deref(), Some("group" | "process_group" | "*"))
    };
    if call.arguments.iter().any(other) || call.arguments.len() > index + 2 {
        return None;
    }
    let tensor = call.argument(index, keyword)?;
    if let Some(made) = program.call_at(&tensor.at) {
        return on_cpu(made).then(|| found(call, name, &tensor.text, call.line));
    }
    // Set once, here: another value may be on the GPU.
    let mut set = program.assignments.iter().filter(|one| {
        one.name.split(',').any(|part| part.trim() == tensor.text) && one.function == call.function
    });
    let one = set.next().filter(|one| one.name == tensor.text && one.at.start < call.at.start)?;
    let made = program.call_at(&one.at)?;
    (set.next().is_none() && on_cpu(made)).then(|| found(call, name, &tensor.text, one.line))
}

fn found(call: &Call, name: &str, tensor: &str, made: usize) -> Found {
    let tensor = tensor.replace('\n', " ");
    let message = format!(
        "{name} gets {tensor}, which is on the CPU (line {made}), but the only backend is nccl; `No \
         backend type \
         associated with device type cpu`"
    );
    Found::error(call.line, message, "Create the tensor on the GPU: device=\"cuda\"")
}

/// Whether a call makes a tensor on the default device, whatever its arguments are.
fn on_cpu(call: &Call) -> bool {
    let Some(name) = call.name.strip_prefix("torch.") else { return false };
    let other = ["device", "out", "*"];
    let given = call.arguments.iter().filter_map(|one| one.name.as_deref());
    if given.into_iter().any(|name| other.contains(&name)) {
        return false;
    }
    let first = call.arguments.first().map_or("", |one| one.text.as_str());
    // Of another tensor `tensor` and `as_tensor` keep the device.
    let plain = first.starts_with(['[', '(']) || crate::read::python::number(first).is_some();
    MAKERS.contains(&name) || matches!(name, "tensor" | "FloatTensor" | "LongTensor") && plain
}
