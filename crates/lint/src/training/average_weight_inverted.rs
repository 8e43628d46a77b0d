//! A running average of weights that takes the decay for the weight of the new value.

use std::ops::Range;

use crate::read::python::{Call, Program, contains, number, string};
use crate::rule::{Found, Judge, Rule, Severity, named};

pub(crate) const RULE: Rule = Rule {
    id: "average-weight-inverted",
    severity: Severity::Error,
    summary: "a running average of weights keeps the share that its decay says",
    explain: include_str!("average_weight_inverted.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import copy\nimport torch\nclass Average:\n    def __init__(self, net, decay=0.999):\n        \
             self.net = copy.deepcopy(net)\n        self.decay = decay\n    @torch.no_grad()\n    def \
             update(self, net):\n        for mean, new in zip(self.net.parameters(), \
             net.parameters()):\n            \
             mean.lerp_(new, self.decay)\naverage = Average(net)\n",
        ),
        named(
            "train.py",
            "import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument(\"--ema-decay\", \
             type=float, default=0.9999)\nargs = p.parse_args()\nfor ema_p, p in \
             zip(ema.parameters(), net.parameters()):\n    ema_p.mul_(1 - args.ema_decay).add_(p.data, \
             alpha=args.ema_decay)\n",
        ),
        named(
            "train.py",
            "import torch\nMOMENTUM = 0.996\ndef follow(teacher, student):\n    for t, s in \
             zip(teacher.parameters(), student.parameters()):\n        t.data = (1 - MOMENTUM) * t.data + \
             MOMENTUM * s.data\n",
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import torch\ndecay = 0.999\nfor avg, cur in zip(ema.parameters(), net.parameters()):\n    \
             avg.lerp_(cur, 1 - decay)\n    avg.mul_(decay).add_(cur, alpha=1 - decay)\n    avg.data = decay \
             * avg.data + (1 - decay) * cur.data\n",
        ),
        named(
            "train.py",
            "import torch\ndef soft_update(target, online, decay=0.005):\n    for t, o in \
             zip(target.parameters(), online.parameters()):\n        t.data.lerp_(o.data, decay)\n",
        ),
        named(
            "train.py",
            "import torch\ndecay = 0.99\nloss_now.lerp_(loss, decay)\nbatch = torch.lerp(a, b, decay)\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let updates = program.calls.iter().filter(|call| {
        let last = call.name.rsplit('.').next().unwrap_or_default();
        matches!(last, "lerp" | "lerp_" | "_foreach_lerp_" | "add_")
    });
    let calls = updates.take(UPDATES_LIMIT).filter_map(|call| fault(program, call));
    let mixes = program.assignments.iter().filter_map(|one| Some((one, mixed(&one.text)?)));
    let sets = mixes.take(UPDATES_LIMIT).filter_map(|(one, (average, weight))| {
        let own = one.name.trim_end_matches(".data") == average.trim_end_matches(".data");
        let value = decay(program, weight, &one.at, &one.function).filter(|_| own)?;
        judged(program, average, weight, value, one.line, &one.at)
    });
    calls.chain(sets).take(1).collect()
}

/// Updates that are looked at: each is followed through the names of the program.
const UPDATES_LIMIT: usize = 500;

/// A call that moves an average by the share that it should keep.
fn fault(program: &Program, call: &Call) -> Option<Found> {
    let (object, method) = call.name.rsplit_once('.')?;
    let plain = |at: usize| call.arguments.get(at).filter(|one| one.name.is_none());
    let (average, weight) = match method {
        "lerp_" | "lerp" if object == "torch" => (plain(0)?.text.as_str(), call.argument(2, "weight")?),
        "_foreach_lerp_" => (plain(0)?.text.as_str(), call.argument(2, "weight")?),
        "lerp_" => (object, call.argument(1, "weight")?),
        "add_" => {
            let weight = call.keyword("alpha")?;
            let from = program.calls.partition_point(|one| one.at.start < call.at.start);
            let same = program.calls[from..].iter().take_while(|one| one.at.start == call.at.start);
            let inner =
                same.into_iter().find(|one| one.name.ends_with(".mul_") && one.at.end < call.at.end)?;
            let kept = bare(&inner.arguments.first()?.text);
            let rest = kept
                .strip_prefix("1-")
                .or_else(|| kept.strip_prefix("1.0-"))
                .or_else(|| kept.strip_prefix("1.-"))?;
            if rest != bare(&weight.text) {
                return None;
            }
            (inner.name.strip_suffix(".mul_")?, weight)
        }
        _ => return None,
    };
    let value = decay(program, &weight.text, &weight.at, &call.function)?;
    judged(program, average, &weight.text, value, call.line, &call.at)
}

