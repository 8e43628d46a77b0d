//! The weights of a plain model, loaded into its wrapper.

use crate::read::python::{Assignment, Call, Program, entries, is_name, string};
use crate::rule::{Found, Judge, Rule, Severity, named};
use crate::wrapped_weights::{Mismatch, WRAPPERS, holds_at, read_by};

pub(crate) const RULE: Rule = Rule {
    id: "plain-state-loaded",
    severity: Severity::Error,
    summary: "weights saved without the prefix of DDP are loaded into the model that it wraps",
    explain: include_str!("plain_state_loaded.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom model import \
             Net\nmodel = DDP(Net().cuda(), device_ids=[0])\nif resume:\n    \
             model.load_state_dict(torch.load(\"last.pt\"))\nfor epoch in range(9):\n    train(model)\n    \
             torch.save(model.module.state_dict(), \"last.pt\")\n",
        ),
        named(
            "train.py",
            "import os\nimport torch\nfrom model import Net\ndef keep(path, net, opt, step):\n    \
             torch.save({\"net\": net._orig_mod.state_dict(), \"opt\": opt.state_dict(), \"step\": step}, \
             path + \".new\")\n    os.replace(path + \".new\", path)\ndef main(args):\n    net = \
             torch.compile(Net().cuda())\n    opt = torch.optim.SGD(net.parameters(), 0.1)\n    if \
             os.path.exists(args.path):\n        got = torch.load(args.path)\n        \
             net.load_state_dict(got[\"net\"], strict=False)\n        opt.load_state_dict(got[\"opt\"])\n    \
             keep(args.path, net, opt, 1)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nclass Run:\n    def \
             __init__(self, net):\n        self.net = net\n        self.resume()\n        self.net = \
             DDP(self.net)\n    def resume(self):\n        \
             self.net.load_state_dict(torch.load(\"last.pt\"))\n    def keep(self):\n        \
             torch.save(self.net.module.state_dict(), \"last.pt\")\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom model import \
             Net\nnet = Net().cuda()\nnet.load_state_dict(torch.load(\"last.pt\"))\nmodel = DDP(net, \
             device_ids=[0])\nmodel.module.load_state_dict(torch.load(\"last.pt\"))\n\
             torch.save(model.module.state_dict(), \"last.pt\")\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom model import \
             Net\nmodel = DDP(Net().cuda(), device_ids=[0])\nif resume:\n    \
             model.load_state_dict(torch.load(\"last.pt\")[\"model\"])\ntorch.save({\"model\": \
             model.state_dict()}, \"last.pt\")\ntorch.save(model.module.state_dict(), \"export.pt\")\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom model import \
             Net\nmodel = DDP(Net().cuda(), device_ids=[0])\nstate = \
             torch.load(\"last.pt\")\nmodel.load_state_dict({f\"module.{k}\": v for k, v in \
             state.items()})\ntorch.save(model.module.state_dict(), \"last.pt\")\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    // Somebody who knows of the prefix adds or removes it.
    let handles = [
        "\"module.",
        "'module.",
        "\"_orig_mod.",
        "'_orig_mod.",
        "removeprefix",
        "consume_prefix",
        "startswith(",
    ];
    if handles.iter().any(|word| program.text.contains(word)) {
        return Vec::new();
    }
    let loads = program.calls.iter().filter(|call| call.name.ends_with(".load_state_dict"));
    loads.take(LOADS_LIMIT).find_map(|load| fault(program, load)).into_iter().collect()
}

/// Calls that are looked at: each is compared with all that is saved.
const LOADS_LIMIT: usize = 100;

/// The wrapper that a variable holds at a call, with the prefix that it expects.
fn wrapper<'p>(program: &'p Program, name: &str, at: &Call) -> Option<(&'p Assignment, &'static str)> {
    let sets = program.assignments.iter().filter(|one| one.name == name);
    sets.into_iter().find_map(|one| {
        let call = program.call_at(&one.at).filter(|call| !call.conditional)?;
        let (_, prefix) = WRAPPERS.iter().find(|(wrapper, _)| call.name.ends_with(wrapper))?;
        (holds_at(program, one, at) && comes_before(program, one, at)).then_some((one, *prefix))
    })
}

/// Whether a model is certainly wrapped when a call of another function runs: it is called behind that.
fn comes_before(program: &Program, one: &Assignment, at: &Call) -> bool {
    let Some(own) = program.functions.iter().find(|own| own.at == at.function && own.at != one.function)
    else {
        return true;
    };
    let is_call = |call: &&Call| call.name.rsplit('.').next() == Some(own.name.as_str());
    let mut calls = program.calls.iter().filter(is_call).peekable();
    calls.peek().is_some() && calls.all(|call| call.function == one.function && call.at.start > one.at.end)
}

