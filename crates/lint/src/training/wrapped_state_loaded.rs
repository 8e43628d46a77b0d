//! The weights of a wrapped model, loaded into a plain one.

use std::cell::OnceCell;

use crate::read::near::Near;
use crate::read::python::{Assignment, Call, Class, Program, is_name, names, string};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};
use crate::wrapped_weights::{Mismatch, WRAPPERS, class_of, holds_at, read_by};

pub(crate) const RULE: Rule = Rule {
    id: "wrapped-state-loaded",
    severity: Severity::Error,
    summary: "weights are saved without the prefix of DDP or torch.compile",
    explain: include_str!("wrapped_state_loaded.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom model import \
             Net\n\
             model = DDP(Net().cuda(), device_ids=[0])\ntorch.save(model.state_dict(), \"last.pt\")\nnet = \
             Net()\n\
             net.load_state_dict(torch.load(\"last.pt\", map_location=\"cpu\"))\n",
        ),
        named(
            "train.py",
            "import torch\nfrom model import Net\n\ndef load(path):\n    net = Net()\n    state = \
             torch.load(path)\n    net.load_state_dict(state[\"model\"])\n    return net\n\nmodel = \
             torch.compile(Net().cuda())\ntorch.save({\"model\": model.state_dict()}, \"a.pt\")\n\
             load(\"a.pt\")\n",
        ),
        named_with(
            "train.py",
            "import torch\nfrom model import Net\nmodel = Net(dim=8).cuda()\nmodel = torch.compile(model)\n\
             torch.save(model.state_dict(), \"last.pt\")\n",
            &[(
                "export.py",
                "import torch\nfrom model import Net\nnet = \
                 Net(dim=8)\nnet.load_state_dict(torch.load(\"last.pt\"))\n",
            )],
        ),
        named_with(
            "train.py",
            "import os\nimport torch\nfrom model import Net\ndef main(out):\n    model = Net().cuda()\n    \
             model = \
             torch.compile(model)\n    for epoch in range(3):\n        torch.save({\"model\": \
             model.state_dict(), \"epoch\": epoch}, os.path.join(out, f\"{epoch}.pt\"))\n",
            &[(
                "evaluate.py",
                "import sys\nimport torch\nfrom model import Net\ndef main(weights):\n    net = \
                 Net().cuda()\n    \
                 net.load_state_dict(torch.load(weights)[\"model\"])\nmain(sys.argv[1])\n",
            )],
        ),
        named_with(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom model import \
             Net\n\
             def main(rank):\n    net = DDP(Net(classes=9).cuda(), device_ids=[rank])\n    if rank == \
             0:\n        \
             torch.save({\"epoch\": 3, \"model\": net.state_dict()}, \"ckpt/last.pth\")\n",
            &[(
                "evaluate.py",
                "import torch\nfrom model import Net\ndef main():\n    net = Net(classes=9)\n    ckpt = \
                 torch.load(\"ckpt/last.pth\", map_location=\"cpu\")\n    \
                 net.load_state_dict(ckpt[\"model\"])\n",
            )],
        ),
        named_with(
            "train.py",
            "import torch\nimport torch.nn as nn\nfrom model import Net\nclass Trainer:\n    def \
             __init__(self):\n\
             \x20       self.model = Net()\n        self.model = nn.DataParallel(self.model)\n    def \
             save(self):\n\
             \x20       torch.save(self.model.state_dict(), \"best.pt\")\n",
            &[(
                "serve.py",
                "import torch\nfrom model import Net\nnet = Net()\nstate = torch.load(\"best.pt\")\n\
                 net.load_state_dict(state)\n",
            )],
        ),
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom model import \
             Net\nmodel = DDP(Net().cuda(), \
             device_ids=[0])\ntorch.save(model.state_dict(), \"last.pt\")\nnet = \
             Net()\nnet.load_state_dict(torch.load(\"last.pt\"), strict=False)\n",
        ),
        named_with(
            "train.py",
            "import torch\nfrom heads import WithValue\nmodel = WithValue(8).cuda()\nmodel = \
             torch.compile(model)\nfor step in range(9):\n    torch.save(model.state_dict(), \
             f\"{step}.pt\")\n",
            &[
                (
                    "heads.py",
                    "from torch import nn\nclass Trunk(nn.Module):\n    pass\nclass WithValue(Trunk):\n    \
                     pass\n",
                ),
                (
                    "serve.py",
                    "import sys\nimport torch\nfrom heads import Trunk\nnet = Trunk(8)\nstate = \
                     torch.load(sys.argv[1])\nnet.load_state_dict(state, strict=False)\n",
                ),
            ],
        ),
    ],
    silent: &[
        // Another class, whose names nobody knows.
        named_with(
            "train.py",
            "import torch\nfrom model import Net\nmodel = \
             torch.compile(Net())\ntorch.save(model.state_dict(), \
             \"last.pt\")\n",
            &[(
                "export.py",
                "import torch\nfrom model import Head\nnet = \
                 Head()\nnet.load_state_dict(torch.load(\"last.pt\"), \
                 strict=False)\n",
            )],
        ),
        named_with(
            "train.py",
            "import torch\nfrom model import Net\nmodel = torch.compile(Net())\n\
             torch.save(model._orig_mod.state_dict(), \"last.pt\")\n",
            &[(
                "export.py",
                "import torch\nfrom model import Net\nnet = \
                 Net()\nnet.load_state_dict(torch.load(\"last.pt\"), \
                 strict=False)\n",
            )],
        ),
        // The loader removes the prefix.
        named_with(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom model import \
             Net\nmodel = DDP(Net().cuda())\ntorch.save(model.state_dict(), \"last.pt\")\n",
            &[(
                "export.py",
                "import torch\nfrom torch.nn.modules.utils import consume_prefix_in_state_dict_if_present\n\
                 from model import Net\nnet = Net()\nstate = torch.load(\"last.pt\")\n\
                 consume_prefix_in_state_dict_if_present(state, \"module.\")\nnet.load_state_dict(state)\n",
            )],
        ),
        // The caller hands over the plain model.
        named_with(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom model import \
             Net\ndef save(model):\n    torch.save(model.state_dict(), \"last.pt\")\nmodel = \
             DDP(Net().cuda())\nsave(model.module)\n",
            &[(
                "export.py",
                "import torch\nfrom model import Net\nnet = \
                 Net()\nnet.load_state_dict(torch.load(\"last.pt\"))\n",
            )],
        ),
        // One file to go on with, and another one of the plain model.
        named_with(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom model import \
             Net\nmodel = DDP(Net().cuda())\ntorch.save(model.state_dict(), \"resume.pt\")\n\
             torch.save(model.module.state_dict(), \"best.pt\")\n",
            &[(
                "export.py",
                "import sys\nimport torch\nfrom model import Net\nnet = Net()\n\
                 net.load_state_dict(torch.load(sys.argv[1]))\n",
            )],
        ),
        named_with(
            "train.py",
            "import torch\nfrom model import Net\nmodel = Net().cuda()\nmodel = torch.compile(model)\n\
             torch.save(model._orig_mod.state_dict(), \"last.pt\")\n",
            &[(
                "export.py",
                "import torch\nfrom model import Net\nnet = \
                 Net()\nnet.load_state_dict(torch.load(\"last.pt\"))\n",
            )],
        ),
        named_with(
            "train.py",
            "import torch\nfrom model import Net\nmodel = Net().cuda()\nmodel = torch.compile(model)\n\
             torch.save(model.state_dict(), \"last.pt\")\n",
            &[
                (
                    "export.py",
                    "import torch\nfrom model import Net\nnet = \
                     Net()\nnet.load_state_dict(torch.load(\"base.pt\"))\n",
                ),
                (
                    "serve.py",
                    "import torch\nfrom model import Net\nnet = \
                     torch.compile(Net())\nnet.load_state_dict(torch.load(\"last.pt\"))\n",
                ),
            ],
        ),
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom model import \
             Net\n\
             model = DDP(Net().cuda(), device_ids=[0])\ntorch.save(model.module.state_dict(), \"last.pt\")\n\
             net = Net()\nnet.load_state_dict(torch.load(\"last.pt\", map_location=\"cpu\"))\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom model import \
             Net\n\
             model = DDP(Net().cuda(), device_ids=[0])\nmodel.load_state_dict(torch.load(\"last.pt\"))\n\
             torch.save(model.state_dict(), \"last.pt\")\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom model import \
             Net\n\
             model = DDP(Net().cuda(), device_ids=[0])\ntorch.save(model.state_dict(), \"last.pt\")\nnet = \
             Net()\n\
             state = torch.load(\"last.pt\")\nstate = {k.removeprefix(\"module.\"): v for k, v in \
             state.items()}\nnet.load_state_dict(state)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    // Somebody who knows of the prefix removes it.
    let handles = ["removeprefix", "startswith(", "replace(", "lstrip(", "consume_prefix"];
    if handles.iter().any(|word| program.text.contains(word)) {
        return Vec::new();
    }
    let own = program.calls.iter().find_map(|load| fault(program, load));
    own.or_else(|| elsewhere(program)).into_iter().collect()
}

/// A variable that holds a wrapped model.
struct Wrapped<'p> {
    variable: &'p Assignment,
    /// What its weights' names begin with.
    prefix: &'static str,
    /// The class of the model.
    class: String,
}

/// The variables that hold a wrapped model.
fn wrapped(program: &Program) -> impl Iterator<Item = Wrapped<'_>> {
    program.assignments.iter().filter_map(|variable| {
        let call = program.call_at(&variable.at)?;
        let (_, prefix) = WRAPPERS.iter().find(|(name, _)| call.name.ends_with(name))?;
        let class = class_of(program, &call.arguments.first()?.text, call)?;
        Some(Wrapped { variable, prefix, class })
    })
}

/// A wrapped model whose weights another program next to it loads into the plain model.
fn elsewhere(program: &Program) -> Option<Found> {
    let classes = Classes { program, all: OnceCell::new() };
    wrapped(program).find_map(|one| loaded_elsewhere(&classes, &one))
}

fn loaded_elsewhere(classes: &Classes, wrapped: &Wrapped) -> Option<Found> {
    let program = classes.program;
    let (name, prefix, class) = (wrapped.variable.name.as_str(), wrapped.prefix, &wrapped.class);
    let state = format!("{name}.state_dict()");
    let save = program.calls.iter().find(|call| {
        let saved = call.argument(0, "obj").map(|one| program.origin(&one.at, &call.function).text);
        call.name == "torch.save"
            && saved.is_some_and(|text| text == state || text.starts_with('{') && text.contains(&state))
            && holds_at(program, wrapped.variable, call)
    })?;
    let path = save.argument(1, "f").and_then(|to| string(program.origin(&to.at, &save.function).text));
    // Other files get the weights of the plain model, and a path that is not known may name one of them.
    let plain = ["module.state_dict()", "_orig_mod.state_dict()"];
    let only = !plain.iter().any(|text| program.text.contains(text));
    let (file, loaded) = program.others.iter().find_map(|other| {
        Some((other.name.rsplit('/').next()?, load_of(classes, other, class, path, only)?))
    })?;
    let inner = prefix.trim_end_matches('.');
    let how = if inner == "module" { "wrapped for data parallelism" } else { "compiled" };
    let ends = match loaded.mismatch {
        Mismatch::Raises => "and gets `Missing key(s) in state_dict`",
        Mismatch::Returned | Mismatch::Ignored => {
            "with strict=False: no name matches, and the model keeps its initial weights"
        }
    };
    let message = format!(
        "{name} is {how}, so that the names of its saved weights begin with `{prefix}`; {file} (line {}) \
         loads them into a plain {} {ends}",
        loaded.line, loaded.class
    );
    let found = Found::error(save.line, message, format!("Save `{name}.{inner}.state_dict()`"));
    Some(found.unless_certain(loaded.same_file && loaded.mismatch == Mismatch::Ignored))
}

/// A call of another program that loads the weights.
struct Loaded {
    line: usize,
    class: String,
    /// Whether it certainly reads the file that is saved.
    same_file: bool,
    mismatch: Mismatch,
}

/// The classes of a program and of those around it, each with what it inherits from; read when first asked
/// for.
struct Classes<'p> {
    program: &'p Program,
    all: OnceCell<Vec<Class>>,
}

impl Classes<'_> {
    /// Whether one of two classes inherits from the other.
    fn relate(&self, classes: [&str; 2]) -> bool {
        let all = self.all.get_or_init(|| {
            let around = self.program.modules.iter().chain(&self.program.others);
            let read = around.filter(|one| one.text.contains("class "));
            let classes = read.flat_map(|one| &one.program(self.program.catalog).classes);
            classes.chain(&self.program.classes).cloned().collect()
        });
        let [one, two] = classes;
        all.iter().any(|class| {
            let inherits = |child: &str, parent: &str| {
                class.name == child && names(&class.bases).any(|base| base.rsplit('.').next() == Some(parent))
            };
            inherits(one, two) || inherits(two, one)
        })
    }
}

/// Where another program loads the weights of a class that it does not wrap. `only`: every file of weights
/// has the names of the wrapped model.
fn load_of(
    all: &Classes,
    other: &Near<Program>,
    class: &str,
    to: Option<&str>,
    only: bool,
) -> Option<Loaded> {
    let handles = [
        "_orig_mod",
        "removeprefix",
        "replace(",
        "lstrip(",
        "torch.compile",
        ".compile(",
        "DataParallel",
        "DistributedDataParallel",
        "consume_prefix",
        "startswith(",
        "module.",
        "[7:]",
    ];
    let may_load = other.text.contains(class) || other.text.contains("strict=False");
    if !may_load || handles.iter().any(|word| other.text.contains(word)) {
        return None;
    }
    let read = other.program(all.program.catalog);
    read.calls.iter().find_map(|load| {
        let plain = load.name.strip_suffix(".load_state_dict").filter(|name| is_name(name))?;
        let mismatch = Mismatch::of(read, load);
        let made = class_of(read, plain, load)?;
        if made != class && (mismatch == Mismatch::Raises || !all.relate([&made, class])) {
            return None;
        }
        let from = read_by(read, load)?;
        let own = string(read.origin(&from.argument(0, "f")?.at, &from.function).text);
        let base = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let same_file = own.zip(to).is_some_and(|(own, to)| base(own) == base(to));
        // A fixed name that is not among those that the program makes is another file.
        let may_be = own.is_none() && only;
        (same_file || may_be).then_some(Loaded { line: load.line, class: made, same_file, mismatch })
    })
}

fn fault(program: &Program, load: &Call) -> Option<Found> {
    let plain = load.name.strip_suffix(".load_state_dict").filter(|name| is_name(name))?;
    let mut sets =
        program.assignments.iter().filter(|one| one.name == plain && one.function == load.function);
    let made = program.call_at(&sets.next().filter(|_| sets.next().is_none())?.at)?;
    let read = read_by(program, load)?;
    let path = program.origin(&read.argument(0, "f")?.at, &read.function).text;
    let (wrapped, prefix) = program.assignments.iter().find_map(|one| {
        let call = program.call_at(&one.at)?;
        let (_, prefix) = WRAPPERS.iter().find(|(name, _)| call.name.ends_with(name))?;
        let bare = made.name.rsplit('.').next().unwrap_or_default();
        let argument = call.arguments.first()?;
        if class_of(program, &argument.text, call).as_deref() == Some(bare) && one.name != plain {
            return Some((one.name.as_str(), *prefix));
        }
        let class = program.origin_call(&argument.at, &call.function)?;
        // `Net().cuda()`, `Net().to(device)`
        let text = program.text.get(class.at.clone())?;
        let same = class.name == made.name || text.starts_with(&format!("{bare}("));
        (same && one.name != plain).then_some((one.name.as_str(), *prefix))
    })?;
    let state = format!("{wrapped}.state_dict()");
    let save = program.calls.iter().find(|call| {
        call.name == "torch.save"
            && call.argument(0, "obj").is_some_and(|one| {
                let text = program.origin(&one.at, &call.function).text;
                text == state || text.starts_with('{') && text.contains(&state)
            })
            && call.argument(1, "f").is_some_and(|to| program.origin(&to.at, &call.function).text == path)
    })?;
    let mismatch = Mismatch::of(program, load);
    let ends = match mismatch {
        Mismatch::Raises => " and raises `Missing key(s) in state_dict`",
        Mismatch::Returned | Mismatch::Ignored => {
            " with strict=False: nothing is loaded, no error is raised, and the model keeps its initial \
             weights"
        }
    };
    let message = format!(
        "line {} saves the weights of {wrapped}, which is wrapped: their names begin with `{prefix}`; \
         {plain}.load_state_dict finds no such names{ends}",
        save.line
    );
    let inner = prefix.trim_end_matches('.');
    let fix = format!("Save `{wrapped}.{inner}.state_dict()`");
    Some(Found::error(load.line, message, fix).unless_certain(mismatch == Mismatch::Ignored))
}
