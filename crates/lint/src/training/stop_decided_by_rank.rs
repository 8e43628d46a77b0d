//! A loop that each rank leaves by its own measurement.

use std::collections::BTreeSet;

use crate::read::python::{Branch, Call, Function, Program, contains, is_name, names};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "stop-decided-by-rank",
    severity: Severity::Warning,
    summary: "all ranks leave the training in the same epoch",
    explain: include_str!("stop_decided_by_rank.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\nfrom \
             torch.utils.data.distributed import DistributedSampler\ndef run_eval(model, loader):\n    tot = \
             0.0\n    for x, y in loader:\n        tot += f(model(x), y).item()\n    return tot\ndef \
             main():\n    \
             dist.init_process_group(\"nccl\")\n    ts = DistributedSampler(train)\n    vs = \
             DistributedSampler(val, shuffle=False)\n    model = DDP(net)\n    best, bad = 1e9, 0\n    for \
             epoch in \
             range(100):\n        for x, y in tr:\n            loss = f(model(x), y)\n            \
             loss.backward()\n        val_loss = run_eval(model, va)\n        if val_loss < \
             best:\n            \
             best, bad = val_loss, 0\n        else:\n            bad += 1\n        if bad >= 5:\n            \
             break\nmain()\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\nfrom \
             torch.utils.data import DistributedSampler\ndist.init_process_group(\"nccl\")\nts = \
             DistributedSampler(train)\nmodel = DDP(net)\nfor epoch in range(100):\n    for x in \
             tr:\n        loss \
             = model(x).mean()\n        loss.backward()\n        opt.step()\n    last = \
             loss.item()\n    if last < \
             0.01:\n        break\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\nfrom torch.utils.data import DataLoader, DistributedSampler\ndef loader(ds):\n    return \
             DataLoader(ds, sampler=DistributedSampler(ds))\ndef score(m, batches):\n    return \
             sum(m(x).sum() for x in batches).item()\ndist.init_process_group(\"nccl\")\ntr = loader(a)\nva \
             = loader(b)\nmodel = DDP(net)\nworse = 0\nhigh = 0\nfor epoch in range(100):\n    for x in \
             tr:\n        model(x).mean().backward()\n    s = score(model.module, va)\n    if s <= \
             high:\n        worse += 1\n    if worse == 3:\n        break\n",
        ),
    ],
    silent: &[
        // Only the loader of the training has a sampler.
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\nfrom torch.utils.data import DataLoader, DistributedSampler\ndef make(ds, split):\n    s = \
             DistributedSampler(ds) if split else None\n    return DataLoader(ds, sampler=s)\ndef score(m, \
             loader):\n    return sum(m(x).sum().item() for x in loader)\ndist.init_process_group(\"nccl\")\n\
             tr, va = make(a, True), make(b, False)\nmodel = DDP(net)\nfor epoch in range(100):\n    for x \
             in tr:\n        model(x).mean().backward()\n    s = score(model.module, va)\n    if s > \
             0.9:\n        break\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\nfrom \
             torch.utils.data import DistributedSampler\ndist.init_process_group(\"nccl\")\nts = \
             DistributedSampler(train)\nmodel = DDP(net)\nfor epoch in range(100):\n    for x in \
             tr:\n        loss \
             = model(x).mean()\n        loss.backward()\n    t = \
             loss.detach()\n    dist.all_reduce(t)\n    last = \
             t.item()\n    if last < 0.01:\n        break\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\nfrom \
             torch.utils.data import DistributedSampler\ndist.init_process_group(\"nccl\")\nts = \
             DistributedSampler(train)\nmodel = DDP(net)\nstep = 0\nfor epoch in range(100):\n    for x in \
             tr:\n        \
             loss = model(x).mean()\n        loss.backward()\n        step += 1\n    if step >= \
             1000:\n        \
             break\n",
        ),
        named(
            "train.py",
            "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as \
             DDP\nfrom \
             torch.utils.data import DistributedSampler\ndist.init_process_group(\"nccl\")\nts = \
             DistributedSampler(train)\nmodel = DDP(net)\nfor epoch in range(100):\n    for x in \
             tr:\n        loss \
             = model(x).mean()\n        loss.backward()\n    acc = evaluate(model, whole_val)\n    if acc \
             > 0.9:\n        \
             break\n",
        ),
    ],
};