fn bare(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

/// The average and the weight of the new value in `(1 - w) * average + w * new`.
fn mixed(text: &str) -> Option<(&str, &str)> {
    let (first, second) = text.split_once(" + ")?;
    let sides = |part: &'_ str| -> Option<(String, String)> {
        let (left, right) = part.split_once(" * ")?;
        Some((bare(left), bare(right)))
    };
    let (left, right) = sides(first)?;
    let is_rest =
        |text: &str| text.starts_with("(1-") || text.starts_with("(1.0-") || text.starts_with("(1.-");
    let kept = [&left, &right].into_iter().find(|one| is_rest(one))?;
    let weight = kept.split_once('-')?.1.strip_suffix(')')?;
    let (one, two) = sides(second)?;
    if one != weight && two != weight {
        return None;
    }
    let (left, right) = first.split_once(" * ")?;
    let average = if is_rest(&bare(left)) { right.trim() } else { left.trim() };
    let at = second.find(weight)?;
    Some((average, second.get(at..at + weight.len())?))
}

/// The value of a weight that is named after what is kept, where it is known: 0.9 and more.
fn decay(program: &Program, weight: &str, at: &Range<usize>, function: &Range<usize>) -> Option<f64> {
    let last = weight.rsplit('.').next()?.to_ascii_lowercase();
    let of_kept = ["decay", "momentum", "beta", "ema"].iter().any(|word| last.contains(word));
    let value = of_kept.then(|| value(program, weight, at, function)).flatten()?;
    (0.9..1.0).contains(&value).then_some(value)
}

fn value(program: &Program, text: &str, at: &Range<usize>, function: &Range<usize>) -> Option<f64> {
    // A piece of an expression has no place of its own.
    let whole = program.text.get(at.clone()) == Some(text);
    let set = || {
        let mut sets = program.assignments.iter().filter(|one| one.name == text);
        sets.next().filter(|_| sets.next().is_none())
    };
    let from = match (whole, set()) {
        (_, Some(set)) => program.origin(&set.at, &set.function),
        (true, None) => program.origin(at, function),
        (false, None) => return parameter(program, text, function).or_else(|| option(program, text)),
    };
    number(from.text)
        .or_else(|| parameter(program, from.text, &from.function))
        .or_else(|| option(program, from.text))
}

/// The value of a parameter: of the only object that is made of its class, or its default.
fn parameter(program: &Program, name: &str, function: &Range<usize>) -> Option<f64> {
    let own = program.functions.iter().find(|one| one.at == *function && !function.is_empty())?;
    let place = own.parameters.iter().position(|one| one.name == name)?;
    let class =
        program.classes.iter().filter(|class| contains(&class.at, &own.at)).min_by_key(|one| one.at.len());
    let (called, index) = match class {
        Some(class) if own.name == "__init__" => (class.name.as_str(), place.checked_sub(1)?),
        Some(_) => return None,
        None => (own.name.as_str(), place),
    };
    let mut calls = program.calls.iter().filter(|call| call.name == called);
    let default = || number(own.parameters[place].default.as_deref()?);
    let first = match calls.next() {
        Some(call) => match call.argument(index, name) {
            Some(given) => number(program.origin(&given.at, &call.function).text),
            None => default(),
        },
        None => default(),
    };
    first.filter(|_| calls.next().is_none())
}

/// The default of an option, if it is a number: `args.ema_decay`.
fn option(program: &Program, text: &str) -> Option<f64> {
    let (name, _) = program.option(text)?;
    let adds = program.calls.iter().filter(|call| call.name.ends_with("add_argument"));
    let own = adds.into_iter().find(|call| {
        call.arguments
            .iter()
            .any(|one| string(&one.text).and_then(|text| text.strip_prefix("--")) == Some(name.as_str()))
    })?;
    number(&own.keyword("default")?.text)
}

/// Words in the names of averages and of what makes them.
const AVERAGES: &[&str] =
    &["ema", "avg", "average", "shadow", "teacher", "target", "mean", "slow", "momentum_enc"];

fn judged(
    program: &Program,
    average: &str,
    weight: &str,
    value: f64,
    line: usize,
    at: &Range<usize>,
) -> Option<Found> {
    let known = |text: &str| AVERAGES.iter().any(|word| text.to_ascii_lowercase().contains(word));
    let object = average.trim_end_matches(".data");
    // `for avg, cur in zip(ema.parameters(), net.parameters())`
    let over = program.loops.iter().filter(|one| contains(&one.body, at)).any(|one| {
        let first = one.through.split(',').next().unwrap_or_default();
        one.over.split(',').next().map(str::trim) == Some(object) && known(first)
    });
    let class = program.classes.iter().any(|class| contains(&class.at, at) && known(&class.name));
    let weights = program.loops.iter().any(|one| {
        contains(&one.body, at)
            && ["parameters", "state_dict", "buffers"].iter().any(|word| one.through.contains(word))
    });
    if !(known(object) || over || class) || !(weights || class) {
        return None;
    }
    let keeps = format!("{:.4}", 1.0 - value);
    let message = format!(
        "`{weight}` ({value}) is used as the weight of the new value: each step keeps only {} of \
         `{object}`, which follows the current model instead of averaging it",
        keeps.trim_end_matches('0')
    );
    Some(
        Found::error(line, message, format!("Write `1 - {weight}` as the weight of the new value"))
            .unless_certain(value >= 0.99),
    )
}
