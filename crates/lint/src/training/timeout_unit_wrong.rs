//! A timeout of collectives in a wrong unit.

use crate::read::python::{Call, Program, number};
use crate::rule::{Found, Judge, Rule, Severity, named};

/// The rule.
pub const RULE: Rule = Rule {
    id: "timeout-unit-wrong",
    severity: Severity::Error,
    summary: "timeouts are timedeltas of minutes, not of days or seconds that were meant otherwise",
    explain: include_str!("timeout_unit_wrong.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom datetime import timedelta\ndist.init_process_group(\"nccl\", timeout=1800)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom datetime import timedelta\ndist.init_process_group(\"nccl\", timeout=timedelta(secnotallow=60))\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom datetime import timedelta\ndist.init_process_group(\"nccl\", timeout=timedelta(seconds=7200000))\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom datetime import timedelta\ndist.init_process_group(\"nccl\", timeout=timedelta(1800))\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom datetime import timedelta\ndist.init_process_group(\"nccl\", timeout=timedelta(seconds=60))\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom datetime import timedelta\ndist.init_process_group(\"nccl\", timeout=timedelta(hours=2))\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom datetime import timedelta\nimport datetime\ndist.init_process_group(\"nccl\", timeout=datetime.timedelta(seconds=args.timeout))\nx = timedelta(30)\n",
        ),
    ],
};

/// Functions that take a timedelta.
const TAKERS: &[&str] = &[
    "torch.distributed.init_process_group",
    "torch.distributed.new_group",
    "deepspeed.init_distributed",
    "deepspeed.comm.init_distributed",
    "accelerate.InitProcessGroupKwargs",
    "accelerate.utils.InitProcessGroupKwargs",
];
/// Arguments of timedelta in their order, and their seconds.
const UNITS: &[(&str, f64)] = &[
    ("days", 86400.0),
    ("seconds", 1.0),
    ("microseconds", 1e-6),
    ("milliseconds", 1e-3),
    ("minutes", 60.0),
    ("hours", 3600.0),
    ("weeks", 604_800.0),
];
const WEEK: f64 = 604_800.0;

fn judge(program: &Program) -> Vec<Found> {
    let mut found: Vec<Found> = program.calls.iter().filter_map(garbled).collect();
    for call in program.calls.iter().filter(|call| TAKERS.contains(&call.name.as_str())) {
        let Some(timeout) = call.keyword("timeout") else { continue };
        if number(&timeout.text).is_some() {
            let says = format!(
                "timeout={} is a number: a timedelta is wanted, and anything else is refused",
                timeout.text
            );
            found.push(Found::error(
                timeout.line,
                says,
                format!("timeout=timedelta(seconds={})", timeout.text),
            ));
            continue;
        }
        let through = program.value(&timeout.text, &call.function, call.at.start);
        let at = through.map_or(&timeout.at, |one| &one.at);
        let span = program.call_at(at).filter(|span| is_timedelta(span));
        found.extend(span.and_then(length));
    }
    found
}

fn is_timedelta(call: &Call) -> bool {
    matches!(call.name.as_str(), "datetime.timedelta" | "datetime.datetime.timedelta")
}

/// A keyword that timedelta does not have: `secnotallow=60`.
fn garbled(call: &Call) -> Option<Found> {
    if !is_timedelta(call) {
        return None;
    }
    let wrong = call.arguments.iter().find(|one| {
        one.name.as_deref().is_some_and(|name| name != "*" && !UNITS.iter().any(|(unit, _)| *unit == name))
    })?;
    let says =
        format!("timedelta has no argument {}: a TypeError", wrong.name.as_deref().unwrap_or_default());
    Some(Found::error(wrong.line, says, format!("timedelta(seconds={})", wrong.text)))
}

/// What is wrong with the length of a timeout.
fn length(span: &Call) -> Option<Found> {
    let mut seconds = 0.0;
    for (place, one) in span.arguments.iter().enumerate() {
        let unit = match &one.name {
            Some(name) => UNITS.iter().find(|(unit, _)| unit == name),
            None => UNITS.get(place),
        };
        seconds += number(&one.text)? * unit?.1;
    }
    let first = span.arguments.first()?;
    if first.name.is_none() && seconds >= 86400.0 {
        let says =
            format!("timedelta({}) is {} days: its first argument is days", first.text, seconds / 86400.0);
        return Some(Found::warning(span.line, says, format!("timedelta(seconds={})", first.text)));
    }
    if seconds >= WEEK {
        let says =
            format!("a timeout of {:.0} days: a rank that died is noticed only then", seconds / 86400.0);
        return Some(Found::warning(
            span.line,
            says,
            "timedelta(minutes=30), or what the longest wait really takes",
        ));
    }
    let short = seconds > 0.0 && seconds <= 60.0;
    let says = format!(
        "a timeout of {seconds} s is too short for loading a model, checkpoints or the first compilation"
    );
    short.then(|| Found::note(span.line, says, "timedelta(minutes=10) is the default"))
}
