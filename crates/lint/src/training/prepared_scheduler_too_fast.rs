//! A scheduler that Accelerate steps once for each process, with the length of one process.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::accelerate_starts::ranks;
use crate::read::python::{Assignment, Call, Program, contains, names};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

/// A program whose scheduler Accelerate steps once for each process.
const PREPARED: &str = "import torch\nfrom accelerate import Accelerator\nfrom transformers import \
                        get_linear_schedule_with_warmup\nacc = Accelerator()\nmodel, opt, loader = \
                        acc.prepare(model, opt, loader)\nsteps = 3 * len(loader)\nsched = \
                        get_linear_schedule_with_warmup(opt, 100, steps)\nsched = acc.prepare(sched)\nfor \
                        epoch in range(3):\n    for batch in loader:\n        \
                        acc.backward(model(batch).loss)\n        opt.step()\n        sched.step()\n";

pub(crate) const RULE: Rule = Rule {
    id: "prepared-scheduler-too-fast",
    severity: Severity::Error,
    summary: "schedulers that Accelerate prepares count the steps of all processes",
    explain: include_str!("prepared_scheduler_too_fast.md"),
    judge: Judge::Training(judge),
    fires: &[
        named_with("tune.py", PREPARED, &[("acc.yaml", "distributed_type: MULTI_GPU\nnum_processes: 4\n")]),
        named(
            "tune.py",
            "import torch\nfrom accelerate import Accelerator\ndef main(args):\n    accelerator = \
             Accelerator(gradient_accumulation_steps=2)\n    train = \
             accelerator.prepare(train)\n    updates = \
             len(train) // 2\n    total = args.epochs * updates\n    cosine = \
             torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=total)\n    model, opt, cosine = \
             accelerator.prepare(model, opt, cosine)\n    for step, batch in enumerate(train):\n        \
             opt.step()\n        cosine.step()\n",
        ),
    ],
    silent: &[
        named_with(
            "tune.py",
            PREPARED,
            &[("acc.yaml", "distributed_type: MULTI_GPU\nnum_processes: 1 # a smaller card\n")],
        ),
        named_with(
            "tune.py",
            PREPARED,
            &[(
                "run.sh",
                "accelerate launch tune.py\naccelerate launch tune.py --num_processes 4\naccelerate \
              launch \\\n  tune.py\naccelerate launch --mixed_precision bf16 --num_processes 1 \\\n  \
              tune.py\n",
            )],
        ),
        named(
            "tune.py",
            "import torch\nfrom accelerate import Accelerator\nacc = Accelerator()\nsteps = 3 * \
             len(loader)\nsched = torch.optim.lr_scheduler.LinearLR(opt, total_iters=steps)\nmodel, opt, \
             loader, sched = acc.prepare(model, opt, loader, sched)\nfor batch in loader:\n    \
             opt.step()\n    sched.step()\n",
        ),
        named(
            "tune.py",
            "import torch\nfrom accelerate import Accelerator\nacc = Accelerator()\nmodel, opt, loader = \
             acc.prepare(model, opt, loader)\nsteps = 3 * len(loader) * acc.num_processes\nsched = \
             acc.prepare(torch.optim.lr_scheduler.LinearLR(opt, total_iters=steps))\nfor batch in \
             loader:\n    opt.step()\n    sched.step()\n",
        ),
        named(
            "tune.py",
            "import torch\nfrom accelerate import Accelerator\nacc = Accelerator()\nmodel, opt, loader = \
             acc.prepare(model, opt, loader)\nsteps = 3 * len(loader)\nsched = \
             torch.optim.lr_scheduler.LinearLR(opt, total_iters=steps)\nfor batch in loader:\n    \
             opt.step()\n    sched.step()\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let other = ["split_batches", "step_scheduler_with_optimizer", "DummyScheduler", "DeepSpeedPlugin"];
    if other.iter().any(|word| program.text.contains(word)) {
        return Vec::new();
    }
    let mut made = program.calls.iter().filter(|call| call.name.rsplit('.').next() == Some("Accelerator"));
    let Some(accelerator) = made.next().filter(|_| made.next().is_none()) else { return Vec::new() };
    let Some(name) = program.assignments.iter().find(|one| one.at == accelerator.at) else {
        return Vec::new();
    };
    let prepare = format!("{}.prepare", name.name);
    let prepares: Vec<&Call> =
        program.calls.iter().filter(|call| call.name == prepare).take(PREPARES_LIMIT).collect();
    let found = prepares.iter().find_map(|call| {
        call.arguments.iter().find_map(|one| fault(program, accelerator, &prepares, call, &one.at))
    });
    found.into_iter().collect()
}

/// Calls of prepare that are looked at.
const PREPARES_LIMIT: usize = 50;

fn fault(
    program: &Program,
    accelerator: &Call,
    prepares: &[&Call],
    prepare: &Call,
    at: &Range<usize>,
) -> Option<Found> {
    let scheduler = made_before(program, prepare, at)?;
    let (name, loader) = steps_with(program, prepare)?;
    // The loader's own prepare, before the length was taken.
    let first = prepares.iter().find(|one| one.arguments.iter().any(|one| one.text == loader))?;
    let mut lengths =
        Lengths { program, loader, after: first, found: None, all: String::new(), seen: BTreeSet::new() };
    for one in &scheduler.arguments {
        lengths.follow(&one.text, &one.at, &scheduler.function, STEPS_LIMIT);
    }
    let accumulates = accelerator.keyword("gradient_accumulation_steps").is_some();
    let known = ["num_processes", "world_size"].iter().any(|word| lengths.all.contains(word));
    let length = lengths.found.filter(|_| !known && (!accumulates || lengths.all.contains('/')))?;
    let counts = ranks(program);
    if counts.contains(&Some(1)) {
        return None;
    }
    let processes = counts.first().filter(|first| counts.iter().all(|count| count == *first));
    let processes = processes.copied().flatten();
    let times =
        processes.map_or_else(|| "once for each process".to_owned(), |count| format!("{count} times"));
    let message = format!(
        "Accelerate advances {name} {times} per optimizer step, but its length comes from \
         len({loader}) in line {length}, which counts the batches of one process: the schedule ends early"
    );
    let fix =
        format!("Take the length before {loader} is prepared, or multiply it by accelerator.num_processes");
    Some(Found::error(scheduler.line, message, fix).unless_certain(processes.is_some()))
}

/// The scheduler that goes into a call, as it was made before.
fn made_before<'p>(program: &'p Program, prepare: &Call, at: &Range<usize>) -> Option<&'p Call> {
    let name = program.text.get(at.clone())?;
    let set = program.value(name, &prepare.function, prepare.at.start);
    let made = program.call_at(at).or_else(|| program.call_at(&set?.at))?;
    is_scheduler(made).then_some(made)
}