fn fault(program: &Program, load: &Call) -> Option<Found> {
    let name = load.name.strip_suffix(".load_state_dict").filter(|name| is_name(name))?;
    let (_, prefix) = wrapper(program, name, load)?;
    let inner = prefix.trim_end_matches('.');
    let given = load.arguments.first()?;
    let read = read_by(program, load)?;
    let key = key_of(&given.text);
    let saves: Vec<Saved> = program
        .calls
        .iter()
        .filter(|call| call.name == "torch.save")
        .map(|call| saved(program, call, key))
        .collect::<Option<Vec<Option<Saved>>>>()?
        .into_iter()
        .flatten()
        .collect();
    let first = saves.first().filter(|_| saves.iter().all(|one| is_plain(program, one)))?;
    let same = same_file(program, read, first, &given.text)?;
    let mismatch = Mismatch::of(program, load);
    let ends = match mismatch {
        Mismatch::Raises => "load_state_dict raises `Missing key(s) in state_dict`",
        Mismatch::Returned | Mismatch::Ignored => {
            "with strict=False nothing is loaded, no error is raised, and the model keeps its initial weights"
        }
    };
    let message = format!(
        "{name} is wrapped, so its keys begin with `{prefix}`; line {} saves keys without it (`{}`), and \
         none match: {ends}",
        first.call.line, first.value
    );
    let found = Found::error(load.line, message, format!("Write `{name}.{inner}.load_state_dict(…)`"));
    Some(found.unless_certain(same && mismatch != Mismatch::Returned))
}

/// The key of an entry: `model` of `state["model"]`.
fn key_of(text: &str) -> Option<&str> {
    let inner = text.strip_suffix(']')?;
    string(&inner[inner.rfind('[')? + 1..])
}

/// Weights that a program saves.
struct Saved<'p> {
    call: &'p Call,
    /// `model.module.state_dict()`.
    value: &'p str,
    /// The keys that are saved with them.
    keys: Vec<&'p str>,
}

/// What a call saves under a key, or as a whole: `Some(None)` if nothing, `None` if that is not known.
fn saved<'p>(program: &'p Program, call: &'p Call, key: Option<&str>) -> Option<Option<Saved<'p>>> {
    let text = program.origin(&call.argument(0, "obj")?.at, &call.function).text;
    let whole = text.ends_with(".state_dict()");
    match key {
        None if whole => Some(Some(Saved { call, value: text, keys: Vec::new() })),
        Some(_) if whole => Some(None),
        None => entries(text).map(|_| None),
        Some(key) => {
            let entries = entries(text)?;
            let keys: Vec<&str> = entries.iter().filter_map(|(name, _)| string(name)).collect();
            let value = entries.iter().find(|(name, _)| string(name) == Some(key)).map(|(_, value)| *value);
            Some(value.map(|value| Saved { call, value, keys }))
        }
    }
}

/// Whether these are the weights of a model without its wrapper.
fn is_plain(program: &Program, saved: &Saved) -> bool {
    let Some(model) = saved.value.strip_suffix(".state_dict()") else { return false };
    if model.ends_with(".module") || model.ends_with("._orig_mod") || model.contains("unwrap_model(") {
        return true;
    }
    // A variable that is never a wrapper.
    let mut sets = program.assignments.iter().filter(|one| one.name == model).peekable();
    let parameter =
        program.functions.iter().any(|one| one.parameters.iter().any(|given| given.name == model));
    let wraps = |one: &Assignment| {
        program.call_at(&one.at).is_none_or(|call| WRAPPERS.iter().any(|(name, _)| call.name.ends_with(name)))
    };
    sets.peek().is_some() && !parameter && !sets.any(wraps)
}

/// Whether the file that is read is certainly the one that is saved; `None` if it is another one.
fn same_file(program: &Program, read: &Call, saved: &Saved, given: &str) -> Option<bool> {
    let from = program.origin(&read.argument(0, "f")?.at, &read.function).text;
    let to = program.origin(&saved.call.argument(1, "f")?.at, &saved.call.function).text;
    let other = ["pretrained", "init", "base", "teacher"];
    let fixed = string(from).is_some() && string(to).is_some() && from != to;
    if fixed || other.iter().any(|word| from.to_ascii_lowercase().contains(word)) {
        return None;
    }
    // A state that also has what else is saved with the weights.
    let state = given.split('[').next().unwrap_or_default();
    let asked = saved.keys.iter().filter(|key| {
        let texts = [format!("{state}[\"{key}\"]"), format!("{state}['{key}']")];
        is_name(state) && texts.iter().any(|text| program.text.contains(text.as_str()))
    });
    Some(from == to || asked.count() > 1)
}
