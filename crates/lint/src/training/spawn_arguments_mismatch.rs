//! A function that is started as a process with other arguments than it takes.

use crate::read::python::{Argument, Call, Function, ParameterKind, Program, contains};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "spawn-arguments-mismatch",
    severity: Severity::Error,
    summary: "functions that run as processes take the arguments that they are given",
    explain: include_str!("spawn_arguments_mismatch.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import torch\nimport torch.multiprocessing as mp\ndef worker(world_size, epochs):\n    pass\n\
             if __name__ == \"__main__\":\n    mp.spawn(worker, args=(4, 100), nprocs=4)\n",
        ),
        named(
            "train.py",
            "import torch\nfrom torch.multiprocessing import spawn\ndef main(rank, world_size):\n    pass\n\
             n = torch.cuda.device_count()\nspawn(main, nprocs=n, args=(n))\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.multiprocessing as mp\ndef run(rank, world_size, args):\n    pass\n\
             for rank in range(2):\n    p = mp.Process(target=run, args=(rank, 2))\n    p.start()\n",
        ),
        named(
            "train.py",
            "import argparse\nimport torch.multiprocessing as mp\ndef worker(gpu, args):\n    pass\n\
             args = argparse.ArgumentParser().parse_args()\nmp.spawn(worker, nprocs=args.n, args=args)\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\nimport torch.multiprocessing as mp\ndef worker(rank, world_size, epochs=1):\n    \
             pass\n\
             n = torch.cuda.device_count()\nmp.spawn(worker, args=(n,), nprocs=n)\n\
             mp.spawn(worker, args=(n, 3,), nprocs=n)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.multiprocessing as mp\ndef worker(*args):\n    pass\n@wrapped\n\
             def other(a):\n    pass\nmp.spawn(worker, args=(1, 2), nprocs=4)\n\
             mp.spawn(other, args=(1, 2), nprocs=4)\nmp.spawn(worker, args=(*more, 2), nprocs=4)\n\
             mp.spawn(elsewhere, args=(1), nprocs=4)\n",
        ),
        named(
            "train.py",
            "import torch\nimport torch.multiprocessing as mp\ndef worker(rank, a, b):\n    pass\n\
             args = (1, 2)\nmp.spawn(worker, args=args, nprocs=4)\np = mp.Process(target=worker, \
             args=(1,), kwargs={\"a\": 1, \"b\": 2})\n",
        ),
    ],
};

/// Decorators that hand on what they are called with.
const TRANSPARENT: &[&str] = &["@record", "@torch.no_grad()", "@torch.inference_mode()"];

fn judge(program: &Program) -> Vec<Found> {
    program.calls.iter().filter_map(|call| fault(program, call)).collect()
}

/// How a call starts a function.
struct Start<'p> {
    function: &'p Argument,
    args: Option<&'p Argument>,
    /// What it puts before the arguments: mp.spawn the index of the process.
    before: usize,
    /// For people: `mp.spawn`.
    name: &'static str,
}

fn start(call: &Call) -> Option<Start<'_>> {
    let (module, last) = call.name.rsplit_once('.').unwrap_or(("", call.name.as_str()));
    let spawns = matches!(module, "torch.multiprocessing" | "torch_xla.distributed.xla_multiprocessing");
    if spawns && matches!(last, "spawn" | "start_processes") {
        let name = if last == "spawn" { "mp.spawn" } else { "start_processes" };
        return Some(Start {
            function: call.argument(0, "fn")?,
            args: call.argument(1, "args"),
            before: 1,
            name,
        });
    }
    if last != "Process" || call.keyword("kwargs").is_some() {
        return None;
    }
    Some(Start { function: call.keyword("target")?, args: call.keyword("args"), before: 0, name: "Process" })
}

fn fault(program: &Program, call: &Call) -> Option<Found> {
    let Start { function, args, before, name } = start(call)?;
    let spread = call.arguments.iter().any(|one| one.name.as_deref() == Some("*"));
    let taken = program.function(&function.text).filter(|_| !spread)?;
    if let Some(args) = args
        && let Some(what) = no_tuple(program, call, args)
    {
        let message = format!(
            "args of {name} is {what}, not a tuple of arguments; it fails with `TypeError: … must be an \
             iterable`"
        );
        let inner = args.text.trim_start_matches('(').trim_end_matches(')');
        let whole =
            if args.text.starts_with('(') && inner.contains('(') { args.text.as_str() } else { inner };
        let fix = format!("Write the comma of a tuple: `args=({},)`", whole.trim());
        return Some(Found::error(args.line, message, fix));
    }
    let given = before + count(program, call, args)?;
    let (least, most) = places(program, taken)?;
    if (least..=most).contains(&given) {
        return None;
    }
    let index = if before == 1 { ", the index of the process and those of args" } else { "" };
    let takes = match least == most {
        true => format!("{least}"),
        false => format!("{least} to {most}"),
    };
    let message = format!(
        "{name} calls {} with {given} arguments{index}, but it takes {takes}; every process fails with \
         TypeError",
        taken.name
    );
    // Without a parameter for the index the function is the place to look at.
    let lacks_index = before == 1 && given == most + 1;
    let (line, fix) = match lacks_index {
        true => (taken.line, format!("Write `def {}(rank, …)`: the first argument is the index", taken.name)),
        false => {
            let place = format!("{} in line {}", taken.name, taken.line);
            (call.line, format!("Give it {takes} arguments, or change {place}"))
        }
    };
    Some(Found::error(line, message, fix))
}