/// What makes a value the same on all ranks, or takes care of ranks that end early.
const SHARED: &[&str] = &[
    "all_reduce",
    "reduce(",
    "broadcast",
    "all_gather",
    "gather(",
    "Join(",
    "join(",
    "accelerat",
    "lightning",
    "torchmetrics",
    "deepspeed",
    "Trainer",
    "monitored_barrier",
    "sync_dist",
];

/// How far a condition is followed to what it depends on.
const STEPS_LIMIT: usize = 6;

fn judge(program: &Program) -> Vec<Found> {
    let wrapped = program.calls.iter().any(|call| call.name.ends_with("DistributedDataParallel"));
    let started = program.calls.iter().any(|call| call.name == "torch.distributed.init_process_group");
    let samplers = samplers(program);
    let bare = program.text.replace(".join(", "").replace("os.path", "");
    if !wrapped || !started || samplers == 0 || SHARED.iter().any(|word| bare.contains(word)) {
        return Vec::new();
    }
    let found = program.branches.iter().find_map(|branch| fault(program, branch, samplers));
    found.into_iter().collect()
}

/// How many parts of data the program makes for each rank; a function that makes one does in each of its
/// calls.
fn samplers(program: &Program) -> usize {
    let makes = |call: &&Call| {
        call.name.ends_with("DistributedSampler") || call.name.ends_with("split_dataset_by_node")
    };
    let makers = program.calls.iter().filter(makes).map(|call| {
        let inner = |one: &&Function| one.at == call.function && !call.conditional;
        let function = program.functions.iter().find(inner).filter(|one| one.name != "main");
        function.map_or(1, |one| program.calls.iter().filter(|other| other.name == one.name).count().max(1))
    });
    makers.sum()
}

fn fault(program: &Program, branch: &Branch, samplers: usize) -> Option<Found> {
    let body = program.text.get(branch.at.clone())?.trim();
    let stops =
        body == "break" || body.starts_with("break") || body.ends_with("\nbreak") || ends_with_break(body);
    // The loop that is left trains: its body has the backward pass.
    let left = program.loop_at(&branch.at)?;
    let trains =
        program.calls.iter().any(|call| call.name.ends_with(".backward") && contains(left, &call.at));
    if !stops || branch.otherwise || !trains || branch.condition.contains("rank") {
        return None;
    }
    let (own, what) = measured(program, branch)?;
    // A validation on all of the data has the same result everywhere.
    if samplers < 2 && !own {
        return None;
    }
    let condition = branch.condition.replace('\n', " ");
    let line = program.text.get(..branch.at.start)?.lines().count();
    let message = format!(
        "`{condition}` depends on {what}, which each rank computes from its own part of the data: the \
         ranks leave \
         the loop in different epochs, and those that go on wait for the others in DistributedDataParallel"
    );
    let fix = "Average the value with `dist.all_reduce` before it decides";
    Some(Found::warning(line, message, fix))
}

fn ends_with_break(body: &str) -> bool {
    body.lines().last().is_some_and(|line| line.trim() == "break")
}

/// The value that a condition depends on and that comes from `.item()`, and whether it is of the training
/// itself.
fn measured(program: &Program, branch: &Branch) -> Option<(bool, String)> {
    let mut wanted: Vec<String> = identifiers(&branch.condition);
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for _ in 0..STEPS_LIMIT {
        let mut next = Vec::new();
        for name in wanted.into_iter().filter(|name| seen.insert(name.clone())) {
            // A count that some branch changes depends on its condition.
            let changes = program.sums.iter().filter(|sum| sum.name == name);
            for sum in changes {
                next.extend(
                    program.branches_at(&sum.at, &sum.function).flat_map(|one| identifiers(&one.condition)),
                );
            }
            for set in program.assignments.iter().filter(|one| one.name == name) {
                if set.text.contains(".item()") {
                    return Some((true, name));
                }
                let called = program.call_at(&set.at).and_then(|call| program.function(&call.name));
                let text = called.and_then(|function| program.text.get(function.at.clone()));
                if text.is_some_and(|text| text.contains(".item()")) {
                    return Some((false, name));
                }
                next.extend(identifiers(&set.text).into_iter().take(STEPS_LIMIT));
            }
        }
        wanted = next;
    }
    None
}

fn identifiers(text: &str) -> Vec<String> {
    names(text).filter(|name| is_name(name) && !name.contains('.')).map(str::to_owned).collect()
}
