//! A timeout of collectives in a wrong unit.

use crate::read::python::{Call, Program, number};
use crate::rule::{Found, Judge, Rule, Severity, named};
use catalog::distributed_functions::Kind;

pub(crate) const RULE: Rule = Rule {
    id: "timeout-unit-wrong",
    severity: Severity::Error,
    summary: "timeouts are timedelta values of minutes, not accidentally days or plain numbers",
    explain: include_str!("timeout_unit_wrong.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom datetime import timedelta\n\
             dist.init_process_group(\"nccl\", timeout=1800)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom datetime import timedelta\n\
             dist.init_process_group(\"nccl\", timeout=timedelta(secnotallow=60))\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom datetime import timedelta\n\
             dist.init_process_group(\"nccl\", timeout=timedelta(seconds=7200000))\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom datetime import timedelta\n\
             dist.init_process_group(\"nccl\", timeout=timedelta(1800))\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom datetime import timedelta\n\
             dist.init_process_group(\"nccl\", timeout=timedelta(seconds=60))\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom datetime import timedelta\n\
             dist.init_process_group(\"nccl\", timeout=timedelta(hours=2))\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.distributed as dist\nfrom datetime import timedelta\n\
             import datetime\ndist.init_process_group(\"nccl\", \
             timeout=datetime.timedelta(seconds=args.timeout))\nx = timedelta(30)\n",
        ),
    ],
};

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
    let takers = program.catalog.distributed_functions();
    for call in program.calls.iter().filter(|call| takers.is(&call.name, Kind::Timeout)) {
        let Some(timeout) = call.keyword("timeout") else { continue };
        if number(&timeout.text).is_some() {
            let message =
                format!("timeout={} is a number, but a timedelta is required; the call fails", timeout.text);
            found.push(Found::error(
                timeout.line,
                message,
                format!("Use timeout=timedelta(seconds={})", timeout.text),
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
    let message = format!(
        "timedelta has no argument {}; the call fails with \
         TypeError",
        wrong.name.as_deref().unwrap_or_default()
    );
    Some(Found::error(wrong.line, message, format!("Use timedelta(seconds={})", wrong.text)))
}

/// What is wrong with the length of a timeout.
fn length(span: &Call) -> Option<Found> {
    let mut seconds = 0.0;
    for (index, one) in span.arguments.iter().enumerate() {
        let unit = match &one.name {
            Some(name) => UNITS.iter().find(|(unit, _)| unit == name),
            None => UNITS.get(index),
        };
        seconds += number(&one.text)? * unit?.1;
    }
    let first = span.arguments.first()?;
    if first.name.is_none() && seconds >= 86400.0 {
        let message =
            format!("timedelta({}) is {} days; the first argument is days", first.text, seconds / 86400.0);
        return Some(Found::warning(span.line, message, format!("Use timedelta(seconds={})", first.text)));
    }
    if seconds >= WEEK {
        let message =
            format!("timeout is {:.0} days; a dead rank is detected only after that", seconds / 86400.0);
        return Some(Found::warning(
            span.line,
            message,
            "Use timedelta(minutes=30), or the longest expected wait",
        ));
    }
    let short = seconds > 0.0 && seconds <= 60.0;
    let message = format!(
        "timeout of {seconds} s is too short for model loading, checkpoints or the first compilation"
    );
    short.then(|| Found::note(span.line, message, "Use the default, timedelta(minutes=10)"))
}