/// How many arguments by place a function takes: at least and at most.
fn places(program: &Program, function: &Function) -> Option<(usize, usize)> {
    let plain = function.decorators.iter().all(|one| TRANSPARENT.contains(&one.trim()));
    let is_method = program.classes.iter().any(|class| contains(&class.at, &function.at));
    let replaced = program.assignments.iter().any(|one| one.name == function.name);
    if !plain || is_method || replaced {
        return None;
    }
    let mut counts = (0, 0);
    for one in &function.parameters {
        match one.kind {
            ParameterKind::Place => {
                counts.0 += usize::from(one.default.is_none());
                counts.1 += 1;
            }
            ParameterKind::Name if one.default.is_none() => return None,
            ParameterKind::Rest => return None,
            ParameterKind::Name | ParameterKind::Names => {}
        }
    }
    Some(counts)
}

/// How many arguments a tuple has, written in the call or assigned to a name.
fn count(program: &Program, call: &Call, args: Option<&Argument>) -> Option<usize> {
    let Some(args) = args else { return Some(0) };
    elements(&args.text).or_else(|| {
        let mut sets = program.assignments.iter().filter(|one| one.name == args.text);
        let set = sets.next().filter(|one| one.function == call.function && one.at.start < call.at.start)?;
        let changed = program.sums.iter().any(|one| one.name == args.text);
        elements(&set.text).filter(|_| sets.next().is_none() && !changed)
    })
}

/// The number of elements of a tuple or a list as written.
fn elements(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let list = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let (inner, is_tuple) = inner.map(|inner| (inner, true)).or(list.map(|inner| (inner, false)))?;
    if inner.trim().is_empty() {
        return Some(0);
    }
    let (parts, closed) = split(inner)?;
    let trailing = inner.trim_end().ends_with(',');
    let spread = parts.iter().any(|part| part.trim_start().starts_with('*') || part.contains(" for "));
    let whole = closed && !spread && (!is_tuple || parts.len() != 1 || trailing);
    whole.then(|| parts.iter().filter(|part| !part.trim().is_empty()).count())
}

/// The parts of a text between its commas, and whether all brackets are closed; `None` with a comment or a
/// lambda in it.
fn split(text: &str) -> Option<(Vec<&str>, bool)> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_usize, None);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '#') => return None,
            (None, '(' | '[' | '{') => depth += 1,
            // `(a) + (b)`: what the text began with ends before its end.
            (None, ')' | ']' | '}') => depth = depth.checked_sub(1)?,
            (None, ',') if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    let has_lambda = parts.iter().any(|part| part.contains("lambda"));
    (!has_lambda).then_some((parts, depth == 0 && quote.is_none()))
}

/// What the value of args is, where it certainly cannot be spread: a number, the result of parse_args.
fn no_tuple(program: &Program, call: &Call, args: &Argument) -> Option<String> {
    let mut inner = args.text.as_str();
    while let Some(rest) = inner.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        let (parts, closed) = split(rest).filter(|(parts, _)| parts.len() == 1)?;
        if !closed || parts[0].trim().is_empty() {
            return None;
        }
        inner = parts[0].trim();
    }
    if let Some(what) = single(inner) {
        return Some(what.to_owned());
    }
    let mut sets = program.assignments.iter().filter(|one| one.name == inner);
    let set = sets.next()?;
    let looped = program.loops.iter().any(|one| one.over == inner);
    let is_only = sets.next().is_none() && set.function == call.function && set.at.start < call.at.start;
    single(&set.text).filter(|_| is_only && !looped).map(|what| format!("{inner}, {what}"))
}

/// What an expression is, where that is one value.
fn single(text: &str) -> Option<&'static str> {
    let number = text.replace('_', "").parse::<f64>().is_ok();
    let calls = ["int(", "len(", "torch.cuda.device_count("];
    let called = calls.iter().any(|start| {
        let rest = text.strip_prefix(start).and_then(|rest| rest.strip_suffix(')'));
        rest.and_then(split).is_some_and(|(_, closed)| closed)
    });
    let parsed = text.ends_with(".parse_args()") && !text.contains([',', ' ']);
    match (number || called, parsed) {
        (true, _) => Some("a number"),
        (false, true) => Some("the result of parse_args"),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples() {
        let cases = [
            ("(a, b)", Some(2)),
            ("(a,)", Some(1)),
            ("()", Some(0)),
            ("(f(x, y), {1: 2}, 'a,b')", Some(3)),
            ("[a]", Some(1)),
            ("(a)", None),
            ("(a, *b)", None),
            ("(a, b) + (c, d)", None),
            ("a", None),
        ];
        for (text, expected) in cases {
            assert_eq!(elements(text), expected, "{text}");
        }
    }
}
