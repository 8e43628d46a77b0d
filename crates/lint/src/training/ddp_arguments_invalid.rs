//! DistributedDataParallel with device_ids that do not fit its module.

use crate::read::python::{Argument, Call, Program, contains, is_name, names};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "ddp-arguments-invalid",
    severity: Severity::Error,
    summary: "device_ids of DDP is a list, and the module is on that GPU",
    explain: include_str!("ddp_arguments_invalid.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import os\nimport torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n\
             local_rank = int(os.environ[\"LOCAL_RANK\"])\nmodel = DDP(model, device_ids=local_rank)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch import nn\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\n\
             class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        \
             self.fc = nn.Linear(2, 2)\ndef main(local_rank):\n    torch.cuda.set_device(local_rank)\n    \
             model = Net()\n    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n    \
             model = DDP(model, device_ids=[local_rank])\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torchvision import models\nnet = models.resnet50(num_classes=10)\n\
             net = torch.nn.parallel.DistributedDataParallel(net, device_ids=[rank], output_device=rank)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom model import \
             Net\n\
             model = DDP(Net(width=64), device_ids=[local_rank])\nmodel.to(device)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nfrom torch import nn\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\n\
             model = nn.Linear(2, 2)\nmodel.to(local_rank)\nmodel = DDP(model, device_ids=[local_rank])\n\
             other = nn.Linear(2, 2).cuda()\nother = DDP(other, device_ids=[0], \
             find_unused_parameters=True)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch import nn\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\n\
             model = nn.Linear(2, 2)\nmodel = DDP(model)\nnet = build()\nnet = DDP(net, device_ids=[0])\n\
             third = nn.Linear(2, 2)\nprepare(third)\nthird = DDP(third, device_ids=[rank])\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch import nn\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\n\
             with torch.device(\"cuda\"):\n    model = nn.Linear(2, 2)\nmodel = DDP(model, device_ids=[0])\n\
             other = DDP(nn.Linear(2, 2, device=\"cuda\"), device_ids=ids)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let wraps = program.calls.iter().filter(|call| call.name.ends_with("DistributedDataParallel"));
    let found = wraps.filter_map(|wrap| {
        no_list(program, wrap).or_else(|| on_cpu(program, wrap)).or_else(|| moved_later(program, wrap))
    });
    found.collect()
}

/// `device_ids=local_rank`.
fn no_list(program: &Program, wrap: &Call) -> Option<Found> {
    let given = wrap.keyword("device_ids")?;
    let number = |text: &str| {
        let calls = ["int(", "torch.cuda.current_device(", "dist.get_rank(", "torch.distributed.get_rank("];
        text.parse::<u64>().is_ok()
            || calls.iter().any(|start| text.starts_with(start) && text.ends_with(')'))
    };
    let is_number = number(&given.text)
        || program
            .certain_value(&given.text, &wrap.function, wrap.at.start)
            .is_some_and(|set| number(&set.text));
    let message = format!(
        "device_ids of DistributedDataParallel is the number {}, not a list; `TypeError: object of type \
         'int' has no len()`",
        given.text
    );
    is_number.then(|| Found::error(given.line, message, format!("Write `device_ids=[{}]`", given.text)))
}

/// A module that was made on the CPU and never moved.
fn on_cpu(program: &Program, wrap: &Call) -> Option<Found> {
    let ids = wrap.keyword("device_ids").filter(|one| one.text.starts_with('[') && one.text.len() > 2)?;
    let elsewhere =
        ["set_default_device", "set_default_tensor_type"].iter().any(|word| program.text.contains(word));
    let in_device = program.contexts.iter().any(|(head, _)| head.contains("device"));
    let module = wrap.argument(0, "module").filter(|one| is_name(&one.text) && !one.text.contains('.'))?;
    if elsewhere || in_device {
        return None;
    }
    let name = module.text.as_str();
    let before = program.assignments.iter().filter(|one| {
        one.function == wrap.function
            && one.at.start < wrap.at.start
            && names(&one.name).any(|other| other == name)
    });
    let sets: Vec<_> = before.collect();
    let [set] = sets[..] else { return None };
    let made = program.call_at(&set.at).filter(|made| set.name == name && is_module(program, made))?;
    // Anything that gets it, or one of its methods, may move it.
    let touched = program.calls.iter().any(|call| {
        let behind = call.at.start > made.at.end && call.at.end <= wrap.at.end && call.at != wrap.at;
        let own = call.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        let harmless =
            own && call.name.ends_with(".parameters") || call.name.contains("optim.") || call.name == "print";
        let given = call.arguments.iter().any(|one| names(&one.text).any(|word| word == name));
        behind && !harmless && (own || given)
    });
    let looped =
        program.loops.iter().any(|one| contains(&one.body, &wrap.at) && !contains(&one.body, &made.at));
    let message = format!(
        "{name} is on the CPU (made in line {}, never moved), but device_ids is {}; DistributedDataParallel \
         raises \
         ValueError",
        made.line, ids.text
    );
    let device = ids.text.trim_matches(['[', ']']);
    let fix = format!("Write `{name}.to({device})` before");
    (!touched && !looped && !wrap.conditional).then(|| Found::error(wrap.line, message, fix))
}

/// A module that is wrapped where it is made, and only then moved to the GPU.
fn moved_later(program: &Program, wrap: &Call) -> Option<Found> {
    let ids = wrap.keyword("device_ids").filter(|one| one.text.starts_with('[') && one.text.len() > 2)?;
    let made = program.call_at(&wrap.argument(0, "module")?.at)?;
    let class = made.name.rsplit('.').next()?.starts_with(|letter: char| letter.is_ascii_uppercase());
    let placed = made.arguments.iter().any(|one| one.text.contains("cuda") || one.text.contains("device"));
    let set = program.assignments.iter().find(|one| one.at == wrap.at)?;
    let moved = program.calls.iter().find(|call| {
        let own = call.name == format!("{}.to", set.name) || call.name == format!("{}.cuda", set.name);
        own && call.function == wrap.function && call.at.start > wrap.at.end
    })?;
    let message = format!(
        "DistributedDataParallel gets a module on the CPU with device_ids {}, and {} moves it only in line \
         {}; \
         it raises ValueError",
        ids.text, moved.name, moved.line
    );
    let device = ids.text.trim_matches(['[', ']']);
    let fix = format!("Write `{}(…).to({device})` inside of it", made.name);
    (class && !placed).then(|| Found::warning(wrap.line, message, fix))
}

/// Whether a call makes a module on the CPU: of torch.nn, of torchvision, or of a class of the file.
fn is_module(program: &Program, made: &Call) -> bool {
    let given = |one: &Argument| {
        one.name.as_deref() == Some("*") || one.text.contains("cuda") || one.name.as_deref() == Some("device")
    };
    if made.arguments.iter().any(given) {
        return false;
    }
    let last = made.name.rsplit('.').next().unwrap_or_default();
    if made.name.starts_with("torch.nn.") || made.name.starts_with("torchvision.models.") {
        return made.name.matches('.').count() == 2 && last != "DataParallel" && last != "Parameter";
    }
    program.classes.iter().any(|class| {
        let body = program.text.get(class.at.clone()).unwrap_or_default();
        let moves = ["cuda", ".to(", "device", "get_model"].iter().any(|word| body.contains(word));
        let bases = class.bases.trim_matches(['(', ')']);
        class.name == made.name && matches!(bases, "nn.Module" | "torch.nn.Module") && !moves
    })
}
