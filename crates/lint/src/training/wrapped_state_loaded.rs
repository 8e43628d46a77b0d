//! The weights of a wrapped model, loaded into a plain one.

use crate::read::python::{Call, Program, is_name, names};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "wrapped-state-loaded",
    severity: Severity::Warning,
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
    ],
    silent: &[
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

/// What wraps a model, and the prefix that its weights get.
const WRAPPERS: &[(&str, &str)] = &[
    ("DistributedDataParallel", "module."),
    ("torch.nn.DataParallel", "module."),
    ("torch.compile", "_orig_mod."),
];

fn judge(program: &Program) -> Vec<Found> {
    // Somebody who knows of the prefix removes it.
    let handles = ["removeprefix", "startswith(", "replace(", "lstrip(", "strict=False", "consume_prefix"];
    if handles.iter().any(|word| program.text.contains(word)) {
        return Vec::new();
    }
    program.calls.iter().filter_map(|load| fault(program, load)).take(1).collect()
}

fn fault(program: &Program, load: &Call) -> Option<Found> {
    let plain = load.name.strip_suffix(".load_state_dict").filter(|name| is_name(name))?;
    let mut sets =
        program.assignments.iter().filter(|one| one.name == plain && one.function == load.function);
    let made = program.call_at(&sets.next().filter(|_| sets.next().is_none())?.at)?;
    let read = read(program, load)?;
    let path = program.origin(&read.argument(0, "f")?.at, &read.function).text;
    let (wrapped, prefix) = program.assignments.iter().find_map(|one| {
        let call = program.call_at(&one.at)?;
        let (_, prefix) = WRAPPERS.iter().find(|(name, _)| call.name.ends_with(name))?;
        let class = program.origin_call(&call.arguments.first()?.at, &call.function)?;
        // `Net().cuda()`, `Net().to(device)`
        let text = program.text.get(class.at.clone())?;
        let bare = made.name.rsplit('.').next().unwrap_or_default();
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
    let message = format!(
        "line {} saves the weights of the wrapped model {wrapped}, whose names begin with `{prefix}`; \
         {plain}.load_state_dict finds no such names in {} and raises `Missing key(s) in state_dict`",
        save.line, made.name
    );
    let inner = prefix.trim_end_matches('.');
    let fix = format!("Save `{wrapped}.{inner}.state_dict()`");
    Some(Found::warning(load.line, message, fix))
}

/// The `torch.load` whose result, or an entry of it, goes into a model.
fn read<'p>(program: &'p Program, load: &'p Call) -> Option<&'p Call> {
    let given = load.arguments.first()?;
    let direct = program.calls.iter().find(|call| {
        call.name == "torch.load" && given.at.start <= call.at.start && call.at.end <= given.at.end
    });
    direct.or_else(|| {
        let name = names(&given.text).next()?;
        let set = program.value(name, &load.function, load.at.start)?;
        program.call_at(&set.at).filter(|call| call.name == "torch.load")
    })
}