/// A call that makes a scheduler of learning rates.
fn is_scheduler(call: &Call) -> bool {
    let last = call.name.rsplit('.').next().unwrap_or_default();
    call.name.starts_with("torch.optim.lr_scheduler.")
        || last == "get_scheduler"
        || last.starts_with("get_") && last.contains("_schedule")
}

/// The name under which a prepared scheduler is stepped for each batch, and the loader that it loops over.
fn steps_with<'p>(program: &'p Program, prepare: &'p Call) -> Option<(&'p str, &'p str)> {
    let set = program.assignments.iter().find(|one| one.at == prepare.at)?;
    let results = set.name.trim_matches(['(', ')']).split(',').map(str::trim);
    results.into_iter().find_map(|name| {
        let step = program.calls.iter().find(|call| {
            call.name.strip_suffix(".step") == Some(name)
                && call.function == prepare.function
                && call.arguments.is_empty()
        })?;
        let made = match set.name.contains(',') {
            false => prepare.arguments.first()?,
            true => prepare.arguments.iter().find(|one| one.text == name)?,
        };
        made_before(program, prepare, &made.at)?;
        let around = program.loops.iter().filter(|one| contains(&one.body, &step.at));
        let inner = around.min_by_key(|one| one.body.len())?;
        let through = inner.through.trim();
        let through =
            through.strip_prefix("enumerate(").or_else(|| through.strip_prefix("tqdm(")).unwrap_or(through);
        Some((name, through.split([',', ')']).next()?.trim()))
    })
}

/// How many names are followed.
const STEPS_LIMIT: usize = 4;

/// Expressions that are followed.
const SEEN_LIMIT: usize = 100;

/// What the length of a scheduler is made of.
struct Lengths<'p> {
    program: &'p Program,
    loader: &'p str,
    /// The call that prepares the loader.
    after: &'p Call,
    /// The line of `len(loader)` behind it.
    found: Option<usize>,
    /// The texts of all expressions.
    all: String,
    /// Where those that were followed begin.
    seen: BTreeSet<usize>,
}

impl Lengths<'_> {
    fn follow(&mut self, text: &str, at: &Range<usize>, function: &Range<usize>, steps: usize) {
        if self.seen.len() >= SEEN_LIMIT || !self.seen.insert(at.start) {
            return;
        }
        self.all.push_str(text);
        self.all.push('\n');
        let from = self.program.calls.partition_point(|call| call.at.start < at.start);
        let within = self.program.calls[from..].iter().take_while(|call| call.at.start < at.end);
        let mut lengths = within.filter(|call| {
            let of_loader =
                call.name == "len" && call.arguments.first().is_some_and(|one| one.text == self.loader);
            of_loader && call.function == self.after.function && call.at.start > self.after.at.end
        });
        self.found = self.found.or_else(|| lengths.next().map(|call| call.line));
        if steps == 0 {
            return;
        }
        let sets: Vec<&Assignment> =
            names(text).filter_map(|name| self.program.value(name, function, at.start)).collect();
        for set in sets.into_iter().filter(|set| set.at.end < at.start) {
            self.follow(&set.text, &set.at, &set.function, steps - 1);
        }
    }
}
